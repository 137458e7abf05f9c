"""What the tests of the benchmark share: sizes that take no time, and no rest between two calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from angsync.study.bench.sizes import Size


@pytest.fixture(scope="module")
def restless() -> Iterator[None]:
    """Where times mean nothing: nobody waits before a call, or repeats it because it was brief."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("angsync.study.bench.runner._REST", 0.0)
        patch.setattr("angsync.study.bench.runner._BRIEF_SECONDS", 0.0)
        yield


@pytest.fixture(scope="session")
def tiny() -> Size:
    """Every group, at orders that mean nothing."""
    return Size(
        repeats=1, dense_orders=(40,), products_order=40, small_orders=(20,), relaxation_orders=(8,),
        batch_orders=(5,), batch_work=0, growth_orders=(30, 60), growth_counts=(1000, 2000), bandwidth_orders=(50,),
        block_bytes=1 << 20,
    )  # fmt: skip

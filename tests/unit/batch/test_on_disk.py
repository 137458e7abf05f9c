"""A stack in a zarr store, solved into another one."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from stacks_on_disk import stack as uncompressed
from stored_stacks import NAMES, hard_stack, key_of, on_disk, take_away

import angsync as ang
from angsync.batch import on_disk as module
from angsync.batch.call import StackCall
from angsync.batch.result import BatchStatus
from angsync.errors import FileFormatError, InputError, OutputError
from angsync.io.chunks import verify
from angsync.solvers.stopping import Stopping

zarr = pytest.importorskip("zarr")


def call(**changes):
    return StackCall(**{"stopping": Stopping(), "certify": True, "gauge": "first", "on_failure": "ignore",
                        "hermitian": "full"} | changes)  # fmt: skip


@pytest.fixture(scope="module")
def hard():
    stack = hard_stack()
    return stack, ang.synchronize(stack, on_failure="ignore")


def assert_written(path, expected, *, but=None):
    group = zarr.open_group(str(path), mode="r")
    for name in NAMES:
        values, wanted = np.asarray(group[name][...]), getattr(expected, name)
        assert values.dtype == wanted.dtype
        kept = np.ones(wanted.shape[:2], dtype=bool) if but is None else ~but
        assert np.array_equal(values[kept], wanted[kept], equal_nan=True), name


def test_the_bits_of_the_batch_and_every_chunk_has_its_marker(hard, tmp_path):
    stack, expected = hard
    on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 3))
    seen = []
    solved = module.solve_store(
        tmp_path / "C.zarr", tmp_path / "out.zarr", call(), memory=3 * 2 * 5 * 288,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert_written(tmp_path / "out.zarr", expected)
    assert seen == [(k, 6) for k in range(1, 7)]
    assert solved.counts == {name: number for name, number in expected.counts().items() if number}
    assert verify(tmp_path / "out.zarr").is_complete
    group = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")
    assert group["status"].attrs["flag_meanings"].split()[5] == "EMPTY"
    assert "C.zarr" in group.attrs["source"]


def test_what_is_done_is_not_done_again_and_other_settings_are_refused(hard, tmp_path):
    stack, expected = hard
    on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 6))
    where = (tmp_path / "C.zarr", tmp_path / "out.zarr")
    first = module.solve_store(*where, call(), memory=3 * 10 * 288, max_seconds=0)
    assert first.done.interrupted
    assert 0 < len(first.done.missing) < 6
    with pytest.raises(OutputError, match="it is there already"):
        module.solve_store(*where, call())
    with pytest.raises(OutputError, match="effort"):
        module.solve_store(*where, call(effort="low"), resume=True)
    second = module.solve_store(*where, call(), resume=True)  # with more memory: the chunks stay what they are
    assert second.done.computed == len(first.done.missing)
    assert second.done.found == 6 - second.done.computed
    assert_written(where[1], expected)


@pytest.mark.parametrize("certify", [True, False])
def test_ctrl_c_in_the_further_starts_leaves_the_chunk_undone(hard, tmp_path, monkeypatch, certify):
    stack, _ = hard
    on_disk(tmp_path / "C.zarr", stack, (2, 10, 6, 6))
    where, how = (tmp_path / "C.zarr", tmp_path / "out.zarr"), call(certify=certify)
    whole = ang.synchronize(stack, on_failure="ignore", certify=certify)
    with monkeypatch.context() as patch:
        patch.setattr("angsync.batch.further.Search._origin", pressed)
        first = module.solve_store(*where, how, memory=3 * 20 * 288)
    assert first.done.interrupted
    assert len(first.done.missing) > 0
    assert module.solve_store(*where, how, resume=True).done.missing == []
    written = zarr.open_group(str(where[1]), mode="r")
    for name in NAMES if certify else ("z", "status", "residual", "objective"):
        np.testing.assert_array_equal(written[name][...], getattr(whole, name))


def pressed(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("absent", ["error", "empty"])
def test_an_absent_chunk_is_named_or_has_no_data_and_the_rest_is_done(hard, tmp_path, absent):
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 6))
    take_away(array, slice(2, 4), slice(5, 10))
    where = np.zeros((6, 10), dtype=bool)
    where[2:4, 5:10] = True
    solved = module.solve_store(
        tmp_path / "C.zarr", tmp_path / "out.zarr", call(), memory=3 * 2 * 5 * 288, absent=absent
    )
    assert_written(tmp_path / "out.zarr", expected, but=where)
    status = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")["status"][...]
    if absent == "error":
        assert list(solved.done.failed) == ["1_1"]
        assert "--absent zeros" in solved.done.failed["1_1"]
        assert key_of(array, (1, 1, 0, 0)) in solved.done.failed["1_1"]
        assert (status[where] == BatchStatus.INTERRUPTED).all()
        array[2:4, 5:10] = stack[2:4, 5:10]
        module.solve_store(tmp_path / "C.zarr", tmp_path / "out.zarr", call(), resume=True)
        assert_written(tmp_path / "out.zarr", expected)
    else:
        assert solved.counts["NO_DATA"] == 10
        assert (status[where] == BatchStatus.NO_DATA).all()


def test_a_copy_with_its_times_is_the_same_input_and_another_one_is_refused(hard, tmp_path):
    stack, expected = hard
    uncompressed(tmp_path / "C.zarr", stack, (2, 5, 6, 6))  # files of the same size whatever is in them
    module.solve_store(tmp_path / "C.zarr", tmp_path / "out.zarr", call(), memory=3 * 10 * 288, max_seconds=0)
    shutil.copytree(tmp_path / "C.zarr", tmp_path / "D.zarr")
    uncompressed(tmp_path / "E.zarr", stack.conj(), (2, 5, 6, 6))
    with pytest.raises(OutputError, match="input was written again since chunk 0_0"):
        module.solve_store(tmp_path / "E.zarr", tmp_path / "out.zarr", call(), resume=True)
    solved = module.solve_store(tmp_path / "D.zarr", tmp_path / "out.zarr", call(), resume=True)
    assert solved.done.found == 1
    assert_written(tmp_path / "out.zarr", expected)


def test_axes_and_coordinates_of_a_group_are_kept(hard, tmp_path):
    xarray = pytest.importorskip("xarray")
    stack, expected = hard
    times = np.array(["2020-01-01", "2020-01-13", "2020-02-01", "2021-01-01", "2021-05-05", "2021-06-01"], "M8[ns]")
    made = xarray.Dataset({"C": (("y", "x", "date", "other"), stack)}, {"date": times, "y": np.arange(6) / 2})
    made.to_zarr(str(tmp_path / "C.zarr"), consolidated=False)
    module.solve_store(tmp_path / "C.zarr", tmp_path / "out.zarr", call())
    found = xarray.open_zarr(str(tmp_path / "out.zarr"), chunks=None, consolidated=False)
    assert found.z.dims == ("y", "x", "date")
    assert np.array_equal(found.date.values.astype("M8[s]"), times.astype("M8[s]"))
    assert found.y.values.tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    assert np.array_equal(found.z, expected.z, equal_nan=True)


def test_what_is_no_stack(tmp_path):
    (tmp_path / "nothing.zarr").mkdir()
    with pytest.raises(FileFormatError, match=r"nothing\.zarr"):
        module.open_stack(tmp_path / "nothing.zarr")
    group = zarr.open_group(str(tmp_path / "two.zarr"), mode="w")
    with pytest.raises(FileFormatError, match=r"there is none"):
        module.open_stack(tmp_path / "two.zarr")
    for name in ("a", "b"):
        on_disk(tmp_path / "two.zarr" / name, np.ones((2, 3, 3)), (1, 3, 3))
    with pytest.raises(FileFormatError, match="it holds 'a', 'b': name one with variable"):
        module.open_stack(tmp_path / "two.zarr")
    assert module.open_stack(tmp_path / "two.zarr", "b").shape == (2, 3, 3)
    assert module.open_stack(tmp_path / "two.zarr" / "a").shape == (2, 3, 3)
    assert group is not None
    on_disk(tmp_path / "flat.zarr", np.ones((4, 3, 2)), (1, 3, 2))
    with pytest.raises(InputError, match="n, n"):
        module.solve_store(tmp_path / "flat.zarr", tmp_path / "out.zarr", call())
    with pytest.raises(InputError, match="absent"):
        module.solve_store(tmp_path / "flat.zarr", tmp_path / "out.zarr", call(), absent="maybe")


def test_encoded_numbers_are_refused_by_the_names_of_their_attributes(tmp_path):
    xarray = pytest.importorskip("xarray")
    s = np.sign(np.random.default_rng(0).standard_normal((6, 5)))
    C = 0.9 * s[:, :, None] * s[:, None, :] + 0.05
    C[2] = np.nan
    given = xarray.DataArray(C, dims=("p", "i", "j"), name="C").to_dataset()
    packed = {"dtype": "int16", "scale_factor": 1e-4, "add_offset": -1.5, "_FillValue": -9999}
    given.to_zarr(tmp_path / "C.zarr", encoding={"C": packed})
    words = r"C is encoded \(scale_factor = 0.0001, add_offset = -1.5, _FillValue = -9999\).*xarray.open_zarr"
    with pytest.raises(InputError, match=words):
        module.solve_store(tmp_path / "C.zarr", tmp_path / "out.zarr", call())
    with pytest.raises(InputError, match=words):
        ang.synchronize(zarr.open_group(str(tmp_path / "C.zarr"), mode="r")["C"])
    given.to_zarr(tmp_path / "plain.zarr")  # its fill value is NaN
    assert module.solve_store(tmp_path / "plain.zarr", tmp_path / "plain_out.zarr", call()).counts["CONVERGED"] == 5


MEMORY = 3 * 10 * 288  # one chunk of the store at a time


def damaged(tmp_path, hard):
    """A store whose chunk (1, 0) is absent, solved as far as that goes; what was taken away comes back by the last."""
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 6))
    where = (tmp_path / "C.zarr", tmp_path / "out.zarr")
    take_away(array, slice(2, 4), slice(0, 5))
    first = module.solve_store(*where, call(), memory=MEMORY)
    assert list(first.done.failed) == ["1_0"]

    def mend():
        array[2:4, :5] = stack[2:4, :5]

    return where, mend, expected


def test_an_interrupted_resume_remembers_what_failed(hard, tmp_path, monkeypatch):
    where, mend, expected = damaged(tmp_path, hard)

    def interrupted(self, chunk):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module._Compute, "__call__", interrupted)
        assert module.solve_store(*where, call(), resume=True).done.interrupted
    mend()
    module.solve_store(*where, call(), resume=True)
    assert_written(where[1], expected)


def test_a_chunk_that_was_absent_may_be_restored_before_anything_is_made_of_it(hard, tmp_path):
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 3))
    shutil.copytree(tmp_path / "C.zarr", tmp_path / "whole.zarr")
    take_away(array, slice(4, 6), slice(0, 5))

    def run(path="C.zarr", **how):
        return module.solve_store(
            tmp_path / path, tmp_path / "out.zarr", call(), memory=3 * 2 * 5 * 288, resume=True, **how
        ).done  # fmt: skip

    assert run(max_seconds=0).interrupted  # after one chunk
    shutil.copytree(tmp_path / "whole.zarr", tmp_path / "C.zarr", dirs_exist_ok=True)
    done = run()
    assert (done.found, done.missing) == (1, [])
    assert_written(tmp_path / "out.zarr", expected)
    shutil.rmtree(tmp_path / "out.zarr")
    take_away(array, slice(0, 2), slice(0, 5))
    assert len(run(absent="empty").reports) == 6
    shutil.copytree(tmp_path / "whole.zarr", tmp_path / "C.zarr", dirs_exist_ok=True)
    with pytest.raises(OutputError, match="input was written again"):  # a chunk is done without it
        run(absent="empty")


def test_absent_chunks_may_be_taken_for_empty_in_a_resumed_run_but_not_back(hard, tmp_path):
    where, _, expected = damaged(tmp_path, hard)
    solved = module.solve_store(*where, call(), resume=True, absent="empty")
    assert solved.counts["NO_DATA"] == 10
    lost = np.zeros((6, 10), dtype=bool)
    lost[2:4, :5] = True
    assert_written(where[1], expected, but=lost)
    with pytest.raises(OutputError, match="absent was empty and is error"):
        module.solve_store(*where, call(), resume=True)


def test_what_failed_by_its_values_is_mended_and_resumed(hard, tmp_path):
    stack, expected = hard
    wrong = stack.copy()
    wrong[2, 1, 0, 1] += 9  # not Hermitian
    array = on_disk(tmp_path / "C.zarr", wrong, (2, 5, 6, 6))
    where = (tmp_path / "C.zarr", tmp_path / "out.zarr")
    assert list(module.solve_store(*where, call(), memory=MEMORY).done.failed) == ["1_0"]
    array[2:4, :5] = stack[2:4, :5]
    assert module.solve_store(*where, call(), resume=True).done.computed == 1
    assert_written(where[1], expected)
    array[:2, :5] = stack[:2, :5].conj()
    with pytest.raises(OutputError, match="input was written again since chunk 0_0"):
        module.solve_store(*where, call(), resume=True)


def test_an_input_that_changes_during_the_run_is_named(hard, tmp_path):
    stack, _ = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 6))

    def change(done, total):
        if done == 3:
            array[:2, :5] = stack[:2, :5].conj()

    with pytest.raises(OutputError, match="input was written again"):
        module.solve_store(tmp_path / "C.zarr", tmp_path / "out.zarr", call(), memory=MEMORY, progress=change)
    assert not verify(tmp_path / "out.zarr").is_complete


def test_an_output_inside_the_stack_is_refused(hard, tmp_path):
    on_disk(tmp_path / "C.zarr", hard[0], (2, 5, 6, 6))
    with pytest.raises(OutputError, match="inside the input"):
        module.solve_store(tmp_path / "C.zarr", tmp_path / "C.zarr" / "out.zarr", call())


@pytest.mark.parametrize("name", ["z", "status"])
def test_an_axis_with_the_name_of_an_answer_is_refused(tmp_path, name):
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(np.ones((3, 4, 4)), dims=(name, "i", "j"), coords={name: [1.0, 2.0, 3.0]}, name="C")
    given.to_dataset().to_zarr(tmp_path / "C.zarr")
    words = rf"called '{name}', as one of the answers is.*rename"
    with pytest.raises(InputError, match=words):
        module.solve_store(tmp_path / "C.zarr", tmp_path / "out.zarr", call())
    with pytest.raises(InputError, match=words):
        ang.synchronize(given)

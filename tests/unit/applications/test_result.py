"""What results of applications share: text, page, files, pictures, and whether they are proved."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

import angsync as ang
from angsync.applications.result import ApplicationResult, Description
from angsync.errors import InputError, OutputError
from angsync.io.result_file import check_table_path
from angsync.report.pictures import Curves, Map, Series
from angsync.testing import check_application


@dataclass(frozen=True, eq=False, repr=False)
class Example(ApplicationResult):
    sync: ang.SyncResult | ang.BatchResult
    names: tuple[str, ...] = ("a", "b", "c")

    def describe(self) -> Description:
        angle = np.array([0.5, -0.25, np.nan])
        points = Series(np.arange(3.0), angle, "found", error=np.array([0.1, 0.2, np.inf]))
        line = Series(np.arange(3.0), np.zeros(3), "truth", line=True)
        phases = np.angle(np.exp(1j * np.add.outer(np.arange(40.0), np.arange(30.0)) / 7))
        return Description(
            kind="example",
            title="an <example>",
            rows=[("Items", "3"), ("Noise", "0.1 rad", "estimated")],
            columns={"name": np.array(self.names, dtype=object), "angle": angle, "bad": np.array([False, True, False])},
            pictures=[
                Curves("angles", "item", "radians", (points, line), "Every angle.", level=(0.1, "limit")),
                Map("phase", phases, "rad", "A slope.", cyclic=True),
                Map("coherence", np.abs(phases), "1", "Its size."),
            ],
            sentences=["One item has no angle."],
            facts={"items": 3, "noise": np.float64(0.1), "worst": np.inf},
            arrays={"phases": phases},
        )


def solved(sigma=0.3, **options):
    return ang.synchronize(ang.simulate.gaussian(12, sigma, rng=0).C, **options)


def stack(count=5, empty=0):
    C = np.stack([ang.simulate.gaussian(6, 0.2, rng=k).C for k in range(count)])
    C[:empty] = 0
    return ang.synchronize(C)


def test_a_result_passes_the_check_of_applications():
    check_application(Example(solved()))
    check_application(Example(stack()))


def test_text_page_and_files_say_the_same(tmp_path):
    result = Example(solved())
    text = str(result)
    assert text.splitlines()[0] == "an <example>"
    assert "0.1 rad (estimated)" in text
    assert "One item has no angle." in text
    assert "Proved: no assignment of phases fits better" in text
    assert repr(result) == "Example(an <example>; Certified optimal)"
    page = result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "An &lt;example&gt;" in page
    assert "<example>" not in page
    assert page.count("<figure>") == 5  # and residuals, and the run of the solver
    assert page.count("data:image/png;base64,") == 4  # two maps, each with its scale
    result.save(tmp_path / "table.csv")
    header, *rows = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()
    assert (header, rows) == ("name,angle,bad", ["a,0.5,0", "b,-0.25,1", "c,nan,0"])
    result.save(tmp_path / "table.npz")
    with np.load(tmp_path / "table.npz") as kept:
        assert kept["name"].tolist() == ["a", "b", "c"]
        assert kept["phases"].shape == (40, 30)
        assert json.loads(str(kept["facts"])) == {"kind": "example", "items": 3, "noise": 0.1, "worst": None}
    told = result.to_dict(with_table=False)
    assert told["proved"] is True
    assert "columns" not in told


def test_parquet_keeps_columns_and_facts(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    Example(solved()).save(tmp_path / "table.parquet")
    table = parquet.read_table(tmp_path / "table.parquet")
    assert table.column("name").to_pylist() == ["a", "b", "c"]
    assert json.loads(table.schema.metadata[b"angsync-example"])["items"] == 3


def test_a_wrong_suffix_is_refused_before_the_work(tmp_path):
    with pytest.raises(OutputError, match=r"csv, npz or parquet"):
        check_table_path(tmp_path / "table.xlsx")


def test_what_is_not_proved_is_not_called_proved():
    assert Example(solved()).is_proved
    unproved = Example(solved(certify=False))
    assert not unproved.is_proved
    assert unproved.proof.look == "none"
    limited = Example(solved(stopping=ang.Stopping(max_iterations=0), on_failure="ignore"))
    assert not limited.is_proved


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning", "ignore::angsync.errors.ConvergenceWarning")
def test_a_stack_is_proved_where_every_problem_with_data_is():
    assert Example(stack()).proof.headline == "All 5 certified"
    some = Example(stack(empty=2))
    assert some.is_proved
    assert "2 hold no data" in some.proof.words
    nothing = Example(stack(empty=5))
    assert nothing.proof == ("none", "No data", nothing.proof.words)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 30, 30)) + 1j * rng.standard_normal((4, 30, 30))
    hard = Example(ang.synchronize(noise + np.conj(np.swapaxes(noise, 1, 2)), effort="low"))
    assert not hard.is_proved
    assert hard.proof.look == "open"
    assert "nothing is proved" in hard.proof.words


def test_a_table_of_unequal_columns_is_refused():
    with pytest.raises(InputError, match="one length"):
        Description("x", "x", [], {"a": np.zeros(2), "b": np.zeros(3)})


def test_plot_draws_every_picture():
    pytest.importorskip("matplotlib")
    figure = Example(solved()).plot()
    assert figure.get_suptitle() == "an <example>: Certified optimal"
    assert len([axes for axes in figure.axes if axes.get_title()]) == 3


def test_one_picture_or_one_of_the_problem_behind_can_be_chosen():
    pytest.importorskip("matplotlib")
    result = Example(solved())
    title = result.describe().pictures[0].title
    assert len([axes for axes in result.plot(title.upper()).axes if axes.get_title()]) == 1
    assert "measurement" in result.plot("network").axes[0].get_title()
    with pytest.raises(InputError, match=r"'network'.*not 'nothing'"):
        result.plot("nothing")
    with pytest.raises(InputError, match="color: only"):
        result.plot(color="error")


def test_the_table_is_a_data_frame_and_the_whole_a_card():
    pytest.importorskip("pandas")
    result = Example(solved())
    told = result.describe()
    assert list(result.to_dataframe().columns) == list(told.columns)
    markup = result._repr_html_()
    assert "an &lt;example&gt;" in markup
    assert "Certified optimal" in markup
    assert "<script" not in markup

"""``angsync certify``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import PROBLEM, call, refused, write_csv

from angsync import load_result


def test_certify_takes_saved_results_and_plain_phases():
    write_csv("edges.csv")
    assert call("solve", "edges.csv", "-o", "out.npz").code == 0
    assert call("solve", "edges.csv", "-o", "out.csv").code == 0
    result = load_result("out.npz")
    np.save("z.npy", result.z)
    np.save("angles.npy", result.angles)
    np.savez("angles.npz", angles=result.angles)
    write_csv("angles.csv", [(angle,) for angle in result.angles.tolist()], header="angle")
    for name in ("out.npz", "out.csv", "z.npy", "angles.npy", "angles.npz", "angles.csv"):
        answer = call("certify", "edges.csv", name)
        assert answer.code == 0, name
        assert answer.stdout.startswith("CERTIFIED: "), name
        assert "Proved: " in answer.stdout, name


def test_certify_matches_phases_by_name():
    write_csv("named.csv", names=lambda k: f"n{k}")
    answer = call("solve", "named.csv", "--json").object
    rows = list(zip(answer["nodes"], answer["angles"], strict=True))
    write_csv("reversed.csv", rows[::-1], header="node,angle")
    assert call("certify", "named.csv", "reversed.csv").code == 0
    write_csv("swapped.csv", [(rows[1][0], rows[0][1]), (rows[0][0], rows[1][1]), *rows[2:]], header="node,angle")
    assert call("certify", "named.csv", "swapped.csv").code == 1


NAMED = [f"n{k}" for k in range(12)]


@pytest.mark.parametrize(
    ("nodes", "word"),
    [
        ([*NAMED[:11], "other"], "none for 'n11'"),
        (NAMED[:11], "none for 'n11'"),
        ([*NAMED, "n12"], "too many for 'n12'"),
        ([*NAMED[:11], "n0"], "'n0' has more than one phase"),
    ],
)
def test_certify_refuses_other_nodes(nodes, word):
    write_csv("named.csv", names="n{}".format)
    write_csv("phases.csv", [(node, 0.1) for node in nodes], header="node,angle")
    assert word in refused("certify", "named.csv", "phases.csv")


@pytest.mark.parametrize(
    ("phases", "word"),
    [(np.zeros(5), "length 12"), (np.zeros(12, dtype=complex), "no phase"), (np.full(12, np.nan), "not finite")],
)
def test_certify_refuses_unusable_phases(phases, word):
    write_csv("edges.csv")
    np.save("phases.npy", phases)
    assert word in refused("certify", "edges.csv", "phases.npy")
    np.savez("phases.npz", x=phases)
    assert "holds no phases" in refused("certify", "edges.csv", "phases.npz")


def test_certify_speaks_of_components():
    write_csv("two.csv", [(0, 1, 0.5), (2, 3, 0.25)])
    np.save("angles.npy", np.array([0, -0.5, 1, 0.75]))
    answer = call("certify", "two.csv", "angles.npy")
    assert answer.code == 0
    assert "one global phase per connected component" in answer.stdout


def test_phases_of_measurements_in_degrees():
    Path("deg.csv").write_text("i,j,angle\n0,1,90\n1,2,30\n0,2,121\n")
    assert call("solve", "deg.csv", "--unit", "deg", "-o", "phases.npz").code == 0
    assert call("certify", "deg.csv", "phases.npz", "--unit", "deg").code == 0
    assert call("certify", "deg.csv", "phases.npz").code == 1
    held = ("--anchor", "1=45", "--unit", "deg")
    assert call("solve", "deg.csv", *held, "-o", "held.npz").code == 0
    assert call("certify", "deg.csv", "held.npz", *held).code == 0


def test_certify_takes_the_anchors_that_a_result_was_found_with():
    write_csv("edges.csv")
    options = ("--anchor", "0=0.5", "--anchor", "7=-1.0", "--prior", "3=0.2,4")
    assert call("solve", "edges.csv", *options, "-o", "out.npz").code == 0
    proved = call("certify", "edges.csv", "out.npz", *options)
    assert (proved.code, "The optimum is unique." in proved.stdout) == (0, True)
    without = call("certify", "edges.csv", "out.npz")
    assert without.code == 1
    assert "saved with anchors or priors" in without.stdout
    assert "--anchor" in without.stdout
    assert call("certify", "edges.csv", "out.npz", *options, "--json").object["note"] is None
    message = refused("certify", "edges.csv", "out.npz", "--anchor", "0=0.5", "--anchor", "7=-0.9")
    assert "node 7 has the angle -1, its anchor is -0.9" in message


@pytest.mark.parametrize("anchors", [(), ("--anchor", "2=1.0")])
def test_certify_refutes_by_a_better_point(anchors):
    write_csv("edges.csv")
    angles = np.zeros(12)
    angles[2] = 1.0
    np.save("angles.npy", angles)
    answer = call("certify", "edges.csv", "angles.npy", *anchors, "--json")
    assert (answer.code, answer.object["verdict"]) == (1, "REFUTED")
    witness = np.array(answer.object["witness"])
    assert not anchors or witness[2] == pytest.approx(1.0)
    objective = [np.vdot(z, PROBLEM.C @ z).real for z in np.exp(1j * np.array([witness, angles]))]
    assert objective[0] > objective[1]


def test_certify_says_that_a_robust_result_answers_another_problem():
    m = PROBLEM.measurements
    angle = m.angle.copy()
    angle[0] += 2.0
    write_csv("edges.csv", list(zip(m.i.tolist(), m.j.tolist(), angle.tolist(), strict=True)))
    call("solve", "edges.csv", "--solver", "robust", "-o", "out.npz")
    answer = call("certify", "edges.csv", "out.npz")
    assert answer.code == 1
    assert "saved by solver robust" in answer.stdout


def test_phases_are_radians_whatever_the_unit_of_the_measurements():
    write_csv("edges.csv")
    assert call("solve", "edges.csv", "-o", "out.npz").code == 0
    angles = load_result("out.npz").angles
    np.save("degrees.npy", np.rad2deg(angles))
    write_csv("degrees.csv", [(angle,) for angle in np.rad2deg(angles).tolist()], header="angle")
    for name in ("degrees.npy", "degrees.csv"):
        answer = call("certify", "edges.csv", name)
        assert answer.stderr.count("are these degrees?") == 1, name
        assert "np.deg2rad" in answer.stderr, name

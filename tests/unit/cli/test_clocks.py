"""``angsync clocks``."""

from command_line import call

TABLE = "i,j,offset_us\na,b,3.0\nb,c,4.0\nc,a,-7.3\nc,d,1.0\nd,a,-8.1\nb,d,4.9\n"


def write(tmp_path, text=TABLE, name="links.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_links_become_a_table(tmp_path):
    table, links = tmp_path / "clocks.csv", tmp_path / "judged.csv"
    result = call("clocks", write(tmp_path), "--reference", "a", "-o", table, "--links", links)
    assert result.code == 0, result.stderr
    assert "times of 4 clocks" in result.stdout
    assert table.read_text().splitlines()[1].startswith("a,0.0,0.0,")
    assert links.read_text().splitlines()[0] == "i,j,offset,residual,bad"


def test_the_unit_is_converted(tmp_path):
    result = call("clocks", write(tmp_path), "--unit", "ns", "--reference", "a", "--json")
    assert result.code == 0, result.stderr
    assert abs(result.object["columns"]["offset"][1] + 3100) < 300


def test_logs_of_hosts_are_joined(tmp_path):
    line = "60000 {t}.5 {peer} 9014 {offset:.9f} 0.001000000 0.000100000 0.000010000\n"
    one = write(tmp_path, "".join(line.format(t=k, peer="b", offset=1e-3) for k in range(3)), "one")
    two = write(tmp_path, "".join(line.format(t=k, peer="c", offset=2e-3) for k in range(3)), "two")
    result = call("clocks", f"a={one}", f"b={two}", "--unit", "ms", "--reference", "a", "--json")
    assert result.code == 0, result.stderr
    told = result.object["columns"]
    found = dict(zip(told["clock"], told["offset"], strict=True))
    assert abs(found["b"] - 1) < 1e-9
    assert abs(found["c"] - 3) < 1e-9


def test_bad_links_are_one_message_and_no_file(tmp_path):
    table = tmp_path / "clocks.csv"
    result = call("clocks", write(tmp_path, "i,j,offset\na,a,1\n"), "-o", table)
    assert result.code == 2
    assert "line 2: clock 'a' is compared with itself" in result.stderr
    assert not table.exists()
    assert call("clocks", write(tmp_path), "--name", "a").code == 2
    assert call("clocks", write(tmp_path), "--format", "gps").code == 2


def test_the_offsets_are_printed_first(tmp_path):
    result = call("clocks", write(tmp_path), "--reference", "a", "--unit", "\N{MICRO SIGN}s")
    assert result.code == 0, result.stderr
    header, first = result.stdout.splitlines()[1:3]
    assert header.split() == ["clock", "offset", "standard_error", "links", "component"]
    assert first.split()[:2] == ["a", "0"]

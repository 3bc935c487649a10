"""The command runs; what it finds is nobody's test."""

import json

import pytest

from benchmarks.command import main
from benchmarks.peers import ROOT
from benchmarks.serve.shapes import NETS

SHORT = ["--rounds", "1", "--seconds", "0.01", "--warm-up", "0"]
TINY = ["--minibatches", "10", "--data-gb", "0.002", "--examples", "128"]
# A call of these takes seconds; they are run where networks are compared.
LARGE = ("resnet50", "lstm3")
SMALL = [net for net in NETS if net not in LARGE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run networks and messages, with a peer that is not there and one that is."""
    made = tmp_path_factory.mktemp("benchmarks")
    (made / "page.md").write_text("<!-- table -->\n<!-- end of table -->\n")
    works = [*SMALL, "threshold", "coder", "reading"]
    peers = ["--peers", "daskdl,torch,pyarrow", "--python-torch", str(made / "python")]
    results = ["--json", str(made / "figures.json")]
    results += ["--picture", str(made / "bars.svg"), "--update", str(made / "page.md")]
    main([*works, *peers, "--against", str(ROOT), *SHORT, *results])
    return made


@pytest.fixture(scope="module")
def figures(folder):
    return json.loads((folder / "figures.json").read_text())


@pytest.mark.parametrize("what", ["fit", "output"])
@pytest.mark.parametrize("net", SMALL)
def test_a_network_is_measured(figures, net, what):
    (row,) = (
        row for row in figures["rows"] if (row["case"], row["what"]) == (net, what)
    )
    assert row["ours"]["median"] > 0
    is_limited = (net, what) != ("embedding", "output")
    assert (row["share"] is not None) == is_limited


def test_messages_are_measured(figures):
    units = {row["unit"] for row in figures["rows"] if row["case"] not in SMALL}
    assert units == {"ms", "ns an index", "bits an index"}


@pytest.mark.parametrize("what", ["vectors", "arrays", "csv"])
def test_reading_is_measured_beside_pyarrow(figures, what):
    (row,) = (row for row in figures["rows"] if row["what"] == what)
    assert [ratio["peer"] for ratio in row["ratios"]] == ["other", "pyarrow"]


def test_figures_say_what_it_takes_to_repeat_them(figures):
    assert figures["schema"] == 2
    assert {"date", "command", "machine", "threads", "clock", "pace"} <= set(figures)
    assert "numpy" in figures["versions"]["daskdl"]


def test_another_checkout_is_a_peer(figures):
    assert [ratio["peer"] for ratio in figures["rows"][0]["ratios"]] == ["other"]


def test_a_peer_that_is_not_there_is_told(figures):
    (failure,) = figures["failures"]
    assert failure["peer"] == "torch"
    assert "cannot be started" in failure["reason"]


def test_the_page_gets_the_table(folder):
    assert "| mlp fit |" in (folder / "page.md").read_text()


def test_there_is_a_picture(folder):
    assert (folder / "bars.svg").read_text().startswith("<svg")


def test_every_kind_of_layer_runs(tmp_path):
    written = tmp_path / "figures.json"
    main(["layers", "--peers", "daskdl", *SHORT, "--json", str(written)])
    assert json.loads(written.read_text())["failures"] == []


@pytest.fixture(scope="module")
def on_clusters(tmp_path_factory):
    """Run the works on two workers with next to nothing to do."""
    written = tmp_path_factory.mktemp("benchmarks") / "figures.json"
    main(["scaling", "data", "job", *TINY, *SHORT, "--json", str(written)])
    return json.loads(written.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("case", ["scaling", "data", "job"])
def test_two_workers_are_measured(on_clusters, case):
    rows = [row for row in on_clusters["rows"] if row["case"] == case]
    assert rows
    assert all(row["ours"]["median"] > 0 for row in rows)


@pytest.mark.slow
def test_what_is_missing_for_a_job_is_told(on_clusters):
    (failure,) = on_clusters["failures"]
    assert failure["peer"] == "dl4j-spark"
    assert "--dl4j-spark" in failure["reason"]


def test_a_run_is_joined_without_measuring(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- table -->\n<!-- end of table -->\n")
    main(["--join", str(folder / "figures.json"), "--update", str(page)])
    assert page.read_text() == (folder / "page.md").read_text()

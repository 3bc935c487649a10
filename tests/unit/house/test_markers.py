"""The hooks of tests/conftest.py, tried in a small test suite of their own."""

import pytest

from tests.unit.house.sources import ROOT

pytest_plugins = ["pytester"]


@pytest.fixture
def suite(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """A suite with one test in the folder hdfs, which skips."""
    monkeypatch.delenv("DASKDL_REQUIRE", raising=False)
    pytester.makeini(
        "[pytest]\nmarkers =\n    hdfs\n    spark\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    folder = pytester.mkdir("hdfs")
    (folder / "test_it.py").write_text(
        "import pytest\n\n\ndef test_it():\n    pytest.skip('no JVM')\n",
        encoding="utf-8",
    )
    return pytester


def test_folder_gives_the_marker(suite: pytest.Pytester) -> None:
    suite.runpytest("-m", "not hdfs").assert_outcomes(deselected=1)


def test_missing_part_is_a_skip(suite: pytest.Pytester) -> None:
    suite.runpytest("-m", "hdfs").assert_outcomes(skipped=1)


def test_missing_part_that_is_required_is_a_failure(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASKDL_REQUIRE", "spark,hdfs")
    result = suite.runpytest("-m", "hdfs")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*DASKDL_REQUIRE=hdfs: *no JVM*"])


def test_requirement_of_another_part_changes_nothing(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASKDL_REQUIRE", "spark")
    suite.runpytest("-m", "hdfs").assert_outcomes(skipped=1)


def test_unknown_part_is_refused(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASKDL_REQUIRE", "hfds")
    result = suite.runpytest("-m", "hdfs")
    result.stderr.fnmatch_lines(["*must name some of*got ?'hfds'?*"])

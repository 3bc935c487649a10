"""The command as a whole."""

import json
import subprocess
import sys

import pytest

from daskdl.cli.main import main

HEAVY = ("distributed", "dask", "numba", "cupy", "pyspark", "numpy", "pydantic", "rich")
COMMANDS = ("run", "report", "evaluate", "predict", "inspect", "doctor")


def modules_after(*arguments):
    """Return what a fresh process has imported after a call of the command."""
    program = (
        "import sys, json\n"
        "from daskdl.cli.main import main\n"
        "try:\n"
        f"    main({list(arguments)!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(result.stderr))


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    assert modules_after(*arguments).isdisjoint(HEAVY)


def test_help_lists_every_command(runner):
    shown = runner.invoke(main, ["--help"]).output
    assert [name for name in COMMANDS if f"  {name} " not in shown] == []


@pytest.mark.parametrize("code", ["0", "1", "2", "3", "130", "143"])
def test_help_tells_the_exit_codes(runner, code):
    shown = runner.invoke(main, ["--help"]).output.partition("Exit codes")[2]
    assert f"  {code} " in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(runner, command):
    assert runner.invoke(main, [command, "--help"]).exit_code == 0


def test_an_unknown_command_is_bad_input(runner):
    assert runner.invoke(main, ["trian"]).exit_code == 2


def test_the_schema_is_printed_without_a_job(runner):
    result = runner.invoke(main, ["run", "--print-schema"])
    assert set(json.loads(result.stdout)["properties"]) == {
        "network",
        "model",
        "data",
        "training",
        "cluster",
        "imports",
        "output",
    }


def test_a_command_ends_without_collecting_garbage():
    """What lives at the end is out of the collector's way."""
    program = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "import daskdl.cli.main\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "True\n"

"""What the commands say of models of DL4J that are damaged, or none."""

import shutil
from pathlib import Path

import pytest

from daskdl.cli.main import main

# Three layers of which the second is one that somebody wrote.
CUSTOM = (
    Path(__file__).parents[2] / "data/dl4j_legacy/CustomLayerExample_100b6_float.bin"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with models that cannot be read, and the data of a job."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CUSTOM, "own.zip")
    content = CUSTOM.read_bytes()
    Path("cut.zip").write_bytes(content[:-20])
    start = content.index(b"configuration.json") + 60
    changed = content[:start] + b"\xff\xff\xff\xff" + content[start + 4 :]
    Path("changed.zip").write_bytes(changed)
    Path("deep.json").write_text('{"confs":' + "[" * 10_000)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "own.zip",
            "error: own.zip: configuration.json: confs[1].layer: must be a lay",
        ),
        ("cut.zip", "must be a whole zip file, got a damaged one"),
        (
            "changed.zip",
            "error: changed.zip: entry 'configuration.json' at offset 0 mu",
        ),
        ("deep.json", "error: deep.json: must not be nested that deep"),
    ],
)
def test_inspect_says_one_line(runner, folder, file, message):
    result = runner.invoke(main, ["inspect", file])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "own.zip",
            "error: own.zip: configuration.json: confs[1].layer: must be a lay",
        ),
        ("cut.zip", "error: cut.zip: must be a network of a known format"),
        (
            "changed.zip",
            "error: changed.zip: entry 'configuration.json' at offset 0 mu",
        ),
    ],
)
def test_predict_says_one_line(runner, job_path, folder, file, message):
    arguments = ["predict", file, "test", "--key", "id", "--output", "o"]
    result = runner.invoke(main, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1

"""``daskdl predict`` and ``evaluate``: what is refused before a worker starts."""

import contextlib

import pytest

from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.cluster import connect as connecting
from daskdl.nn.build import build_network


@pytest.fixture
def folder(job_path, tmp_path, monkeypatch):
    """A folder with model.safetensors and data; a test that starts a cluster fails."""

    @contextlib.contextmanager
    def connect(options):
        pytest.fail("a cluster was started")
        yield

    monkeypatch.setattr(connecting, "connect", connect)
    monkeypatch.chdir(tmp_path)
    build_network(load_job(job_path).network).save(f"{tmp_path}/model.safetensors")
    return tmp_path


PREDICT = ["predict", "model.safetensors", "test"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PREDICT, "--key", "id", "--output", "train"], "--output must not exist yet"),
        ([*PREDICT, "--key", "id", "--output", "test"], "must lie apart from the data"),
        ([*PREDICT, "--key", "id", "--output", "test/x"], "must lie apart from the da"),
        ([*PREDICT, "--key", "id", "--output", "job.yaml/x"], "(Not a directory)"),
        ([*PREDICT, "--key", "id", "--output", "foo://x"], "one that fsspec knows"),
        ([*PREDICT, "--key", "prediction", "--output", "o"], "--key must differ"),
        ([*PREDICT, "--key", "probability_1", "--output", "o"], "--key must differ"),
        ([*PREDICT, "--key", "ids", "--output", "o"], "column 'ids' must exist"),
        ([*PREDICT, "--key", "id"], "Missing option '--output'"),
        ([*PREDICT, "--output", "o"], "Missing option '--key'"),
        (["predict", "no", "test", "--key", "id", "--output", "o"], "nothing is there"),
        (["evaluate", "model.safetensors", "no"], "the path must exist"),
        (
            ["evaluate", "model.safetensors", "test", "--label", "z"],
            "column 'z' must exist",
        ),
        (
            ["evaluate", "model.safetensors", "test", "--workers", "0"],
            "0 is not in the range",
        ),
    ],
)
def test_bad_input_is_refused(runner, folder, arguments, message):
    result = runner.invoke(main, arguments)
    assert message in result.stderr
    assert result.exit_code == 2


def test_a_refused_prediction_leaves_no_output(runner, folder):
    runner.invoke(main, [*PREDICT, "--key", "ids", "--output", "o"])
    assert not (folder / "o").exists()

"""Every file-system call of every command that writes fails, one after the other.

Whatever happened, at the output's place is what was there before, whole, or what was to
come, whole; what lies about has names that tell what it is; the exit code is right, the
message names the path; no network is lost that training gave; and the next command ends
well.
"""

import contextlib

import pytest

from daskdl.cli import job_run, retried_save
from daskdl.cli.results import evaluation_for
from daskdl.cluster import connect as connecting
from tests.failing_calls import FailingCalls, Failure
from tests.unit.cli.every_call import (
    Command,
    PatientFront,
    Place,
    sweep,
    version_of_network,
    version_of_predictions,
    version_of_run,
    version_of_text,
)
from tests.unit.cluster.inline_client import InlineClient

RUN = ["run", "{here}/job.yaml", "training.epochs=3", "--output", "{root}/out"]
FIRST_RUN = ["run", "{here}/job.yaml", "training.epochs=2", "--output", "{root}/out"]
PREDICT = ["predict", "{here}/model.safetensors"]
TO_OUT = ["--key", "id", "--output", "{root}/out"]
INSPECT = ["inspect", "{here}/model.safetensors", "--svg", "{root}/out.svg"]


def convert(ending, before=None, version_of=version_of_network):
    name = f"out{ending}"
    arguments = ["convert", "{here}/model.safetensors", f"{{root}}/{name}"]
    if before is not None:
        arguments.append("--overwrite")
    return Command(arguments, name, version_of, before)


def old_network(ending):
    source, place = "{here}/other.safetensors", f"{{root}}/out{ending}"
    return ["convert", source, place]


COMMANDS = {
    "run": Command(RUN, "out", version_of_run),
    "run --overwrite": Command([*RUN, "--overwrite"], "out", version_of_run, FIRST_RUN),
    "predict": Command(
        [*PREDICT, "{here}/test", *TO_OUT], "out", version_of_predictions
    ),
    "predict --overwrite": Command(
        [*PREDICT, "{here}/test", *TO_OUT, "--overwrite"],
        "out",
        version_of_predictions,
        [*PREDICT, "{here}/train", *TO_OUT],
    ),
    "convert to .safetensors": convert(".safetensors"),
    "convert --overwrite to .safetensors": convert(
        ".safetensors", old_network(".safetensors")
    ),
    "convert --overwrite to .zip": convert(".zip", old_network(".zip")),
    "convert --overwrite to .json": convert(".json", b"old", version_of_text(b"}")),
    "convert --overwrite to .yaml": convert(".yaml", b"old", version_of_text(b"\n")),
    "inspect --svg": Command(INSPECT, "out.svg", version_of_text(b"</svg>\n")),
    "inspect --svg --overwrite": Command(
        [*INSPECT, "--overwrite"], "out.svg", version_of_text(b"</svg>\n"), b"old"
    ),
}


@pytest.fixture(params=["local", "object store"])
def place(request, tmp_path, runner, rng, monkeypatch):
    @contextlib.contextmanager
    def connect(options, **how):
        yield InlineClient()

    monkeypatch.setattr(connecting, "connect", connect)
    monkeypatch.setattr(job_run, "connect", connect)
    monkeypatch.setattr(job_run, "front_end", PatientFront)
    # The curves of a page take longer than all else.
    monkeypatch.setattr(job_run, "evaluations_for", lambda net: [evaluation_for(net)])
    monkeypatch.setattr(retried_save, "WAIT_S", 0.0)
    monkeypatch.setattr(retried_save, "LIMIT_S", 0.0)
    calls = FailingCalls()
    root = "memory://results"
    if request.param == "local":
        root = str(tmp_path / "results")
    place = Place(tmp_path, root, runner, rng, calls)
    monkeypatch.chdir(tmp_path / "work")
    calls.install(monkeypatch)
    yield place
    if request.param != "local" and place.store.exists(place.path):
        place.store.rm(place.path, recursive=True)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("failure", Failure, ids=lambda failure: failure.value)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_of_every_command_may_fail(place, name, failure):
    done = sweep(place, COMMANDS[name], failure)
    assert "\n".join(done.problems) == ""
    assert done.cases >= 1


@pytest.mark.parametrize("place", ["local"], indirect=True)
@pytest.mark.parametrize("failure", [Failure.DEAD, Failure.INTERRUPT, Failure.KILLED])
@pytest.mark.parametrize("name", ["run --overwrite", "predict --overwrite"])
def test_some_calls_of_what_replaces_may_fail(place, name, failure):
    """A short version of the above."""
    done = sweep(place, COMMANDS[name], failure, most=4)
    assert "\n".join(done.problems) == ""
    assert done.cases >= 2


@pytest.mark.parametrize("place", ["local"], indirect=True)
@pytest.mark.parametrize(
    ("name", "failure", "call"),
    [
        ("run", Failure.FULL, "makedirs"),
        ("predict", Failure.FULL, "makedirs"),
        ("predict", Failure.BREAKS_OFF, "read"),
        ("predict", Failure.BREAKS_OFF, "rm"),
        ("predict", Failure.HALF_DONE, "rm"),
        ("predict", Failure.ANSWER_LOST, "rmdir"),
        ("convert to .safetensors", Failure.INTERRUPT_AFTER, "replace"),
        ("inspect --svg", Failure.BREAKS_OFF, "info"),
    ],
)
def test_a_call_of_one_kind_may_fail(place, name, failure, call):
    """What once went wrong, one by one."""
    done = sweep(place, COMMANDS[name], failure, only=call)
    assert "\n".join(done.problems) == ""
    assert done.cases >= 1

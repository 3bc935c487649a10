"""Every file-system call of every command that writes fails, one after the other.

Whatever happened, at the output's place is what was there before, whole, or what was to
come, whole; what lies about has names that tell what it is; the exit code is right; and
the next command ends well.
"""

import contextlib
import functools
import importlib.metadata
import itertools
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any

import fsspec
import pyarrow.parquet as pq
import pytest

from daskdl.cli import job_run, safekeeping
from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.cli.results import evaluation_for
from daskdl.cluster import connect as connecting
from daskdl.errors import OutputError, StorageError
from daskdl.formats.load import load
from daskdl.nn.build import build_network
from tests.unit.cli.conftest import JOB, write_parquet
from tests.unit.cli.failing_calls import FailingCalls, Failure
from tests.unit.cli.test_run import FakeFront, finished, started
from tests.unit.cluster.inline_client import InlineClient

RUN_FILES = {
    "model.safetensors",
    "evaluation.json",
    "statistics.json",
    "report.html",
    "job.yaml",
}
# Hidden files, directories beside a run, and the copy of a model.
LEFTOVERS = re.compile(
    r"\.\S+\.[0-9a-f]{32}|out\.(unfinished|replaced)-[0-9a-f]{8}"
    r"|out-[0-9a-f]{8}\.safetensors|_temporary"
)


class PatientFront(FakeFront):
    """Goes on without a checkpoint, as the driver does."""

    def fit(self, data, *, epochs, batch_size, shuffle, resources, on_event, on_epoch):
        self._tell(on_event, started())
        for partition in data.partitions:
            partition.load()
        for epoch in range(1, epochs + 1):
            with contextlib.suppress(OutputError, StorageError):
                on_epoch(self.network)
            self._tell(on_event, finished(epoch))


@dataclass
class Command:
    """What is tried, and how its result is known.

    Attributes
    ----------
    arguments : list of str
        Of the command; ``{here}`` is the folder of local files, ``{root}`` that of
        results.
    output : str
        Name of the result.
    version_of : callable
        Takes path of the result, returns ``"old"`` or ``"new"`` if it is whole.
    before : list of str
        Arguments of the command that made the old result; none if there is none.
    """

    arguments: list[str]
    output: str
    version_of: Any
    before: list[str] = field(default_factory=list)


def version_of_run(store, path):
    names = {os.path.basename(entry.rstrip("/")) for entry in store.ls(path, False)}
    assert names - {"notes.txt"} == RUN_FILES
    for name in names - {"model.safetensors"}:
        assert store.cat_file(f"{path}/{name}")
    assert load(store.unstrip_protocol(f"{path}/model.safetensors")).n_params == 26
    assert store.cat_file(f"{path}/report.html").endswith(b"</html>\n")
    json.loads(store.cat_file(f"{path}/evaluation.json"))
    is_new = b"epochs: 3" in store.cat_file(f"{path}/job.yaml")
    statistics = json.loads(store.cat_file(f"{path}/statistics.json"))
    assert len(statistics["epochs"]) == (3 if is_new else 2)
    return "new" if is_new else "old"


def version_of_predictions(store, path):
    names = {os.path.basename(entry.rstrip("/")) for entry in store.ls(path, False)}
    assert "_SUCCESS" in names
    rows = 0
    for name in names - {"_SUCCESS", "_temporary"}:
        with store.open(f"{path}/{name}", "rb") as stream:
            rows += pq.read_table(stream).num_rows
    return {40: "old", 20: "new"}[rows]


def version_of_file(store, path):
    content = store.cat_file(path)
    if path.endswith((".safetensors", ".zip")):
        network = load(store.unstrip_protocol(path))
        return "new" if network.n_params == 26 else "old"
    if path.endswith(".json"):
        return "new" if json.loads(content) else "old"
    return "old" if content == b"old" else "new"


RUN = ["run", "{here}/job.yaml", "training.epochs=3", "--output", "{root}/out"]
FIRST_RUN = ["run", "{here}/job.yaml", "training.epochs=2", "--output", "{root}/out"]
PREDICT = ["predict", "{here}/model.safetensors"]
TO_OUT = ["--key", "id", "--output", "{root}/out"]
CONVERT = ["convert", "{here}/model.safetensors", "{root}/out"]

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
    **{
        f"convert to {ending}": Command(
            [*CONVERT[:-1], f"{{root}}/out{ending}", "--overwrite"],
            f"out{ending}",
            version_of_file,
            ["old file"],
        )
        for ending in (".safetensors", ".zip", ".json")
    },
    "inspect --svg": Command(
        ["inspect", "{here}/model.safetensors", "--svg", "{root}/out.svg"],
        "out.svg",
        version_of_file,
    ),
}


class Place:
    """Local inputs, a store for results, and a way to run commands on them."""

    def __init__(self, here, root, runner, rng, calls):
        self.here, self.root = str(here), root
        self.store, self.path = fsspec.core.url_to_fs(root)
        self._runner = runner
        self._old_result = None
        self.calls = calls
        for name, rows in (("train", 40), ("test", 20)):
            (here / name).mkdir()
            write_parquet(here / name / "part-00000.parquet", rng, rows)
            (here / name / "_SUCCESS").touch()
        (here / "job.yaml").write_text(json.dumps(JOB))
        conf = load_job(f"{here}/job.yaml").network
        build_network(conf).save(f"{here}/model.safetensors")
        (here / "work").mkdir()

    def run(self, arguments):
        texts = [text.format(here=self.here, root=self.root) for text in arguments]
        return self._runner.invoke(main, texts)

    def begin(self, command):
        """Empty the store, and put the old result there."""
        self.calls.plan(None, 0)
        if self.store.exists(self.path):
            self.store.rm(self.path, recursive=True)
        self.store.makedirs(self.path)
        for name in os.listdir("."):
            os.remove(name)
        if self._old_result is None:
            self._make_old_result(command)
            found = self.store.find(self.path)
            self._old_result = {path: self.store.cat_file(path) for path in found}
        for path, content in self._old_result.items():
            self.store.makedirs(os.path.dirname(path), exist_ok=True)
            self.store.pipe_file(path, content)

    def _make_old_result(self, command):
        if command.before == ["old file"]:
            self._put_old_file(command)
        elif command.before:
            assert self.run(command.before).exit_code == 0
        if command.version_of is version_of_run and command.before:
            self.store.pipe_file(f"{self.path}/out/notes.txt", b"mine")

    def _put_old_file(self, command):
        path = f"{self.path}/{command.output}"
        if path.endswith((".safetensors", ".zip")):
            job = load_job(f"{self.here}/job.yaml", ["network.layers.0.n_out=5"])
            network = build_network(job.network)
            kind = "dl4j" if path.endswith(".zip") else "daskdl"
            network.save(self.store.unstrip_protocol(path), format=kind)
        else:
            self.store.pipe_file(path, b"{}" if path.endswith(".json") else b"old")

    def names(self):
        entries = self.store.ls(self.path, False)
        return {os.path.basename(entry.rstrip("/")) for entry in entries}


@pytest.fixture(params=["local", "object store"])
def place(request, tmp_path, runner, rng, monkeypatch):
    @contextlib.contextmanager
    def connect(options):
        yield InlineClient()

    # They are looked up for each file, in half a second a run.
    entry_points = functools.cache(importlib.metadata.entry_points)
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr("daskdl.nn.network.entry_points", entry_points)
    monkeypatch.setattr(connecting, "connect", connect)
    monkeypatch.setattr(job_run, "connect", connect)
    monkeypatch.setattr(job_run, "front_end", PatientFront)
    # The curves of a page take longer than all else.
    monkeypatch.setattr(job_run, "evaluations_for", lambda net: [evaluation_for(net)])
    monkeypatch.setattr(safekeeping, "WAIT_S", 0.0)
    monkeypatch.setattr(safekeeping, "LIMIT_S", 0.0)
    calls = FailingCalls()
    root = "memory://results"
    if request.param == "local":
        root = str(tmp_path / "results")
    place = Place(tmp_path, root, runner, rng, calls)
    monkeypatch.chdir(tmp_path / "work")
    calls.install(monkeypatch)
    yield place
    calls.plan(None, 0)
    if request.param != "local" and place.store.exists(place.path):
        place.store.rm(place.path, recursive=True)


def check_after(place, command, failure, result):
    """Whether nothing is lost, nothing is half, and the exit code is right."""
    version = None
    if place.store.exists(f"{place.path}/{command.output}"):
        version = version_left(place, command, result)
    if result.exit_code == 0:
        assert version == "new"
    assert version is not None or not command.before or is_aside(place, command)
    interrupted = failure in (Failure.INTERRUPT, Failure.INTERRUPT_AFTER)
    assert result.exit_code in ((0, 130) if interrupted else (0, 4)), result.stderr
    others = (place.names() | set(os.listdir("."))) - {command.output}
    assert [name for name in others if not LEFTOVERS.fullmatch(name)] == []
    assert len(others) <= 3


def version_left(place, command, result):
    path = f"{place.path}/{command.output}"
    if not command.before and result.exit_code != 0:
        # What was kept of a run that did not end well, or parts without _SUCCESS.
        names = {os.path.basename(entry) for entry in place.store.find(path)}
        if not names >= {"_SUCCESS"} and not names >= RUN_FILES:
            return None
    if is_aside(place, command):
        return None
    return command.version_of(place.store, path)


def is_aside(place, command):
    """Whether the old result waits to be put back by the next command."""
    found = place.store.find(place.path)
    if command.version_of is version_of_run:
        has_model = f"{place.path}/out/model.safetensors" in found
        return not has_model and any(".replaced-" in path for path in found)
    has_mark = f"{place.path}/out/_SUCCESS" in found
    return not has_mark and any("-replaced/" in path for path in found)


def check_next(place, command):
    """The next command ends well, and what is not its own is still there."""
    arguments = list(command.arguments)
    if "--overwrite" not in arguments and command.output == "out":
        arguments.append("--overwrite")
    if command.output == "out.svg" and place.store.exists(f"{place.path}/out.svg"):
        return
    result = place.run(arguments)
    if result.exit_code == 2 and not command.before:
        # Nothing that was finished: what was kept there is no result of a job.
        return
    assert result.exit_code == 0, result.stderr
    path = f"{place.path}/{command.output}"
    assert command.version_of(place.store, path) == "new"
    assert not any(".replaced-" in name for name in place.names())
    if command.version_of is version_of_run and command.before:
        assert place.store.cat_file(f"{path}/notes.txt") == b"mine"


def sweep(place, command, failure, step=1, first=1):
    """Let every call fail in turn; return how many there were."""
    for at in itertools.count(first, step):
        place.begin(command)
        place.calls.plan(failure, at)
        result = place.run(command.arguments)
        has_failed = place.calls.has_failed
        place.calls.plan(None, 0)
        try:
            check_after(place, command, failure, result)
            if result.exit_code != 0:
                check_next(place, command)
        except AssertionError as error:
            raise AssertionError(f"call {at}, {failure.value}: {error}") from error
        if not has_failed:
            return at
    return 0


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("failure", Failure, ids=lambda failure: failure.value)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_of_every_command_may_fail(place, name, failure):
    assert sweep(place, COMMANDS[name], failure) > 5


@pytest.mark.parametrize("place", ["local"], indirect=True)
@pytest.mark.parametrize("failure", [Failure.DEAD, Failure.INTERRUPT])
@pytest.mark.parametrize("name", ["run --overwrite", "predict --overwrite"])
def test_some_calls_of_what_replaces_may_fail(place, name, failure):
    """A short version of the above."""
    command = COMMANDS[name]
    place.begin(command)
    place.calls.plan(None, 0)
    assert place.run(command.arguments).exit_code == 0
    n_calls = place.calls.calls
    assert sweep(place, command, failure, step=n_calls // 4) >= n_calls

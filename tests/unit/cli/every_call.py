"""What commands leave when a call of a store fails: whole, named, and to go on from."""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import fsspec
import pyarrow.parquet as pq

from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.errors import DaskdlError
from daskdl.formats.load import load
from daskdl.nn.build import build_network
from daskdl.nn.fitting.fit import Fit
from tests.failing_calls import INTERRUPTS, FailingCalls, Failure, Killed
from tests.unit.cli.conftest import JOB, write_parquet
from tests.unit.cli.test_run import FakeFront, started

RUN_FILES = {
    "model.safetensors",
    "evaluation.json",
    "statistics.json",
    "report.html",
    "job.yaml",
    "timeline.jsonl",
    "page.json",
}
# Hidden files, directories beside a run, and the copy of a model.
LEFTOVERS = re.compile(
    r"\.\S+\.[0-9a-f]{32}|out\.(unfinished|replaced)-[0-9a-f]{8}"
    r"|out-[0-9a-f]{8}\.safetensors|_temporary"
)
IDS = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|[0-9a-f]{8}(?![0-9a-f])")
KEPT = re.compile(r"(?:kept: |complete in |move it from )(\S*/\S*?)[:;.]?(?:\s|$)")
OLD, NEW = "old", "new"


class PatientFront(FakeFront):
    """Goes on without a checkpoint, as the driver does.

    Its networks tell the epoch that they are from, by their number of iterations: 23
    stands for the third of two (epochs count from 1).
    """

    saved = 0  # the last checkpoint that was written
    trained = 0  # what the fit returned

    def fit(self, data, *, epochs, listeners, **how):
        fit = Fit(listeners, epochs, lambda: self.network)
        fit.report = self.last_fit
        fit.begin(started())
        for partition in data.partitions:
            partition.load()
        for epoch in range(1, epochs + 1):
            self.network.iteration_count = 10 * epochs + epoch
            failed = len(fit.report.failed_checkpoints)
            fit.begin_epoch(epoch)
            fit.end_epoch(40, 0.5, 2)
            if len(fit.report.failed_checkpoints) == failed:
                PatientFront.saved = self.network.iteration_count
        PatientFront.trained = self.network.iteration_count


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
        Takes store and path of the result, returns ``"old"`` or ``"new"`` if it is
        whole.
    before : list of str or bytes, optional
        Arguments of the command that made the old result, or its content; None if
        there is none.
    """

    arguments: list[str]
    output: str
    version_of: Callable[[Any, str], str]
    before: list[str] | bytes | None = None


def version_of_run(store, path):
    # Those that an interrupt left beside what was finished by then.
    names = {n for n in names_in(store, path) if not n.startswith("checkpoint-")}
    assert names - {"notes.txt"} == RUN_FILES
    assert store.cat_file(f"{path}/report.html").endswith(b"</html>\n")
    json.loads(store.cat_file(f"{path}/evaluation.json"))
    json.loads(store.cat_file(f"{path}/page.json"))
    statistics = json.loads(store.cat_file(f"{path}/statistics.json"))
    network = load(store.unstrip_protocol(f"{path}/model.safetensors"))
    is_new = b"epochs: 3" in store.cat_file(f"{path}/job.yaml")
    assert len(statistics["epochs"]) == (3 if is_new else 2)
    assert network.iteration_count == (33 if is_new else 22)
    return NEW if is_new else OLD


def version_of_predictions(store, path):
    names = names_in(store, path)
    assert "_SUCCESS" in names
    rows = 0
    for name in names - {"_SUCCESS", "_temporary"}:
        with store.open(f"{path}/{name}", "rb") as stream:
            rows += pq.read_table(stream).num_rows
    return {40: OLD, 20: NEW}[rows]


def version_of_network(store, path):
    network = load(store.unstrip_protocol(path))
    return {26: NEW, 32: OLD}[network.n_params]


def version_of_text(ending):
    """Return a function that knows a file by its end; the old one is b"old"."""

    def version(store, path):
        content = store.cat_file(path)
        assert content == b"old" or content.endswith(ending)
        return OLD if content == b"old" else NEW

    return version


def names_in(store, path):
    store.invalidate_cache()
    return {os.path.basename(entry.rstrip("/")) for entry in store.ls(path, False)}


@dataclass
class Result:
    """How a command ended; without an exit code if it was killed."""

    exit_code: int | None
    stderr: str


class Place:
    """Local inputs, a store for results, and a way to run commands on them."""

    def __init__(self, here, root, runner, rng, calls):
        self.here, self.root = str(here), root
        self.store, self.path = fsspec.core.url_to_fs(root)
        self.work = f"{here}/work"
        self._runner = runner
        self._old_result = None
        self.gone_on_from = set()
        self.calls: FailingCalls = calls
        for name, rows in (("train", 40), ("test", 20)):
            (here / name).mkdir()
            write_parquet(here / name / "part-00000.parquet", rng, rows)
            (here / name / "_SUCCESS").touch()
        (here / "job.yaml").write_text(json.dumps(JOB))
        conf = load_job(f"{here}/job.yaml").network
        build_network(conf).save(f"{here}/model.safetensors")
        other = load_job(f"{here}/job.yaml", ["network.layers.0.n_out=5"]).network
        build_network(other).save(f"{here}/other.safetensors")
        (here / "work").mkdir()

    @property
    def is_local(self):
        return self.root == self.path

    def run(self, arguments):
        texts = [text.format(here=self.here, root=self.root) for text in arguments]
        try:
            result = self._runner.invoke(main, texts)
        except Killed:
            return Result(None, "")
        finally:
            self.calls.forgive()
        return Result(result.exit_code, result.stderr)

    def begin(self, command):
        """Empty the store, and put the old result there."""
        if self.store.exists(self.path):
            self.store.rm(self.path, recursive=True)
        self.store.makedirs(self.path)
        for name in os.listdir(self.work):
            os.remove(f"{self.work}/{name}")
        if self._old_result is None:
            self._make_old_result(command)
            found = self.store.find(self.path)
            self._old_result = {path: self.store.cat_file(path) for path in found}
        for path, content in self._old_result.items():
            self.store.makedirs(os.path.dirname(path), exist_ok=True)
            self.store.pipe_file(path, content)
        PatientFront.saved = PatientFront.trained = 0

    def _make_old_result(self, command):
        path = f"{self.path}/{command.output}"
        if isinstance(command.before, bytes):
            self.store.pipe_file(path, command.before)
        elif command.before is not None:
            result = self.run(command.before)
            assert result.exit_code == 0, result.stderr
        if command.version_of is version_of_run and command.before:
            self.store.pipe_file(f"{path}/notes.txt", b"mine")

    def state(self):
        """Return what lies about; the same text for what differs in names given."""
        paths = [
            *self.store.find(self.path),
            *map(self._in_work, os.listdir(self.work)),
        ]
        return tuple(sorted(map(self._described, paths)))

    def _in_work(self, name):
        return f"{self.work}/{name}"

    def _described(self, path):
        store = fsspec.filesystem("file") if path.startswith(self.here) else self.store
        content = store.cat_file(path)
        name = IDS.sub("ID", path)
        if name.endswith((".html", "statistics.json")):
            return f"{name} {content[-1:]!r}"  # times differ
        return f"{name} {hashlib.sha256(content).hexdigest()}"

    def networks(self):
        """Return the iterations of all networks that are left, which are whole."""
        visible = [p for p in self.store.find(self.path) if "/." not in p]
        urls = [self.store.unstrip_protocol(p) for p in visible]
        urls += [self._in_work(n) for n in os.listdir(self.work) if n[0] != "."]
        return {load(p).iteration_count for p in urls if p.endswith(".safetensors")}


def check_after(place, command, failure, result):
    """Whether nothing is lost, nothing is half, and the exit code is right."""
    version = None
    if place.store.exists(f"{place.path}/{command.output}"):
        version = version_left(place, command, result)
    if result.exit_code == 0:
        assert version == NEW
    if command.before is not None and version is None:
        assert failure in (Failure.KILLED, Failure.DEAD, Failure.FULL), "no result"
        assert is_aside(place, command), "neither result"
    if failure in INTERRUPTS:
        assert result.exit_code in (0, 130), result.stderr
    elif failure is not Failure.KILLED:
        assert result.exit_code in (0, 4), result.stderr
    if result.exit_code == 4:
        check_message(place, result.stderr)
    if command.version_of is version_of_run and result.exit_code != 0:
        check_network_kept(place, failure, result)
    others = names_in(place.store, place.path) | set(os.listdir(place.work))
    others -= {command.output}
    assert [name for name in others if not LEFTOVERS.fullmatch(name)] == []
    assert len(others) <= 3


def check_message(place, told):
    """The message names what failed, as it was named to the command."""
    named = [text for path in place.calls.failed for text in shown(place, path)]
    assert any(text in told for text in named), f"{named} not in: {told}"


def shown(place, path):
    """Return how a path may be named to a user."""
    if path.startswith(f"{place.path}/"):
        first = path.removeprefix(f"{place.path}/").split("/")[0]
        name = re.sub(r"\.(unfinished|replaced)-\w{8}", "", first)
        return [f"{place.root}/{hidden_name(name)}", f"{place.path}/{name}"]
    if not path.startswith(f"{place.here}/"):
        # Whether data lie in a table is also seen one folder above them.
        return [path]
    first = path.removeprefix(f"{place.here}/").split("/")[0]
    is_input = os.path.exists(f"{place.here}/{first}")
    return [f"{place.here}/{first}"] if is_input else [place.here, place.root]


def hidden_name(name):
    match = re.fullmatch(r"\.(.+)\.[0-9a-f]{32}", name)
    return match.group(1) if match else name


def check_network_kept(place, failure, result):
    """What training gave is somewhere, and it was said where."""
    left = place.networks()
    if PatientFront.saved:
        assert max(left) >= PatientFront.saved, f"lost: {left} {result.stderr}"
    all_gone = failure in (Failure.DEAD, Failure.FULL) and place.is_local
    if PatientFront.trained and failure is not Failure.KILLED and not all_gone:
        assert PatientFront.trained in left, f"lost: {left} {result.stderr}"
    if failure in (Failure.KILLED, Failure.DEAD):
        return
    for path in KEPT.findall(result.stderr):
        fs, inside = fsspec.core.url_to_fs(path)
        assert fs.exists(inside), f"not there: {path} {result.stderr}"


def version_left(place, command, result):
    path = f"{place.path}/{command.output}"
    if command.before is None and result.exit_code != 0:
        # What was kept of a run that did not end well, or parts without _SUCCESS.
        names = {os.path.basename(entry) for entry in place.store.find(path)}
        if place.store.isdir(path) and not names & {"_SUCCESS", "evaluation.json"}:
            return None
        if command.version_of is version_of_run and not names >= RUN_FILES:
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
    arguments = command.arguments
    result = place.run(arguments)
    if result.exit_code == 2 and "--overwrite" not in arguments:
        assert "--overwrite" in result.stderr, result.stderr
        result = place.run([*arguments, "--overwrite"])
    assert result.exit_code == 0, f"next: {result.stderr}"
    path = f"{place.path}/{command.output}"
    assert command.version_of(place.store, path) == NEW
    assert not any(".replaced-" in name for name in names_in(place.store, place.path))
    if command.version_of is version_of_run and command.before:
        assert place.store.cat_file(f"{path}/notes.txt") == b"mine"


@dataclass
class Sweep:
    """What came out of letting call after call fail."""

    calls: int = 0
    cases: int = 0
    problems: list[str] = dataclasses.field(default_factory=list)


def sweep(place, command, failure, most=None, only=None):
    """Let every call fail in turn, about `most`, or those of one function."""
    done = Sweep()
    place.begin(command)
    place.calls.plan(None, 0)
    result = place.run(command.arguments)
    assert result.exit_code == 0, result.stderr
    made = place.calls.calls
    may_fail = [c.may_fail(failure) and only in (None, c.name) for c in made]
    done.calls = len(may_fail)
    numbers = [number for number, is_one in enumerate(may_fail, 1) if is_one]
    step = 1 if most is None else max(1, len(numbers) // most)
    for number in numbers[::step]:
        place.begin(command)
        place.calls.plan(failure, number)
        result = place.run(command.arguments)
        done.cases += 1
        call = place.calls.calls[number - 1]
        try:
            check_after(place, command, failure, result)
            state = place.state()
            # How a command got there makes no difference to the next one.
            if result.exit_code != 0 and state not in place.gone_on_from:
                check_next(place, command)
                place.gone_on_from.add(state)
        except (AssertionError, OSError, DaskdlError, KeyError) as error:
            what = f"call {number}, {call.name} of {call.path}, {failure.value}"
            done.problems.append(f"{what}: {type(error).__name__} {error}")
    return done

"""Every file-system call of all that writes a file in the library fails, in turn.

The commands have a test of their own; so has the directory of part files.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import daskdl as dl
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.datasets.file_batch import FileBatch
from daskdl.errors import DaskdlError
from daskdl.formats.conversion import convert
from daskdl.formats.load import load
from tests.failing_calls import INTERRUPTS, FailingCalls, Failure, Killed

ROOT = Path(__file__).parents[3]
STORES = ["local", "object store"]


def network(n_out):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=3),
        layers=[dl.Dense(n_out=n_out), dl.Output(n_out=2)],
        updater=dl.Adam(learning_rate=0.1),
    )
    return dl.MultiLayerNetwork(conf).init()


def graph(n_out):
    conf = dl.ComputationGraphConfiguration(
        inputs={"in": dl.FeedForward(size=3)},
        vertices={
            "dense": dl.Dense(n_out=n_out, inputs=["in"]),
            "out": dl.Output(n_out=2, inputs=["dense"]),
        },
        outputs=["out"],
    )
    return dl.ComputationGraph(conf).init()


def examples(number):
    return DataSet(np.full((number, 2), number, "f4"), np.ones((number, 1), "f4"))


@dataclass(frozen=True)
class Writer:
    """What writes a file, and what tells the size of the thing in it.

    Attributes
    ----------
    write : callable
        Takes a size, the URL, and `overwrite` by its name.
    read : callable
        Takes the URL; returns the size. None for what has no reader here: the bytes
        then must be those of the one or the other.
    """

    write: Callable[..., None]
    read: Callable[[str], Any] | None = None


def n_out_of(url):
    network = load(url)
    return next(iter(network.layout.views(network.params).values())).shape[1]


def saved(make, kind):
    def write(size, url, **options):
        make(size).save(url, format=kind, **options)

    return write


def converted(to):
    return lambda size, url, **options: convert(network(size), url, to, **options)


def save_multi(size, url, **options):
    one = examples(size)
    MultiDataSet([one.features], [one.labels]).save(url, **options)


def batched(size, url, **options):
    FileBatch((b"x" * size,), ("a.txt",)).write_as_zip(url, **options)


WRITERS = {
    "network as daskdl": Writer(saved(network, "daskdl"), n_out_of),
    "graph as daskdl": Writer(saved(graph, "daskdl"), n_out_of),
    "network as dl4j": Writer(saved(network, "dl4j"), n_out_of),
    "graph as dl4j": Writer(saved(graph, "dl4j"), n_out_of),
    "onnx": Writer(converted("onnx")),
    "dl4j-json": Writer(converted("dl4j-json")),
    "dl4j-yaml": Writer(converted("dl4j-yaml")),
    "DataSet": Writer(
        lambda size, url, **options: examples(size).save(url, **options),
        lambda url: DataSet.load(url).num_examples,
    ),
    "MultiDataSet": Writer(save_multi, lambda url: MultiDataSet.load(url).num_examples),
    "FileBatch": Writer(
        batched, lambda url: len(FileBatch.read_from_zip(url).file_bytes[0])
    ),
}
# Each module of the library that opens files to write, and what makes all its calls.
MODULES = {
    "daskdl/cli/inspection.py": "tests/unit/cli/test_every_call.py",
    "daskdl/cli/run_directory.py": "tests/unit/cli/test_every_call.py",
    "daskdl/data/example_set.py": __name__,
    "daskdl/dl4j/datasets/file_batch.py": __name__,
    "daskdl/formats/checkpoint.py": __name__,
    "daskdl/formats/conversion.py": __name__,
    "daskdl/dl4j/network/model_zip.py": __name__,
    "daskdl/formats/onnx/model.py": __name__,
    # Whose calls the others make.
    "daskdl/data/files.py": __name__,
    "bridge/daskdl_bridge/sink.py": "tests/unit/cli/test_every_call.py",
    "daskdl/data/shuffling.py": "tests/unit/data/test_shuffling.py",
    "daskdl/data/texts.py": "tests/unit/data/test_texts.py",
    "daskdl/dl4j/datasets/export.py": "tests/unit/dl4j/test_export.py",
    # The page is remade by the same command.
    "daskdl/cli/report.py": "tests/unit/cli/test_report.py",
    # By `write_text`, as other texts.
    "daskdl/evaluation/evaluable.py": "tests/unit/data/test_texts.py",
    "daskdl/tuning/search_directory.py": "tests/unit/data/test_texts.py",
    # What a store does not take waits.
    "daskdl/training/boards/event_file.py": "tests/unit/boards/test_tensorboard.py",
    "bridge/daskdl_bridge/minibatch_output.py": (
        "tests/unit/bridge/test_minibatch_output.py"
    ),
    # Into folders of their own that go again: what fails there is told as it is.
    "bridge/daskdl_bridge/spark/direct_pieces.py": (
        "tests/unit/bridge/test_direct_pieces.py"
    ),
    "bridge/daskdl_bridge/spark/models.py": "tests/spark/test_estimators.py",
    "bridge/daskdl_bridge/spark/udf.py": "tests/spark/test_estimators.py",
    "bridge/daskdl_bridge/tables/delta_log.py": "tests/unit/bridge/test_delta.py",
    "bridge/daskdl_bridge/tables/delta_user_types.py": (
        "tests/unit/bridge/test_delta.py"
    ),
    # A cache: what cannot be written there is compiled again.
    "daskdl/kernels/machine_code.py": "tests/unit/kernels/machine_code/test_entry.py",
}
OLD, NEW = 4, 5


@pytest.fixture(params=STORES)
def url(request, tmp_path):
    """Where the file is to be; nothing is there."""
    if request.param == "local":
        yield f"{tmp_path}/folder/file"
        return
    yield "memory://results/folder/file"
    fs = fsspec.filesystem("memory")
    if fs.exists("/results"):
        fs.rm("/results", recursive=True)


@pytest.fixture
def calls(monkeypatch):
    calls = FailingCalls()
    calls.install(monkeypatch)
    return calls


class Shelf:
    """A folder with one file, which a writer replaces."""

    def __init__(self, url: str, writer: Writer) -> None:
        self.url = url
        self._fs, self._path = fsspec.core.url_to_fs(url)
        self._folder = self._path.rpartition("/")[0]
        self._writer = writer
        self._fs.makedirs(self._folder, exist_ok=True)
        self.contents: dict[int, bytes] = {}
        for size in (OLD, NEW):
            writer.write(size, url, overwrite=True)
            self.contents[size] = self._fs.cat_file(self._path)

    def begin(self, *, has_old: bool) -> None:
        self._fs.rm(self._folder, recursive=True)
        self._fs.makedirs(self._folder)
        if has_old:
            self._fs.pipe_file(self._path, self.contents[OLD])

    def write(self, *, overwrite: bool) -> None:
        self._writer.write(NEW, self.url, overwrite=overwrite)

    def size(self) -> int | None:
        """Return the size of what is there, which is whole; None for nothing."""
        if not self._fs.exists(self._path):
            return None
        if self._writer.read is not None:
            size: int = self._writer.read(self.url)
            return size
        content = self._fs.cat_file(self._path)
        return next(s for s, whole in self.contents.items() if whole == content)

    def others(self) -> list[str]:
        entries = [p.rstrip("/") for p in self._fs.ls(self._folder, detail=False)]
        return [entry for entry in entries if entry != self._path]


def sweep(shelf, calls, failure, *, has_old, step=1):
    """Let every call fail in turn; return in how many cases it was tried."""
    calls.plan(None, 0)
    shelf.begin(has_old=has_old)
    calls.plan(None, 0)
    shelf.write(overwrite=has_old)
    may_fail = [call.may_fail(failure) for call in calls.calls]
    numbers = [number for number, is_one in enumerate(may_fail, 1) if is_one]
    for number in numbers[::step]:
        shelf.begin(has_old=has_old)
        calls.plan(failure, number)
        error = error_of(lambda: shelf.write(overwrite=has_old))
        calls.forgive()
        check_after(shelf, failure, error, has_old=has_old)
    return len(numbers[::step])


def error_of(function):
    try:
        function()
    except (DaskdlError, KeyboardInterrupt, Killed) as error:
        return error
    return None


def check_after(shelf, failure, error, *, has_old):
    size = shelf.size()
    if error is None:
        assert (size, shelf.others()) == (NEW, [])
        return
    assert size in (OLD if has_old else None, NEW)
    assert isinstance(error, KeyboardInterrupt) == (failure in INTERRUPTS)
    if isinstance(error, DaskdlError):
        assert shelf.url in str(error)
    assert len(shelf.others()) <= 1
    shelf.write(overwrite=size is not None)
    assert shelf.size() == NEW


@pytest.mark.slow
@pytest.mark.parametrize("failure", Failure, ids=lambda failure: failure.value)
@pytest.mark.parametrize("has_old", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_every_call_of_every_writer_may_fail(url, calls, name, has_old, failure):
    """What is there is the old file or the new one, whole, and the message names it."""
    if name == "onnx":
        pytest.importorskip("onnx")
    assert sweep(Shelf(url, WRITERS[name]), calls, failure, has_old=has_old) > 0


@pytest.mark.parametrize("failure", Failure, ids=lambda failure: failure.value)
@pytest.mark.parametrize("has_old", [False, True])
def test_every_call_of_one_writer_may_fail(url, calls, has_old, failure):
    """A short version of the above."""
    shelf = Shelf(url, WRITERS["DataSet"])
    assert sweep(shelf, calls, failure, has_old=has_old) > 0


def test_every_module_that_writes_files_is_tried():
    """What opens a file to write, or hands one to who does."""
    folders = (ROOT / "daskdl", ROOT / "bridge" / "daskdl_bridge")
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    writing = {str(path.relative_to(ROOT)) for path in paths if writes_files(path)}
    assert writing == set(MODULES)


def writes_files(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    modes = {"w", "wb", "x", "xb", "a", "ab"}
    return any(
        name_of(call.func) in {"write_bytes", "write_text", "pipe_file"}
        or (name_of(call.func) == "open" and modes & set(constants_of(call)))
        or ends_in_writer(call, path)
        for call in calls
    )


def name_of(function):
    return getattr(function, "attr", getattr(function, "id", None))


def constants_of(call):
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [value.value for value in values if isinstance(value, ast.Constant)]


def ends_in_writer(call, path):
    # ONNX has operators and a function of that name to write them.
    is_of_files = "daskdl.data.files import" in path.read_text()
    return is_of_files and name_of(call.func) == "write_output"

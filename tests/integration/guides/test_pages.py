"""Every block of the guides is run as it stands, and what the text claims asserted.

What is not here is stood in for: HDFS and ``/tmp`` by a folder, a scheduler by one with
two workers. A new block is run without further ado; what cannot be is in `NOT_RUN`.
"""

import re
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from distributed import Client
from PIL import Image

import daskdl as dl
from tests.guide_blocks import ROOT, blocks, commands

# What a command begins with, and why it is not run.
NOT_RUN = {
    "pip install": "the package is installed already",
    "apt-get install": "changes the machine",
    "tox": "is what runs this",
    "export ": "is for what follows it, which has stand-ins",
    "pytest ": "is what runs this",
    "daskdl doctor --spark": "needs Spark: tests/spark/test_doctor.py",
    "spark-submit ": "needs Spark: tests/spark/test_spark_port.py",
    "daskdl doctor --gpu": "needs a GPU: tests/gpu",
    "DASKDL_BACKEND_PRIORITY_GPU=": "needs a GPU: tests/gpu",
    "dask cuda worker": "needs a GPU: tests/gpu",
    "daskdl run examples/gpu": "needs a GPU: tests/integration/examples",
    "python examples/lenet": "needs Spark: tests/spark/test_lenet_example.py",
    "daskdl run examples/lenet": "needs Spark: tests/spark/test_lenet_example.py",
    "python examples/": "is run by tests/integration/examples",
    "python on_slurm.py": "needs a queue: tests/integration/examples/test_deploy.py",
    "openssl ": "is run by tests/integration/examples/test_deploy.py",
    "python -m venv": "makes an environment",
    "environment/bin/": "is for that environment",
    "/opt/daskdl/bin/": "is for that environment",
    "useradd ": "changes the machine",
    "systemctl ": "changes the machine",
    "hdfs dfs": "needs HDFS",
    "docker ": "needs Docker: tests/unit/house/test_deploy.py",
    "helm ": "needs Kubernetes: tests/unit/house/test_deploy.py",
    "kubectl ": "needs Kubernetes: tests/unit/house/test_deploy.py",
}
# Blocks of Python that begin so.
PYTHON_NOT_RUN = {
    "with LocalCUDACluster": "needs a GPU: tests/gpu, test_cuda_cluster.py",
    "spark.read": "needs Spark: tests/spark/test_write_back.py",
    "with daskdl.spark.": "needs Spark: tests/spark/test_live.py",
    "classifier = daskdl.spark.": "needs Spark: tests/spark/test_estimators.py",
    "predict = daskdl.spark.": "needs Spark: tests/spark/test_estimators.py",
    "import daskdl.spark": "needs Spark: tests/spark/test_migrating.py",
    "master = daskdl.SharedTrainingMaster(rdd_training_approach": (
        "needs Spark: tests/spark/test_training_approach.py"
    ),
    "daskdl.spark.register": "needs Spark: tests/spark/test_data_source.py",
    "listener = daskdl.MLflowListener": (
        "needs a server: tests/unit/boards/test_mlflow.py"
    ),
    "reader = spark.read": "needs Spark: tests/spark/test_data_source.py",
    "writer = frame.write": "needs Spark: tests/spark/test_data_source.py",
}
# Packages without which a page is not run.
NEEDED = {"docs/guide/boards.md": ("tensorboardX",)}
PAGES = list(dict.fromkeys(block.page for block in blocks("python", "sh")))
pytestmark = pytest.mark.timeout(600)
CONFIGURATION = dl.MultiLayerConfiguration(
    updater=dl.Adam(learning_rate=0.01),
    input=dl.FeedForward(size=64),
    layers=[dl.Dense(n_out=16, activation="relu"), dl.Output(n_out=10, loss="mcxent")],
)


def names(page, network, client, examples):
    """Return what the blocks of a page take for given."""
    known = {
        "client": client,
        "configuration": CONFIGURATION,
        "features": examples.features,
        "labels": examples.labels,
        "Client": Client,
        "daskdl": dl,
        "data": examples,
    }
    own = {
        "docs/guide/bus.md": {"values": np.arange(1000.0)},
        "docs/guide/models.md": {"network": network},
        "docs/gpu.md": {
            "network": dl.DaskMultiLayer(client, CONFIGURATION),
            "data": [examples],
        },
    }
    # Functions of the pages go to workers, which do not have this module.
    return {"__name__": "__main__", **known, **own.get(page, {})}


def write_files(page, network, examples):
    """Write what the blocks of a page open, and no other page has written."""
    if page == "docs/guide/quick-start.md":
        network.save("model.safetensors")
    if page == "docs/guide/dl4j.md":
        dl.DataSet(examples.features[:32], examples.labels[:32]).save("minibatch_0.bin")
        network.save("hdfs/models/churn.zip", format="dl4j")
    if page == "docs/guide/data.md":
        header = ";".join(["id", *(f"f{number}" for number in range(64))])
        rows = np.column_stack([np.arange(8), examples.features[:8]]).tolist()
        lines = [header, *(";".join(f"{cell:g}" for cell in row) for row in rows)]
        Path("digits.csv").write_text("\n".join(lines))
    if page == "docs/guide/preparing-data.md":
        write_stored_forms()
    if page == "docs/guide/transfer-learning.md":
        network.save("hdfs/models/digits.zip", format="dl4j")
    if page == "docs/guide/models.md":
        network.save("hdfs/models/digits.safetensors")


def write_stored_forms():
    """Write a table, series in files of their own, and a directory of images."""
    rows = [f"{n / 10},{n / 100},{n % 3}" for n in range(30)]
    Path("flowers.csv").write_text("\n".join(["f0,f1,species", *rows]))
    Path("series").mkdir()
    for number in range(6):
        steps = np.full((2 + number, 3), number)
        np.savetxt(f"series/steps_{number}.csv", steps, delimiter=",")
        np.savetxt(f"series/labels_{number}.csv", [number % 2])
    for number in range(10):
        folder = Path("images", ("cat", "dog")[number % 2])
        folder.mkdir(parents=True, exist_ok=True)
        pixels = np.full((4, 4, 3), number % 2, "uint8")
        Image.fromarray(pixels).save(folder / f"{number}.png")


@pytest.fixture
def place(request, machines, monkeypatch):
    """Where the page of a test is tried."""
    found = machines.place(request.node.callspec.params["page"])
    monkeypatch.chdir(found.folder)
    return found


@pytest.fixture
def client(machines):
    with Client(machines.address, set_as_default=False) as opened:
        yield opened


@pytest.fixture
def page(request, place, client, examples):
    """Run a page from its beginning, once; give the names that its Python left."""
    for package in NEEDED.get(request.param, ()):
        pytest.importorskip(package, reason=f"the page needs {package}")
    if place.space is None:
        network = dl.load(place.digits["model"])
        write_files(request.param, network, examples)
        space = names(request.param, network, client, examples)
        for block in blocks("python", "sh", page=request.param):
            run_block(block, place, space, client)
        place.space = space
    return place.space


def run_block(block, place, space, client):
    if block.kind == "python":
        run_python(block, place, space, client)
        return
    for command in commands(block):
        if not command.startswith(tuple(NOT_RUN)):
            place.run(command)


def run_python(block, place, space, client):
    if block.text.startswith(tuple(PYTHON_NOT_RUN)):
        return
    if block.text.startswith("roc, "):
        # The page goes on with a network whose client it has closed.
        space["network"]._client = client
    exec(compile(place.text(block.text), str(block), "exec"), space)


def on(*pages):
    """Run a test on pages. Each is long once; the first test runs the digits, too."""
    return pytest.mark.parametrize("page", pages, indirect=True, ids=pages)


CLAIMING = {
    "README.md",
    "docs/guide/bus.md",
    "docs/guide/data.md",
    "docs/guide/dl4j.md",
    "docs/guide/models.md",
    "docs/guide/preparing-data.md",
    "docs/guide/python.md",
    "docs/guide/quick-start.md",
    "docs/guide/transfer-learning.md",
}


@on(*(page for page in PAGES if page not in CLAIMING))
def test_every_block_of_the_page_can_be_run(page):
    assert page["__name__"] == "__main__"


@on("README.md")
def test_the_front_page_shows_what_its_command_gives(page, place):
    (shown,) = blocks("", page="README.md")
    claimed = dict(re.findall(r"^(\w+) +([\d.,]+)", shown.text, re.MULTILINE))
    figures = place.digits
    # Each run differs a little: workers do not wait for each other.
    assert figures["accuracy"] > float(claimed["accuracy"]) / 100 - 0.025
    assert figures["examples"] == int(claimed["examples"].replace(",", ""))
    assert figures["bytes_sent"] < 2e6 * float(claimed["sent"])
    assert figures["workers"] == int(claimed["workers"])
    assert figures["repeated_examples"] == 0


@on("README.md")
def test_the_network_of_the_front_page_answers_anywhere(page, examples):
    assert page["network"].evaluate(examples).accuracy() > 0.9


@on("docs/guide/quick-start.md")
def test_the_quick_start_predicts_as_its_run_did(page, place, examples):
    """The command, the file in Python and the run agree, from the same data."""
    hits = page["probabilities"].argmax(axis=1) == examples.labels.argmax(axis=1)
    figures = place.digits
    assert hits.mean() > 0.965
    np.testing.assert_allclose(hits.mean(), figures["accuracy"], atol=1e-6)
    evaluated = place.run("daskdl evaluate MODEL DATA --label label")
    assert evaluated["accuracy"] == figures["accuracy"]
    written = pq.read_table(place.text("/tmp/predictions"))
    keys, classes = (written[n].to_pylist() for n in ("id", "prediction"))
    by_key = dict(zip(keys, classes, strict=True))
    expected = page["probabilities"].argmax(axis=1)
    assert [by_key[key] for key in examples.keys] == expected.tolist()
    assert len(written) == len(by_key) == 360


@on("docs/guide/quick-start.md")
def test_the_quick_start_lists_the_files_of_a_run(page, place):
    text = (ROOT / "docs/guide/quick-start.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    assert listed == {
        path.name for path in Path(place.digits["model"]).parent.iterdir()
    }
    predictions = place.folder / "tmp" / "predictions"
    assert (predictions / "_SUCCESS").exists()
    assert (place.folder / "model.svg").read_text().startswith("<svg")


@on("docs/guide/python.md")
def test_python_trains_in_one_process_and_on_a_cluster(page, place):
    assert place.folder.joinpath("predictions", "_SUCCESS").exists()
    assert page["rows"] == 360
    assert page["top"][0].top_n_accuracy() > page["evaluation"].accuracy() > 0.7
    alone = dl.load("model.safetensors")
    data = dl.DataSet(page["features"], page["labels"])
    assert alone.evaluate(data).accuracy() > 0.9
    assert 0.9 < page["roc"].auc(0) <= 1


@on("docs/guide/data.md")
def test_data_are_read_as_the_options_say(page, place):
    inspected = place.run("daskdl inspect digits.csv --option delimiter=';'")
    assert list(inspected["columns"])[:2] == ["id", "f0"]
    written = pq.read_table(place.text("/tmp/of-digits"))
    assert sorted(written["id"].to_pylist()) == [str(number) for number in range(8)]


@on("docs/guide/preparing-data.md")
def test_prepared_data_are_what_the_page_says(page, place):
    assert page["examples"].labels.argmax(axis=1).tolist() == [0, 1, 2] * 10
    assert page["counts"].counts.tolist() == [10, 10, 10]
    parts = page["train"], page["test"]
    sizes = [sum(len(one.load()) for one in part.partitions) for part in parts]
    assert sizes == [24, 6]
    # The one label of each series stands at its end.
    assert page["padded"].labels_mask.tolist() == [[0] * 6 + [1]] * 6


@on("docs/guide/preparing-data.md")
def test_files_are_mixed_and_bundled(page, place):
    batches = [dl.DataSet.load(url) for url in page["urls"]]
    assert [len(one) for one in batches] == [32] * 44 + [29]
    stored = dl.open_source(str(place.folder / "hdfs" / "train"))
    whole = dl.DataSet.merge([one.load() for one in stored.partitions])
    mixed = np.concatenate([one.features for one in batches])
    np.testing.assert_array_equal(
        np.sort(mixed.sum(axis=1)), np.sort(whole.features.sum(axis=1))
    )
    assert not np.array_equal(mixed, whole.features)
    assert sum(pq.read_metadata(part).num_rows for part in page["parts"]) == 1437
    first = page["first"]
    np.testing.assert_array_equal(
        first.features.mean(axis=(1, 2, 3)), first.labels.argmax(axis=1)
    )
    assert len(page["zips"]) == 3


@on("docs/guide/models.md")
def test_onnx_predicts_what_the_network_predicts(page):
    expected = dl.load("model.safetensors").output(page["features"])
    np.testing.assert_allclose(page["probabilities"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(page["weights"], page["network"].param_table()["0_W"])


@on("docs/guide/dl4j.md")
def test_a_model_of_dl4j_takes_data_as_they_are(page, examples):
    loaded = dl.load("churn-2.zip")
    assert type(loaded.normalizer) is dl.NormalizerStandardize
    assert loaded.iteration_count == page["network"].iteration_count
    assert loaded.evaluate(examples).accuracy() > 0.95


@on("docs/guide/transfer-learning.md")
def test_the_new_network_begins_where_the_old_one_is(page):
    old, new = page["old"], page["new"]
    kinds = [type(layer).__name__ for layer in new.conf.layers]
    assert kinds == ["Frozen", "Frozen", "Frozen", "Dense", "Output"]
    np.testing.assert_array_equal(new.param_table()["0_W"], old.param_table()["0_W"])
    assert new.normalizer.to_dict() == old.normalizer.to_dict()
    assert new.iteration_count == 0


@on("docs/guide/bus.md")
def test_messages_of_the_bus_arrive_in_order(page, client):
    there, other = client.nthreads()
    read = client.submit(page["consume"], workers=[there])
    # What was put before a Sub is there does not reach it.
    client.submit(time.sleep, 0.5, workers=[other]).result()
    client.submit(page["produce"], workers=[other], pure=False).result()
    assert [message["epoch"] for message in read.result()] == list(range(10))


def test_no_reason_is_out_of_date():
    """Each still stands for something in the pages."""
    lines = [line for block in blocks("sh") for line in commands(block)]
    starts = [block.text for block in blocks("python")]
    assert [r for r in NOT_RUN if not any(map(str.startswith, lines, [r] * 99))] == []
    assert all(any(text.startswith(r) for text in starts) for r in PYTHON_NOT_RUN)

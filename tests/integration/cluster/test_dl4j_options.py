"""Options of DL4J's masters that decide how a fit goes on a cluster."""

import asyncio
import os

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, get_task_stream

from daskdl import (
    AutoEncoder,
    DaskMultiLayer,
    DataSet,
    Evaluation,
    FeedForward,
    Listener,
    MultiLayerConfiguration,
    Output,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingHook,
)
from daskdl.cluster import driver, session_members
from daskdl.cluster.carried_partitions import CarriedPartitions
from daskdl.cluster.masters.options import MASTERS, training_master
from daskdl.cluster.phase import Phase
from daskdl.errors import ClusterError


@pytest.fixture(scope="module")
def client(module_cluster_of):
    return module_cluster_of(2)


def trained(client, network, examples, **options):
    master = ParameterAveragingTrainingMaster(dealing="fixed", **options)
    front = DaskMultiLayer(client, network(), master)
    front.fit((examples.features, examples.labels), shuffle=True)
    return front


def test_the_master_says_how_many_examples_a_minibatch_has(client, network, blobs):
    front = trained(client, network, blobs(96), batch_size_per_worker=12)
    assert front.network.iteration_count == 4


def test_the_seed_of_the_master_is_that_of_the_order(client, network, blobs):
    first, again, other = (
        trained(client, network, blobs(96), batch_size_per_worker=8, rng_seed=seed)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.network.params, again.network.params)
    assert (first.network.params != other.network.params).any()


def test_copies_of_the_network_are_bounded_on_workers(client, network, blobs):
    front = DaskMultiLayer(client, network())
    data = list(blobs(300).batches(30))
    found = front.do_evaluation(data, [Evaluation()], eval_num_workers=1)[0]
    expected = front.network.evaluate(blobs(300))
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)


def test_listeners_that_were_set_hear_of_a_fit(client, network, blobs):
    class Heard(Listener):
        epochs = 0

        def on_epoch_end(self, fit):
            self.epochs += 1

    front, heard = DaskMultiLayer(client, network()), Heard()
    front.set_listeners(heard)
    front.fit(blobs(96), batch_size=12, epochs=2)
    assert heard.epochs == 2
    assert front.get_score() == front.last_fit.epochs[-1].score


class Seen(TrainingHook):
    """Writes down what it sees, on the worker."""

    def __init__(self, directory):
        self.directory, self.iterations = directory, []

    def pre_update(self, minibatch, network):
        self.iterations.append(network.iteration_count)

    def post_update(self, minibatch, network):
        before = self.iterations[-1]
        line = f"{before} {network.iteration_count} {minibatch.num_examples}\n"
        path = self.directory / f"{os.getpid()}.txt"
        with path.open("a", encoding="utf-8") as file:
            file.write(line)


def test_hooks_run_on_workers_around_each_minibatch(client, network, blobs, tmp_path):
    trained(
        *(client, network, blobs(96)),
        batch_size_per_worker=12,
        training_hooks=[Seen(tmp_path)],
    )
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        assert lines == ["0 1 12", "1 2 12", "2 3 12", "3 4 12"]


@pytest.mark.parametrize("kind", MASTERS)
def test_every_master_has_hooks(client, network, blobs, tmp_path, kind):
    master = training_master(kind, {"training_hooks": [Seen(tmp_path)]})
    DaskMultiLayer(client, network(), master).fit(blobs(96), batch_size=12)
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    assert len(lines) == 8


def test_pretraining_has_hooks(client, blobs, tmp_path):
    conf = MultiLayerConfiguration(
        input=FeedForward(size=16),
        layers=[AutoEncoder(n_out=4, loss="mse"), Output(n_out=3)],
    )
    master = SharedTrainingMaster(training_hooks=[Seen(tmp_path)])
    front = DaskMultiLayer(client, conf, master)
    front.pretrain(blobs(96), batch_size=12)
    lines = [file.read_text("utf-8").splitlines() for file in tmp_path.iterdir()]
    assert sum(map(len, lines)) == 8


class Fails(TrainingHook):
    def post_update(self, minibatch, network):
        raise ArithmeticError("no")


def test_what_a_hook_raises_ends_the_fit(client, network, blobs):
    with pytest.raises(ClusterError, match="failed with ArithmeticError"):
        trained(
            *(client, network, blobs(96)),
            batch_size_per_worker=12,
            training_hooks=[Fails()],
        )


@pytest.mark.parametrize(("level", "loads"), [("memory_only", 4), ("none", 12)])
def test_workers_keep_what_they_decoded_or_read_it_again(
    client, network, blobs, tmp_path, level, loads
):
    data = blobs(96)
    for number, part in enumerate(data.batches(24)):
        columns = {f"x{n}": part.features[:, n] for n in range(16)}
        columns["label"] = part.labels.argmax(axis=1)
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    master = ParameterAveragingTrainingMaster(dealing="fixed", storage_level=level)
    front = DaskMultiLayer(client, network(), master)
    front.fit_paths(
        str(tmp_path),
        features=[f"x{n}" for n in range(16)],
        label="label",
        require_success=False,
        batch_size=12,
        epochs=3,
    )
    assert front.last_fit.loads == loads


def test_data_in_memory_are_evaluated_by_all_workers(client, network, rng):
    """Each row goes to one of them, and the minibatches stay the same."""
    n = 60_000
    labels = np.eye(4, dtype=np.float32)[rng.integers(0, 4, n)]
    data = DataSet(rng.normal(size=(n, 16)).astype(np.float32), labels)
    front = DaskMultiLayer(client, network())
    with get_task_stream(client=client) as stream:
        found = front.evaluate(data, batch_size=512)
    scored = [task for task in stream.data if "tally_partitions" in str(task["key"])]
    assert len({task["worker"] for task in scored}) == 2
    expected = front.network.evaluate(data)
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)


def test_each_row_in_memory_goes_to_the_worker_that_trains_it(client, network, blobs):
    trained_on, data = [], blobs(96)

    class Carried(CarriedPartitions):
        def to_send(self, member, share):
            minibatches, new = super().to_send(member, share)
            trained_on.extend(one.rows for one in new.values())
            return minibatches, new

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_members, "CarriedPartitions", Carried)
        front = DaskMultiLayer(client, network(), SharedTrainingMaster(dealing="fixed"))
        front.fit((data.features, data.labels), batch_size=12, epochs=3)
    assert sum(trained_on) == 96


def test_fits_and_evaluations_of_an_asynchronous_client_are_awaited(
    client, network, blobs
):
    async def train():
        address = client.scheduler.address
        async with Client(address, asynchronous=True, set_as_default=False) as own:
            front = DaskMultiLayer(own, network())
            trained = await front.fit(blobs(96), batch_size=12)
            return front, trained, await front.evaluate(blobs(96))

    front, trained, found = asyncio.run(train())
    assert trained is front.network
    assert front.last_fit.examples == 96
    expected = trained.evaluate(blobs(96))
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)


def test_persisted_chunks_are_trained_by_the_workers_that_hold_them(
    client, network, blobs
):
    data = blobs(96)
    features = client.persist(da.from_array(data.features, chunks=(24, 16)))
    labels = client.persist(da.from_array(data.labels, chunks=(24, 4)))
    for future in (*features.dask.values(), *labels.dask.values()):
        future.result()
    seen = {}

    class Shares(Phase):
        def __init__(self, number, shares, members, *others):
            super().__init__(number, shares, members, *others)
            for rank, share in shares.items():
                found = {piece.partition for one in share for piece in one.pieces}
                seen[members.address_of(rank)] = found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "Phase", Shares)
        master = SharedTrainingMaster(repartition="never")
        front = DaskMultiLayer(client, network(), master)
        front.fit((features, labels), batch_size=12)
    assert front.last_fit.examples == 96
    keys = [features.__dask_keys__(), labels.__dask_keys__()]
    for number, ((of_features,), (of_labels,)) in enumerate(zip(*keys, strict=True)):
        both = [of_features, of_labels]
        holders = client.sync(client.scheduler.who_has, keys=both)
        (trained_by,) = (address for address, each in seen.items() if number in each)
        assert trained_by in {*holders[of_features], *holders[of_labels]}

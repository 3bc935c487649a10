"""What a member holds at the least, and who refuses a network for it."""

import asyncio
from contextlib import contextmanager
from types import SimpleNamespace

import dask
import pytest

import daskdl as dl
from daskdl.arrays.device import PRIORITY_VARIABLE
from daskdl.cluster.member_memory import (
    check_members_fit,
    ended_at,
    ended_for_memory,
    fitting_workers,
    member_memory,
)
from daskdl.errors import OptionError

MIB = 1 << 20
# 4 MiB of parameters in float32.
N_IN, N_OUT = 1024, 1024


def network(updater=None, **options):
    """Return a network of 4 MiB of parameters, and 8 of updater state with Adam."""
    layer = dl.Output(
        n_out=N_OUT, loss="mse", activation="identity", has_bias=False, **options
    )
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            updater=updater or dl.Adam(),
            input=dl.FeedForward(size=N_IN),
            layers=[layer],
        )
    ).init()


@pytest.mark.parametrize(
    ("master", "alone", "several"),
    [
        (dl.SharedTrainingMaster(), 4, 8),
        (dl.AllReduceTrainingMaster(), 0, 4),
        (dl.PowerSGDTrainingMaster(), 0, 4),
        (dl.ParameterAveragingTrainingMaster(), 0, 12),
        (dl.ParameterAveragingTrainingMaster(save_updater=False), 8, 12),
        (dl.ParameterAveragingTrainingMaster(overlap=True), 0, 8),
        (dl.BlockMomentumTrainingMaster(), 4, 16),
    ],
)
def test_what_masters_keep_depends_on_whether_there_are_several(master, alone, several):
    trained = network()
    kept = [member_memory(trained, master, n).exchanged / MIB for n in (1, 2)]
    assert kept == [alone, several]


def test_a_member_holds_its_network_and_the_one_that_it_started_from():
    held = member_memory(network(), dl.AllReduceTrainingMaster(), 1)
    assert (held.params, held.updater_state) == (4 * MIB, 8 * MIB)
    assert (held.gradients, held.travelled) == (4 * MIB, 12 * MIB)
    assert held.total == 28 * MIB


def test_gradients_of_what_is_frozen_take_no_memory():
    still = network(dl.NoOp())
    assert member_memory(still, dl.AllReduceTrainingMaster(), 1).gradients == 0


def test_a_layer_is_pretrained_with_the_parameters_of_all():
    pair = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            updater=dl.Sgd(),
            input=dl.FeedForward(size=N_IN),
            layers=[
                dl.AutoEncoder(n_out=8),
                dl.Output(n_out=N_OUT, loss="mse", activation="identity"),
            ],
        )
    ).init()
    layer = pair.pretraining.layer("test", 0)
    held = member_memory(layer, dl.SharedTrainingMaster(), 2)
    assert held.params == pair.params.nbytes
    assert held.exchanged == 2 * layer.params.nbytes


class Cluster:
    """Workers with limits in MiB; those in `alone` have no nanny."""

    def __init__(self, *limits, alone=(), ended_at=0.95):
        self.limits = dict(enumerate(limits))
        self.alone = alone
        self.ended_at = ended_at
        self.asked = []

    def nthreads(self):
        return {f"w{n}": 1 for n in self.limits}

    def scheduler_info(self, n_workers):
        assert n_workers == -1
        return {
            "workers": {
                f"w{n}": {
                    "memory_limit": limit * MIB,
                    "resources": {},
                    "nanny": None if n in self.alone else f"nanny{n}",
                }
                for n, limit in self.limits.items()
            }
        }

    def sync(self, function, *args):
        return asyncio.run(function(*args))

    async def run(self, function, *, workers, on_error):
        assert function is ended_at
        self.asked += workers
        return dict.fromkeys(workers, self.ended_at)


def check(cluster, workers=None):
    check_members_fit(
        cluster, "Fit", network(), dl.AllReduceTrainingMaster(), workers, None
    )


def test_a_network_that_does_not_fit_is_refused_with_what_it_needs():
    # 28 MiB, one more vector as there are two workers, and 120 that they hold anyway.
    with pytest.raises(
        OptionError,
        match=r"^Fit: a member must fit into its worker's memory, it holds at least "
        r"32 MiB: parameters 4, updater state 8, gradients 4, what the training master "
        r"keeps 4, and the network that it starts from 12\. Worker w0, as 1 more, has "
        r"31 MiB for it: Dask ends it at 95% of memory_limit, 159 MiB, and it holds "
        r"120 MiB itself\. Start workers with a memory_limit of 370 MiB or more",
    ):
        check(Cluster(159, 159))


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(161, 161),
        Cluster(0, 0),
        Cluster(159, 159, alone=(0, 1)),
        # Where nannies end nobody, or networks live on a device.
        Cluster(159, 159, ended_at=0.0),
        # One can hold it: which workers a fit can do without it finds out.
        Cluster(159, 1000),
    ],
    ids=["enough", "unlimited", "no nanny", "never ended", "one is enough"],
)
def test_what_may_fit_is_not_refused(cluster):
    check(cluster)


def test_workers_that_have_enough_are_not_asked():
    cluster = Cluster(4096, 4096)
    check(cluster)
    assert cluster.asked == []


def test_as_many_workers_as_were_asked_for_must_be_large_enough():
    check(Cluster(159, 1000, 1000), workers=2)
    with pytest.raises(OptionError, match="Worker w0 has 31 MiB"):
        check(Cluster(159, 1000), workers=2)


def test_workers_that_a_fit_leaves_out_are_not_judged():
    check(Cluster(159, 1000, 159), workers=["w1"])
    with pytest.raises(OptionError, match="Worker w2 has 27 MiB"):
        check(Cluster(1000, 1000, 155), workers=["w2"])


def test_a_worker_says_at_which_part_of_its_limit_it_is_ended(monkeypatch):
    monkeypatch.delenv(PRIORITY_VARIABLE, raising=False)
    state = SimpleNamespace(total_resources={})
    worker = SimpleNamespace(preloads=[], state=state)
    with dask.config.set({"distributed.worker.memory.terminate": 0.9}):
        assert ended_at(worker) == 0.9
        state.total_resources["GPU"] = 1
        assert ended_at(worker) == 0
        monkeypatch.setenv(PRIORITY_VARIABLE, "none")
        assert ended_at(worker) == 0.9
    with dask.config.set({"distributed.worker.memory.terminate": False}):
        assert ended_at(worker) == 0


def test_who_is_ended_in_vain_is_told_what_a_member_needs():
    error = ended_for_memory(
        "Session: all went.", network(), dl.AllReduceTrainingMaster(), in_vain=True
    )
    assert str(error).startswith(
        "Session: all went. Workers were ended for their memory again and again, and "
        "none had trained a minibatch. A member holds at least 28 MiB: parameters 4"
    )
    assert "a worker needs some 320 MiB" in str(error)


def test_members_are_checked_once_workers_are_there():
    steps = []

    @contextmanager
    def enough():
        steps.append("there")
        yield
        steps.append("over")

    with fitting_workers(enough(), lambda: steps.append("checked")):
        steps.append("fit")
    assert steps == ["there", "checked", "fit", "over"]

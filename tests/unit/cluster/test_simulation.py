"""Whole fits in a simulated cluster: random orders of events, random deaths.

A seed that fails fails again: everything random comes from it.
"""

import random
import sys
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from daskdl.arrays.flat import ParamLayout
from daskdl.cluster.exchanges import gradient_sharing
from daskdl.cluster.exchanges.gradient_sharing import GradientSharingExchange
from daskdl.cluster.exchanges.plain_mesh import PlainMesh
from daskdl.cluster.exchanges.tree_mesh import TreeMesh
from daskdl.cluster.masters import options
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.residual import NoOpResidualPostProcessor
from daskdl.errors import WorkerLostError
from tests.pretend_cupy import Namespace, PretendArray, plain, pretend
from tests.unit.cluster.simulation_cluster import Fate, Worker, numbered_data, simulate
from tests.unit.cluster.simulation_residuals import WatchedPeer
from tests.unit.cluster.tally_network import TallyNetwork

QUICK = range(2)
MANY = range(1000, 3000)


def averaging(rng):
    return ParameterAveragingTrainingMaster(
        dealing=rng.choice(["balanced", "balanced", "fixed"]),
        averaging_frequency=rng.choice([1, 2, 5]),
        save_updater=rng.random() < 0.7,
        worker_prefetch_num_batches=0,
    )


def overlapping(rng):
    return replace(averaging(rng), overlap=True)


def overlapping_momentum(rng):
    return replace(block_momentum(rng), overlap=True)


def block_momentum(rng):
    return BlockMomentumTrainingMaster(
        dealing=rng.choice(["balanced", "balanced", "fixed"]),
        averaging_frequency=rng.choice([1, 2, 5]),
        outer_momentum=rng.choice([0.0, 0.5, 0.9]),
        outer_learning_rate=rng.choice([0.7, 1.0, 1.5]),
        outer_nesterov=rng.random() < 0.7,
        worker_prefetch_num_batches=0,
    )


def sharing(rng, **how):
    return SharedTrainingMaster(
        threshold_algorithm=FixedThresholdAlgorithm(
            threshold=rng.choice([0.25, 0.6, 2.0])
        ),
        residual_post_processor=NoOpResidualPostProcessor(),
        worker_prefetch_num_batches=0,
        **how,
    )


def sharing_over_a_tree(rng):
    """With inner members, as there are at most seven."""
    return sharing(
        rng,
        mesh_build_mode="mesh",
        fan_out=rng.choice([1, 2]),
        max_staleness=rng.choice([None, None, 0, 2]),
    )


def all_reduce(rng):
    return AllReduceTrainingMaster(worker_prefetch_num_batches=0)


def power_sgd(rng):
    return PowerSGDTrainingMaster(
        matrix_rank=1,
        start_compress_iteration=rng.choice([0, 2, 10]),
        min_compression_rate=0.5,
        worker_prefetch_num_batches=0,
    )


MASTERS = {
    "averaging": averaging,
    "overlapping": overlapping,
    "block_momentum": block_momentum,
    "overlapping_momentum": overlapping_momentum,
    "sharing": sharing,
    "tree": sharing_over_a_tree,
    "all_reduce": all_reduce,
    "power_sgd": power_sgd,
}
# Replicas hold the same bits whenever a phase ends.
IN_STEP = [
    *("averaging", "overlapping", "block_momentum", "overlapping_momentum"),
    *("all_reduce", "power_sgd"),
]


def random_data(rng):
    rows = [rng.randint(1, 30) for _ in range(rng.randint(2, 4))]
    rows[0] += 64
    return numbered_data(rows, rng.choice([1, 4, 16, 64]), in_memory=rng.random() < 0.5)


def make_uneven(rng, workers):
    """Let some be slow to train, and those that come late come at any moment."""
    if rng.random() < 0.5:
        for worker in workers:
            worker.minibatch_s = rng.choice([0.01, 0.01, 0.05, 0.3])
    for worker in workers:
        if worker.from_epoch and rng.random() < 0.5:
            worker.from_epoch, worker.comes_s = 0, rng.uniform(0.1, 3.0)


def scatter(seed, workers):
    """Deal workers to hosts: all, some or none may be on the same one."""
    rng = random.Random(f"hosts {seed}")
    n_hosts = rng.randint(1, 4)
    for worker in workers:
        worker.host = f"host {rng.randrange(n_hosts)}"


def random_fate(rng, epochs):
    order = rng.randint(0, 2 * epochs + 2)
    return Fate(order, rng.choice([1, 20, 100, 300]), is_zombie=rng.random() < 0.2)


def healthy_fit(monkeypatch, seed, make_master, **options):
    rng = random.Random(seed)
    epochs = rng.randint(1, 3)
    workers = [Worker(f"w{number}") for number in range(rng.randint(1, 5))]
    workers += [
        Worker(f"late{n}", from_epoch=rng.randint(1, 2))
        for n in range(rng.randint(0, 2))
    ]
    make_uneven(rng, workers)
    scatter(seed, workers)
    return simulate(
        monkeypatch,
        seed,
        make_master(rng),
        workers,
        random_data(rng),
        epochs=epochs,
        **options,
    )


def disturbed_fit(monkeypatch, seed, make_master, **options):
    """A fit in which some workers go at random, but at least one stays."""
    rng = random.Random(seed)
    epochs = rng.randint(1, 3)
    workers = [Worker(f"w{number}") for number in range(rng.randint(2, 5))]
    for worker in rng.sample(workers, rng.randint(1, len(workers) - 1)):
        worker.fate = random_fate(rng, epochs)
    for number in range(rng.randint(0, 2)):
        fate = random_fate(rng, epochs) if rng.random() < 0.5 else None
        workers.append(
            Worker(
                f"late{number}",
                fate,
                from_epoch=rng.randint(1, 2),
                is_unfit=rng.random() < 0.3,
            )
        )
    make_uneven(rng, workers)
    scatter(seed, workers)
    return simulate(
        monkeypatch,
        seed,
        make_master(rng),
        workers,
        random_data(rng),
        epochs=epochs,
        **options,
    )


@contextmanager
def naming(seed):
    try:
        yield
    except Exception as error:
        raise AssertionError(f"seed {seed}") from error


def assert_fit_is_right(outcome):
    """What must hold whoever died when."""
    if outcome.error is not None:
        raise outcome.error
    # Sharing: what a worker that went had not sent is lost with it, or on its way.
    gone = [w.peer for w in outcome.cluster.workers if w.peer and not w.is_there]
    unsent = sum(abs(vector) for peer in gone for vector in peer.unsent)
    results = [outcome.network, *(w.actor.result for w in outcome.survivors)]
    for result in results:
        trained = result.params - held_by_survivors(outcome)
        assert np.all(trained + unsent > 0), "an example reached no survivor"
    report = outcome.report
    assert report.examples - report.repeated_examples == outcome.network.params.size


def held_by_survivors(outcome):
    """Return what is trained and was never sent: the updates in the residuals."""
    return sum(w.peer.residual for w in outcome.survivors if w.peer)


def assert_epochs_are_counted(outcome, epochs):
    for worker in outcome.survivors:
        assert worker.actor.result.epoch_count == epochs


def snapshots_of_survivors(outcome):
    ranks = [worker.rank for worker in outcome.survivors]
    for vectors in outcome.cluster.snapshots.values():
        yield [vectors[rank] for rank in ranks if rank in vectors]


def assert_phases_end_equal(outcome):
    """Averaging, adding up: bit for bit, whoever died, in each phase and after it."""
    for vectors in snapshots_of_survivors(outcome):
        assert len({(params.tobytes(), at) for params, at in vectors}) == 1
    results = [worker.actor.result for worker in outcome.survivors]
    assert len({result.params.tobytes() for result in results}) == 1


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", MASTERS)
def test_a_healthy_fit_trains_every_example(monkeypatch, seed, master):
    outcome = healthy_fit(monkeypatch, seed, MASTERS[master])
    assert_fit_is_right(outcome)
    assert_epochs_are_counted(outcome, len(outcome.report.epochs))


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", IN_STEP)
def test_healthy_members_in_step_end_each_phase_equal(monkeypatch, seed, master):
    outcome = healthy_fit(monkeypatch, seed, MASTERS[master])
    assert outcome.error is None
    assert_phases_end_equal(outcome)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", QUICK)
def test_healthy_sharing_trains_every_example_exactly_once(monkeypatch, seed, dtype):
    """Thresholds, merged messages and residuals add up to what was trained."""
    outcome = healthy_fit(monkeypatch, seed, sharing, dtype=dtype)
    assert outcome.error is None
    for worker in outcome.survivors:
        trained = worker.actor.result.params - held_by_survivors(outcome)
        np.testing.assert_allclose(trained, 1.0, rtol=1e-5)


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", MASTERS)
def test_whoever_dies_every_example_is_trained(monkeypatch, seed, master):
    outcome = disturbed_fit(monkeypatch, seed, MASTERS[master])
    assert_fit_is_right(outcome)
    assert_epochs_are_counted(outcome, len(outcome.report.epochs))


def test_a_death_at_the_end_of_a_phase_loses_only_what_was_not_sent(monkeypatch):
    """Its whole residual is on its way then, and nowhere else."""
    assert_fit_is_right(disturbed_fit(monkeypatch, 1585, sharing))


@pytest.mark.parametrize("is_left_in_a_phase", [True, False])
def test_what_a_peer_left_alone_takes_for_its_own_was_not_sent(is_left_in_a_phase):
    params = np.zeros(3, np.float32)
    peer = WatchedPeer(GradientSharingPeer(sharing(random.Random(1)), params))
    peer.begin(0, frozenset({1}))
    params += [1, 0, 2]
    if is_left_in_a_phase:
        peer.left(1)
    else:
        peer.return_to_base()
        peer.begin(1, frozenset())
    np.testing.assert_array_equal(params, [1, 0, 2])
    np.testing.assert_array_equal(-sum(peer.unsent), params)


def test_who_is_given_up_and_outlives_the_others_loses_only_what_was_not_sent(
    monkeypatch,
):
    """It hears them leave, and takes for its own what it had not sent."""
    assert_fit_is_right(disturbed_fit(monkeypatch, 2831, sharing_over_a_tree))


def test_a_death_during_the_finish_changes_no_survivor(monkeypatch):
    """The one that hears of it after the others returned is not the last survivor."""
    outcome = disturbed_fit(monkeypatch, 1001, sharing)
    first, second = (worker.actor.result.params for worker in outcome.survivors)
    np.testing.assert_allclose(first, second, rtol=1e-6)


@pytest.mark.parametrize("seed", QUICK)
def test_over_a_tree_survivors_end_each_phase_alike(monkeypatch, seed):
    """To all they do not: what a dead worker sent may have reached some of them."""
    outcome = disturbed_fit(monkeypatch, seed, sharing_over_a_tree)
    assert outcome.error is None
    for (first, _), *others in snapshots_of_survivors(outcome):
        for params, _ in others:
            np.testing.assert_allclose(params, first, atol=1e-5)


@pytest.mark.parametrize("seed", QUICK)
def test_a_tree_is_taken_while_there_are_many(monkeypatch, seed):
    """From three members to four, when one joins, and back when one dies."""
    taken = []
    new_mesh = GradientSharingExchange._new_mesh

    def noting(exchange):
        mesh = new_mesh(exchange)
        taken.append((exchange._phase, type(mesh)))
        return mesh

    monkeypatch.setattr(options, "MOST_PLAIN", 3)
    monkeypatch.setattr(GradientSharingExchange, "_new_mesh", noting)
    workers = [Worker("w0"), Worker("w1", Fate(5, 20)), Worker("w2")]
    workers.append(Worker("late", from_epoch=1))
    outcome = simulate(
        monkeypatch,
        seed,
        sharing(random.Random(seed), fan_out=2, dealing="fixed"),
        workers,
        numbered_data([200], 4, in_memory=True),
        epochs=4,
    )
    assert_fit_is_right(outcome)
    kinds = [kind for _, kind in sorted(set(taken), key=lambda each: each[0])]
    assert [kind for kind, _ in groupby(kinds)] == [PlainMesh, TreeMesh, PlainMesh]


@pytest.mark.parametrize("seed", QUICK)
def test_all_members_know_the_hosts_of_all_in_each_phase(monkeypatch, seed):
    """Also of one that joins."""
    known = []

    def noting(*given, phase, members, hosts, **how):
        known.append((phase, members, tuple(sorted(hosts.items()))))
        return TreeMesh(*given, phase=phase, members=members, hosts=hosts, **how)

    monkeypatch.setattr(gradient_sharing, "TreeMesh", noting)
    workers = [Worker(f"w{n}", host="ab"[n % 2]) for n in range(3)]
    workers.append(Worker("late", from_epoch=1, host="c"))
    outcome = simulate(
        monkeypatch,
        seed,
        sharing(random.Random(seed), mesh_build_mode="mesh", dealing="fixed"),
        workers,
        numbered_data([200], 4, in_memory=True),
        epochs=3,
    )
    assert_fit_is_right(outcome)
    hosts = {worker.rank: worker.host for worker in workers}
    last = max(known)
    assert last == (last[0], frozenset(hosts), tuple(sorted(hosts.items())))
    assert len(set(known)) == len({phase for phase, _, _ in known})


@pytest.mark.parametrize("seed", QUICK)
def test_every_worker_that_the_driver_misses_is_told(monkeypatch, seed):
    outcome = disturbed_fit(monkeypatch, seed, averaging)
    told = [event.worker for event in outcome.report.lost]
    before_the_start = set(outcome.cluster.lost) - set(outcome.report.workers)
    missed = [w for w in outcome.cluster.lost if w in outcome.report.workers]
    assert sorted(set(told) - before_the_start) == sorted(missed)


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", IN_STEP)
def test_survivors_in_step_end_each_phase_with_equal_bits(monkeypatch, seed, master):
    outcome = disturbed_fit(monkeypatch, seed, MASTERS[master])
    assert outcome.error is None
    assert_phases_end_equal(outcome)


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("fit", [healthy_fit, disturbed_fit])
@pytest.mark.parametrize("master", ["all_reduce", "power_sgd"])
def test_adding_up_trains_each_example_once_or_tells_that_it_was_repeated(
    monkeypatch, seed, fit, master
):
    outcome = fit(monkeypatch, seed, MASTERS[master], dtype=np.float64)
    assert outcome.error is None
    # A factor times the other is the number to rounding.
    counts = outcome.network.params.round(9)
    assert counts.min() == 1.0
    assert counts.sum() - counts.size <= outcome.report.repeated_examples


def cut_into_a_matrix(network):
    columns = network.params.size // 6
    rest = network.params.size - 6 * columns
    return ParamLayout.of({"W": (6, columns), "b": (rest,)})


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("fit", [healthy_fit, disturbed_fit])
def test_survivors_hold_the_same_bits_where_much_is_left_out(monkeypatch, seed, fit):
    """Errors are each one's own, what is told is not; also when somebody dies."""
    monkeypatch.setattr(TallyNetwork, "layout", property(cut_into_a_matrix))
    outcome = fit(monkeypatch, seed, power_sgd)
    assert outcome.error is None
    assert_phases_end_equal(outcome)
    report = outcome.report
    assert report.examples - report.repeated_examples == outcome.network.params.size


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("fit", [healthy_fit, disturbed_fit])
@pytest.mark.parametrize("master", MASTERS)
def test_workers_with_gpus_end_with_the_same_bits(monkeypatch, master, fit, seed):
    """Vectors on a device, which the client has not."""
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    host = fit(monkeypatch, seed, MASTERS[master])
    device = fit(monkeypatch, seed, MASTERS[master], put=pretend)
    assert type(device.error) is type(host.error)
    assert all(isinstance(w.network.params, PretendArray) for w in device.survivors)
    ends = [
        [(plain(w.network.params).tobytes(), w.network.iteration_count) for w in ran]
        for ran in (device.survivors, host.survivors)
    ]
    assert ends[0] == ends[1]
    assert type(device.network.params) is np.ndarray


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("master", MASTERS)
def test_thousands_of_disturbed_fits(monkeypatch, master):
    for seed in MANY:
        with naming(seed):
            outcome = disturbed_fit(monkeypatch, seed, MASTERS[master])
            assert_fit_is_right(outcome)
            if master in IN_STEP:
                assert_phases_end_equal(outcome)


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", MASTERS)
def test_when_all_die_the_fit_says_so(monkeypatch, seed, master):
    rng = random.Random(seed)
    workers = [Worker(f"w{n}", Fate(1, 40)) for n in range(3)]
    data = numbered_data([400], 4, in_memory=True)
    outcome = simulate(monkeypatch, seed, MASTERS[master](rng), workers, data)
    assert isinstance(outcome.error, WorkerLostError)


def test_workers_that_join_are_told(monkeypatch):
    workers = [Worker("w0"), Worker("w1", Fate(1, 20)), Worker("late", from_epoch=1)]
    data = numbered_data([200], 4, in_memory=True)
    outcome = simulate(
        monkeypatch, 1, all_reduce(random.Random(1)), workers, data, epochs=3
    )
    assert [event.epoch for event in outcome.report.joined] == [1]
    assert outcome.report.joined_workers == ("late",)


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_two_members_that_do_not_hear_each_other_cost_one(
    monkeypatch, pair, master, seed
):
    """The scheduler hears them all, and nobody has an error."""
    rng = random.Random(seed)
    workers = [Worker(f"w{n}") for n in range(3)]
    outcome = simulate(
        monkeypatch,
        seed,
        MASTERS[master](rng),
        workers,
        numbered_data([200], 4, in_memory=True),
        epochs=2,
        cut=pair,
    )
    assert_fit_is_right(outcome)
    assert [lost.worker for lost in outcome.report.lost] == [f"w{max(pair)}"]


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("master", MASTERS)
def test_when_all_die_and_others_come_every_example_is_trained(
    monkeypatch, master, seed
):
    rng = random.Random(seed)
    workers = [Worker(f"w{n}", Fate(rng.randint(0, 4), 1)) for n in range(3)]
    workers += [Worker(f"new{n}", comes_back=1) for n in range(2)]
    outcome = simulate(
        monkeypatch,
        seed,
        MASTERS[master](rng),
        workers,
        numbered_data([200], 4, in_memory=True),
        epochs=3,
    )
    assert_fit_is_right(outcome)
    assert [epoch.epoch for epoch in outcome.report.epochs] == [1, 2, 3]
    assert {w.address for w in outcome.survivors} == {"new0", "new1"}
    assert outcome.report.joined_workers == ("new0", "new1")

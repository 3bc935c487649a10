"""Simulated workers: what must hold whatever things cost, and what is refused."""

import itertools

import pytest

from benchmarks.simulation import digits
from benchmarks.simulation.clock import Clock, Process, Until
from benchmarks.simulation.command import main, predict
from benchmarks.simulation.learner import Learner
from benchmarks.simulation.learning import learned
from benchmarks.simulation.lines import Lines
from benchmarks.simulation.measured import Measured
from benchmarks.simulation.run import Simulation
from benchmarks.simulation.setting import Costs, Setting
from daskdl.errors import OptionError

FREE = Costs(encode_ms=0, send_ms=0, take_ms=0, megabyte_ms=0, average_ms=0)
# A rule of each kind, to which all of a setting applies.
KINDS = [("shared", "plain"), ("shared", "mesh"), ("averaging", "plain")]
each_kind = pytest.mark.parametrize(("master", "topology"), KINDS)


def simulated(**options):
    return Simulation(Setting(**{"minibatches": 20, **options})).run()


@each_kind
def test_all_minibatches_are_trained(master, topology):
    outcome = simulated(workers=12, master=master, topology=topology)
    assert outcome.examples == 12 * 20 * 64


@each_kind
def test_a_seed_repeats_a_simulation(master, topology):
    options = {"workers": 12, "master": master, "topology": topology}
    assert simulated(**options) == simulated(**options)


def test_another_seed_is_another_simulation():
    assert simulated(workers=3, seed=1).time_s != simulated(workers=3, seed=2).time_s


@each_kind
def test_without_costs_and_jitter_n_workers_are_n_times_as_fast(master, topology):
    outcome = simulated(
        workers=12,
        master=master,
        topology=topology,
        costs=FREE,
        jitter=0,
        latency_ms=0,
        bandwidth_mbit=1e12,
    )
    assert outcome.efficiency == pytest.approx(1.0)


def test_one_worker_takes_as_long_as_its_steps():
    outcome = simulated(workers=1, jitter=0, step_ms=10)
    assert outcome.time_s == pytest.approx(20 * 0.010)


def test_two_workers_take_what_the_messages_cost_as_well():
    """In step: encode, send, take in; and of the latency what sending does not hide."""
    costs = Costs(encode_ms=1, send_ms=2, take_ms=3, megabyte_ms=0)
    outcome = simulated(
        workers=2, jitter=0, step_ms=10, latency_ms=0.5, bandwidth_mbit=1e9, costs=costs
    )
    assert outcome.step_ms == pytest.approx(10 + 1 + 2 + 0.5 + 3, rel=0.03)


def test_a_tree_sends_far_fewer_messages_than_all_to_all():
    costs = Costs(encode_ms=0, send_ms=1, take_ms=0, megabyte_ms=0)
    options = {"workers": 64, "costs": costs, "minibatches": 5}
    to_all = simulated(**options, topology="plain")
    tree = simulated(**options, topology="mesh")
    assert tree.per_s > 2 * to_all.per_s


def test_a_narrow_line_holds_averaging_up():
    """Two vectors of a worker, three quarters of them twice, every fifth minibatch."""
    outcome = simulated(workers=4, master="averaging", bandwidth_mbit=100, costs=FREE)
    s_a_round = 1.5 * 8 * 431_080 * 8 / 100e6
    assert outcome.time_s > 4 * s_a_round


def test_overlap_hides_lines_that_hold_averaging_up():
    """All but the last rounds, of parameters and then of states."""
    options = {"workers": 4, "master": "averaging", "jitter": 0, "costs": FREE}
    options |= {"bandwidth_mbit": 1000, "minibatches": 100}
    waiting = simulated(**options)
    hidden = simulated(**options, overlap=True)
    s_a_vector = 1.5 * 4 * 431_080 * 8 / 1e9
    assert waiting.time_s > 100 * 0.0125 + 20 * 2 * s_a_vector
    assert hidden.time_s < 100 * 0.0125 + 4 * s_a_vector
    assert hidden.bytes_sent < 0.6 * waiting.bytes_sent


def test_workers_that_train_on_while_they_average_learn():
    setting = Setting(workers=4, master="averaging", overlap=True, batch_size=16)
    _, accuracy = learned(setting, 2)
    assert accuracy > 0.6


@each_kind
def test_averaging_waits_for_who_is_slow_and_sharing_does_not(master, topology):
    outcome = simulated(
        workers=4, master=master, topology=topology, stragglers=(20.0,), jitter=0
    )
    # No round is longer than five.
    assert (outcome.most_late > 5) == (master == "shared")


@pytest.mark.parametrize(
    ("master", "topology", "overlap"),
    [*((*kind, False) for kind in KINDS), ("averaging", "plain", True)],
)
@pytest.mark.parametrize("ranks", [(0,), (3,), (11,), (0, 1), (0, 1, 2, 11)])
def test_survivors_end_whoever_dies(master, topology, overlap, ranks):
    deaths = tuple((rank, 0.05 + 0.03 * n) for n, rank in enumerate(ranks))
    how = {"master": master, "topology": topology, "overlap": overlap}
    outcome = simulated(workers=12, deaths=deaths, **how)
    assert set(outcome.survivors) == set(range(12)) - set(ranks)
    assert 20 * len(outcome.survivors) < outcome.minibatches < 20 * 12


def test_a_tree_of_a_thousand_is_simulated():
    assert simulated(workers=1024, topology="mesh", minibatches=1).minibatches == 1024


@pytest.mark.parametrize("topology", ["plain", "mesh"])
def test_workers_that_share_learn(topology):
    setting = Setting(workers=4, topology=topology, batch_size=16)
    _, accuracy = learned(setting, 2)
    assert accuracy > 0.6


def test_over_a_tree_replicas_are_equal_at_the_end_of_a_phase(learners):
    Simulation(Setting(workers=9, topology="mesh"), learners).run(2)
    first = learners[0].network.params
    spread = [abs(each.network.params - first).max() for each in learners]
    assert max(spread) < 1e-5


def test_over_a_tree_survivors_are_equal_at_the_end_of_a_phase(learners):
    deaths = ((0, 0.05), (1, 0.06), (5, 0.07))
    setting = Setting(workers=9, topology="mesh", deaths=deaths)
    outcome = Simulation(setting, learners).run(1)
    vectors = [learners[rank].network.params for rank in outcome.survivors]
    assert max(abs(a - b).max() for a, b in itertools.pairwise(vectors)) < 1e-5


@pytest.fixture
def learners():
    batches = digits.minibatches(*digits.examples("train"), 8, 1)[:90]
    return [Learner(rank, digits.network(1), batches[rank::9]) for rank in range(9)]


def test_messages_of_a_line_follow_each_other():
    arrived = []
    clock = Clock()
    setting = Setting(workers=3, latency_ms=1, bandwidth_mbit=8)
    lines = Lines(clock, setting, lambda *what: arrived.append((clock.now_s, *what)))
    lines.send(0, 1, "first", 1000)
    lines.send(0, 2, "second", 1000)
    while clock.step():
        pass
    assert [(round(t, 6), message) for t, _, _, message, _ in arrived] == [
        (0.002, "first"),
        (0.003, "second"),
    ]


def test_workers_of_a_host_share_its_line_and_need_none_among_themselves():
    arrived = []
    clock = Clock()
    setting = Setting(workers=4, workers_per_host=2, latency_ms=1, bandwidth_mbit=8)
    lines = Lines(clock, setting, lambda *what: arrived.append((clock.now_s, *what)))
    lines.send(0, 2, "first out", 1000)
    lines.send(1, 3, "second out", 1000)
    lines.send(0, 1, "at home", 1000)
    while clock.step():
        pass
    assert [(round(t, 6), message) for t, _, _, message, _ in arrived] == [
        (0.001, "at home"),
        (0.002, "first out"),
        (0.003, "second out"),
    ]
    assert lines.crossed_bytes == 2000


def crossed_share(workers_per_host):
    outcome = simulated(
        workers=12, workers_per_host=workers_per_host, topology="mesh", minibatches=1
    )
    return outcome.bytes_crossed / outcome.bytes_sent


def test_in_a_tree_few_bytes_go_from_host_to_host():
    """Of eleven lines two; a little more, as the sums of a whole host are longer."""
    assert (crossed_share(1), crossed_share(12)) == (1.0, 0.0)
    assert 2 / 11 < crossed_share(4) < 3 / 11


def test_what_a_dead_worker_had_not_sent_is_lost():
    arrived = []
    clock = Clock()
    setting = Setting(workers=2, bandwidth_mbit=8)
    lines = Lines(clock, setting, lambda *what: arrived.append(what))
    lines.send(0, 1, "late", 1000)
    lines.cut(0)
    while clock.step():
        pass
    assert arrived == []


def test_a_sleep_ends_when_woken():
    clock = Clock()
    woken = []

    def steps():
        yield Until(10.0)
        woken.append(clock.now_s)

    process = Process(clock, steps())
    clock.at(3.0, process.wake)
    while clock.step():
        pass
    assert woken == [3.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be"),
        ({"workers": 2, "topology": "ring"}, "topology must be"),
        ({"workers": 2, "master": "averaging", "topology": "mesh"}, "carry updates"),
        ({"workers": 5000}, "must have at most 1024 workers, got 5000"),
        ({"workers": 5000, "topology": "mesh"}, "at most 4096 workers, got 5000"),
        ({"workers": 1, "stragglers": (4.0, 4.0)}, "stragglers must be at most 1"),
        ({"workers": 2, "deaths": ((2, 1.0),)}, r"deaths must be of workers 0 to 1"),
        ({"workers": 2, "step_ms": 0.0}, "step_ms must be"),
        ({"workers": 2, "workers_per_host": 0}, "workers_per_host must be"),
        ({"workers": 2, "overlap": True}, "goes with master 'averaging', got 'shared'"),
    ],
)
def test_settings_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Setting(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 65}, "workers must be at most 64"),
        ({"workers": 64, "batch_size": 64}, "a minibatch for each worker, got 22"),
    ],
)
def test_too_many_learners_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        learned(Setting(**options), 1)


def test_the_command_prints_a_row_for_each_number_of_workers(capsys):
    main(["--workers", "2,9", "--topology", "mesh", "--minibatches", "3"])
    printed = capsys.readouterr().out
    assert [line.split()[1] for line in printed.splitlines() if line[:1] == "│"] == [
        "2",
        "9",
    ]


def test_the_command_refuses_what_does_not_fit(capsys):
    with pytest.raises(SystemExit):
        main(["--workers", "2,4", "--deaths", "3@0.1"])
    assert "deaths must be of workers 0 to 1, got [3]" in capsys.readouterr().err


def test_a_prediction_starts_from_what_was_measured():
    found = Measured("lenet", alone_ms=10.0, two_ms=12.0, sent_kib=9.0, minibatches=50)
    outcome = predict(found, Setting(workers=8))
    assert outcome.setting.workers == 2
    assert outcome.minibatches == 100
    assert outcome.kib_a_minibatch == pytest.approx(9.0, rel=0.05)

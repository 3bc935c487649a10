"""Who shares an updater block, and how its state lies; the rest is DL4J's numbers."""

from daskdl.nn.conf.input_type import FeedForward
from daskdl import BatchNormalization, Dense, Output
from daskdl.nn.conf.updaters import Adam, Nesterovs, NoOp, Sgd
from tests.unit.networks.small import sequence


def blocks(*layers, **options):
    network = sequence(FeedForward(size=4), *layers, Output(n_out=3), **options)
    return network._plan.blocks


def test_one_updater_for_all_is_one_block():
    (block,) = blocks(Dense(n_out=5), updater="adam")
    assert (block.size, block.n_parts, block.state_stop) == (43, 2, 86)


def test_another_updater_begins_a_block():
    found = blocks(Dense(n_out=5, updater="nesterovs"), updater="adam")
    assert [(b.updater, b.start, b.stop, b.state_start) for b in found] == [
        (Nesterovs(), 0, 25, 0),
        (Adam(), 25, 43, 25),
    ]


def test_another_learning_rate_begins_a_block():
    found = blocks(Dense(n_out=5, updater=Adam(learning_rate=1.0)), updater="adam")
    assert [block.size for block in found] == [25, 18]


def test_equal_updaters_join_however_they_were_written():
    found = blocks(
        Dense(n_out=5, updater={"type": "adam", "learning_rate": 1e-3}), updater=Adam()
    )
    assert len(found) == 1


def test_biases_with_an_updater_of_their_own_split_every_layer():
    found = blocks(Dense(n_out=5), updater="adam", bias_updater="sgd")
    assert [(b.updater, b.size) for b in found] == [
        (Adam(), 20),
        (Sgd(), 5),
        (Adam(), 15),
        (Sgd(), 3),
    ]


def test_running_statistics_split_blocks_and_have_no_state():
    found = blocks(Dense(n_out=5), BatchNormalization(), updater="adam")
    assert [(b.updater, b.size, b.state_start) for b in found] == [
        (Adam(), 35, 0),
        (NoOp(), 10, 70),
        (Adam(), 18, 70),
    ]

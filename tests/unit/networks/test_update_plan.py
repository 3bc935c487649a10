"""Who shares an updater block, and how its state lies; the rest is DL4J's numbers."""

import numpy as np

from daskdl import BatchNormalization, Dense, Output
from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.updaters import Adam, Nesterovs, NoOp, Sgd
from daskdl.nn.param_roles import plan_parameters
from daskdl.nn.update_plan import UpdatePlan
from tests.unit.networks.small import sequence
from tests.unit.networks.update_cases import EXACT, Options


def blocks(*layers, **options):
    network = sequence(FeedForward(size=4), *layers, Output(n_out=3), **options)
    return network.plan.blocks


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


def two_layers(*, table_order=(), bias_updater=None, pretraining=False, **options):
    """Return the plan of b (1), W (3) and a decoder (2), then of W (2)."""
    options = Options(bias_updater=bias_updater, **options)
    first = [
        Parameter("b", (1,), "bias"),
        Parameter("W", (3,), "weight"),
        Parameter("vb", (2,), "bias", is_pretraining=True),
    ]
    second = [Parameter("W", (2,), "weight")]
    shapes = {f"0_{item.name}": item.shape for item in first} | {"1_W": (2,)}
    layout = ParamLayout.of(shapes)
    slots = list(layout)
    layer_spans = [
        plan_parameters(options, slots[:3], first, table_order=table_order),
        plan_parameters(options, slots[3:], second),
    ]
    return UpdatePlan(layout, layer_spans, pretraining=pretraining)


def update_of(plan, gradients, params):
    gradients, state = np.array(gradients, float), np.zeros(plan.state_size)
    plan.update(
        gradients, np.array(params, float), state, iteration=0, workspace=Workspace()
    )
    return gradients.tolist()


def test_what_changes_in_pretraining_alone_has_a_block_of_its_own():
    found = [(b.start, b.stop, b.is_pretraining) for b in two_layers().blocks]
    assert found == [(0, 4, False), (4, 6, True), (6, 8, False)]


def test_its_state_lies_where_dl4j_has_it():
    found = two_layers(updater=Adam()).blocks
    assert [block.state_start for block in found] == [0, 8, 12]


def test_its_update_is_zero_otherwise():
    plan = two_layers(updater=Sgd(learning_rate=1), l2_bias=1.0)
    assert update_of(plan, [1.0] * 8, [1.0] * 8) == [2, 1, 1, 1, 0, 0, 1, 1]


def test_it_learns_in_pretraining():
    plan = two_layers(updater=Sgd(learning_rate=1), l2_bias=1.0, pretraining=True)
    assert update_of(plan, [1.0] * 8, [1.0] * 8) == [2, 1, 1, 1, 2, 2, 1, 1]


def test_its_penalty_counts_in_the_score_of_pretraining_only():
    params = np.ones(8)
    assert two_layers(l1_bias=1.0).regularization_score(params) == 1
    pretraining = two_layers(l1_bias=1.0, pretraining=True)
    assert pretraining.regularization_score(params) == 3


def test_penalties_are_dealt_in_the_order_of_the_table_in_dl4j():
    """That is, for separable convolutions: W's share begins where b lies."""
    plan = two_layers(
        updater=Sgd(learning_rate=1), l2=10.0, table_order=("W", "b", "vb")
    )
    assert update_of(plan, [0.0] * 8, [1.0] * 8) == [10, 10, 10, 0, 0, 0, 10, 10]


def test_each_parameter_has_its_own_updater_and_penalty_whatever_the_table():
    plan = two_layers(
        updater=Sgd(learning_rate=1),
        bias_updater=Sgd(learning_rate=5),
        l2=10.0,
        table_order=("W", "b", "vb"),
        quirks=EXACT,
    )
    assert update_of(plan, [1.0] * 8, [1.0] * 8) == [5, 11, 11, 11, 0, 0, 11, 11]


def test_updaters_are_dealt_in_the_order_of_the_table_in_dl4j():
    plan = two_layers(
        updater=Sgd(learning_rate=1),
        bias_updater=Sgd(learning_rate=5),
        table_order=("W", "b", "vb"),
    )
    assert update_of(plan, [1.0] * 8, [0.0] * 8) == [1, 1, 1, 5, 0, 0, 1, 1]


def test_the_score_sees_the_parameters_themselves_whatever_the_order_of_the_table():
    plan = two_layers(l1=1.0, table_order=("W", "b", "vb"))
    assert plan.regularization_score(np.arange(8.0)) == 1 + 2 + 3 + 6 + 7


def test_the_state_of_dl4j_is_found_part_by_part():
    """DL4J lays a convolution's bias first: M and V of b, then those of W."""
    layout = ParamLayout.of({"0_W": (2,), "0_b": (1,)})
    parameters = [Parameter("W", (2,)), Parameter("b", (1,), "bias")]
    options = Options(updater=Adam(), bias_updater=Nesterovs())
    plan = UpdatePlan(layout, [plan_parameters(options, list(layout), parameters)])
    # Ours: M of W at 0 and 1, V of W at 2 and 3, V of b at 4.
    order = plan.state_order(["0_b", "0_W"], np.array([2, 1, 0]))
    assert order.tolist() == [4, 1, 0, 3, 2]


def test_the_state_of_dl4j_joins_blocks_in_its_own_order():
    layout = ParamLayout.of({"0_W": (1,), "0_b": (1,), "1_W": (1,)})
    parameters = [Parameter("W", (1,)), Parameter("b", (1,), "bias")]
    options = Options(updater=Adam(), bias_updater=Nesterovs())
    slots = list(layout)
    layer_spans = [
        plan_parameters(options, slots[:2], parameters),
        plan_parameters(options, slots[2:], parameters[:1]),
    ]
    plan = UpdatePlan(layout, layer_spans)
    # Ours: M, V of 0_W; V of 0_b; M, V of 1_W. DL4J's: b alone, then both W together.
    order = plan.state_order(["0_b", "0_W", "1_W"], np.array([1, 0, 2]))
    assert order.tolist() == [2, 0, 3, 1, 4]


def test_without_updater_state_there_is_nothing_to_order():
    plan = two_layers(updater=Sgd())
    names = ["0_b", "0_W", "0_vb", "1_W"]
    assert plan.state_order(names, np.arange(8)).shape == (0,)

"""What attention layers promise besides what holds for every layer."""

import numpy as np
import pytest

from daskdl import (
    FeedForward,
    LearnedSelfAttention,
    Recurrent,
    RecurrentAttention,
    SelfAttention,
)
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.layers.layer import Layer
from tests.dialects import DL4J, in_dl4j
from tests.unit.layers.case import SERIES
from tests.unit.layers.cases import Alone
from tests.unit.layers.drawn import mask_behind

MASKED = [
    "self attention, large heads, masked",
    "learned self attention, masked",
    "recurrent attention, heads, masked",
]


@pytest.mark.parametrize("name", MASKED)
def test_steps_that_the_mask_drops_answer_nothing(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    dropped = alone.mask(len(x)) == 0
    output = alone.forward(x).copy()
    x[dropped] += 5
    changed = alone.forward(x)
    kept = changed.shape[:2] != dropped.shape or ~dropped
    np.testing.assert_allclose(changed[kept], output[kept], rtol=1e-9)


ANSWERED = [name for name in MASKED if not name.startswith("learned")]


@pytest.mark.parametrize("name", ANSWERED)
def test_masked_steps_come_out_as_zero(rng, name):
    alone = Alone(name)
    output = alone.forward(alone.x(rng))
    np.testing.assert_array_equal((output == 0).all(axis=2), alone.mask() == 0)


@pytest.mark.parametrize("name", ANSWERED)
def test_masked_steps_have_outputs_all_the_same_in_dl4j(rng, name):
    alone = Alone(name, dialect=DL4J)
    assert alone.forward(alone.x(rng)).all()


@pytest.mark.parametrize("name", MASKED)
def test_a_series_without_any_step_gets_nothing_and_sends_nothing_back(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    output = alone.forward(x, mask=np.zeros(x.shape[:2]))
    assert not output.any()
    assert not alone.backward(np.ones_like(output)).any()


def test_the_steps_of_a_series_without_any_all_answer_in_dl4j(rng):
    name = "learned self attention, masked"
    alone, exact = Alone(name, dialect=DL4J), Alone(name)
    x = alone.x(rng)
    exact.params[...] = alone.params
    output = alone.forward(x, mask=np.zeros(x.shape[:2]))
    # 1e9 leaves seven digits of a score.
    np.testing.assert_allclose(output, exact.forward(x, mask=None), atol=1e-6)


def test_no_mask_comes_out_of_learned_queries(rng):
    alone = Alone("learned self attention, masked")
    assert mask_behind(alone.layer, alone.mask()) is None


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_of_other_steps_is_refused(rng, name):
    alone = Alone(name)
    with pytest.raises(ShapeError, match=r"'me': the mask must have shape \(3, 4\)"):
        alone.layer.forward(alone.x(rng), training=False, mask=np.ones((3, 2)))


def test_the_only_head_of_a_layer_without_projection_has_no_parameters():
    assert SelfAttention(n_out=3).parameters(SERIES) == ()


def test_parameters_have_the_shapes_of_dl4j():
    layer = LearnedSelfAttention(
        n_out=5, n_queries=2, n_heads=2, head_size=4, project_input=True
    )
    shapes = {item.name: item.shape_in_file for item in layer.parameters(SERIES)}
    assert shapes == {
        "Q": (1, 3, 2),
        "Wq": (2, 4, 3),
        "Wk": (2, 4, 3),
        "Wv": (2, 4, 3),
        "Wo": (8, 5),
    }


def test_the_bias_of_recurrent_attention_comes_last():
    layer = RecurrentAttention(n_out=4)
    names = [item.name for item in layer.parameters(SERIES)]
    assert names == ["W", "RW", "Wq", "Wk", "Wv", "Wo", "b"]


def test_no_outputs_of_dl4j_are_as_many_as_inputs():
    """Its files have 0 where nobody named a number."""
    assert SelfAttention(n_in=3, n_out=0).n_out == 3


def test_recurrent_attention_takes_its_activation_from_nobody():
    filled = RecurrentAttention(n_out=4).filled(
        NetworkConf(activation="relu").defaults(), SERIES, "me"
    )
    assert filled.activation == "tanh"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            SelfAttention,
            {"n_out": 4, "n_heads": 2},
            "n_heads: must be 1 without projec",
        ),
        (
            SelfAttention,
            {"n_out": 4, "n_heads": 3, "project_input": True},
            "head_size: must be given where n_heads, 3, does not divide n_out, 4",
        ),
        (
            SelfAttention,
            {"n_out": 4, "activation": "relu"},
            "activation: must be left out: SelfAttention has none",
        ),
    ],
)
def test_options_that_cannot_be_are_refused(kind, options, message):
    with pytest.raises(OptionError, match=message):
        kind(**options)


@pytest.mark.parametrize(
    ("layer", "input_type", "message"),
    [
        (SelfAttention(n_out=4), SERIES, "n_out: must be 3, the number of inputs, wh"),
        (
            LearnedSelfAttention(n_out=4, n_queries=2),
            FeedForward(size=4),
            "LearnedSelfAttention needs time series",
        ),
        (RecurrentAttention(n_out=4, n_in=5), SERIES, "n_in: must be 3, what the la"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(layer, input_type, message):
    with pytest.raises(OptionError, match=message):
        layer.output_type(input_type)


def test_learned_queries_give_the_steps():
    layer = LearnedSelfAttention(n_out=3, n_queries=7)
    assert layer.output_type(SERIES) == Recurrent(size=3, time_steps=7)


def drawn(layer_conf, n_in):
    """Return the initial parameters of a layer, by name."""
    input_type = Recurrent(size=n_in)
    filled = layer_conf.filled(NetworkConf().defaults(), input_type, "me")
    assert filled.quirks == layer_conf.quirks
    layer = Layer(filled, input_type, "me", Workspace())
    shapes = filled.parameter_shapes(input_type)
    params = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    layer.bind(params, params)
    layer.initialize(np.random.default_rng(3))
    return params


WIDE = LearnedSelfAttention(
    n_out=50, n_queries=30, n_heads=4, head_size=20, project_input=True
)


def test_initial_weights_have_the_fans_of_what_they_map():
    params = drawn(WIDE, n_in=40)
    fans = {"Q": 40 + 30, "Wq": 40 + 20, "Wk": 40 + 20, "Wv": 40 + 20, "Wo": 80 + 50}
    for name, both in fans.items():
        assert params[name].std() == pytest.approx(np.sqrt(2 / both), rel=0.1)


def test_dl4j_swaps_the_fans_of_the_projections_and_the_way_out():
    params = drawn(in_dl4j(WIDE), n_in=40)
    fans = {"Q": 40 + 30, "Wq": 80 + 50, "Wk": 80 + 50, "Wv": 80 + 50, "Wo": 40 + 20}
    for name, both in fans.items():
        assert params[name].std() == pytest.approx(np.sqrt(2 / both), rel=0.1)


def test_initial_weights_of_the_recurrence():
    params = drawn(RecurrentAttention(n_out=50), n_in=30)
    assert params["W"].std() == pytest.approx(np.sqrt(2 / 80), rel=0.1)
    assert params["RW"].std() == pytest.approx(np.sqrt(2 / 100), rel=0.1)
    assert not params["b"].any()

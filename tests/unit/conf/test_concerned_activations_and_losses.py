"""Which networks the quirks of activations and losses are told of."""

import pytest

import daskdl as dl
from daskdl.nn.dialect_differences import differences
from tests.dialects import DL4J

ALWAYS = {"masks_of_outputs_count_twice"}
FAMILIES = {"Activations", "Losses"}


def concerning(*layers, **options):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=3), layers=layers, activation="tanh", **options
    )
    told = differences(conf, DL4J)
    return {quirk.name for quirk in told if quirk.family in FAMILIES} - ALWAYS


def behind(activation):
    return dl.Dense(n_out=4, activation=activation), dl.Output(n_out=2, loss="mse")


@pytest.mark.parametrize(
    ("activation", "names"),
    [
        ("relu", set()),
        ("elu", set()),
        ({"type": "elu", "alpha": 0}, {"elu_gradient_ignores_alpha"}),
        ({"type": "gelu", "precise": True}, {"precise_gelu_cubes_products"}),
        ("rrelu", {"rrelu_passes_gradients", "rrelu_compares_in_inference"}),
        (
            {"type": "relu", "max": 0, "negative_slope": 0.1},
            {"relu_cuts_gradient_by_input"},
        ),
        ("leakyrelu", set()),
        ("gelu", set()),
    ],
)
def test_activations(activation, names):
    assert concerning(*behind(activation)) == names


@pytest.mark.parametrize(
    ("activation", "name"),
    [
        ("hardsigmoid", "rounds_constants_of_activations"),
        ("leakyrelu", "rounds_slopes_in_derivatives"),
    ],
)
def test_what_is_rounded_concerns_float64_alone(activation, name):
    assert concerning(*behind(activation), dtype="float64") == {name}
    assert concerning(*behind(activation)) == set()


@pytest.mark.parametrize(
    ("loss", "activation", "names"),
    [
        ("mae", "identity", {"mae_of_examples_is_a_sum"}),
        ("mcxent", "sigmoid", set()),
        (
            "mcxent",
            None,
            {
                "softmax_is_clipped_in_scores",
                "softmax_labels_count_as_shares",
                "softmax_refuses_masks_of_outputs",
            },
        ),
        ("xent", "sigmoid", {"xent_keeps_the_slope_where_it_clips"}),
        (
            {"type": "xent", "weights": [1, 2]},
            "softmax",
            {
                "xent_keeps_the_slope_where_it_clips",
                "xent_scores_one_term_of_softmax",
                "xent_weighs_behind_softmax",
            },
        ),
    ],
)
def test_losses(loss, activation, names):
    layer = dl.Output(n_out=2, loss=loss, activation=activation)
    assert concerning(layer, validate_output_layer=False) == names

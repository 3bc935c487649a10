"""Which networks are told of a quirk of training: those that it changes."""

import pytest

import daskdl as dl
from daskdl.nn.dialect_differences import differences
from tests.dialects import DL4J

SERIES = dl.Recurrent(size=3)
SEGMENTS = {"backprop_type": "truncated_bptt", "tbptt_fwd_length": 30}
FADING = {"type": "poly", "initial_value": 0.1, "power": 1, "max_iter": 9}
NOISE = {"type": "drop_connect", "weight_retain_probability": 0.5}
FORGETS = "wrapped_layers_forget"


def concerning(layer, **options):
    conf = dl.MultiLayerConfiguration(
        input=SERIES, layers=[layer, dl.RnnOutput(n_out=2)], **options
    )
    return {quirk.name for quirk in differences(conf, DL4J)}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("epsilon_for_rate", {"updater": {"type": "adam", "learning_rate": FADING}}),
        ("epsilon_for_rate", {"updater": {"type": "adam", "learning_rate": 0.0}}),
        ("back_length_changes_nothing", {**SEGMENTS, "tbptt_back_length": 20}),
        ("gradients_begin_with_zeros", SEGMENTS),
        ("weight_decay_in_score", {"weight_decay": 0.1}),
        ("searches_along_updates", {"optimization_algo": "lbfgs"}),
        ("noise_not_in_gradient", {"weight_noise": NOISE}),
    ],
)
def test_what_is_asked_for_is_told(name, options):
    assert name in concerning(dl.LSTM(n_out=2), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"updater": "adam"},
        {"tbptt_back_length": 20, "tbptt_fwd_length": 30},
        {"bias_updater": "adam"},
        {"l2": 0.1},
    ],
)
def test_what_is_computed_alike_is_not(options):
    known = concerning(dl.LSTM(n_out=2))
    assert concerning(dl.LSTM(n_out=2), **options) == known


@pytest.mark.parametrize(
    ("layer", "forgets"),
    [
        (dl.GravesLSTM(n_out=2), False),
        (dl.MaskZero(layer=dl.LSTM(n_out=2)), False),
        (dl.MaskZero(layer=dl.GravesLSTM(n_out=2)), True),
        (dl.Frozen(layer=dl.MaskZero(layer=dl.LSTM(n_out=2))), True),
    ],
)
def test_layers_in_wrappers_are_told_of_where_they_forget(layer, forgets):
    assert (FORGETS in concerning(layer, **SEGMENTS)) is forgets

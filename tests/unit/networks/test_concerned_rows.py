"""Which networks are told that DL4J computes rows, dropout and penalties otherwise."""

import pytest

import daskdl as dl
from daskdl.dl4j.quirks.rows import QUIRKS
from daskdl.nn.dialect_differences import differences
from tests.dialects import DL4J

ROWS, SERIES = dl.FeedForward(size=3), dl.Recurrent(size=3, time_steps=4)
OUT, NOISE = dl.Output(n_out=2), {"type": "gaussian_noise", "stddev": 0.1}
CONNECT = {"type": "drop_connect", "weight_retain_probability": 0.5}
POOL = dl.GlobalPooling()
DROPPED = dl.GlobalPooling(dropout=NOISE)
ATTENTION = dl.SelfAttention(n_out=3, weight_noise=CONNECT)
LOCAL = dl.LocallyConnected1D(n_out=2)
LOCKED = dl.BatchNormalization(lock_gamma_beta=True, gamma=2.0)
CENTERS = dl.CenterLossOutput(n_out=2, gradient_check=True)


@pytest.mark.parametrize(
    ("input_type", "layers", "options", "expected"),
    [
        (ROWS, [dl.Dense(n_out=2), OUT], {"keep_probability": 0.5, "l2": 0.1}, set()),
        (ROWS, [dl.Dense(n_out=2), OUT], {"weight_noise": CONNECT}, set()),
        (SERIES, [dl.LSTM(n_out=2), POOL, OUT], {"keep_probability": 0.5}, set()),
        (SERIES, [dl.LSTM(n_out=2), DROPPED, OUT], {}, {"layers_ignore_dropout"}),
        (SERIES, [ATTENTION, POOL, OUT], {}, {"layers_ignore_weight_noise"}),
        (SERIES, [LOCAL, POOL, OUT], {"bias_init": 0.1}, {"biases_begin_at_zero"}),
        (SERIES, [LOCAL, POOL, OUT], {"l2": 0.1}, {"some_penalties_not_scored"}),
        (
            ROWS,
            [LOCKED, OUT],
            {},
            {"locked_gamma_beta_left_out", "normalization_ignores_masks"},
        ),
        (ROWS, [dl.AutoEncoder(n_out=2), OUT], {}, {"auto_encoder_ascends"}),
        (
            ROWS,
            [CENTERS],
            {"bias_updater": "adam"},
            {
                "distances_ignore_masks",
                "centers_move_by_means",
                "alpha_stays_in_gradient_checks",
                "center_loss_updates_biases_as_weights",
            },
        ),
        (
            ROWS,
            [dl.OCNNOutput(hidden_size=2)],
            {"l1": 0.1},
            {
                "one_class_loss_of_means",
                "scores_overwrite_the_first",
                "one_class_output_ignores_penalties",
            },
        ),
        (
            ROWS,
            [dl.OCNNOutput(hidden_size=2, nu=0.005)],
            {},
            {
                "one_class_loss_of_means",
                "scores_overwrite_the_first",
                "small_percentiles_are_minima",
            },
        ),
    ],
)
def test_a_network_hears_of_what_concerns_it(input_type, layers, options, expected):
    conf = dl.MultiLayerConfiguration(input=input_type, layers=layers, **options)
    own = {quirk.name for quirk in QUIRKS}
    found = {quirk.name for quirk in differences(conf, DL4J)} & own
    assert found == expected

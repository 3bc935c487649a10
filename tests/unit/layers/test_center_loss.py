"""The loss that draws examples to the center of their class."""

import numpy as np
import pytest

from daskdl import CenterLossOutput, Output
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from tests.unit.layers.single import Single

ROWS = FeedForward(size=2)
LABELS = np.eye(3)[[0, 2, 0, 1]]


@pytest.fixture
def x(rng):
    return rng.standard_normal((4, 2))


def center_loss(rng=None, **options):
    single = Single(CenterLossOutput(n_out=3, **options), ROWS)
    if rng is not None:
        single.layer.params["cL"][...] = rng.standard_normal((3, 2))
    return single


def test_fresh_centers_are_zero():
    np.testing.assert_array_equal(center_loss().layer.params["cL"], 0)


def test_each_example_pays_for_its_distance(x, rng):
    single = center_loss(rng, lambda_=0.3)
    plain = Single(Output(n_out=3), ROWS)
    plain.params[...] = single.params[:9]
    for layer in (single, plain):
        layer.forward(x)
    away = x - LABELS @ single.layer.params["cL"]
    expected = plain.layer.score_examples(LABELS) + 0.15 * (away**2).sum(axis=1)
    np.testing.assert_allclose(single.layer.score_examples(LABELS), expected)


def test_the_score_is_the_sum(x, rng):
    layer = center_loss(rng, lambda_=0.3).layer
    layer.forward(x, training=True)
    expected = layer.score_examples(LABELS).sum()
    np.testing.assert_allclose(layer.score(LABELS), expected)


def test_centers_go_a_share_of_the_way_to_their_examples(x, rng):
    layer = center_loss(rng, alpha=0.1).layer
    layer.forward(x, training=True)
    layer.backward_loss(LABELS)
    centers = layer.params["cL"]
    expected = [
        0.1 * sum(centers[c] - x[i] for i in members) / (1 + len(members))
        for c, members in enumerate(([0, 2], [3], [1]))
    ]
    np.testing.assert_allclose(layer.gradients["cL"], expected)


def test_a_mask_leaves_the_distances_in(x, rng):
    """As in DL4J."""
    layer = center_loss(rng, lambda_=0.3).layer
    layer.forward(x, training=True)
    away = x - LABELS @ layer.params["cL"]
    scores = layer.score_examples(LABELS, np.zeros(4))
    np.testing.assert_allclose(scores, 0.15 * (away**2).sum(axis=1))


def test_the_bias_has_the_updater_of_the_weights_and_centers_have_none():
    """As in DL4J."""
    roles = [item.role for item in CenterLossOutput(n_out=3).parameters(ROWS)]
    assert roles == ["weight", "bias of weights", "direct"]


def test_labels_must_be_one_hot():
    with pytest.raises(OptionError, match="loss: must be a loss of one label for each"):
        CenterLossOutput(n_out=3, loss="sparse_mcxent").output_type(ROWS)


def test_series_are_refused():
    with pytest.raises(OptionError, match="CenterLossOutput needs rows or images"):
        CenterLossOutput(n_out=3).output_type(Recurrent(size=2))


def test_lambda_has_its_name_in_mappings():
    conf = CenterLossOutput.model_validate({"n_out": 3, "lambda": 0.5})
    assert conf.model_dump(by_alias=True)["lambda"] == 0.5


def test_where_nobody_asks_there_is_no_gradient_of_the_input(x, rng):
    layer = center_loss(rng).layer
    layer.needs_grad_x = False
    layer.forward(x, training=True)
    assert layer.backward_loss(LABELS) is None

"""The loss that draws examples to the center of their class."""

import numpy as np
import pytest

from daskdl import CenterLossOutput, Output
from daskdl.dialects import DL4J, EXACT, quirks_of
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.values import with_quirks
from tests.gradients import check_gradient
from tests.unit.layers.single import Single

ROWS = FeedForward(size=2)
LABELS = np.eye(3)[[0, 2, 0, 1]]


@pytest.fixture
def x(rng):
    return rng.standard_normal((4, 2))


def center_loss(rng=None, dialect=EXACT, **options):
    conf = CenterLossOutput(n_out=3, **options)
    single = Single(with_quirks(conf, quirks_of(dialect)), ROWS)
    if rng is not None:
        single.layer.run.params["cL"][...] = rng.standard_normal((3, 2))
    return single


def test_fresh_centers_are_zero():
    np.testing.assert_array_equal(center_loss().layer.run.params["cL"], 0)


def test_each_example_pays_for_its_distance(x, rng):
    single = center_loss(rng, lambda_=0.3)
    plain = Single(Output(n_out=3), ROWS)
    plain.params[...] = single.params[:9]
    for layer in (single, plain):
        layer.forward(x)
    away = x - LABELS @ single.layer.run.params["cL"]
    expected = plain.layer.loss.score_examples(LABELS) + 0.15 * (away**2).sum(axis=1)
    np.testing.assert_allclose(single.layer.loss.score_examples(LABELS), expected)


def test_the_score_is_the_sum(x, rng):
    layer = center_loss(rng, lambda_=0.3).layer
    layer.forward(x, training=True)
    expected = layer.loss.score_examples(LABELS).sum()
    np.testing.assert_allclose(layer.loss.score(LABELS), expected)


def test_centers_go_a_share_of_the_way_to_their_examples(x, rng):
    layer = center_loss(rng, alpha=0.1).layer
    layer.forward(x, training=True)
    layer.backward_loss(LABELS)
    centers = layer.run.params["cL"]
    expected = [
        0.1 * sum(centers[c] - x[i] for i in members) / (1 + len(members))
        for c, members in enumerate(([0, 2], [3], [1]))
    ]
    np.testing.assert_allclose(layer.run.gradients["cL"], expected)


MASKS = {
    "of examples": np.array([1.0, 0.0, 0.5, 1.0]),
    "of outputs": np.array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 0]]),
}
SHARES = {
    "of examples": MASKS["of examples"],
    "of outputs": (MASKS["of outputs"] * LABELS).sum(axis=1),
}


def masked(kind, **options):
    """Return a layer that takes such a mask, and the mask."""
    of_outputs = {"loss": "mse", "activation": "tanh"} if kind == "of outputs" else {}
    return {"lambda_": 0.3, **of_outputs, **options}, MASKS[kind]


@pytest.mark.parametrize("kind", MASKS)
def test_masked_examples_have_no_distance(x, rng, kind):
    options, mask = masked(kind)
    single = center_loss(rng, **options)
    given = {name: options[name] for name in ("loss", "activation") if name in options}
    plain = Single(Output(n_out=3, **given), ROWS)
    plain.params[...] = single.params[:9]
    for layer in (single, plain):
        layer.forward(x)
    away = x - LABELS @ single.layer.run.params["cL"]
    more = 0.15 * SHARES[kind] * (away**2).sum(axis=1)
    expected = plain.layer.loss.score_examples(LABELS, mask) + more
    np.testing.assert_allclose(single.layer.loss.score_examples(LABELS, mask), expected)


def test_a_mask_that_comes_with_the_features_counts_too(x, rng):
    layer = center_loss(rng, lambda_=0.3).layer
    mask = MASKS["of examples"]
    layer.forward(x, training=True, mask=mask[:, None])
    found = layer.loss.score(LABELS)
    layer.forward(x, training=True)
    assert found == pytest.approx(layer.loss.score(LABELS, mask))


@pytest.mark.parametrize("kind", MASKS)
def test_gradients_with_a_mask_are_those_of_the_score(x, rng, kind):
    options, mask = masked(kind, alpha=0.2, gradient_check=True)
    single = center_loss(rng, **options)
    n = single.params.size

    def loss_and_grad(vector):
        single.params[...] = vector[:n]
        single.forward(vector[n:].reshape(x.shape))
        grad_x = single.layer.backward_loss(LABELS, mask)
        gradient = np.concatenate([single.gradients, grad_x.ravel()])
        return single.layer.loss.score(LABELS, mask), gradient

    check_gradient(loss_and_grad, np.concatenate([single.params, x.ravel()]))


@pytest.mark.parametrize("kind", MASKS)
def test_masked_examples_move_no_center(x, rng, kind):
    options, mask = masked(kind)
    layer = center_loss(rng, **options).layer
    layer.forward(x, training=True)
    layer.backward_loss(LABELS, mask)
    np.testing.assert_array_equal(layer.run.gradients["cL"][2], 0)


def test_in_dl4j_a_mask_leaves_the_distances_in(x, rng):
    layer = center_loss(rng, DL4J, lambda_=0.3).layer
    layer.forward(x, training=True)
    away = x - LABELS @ layer.run.params["cL"]
    scores = layer.loss.score_examples(LABELS, np.zeros(4))
    np.testing.assert_allclose(scores, 0.15 * (away**2).sum(axis=1))


def test_in_dl4j_alpha_stays_in_gradient_checks(x, rng):
    gradients = []
    for dialect in (EXACT, DL4J):
        start = np.random.default_rng(1)
        layer = center_loss(start, dialect, alpha=0.2, gradient_check=True).layer
        layer.forward(x, training=True)
        layer.backward_loss(LABELS)
        gradients.append(layer.run.gradients["cL"])
    np.testing.assert_allclose(gradients[1], 0.2 * gradients[0])


@pytest.mark.parametrize(
    ("dialect", "is_check", "expected"),
    [
        (EXACT, False, ["weight", "bias", "moved"]),
        (EXACT, True, ["weight", "bias", "direct"]),
        (DL4J, False, ["weight", "bias of weights", "direct"]),
    ],
)
def test_who_moves_what(dialect, is_check, expected):
    """DL4J's bias has the updater of the weights, and centers move by means."""
    layer = center_loss(None, dialect, gradient_check=is_check).layer
    assert [item.role for item in layer.conf.parameters(ROWS)] == expected


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
    layer.run.needs_grad_x = False
    layer.forward(x, training=True)
    assert layer.backward_loss(LABELS) is None

"""What the losses of DL4J's dialect compute otherwise; the rest is golden."""

import numpy as np
import pytest

from daskdl.dialects import EXACT, quirks_of
from daskdl.errors import OptionError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    NegativeLogLikelihood,
    SparseCrossEntropy,
)
from daskdl.nn.losses.table import loss_function
from tests.dialects import DL4J

LABELS = np.array([[0.5, 0.5, 0], [1, 0, 0]])
PREOUT = np.array([[0.5, -1, 2], [1, 0.25, -0.5]])
WEIGHTS = (0.5, 2.0, 1.0)
SOFTMAX, SIGMOID, IDENTITY = map(
    activation_function, ("softmax", "sigmoid", "identity")
)


def exact_and_dl4j(conf):
    return [loss_function(conf, quirks_of(dialect)) for dialect in (EXACT, DL4J)]


def examples(conf, activation, labels=LABELS, preout=PREOUT, mask=None):
    """Return the scores of rows in exact and in DL4J's dialect."""
    return [
        loss.score_examples(labels, preout, activation, mask)
        for loss in exact_and_dl4j(conf)
    ]


def gradients(conf, activation, labels=LABELS, preout=PREOUT, mask=None):
    """Return the gradients in exact and in DL4J's dialect."""
    return [
        loss.gradient(labels, preout, activation, mask) for loss in exact_and_dl4j(conf)
    ]


def test_mae_of_examples_is_a_sum():
    exact, summed = examples("mae", IDENTITY)
    np.testing.assert_allclose(summed, 3 * exact)


def test_mae_of_minibatches_is_the_same():
    exact, same = (
        loss.score(LABELS, PREOUT, IDENTITY) for loss in exact_and_dl4j("mae")
    )
    assert exact == pytest.approx(same)


class TestKullbackLeibler:
    def test_nothing_is_clipped(self):
        (exact, *_), (clipped, *_) = examples(
            "kl_divergence", SOFTMAX, preout=np.array([[0, 0, 20.0], [20, 0, 0]])
        )
        log_half = np.log(0.5)
        assert exact == pytest.approx(log_half + 20, rel=1e-6)
        assert clipped == pytest.approx(
            log_half - np.log(1e-5) + 1e-5 * np.log(1e-5), rel=1e-6
        )

    def test_the_gradient_goes_on_where_a_share_underflows(self):
        preout = np.array([[0, 0, 800.0], [0, 800, 0]])
        exact, lost = gradients("kl_divergence", SOFTMAX, preout=preout)
        np.testing.assert_allclose(exact, [[-0.5, -0.5, 1], [-1, 1, 0]])
        np.testing.assert_allclose(lost[1], 0)


class TestClippedSoftmax:
    FAR = np.array([[0, 0, 30.0], [0, 30, 0]])

    @pytest.mark.parametrize("name", ["mcxent", "negativeloglikelihood"])
    def test_only_dl4j_clips_by_itself(self, name):
        exact, clipped = examples(name, SOFTMAX, preout=self.FAR)
        np.testing.assert_allclose(exact, 30)
        np.testing.assert_allclose(clipped, 10 * np.log(10))

    @pytest.mark.parametrize("conf", [CrossEntropy, NegativeLogLikelihood])
    def test_what_is_clipped_is_flat(self, conf):
        clip = conf(softmax_clip_eps=0.2)
        exact, kept = gradients(clip, SOFTMAX, preout=self.FAR)
        assert not exact.any()
        np.testing.assert_allclose(kept[1], [-1, 1, 0], atol=1e-12)

    def test_sparse_labels_are_clipped_too(self):
        clip = SparseCrossEntropy(softmax_clip_eps=0.2)
        exact, kept = gradients(clip, SOFTMAX, np.array([[0.0], [0]]), self.FAR)
        assert not exact.any()
        assert kept.any()


def test_softmax_takes_labels_for_shares():
    exact, shares = gradients("mcxent", SOFTMAX, labels=2 * LABELS)
    p = SOFTMAX.forward(PREOUT)
    np.testing.assert_allclose(exact, 2 * (p - LABELS))
    np.testing.assert_allclose(shares, p - 2 * LABELS)


def test_a_row_without_labels_has_no_gradient():
    exact, shares = gradients("mcxent", SOFTMAX, labels=0 * LABELS)
    assert not exact.any()
    np.testing.assert_allclose(shares, SOFTMAX.forward(PREOUT))


class TestBinary:
    def test_one_term_of_softmax(self):
        exact, one = examples("xent", SOFTMAX)
        p = SOFTMAX.forward(PREOUT)
        first = -(LABELS * np.log(p)).sum(axis=1)
        second = -((1 - LABELS) * np.log(1 - p)).sum(axis=1)
        np.testing.assert_allclose(one, first)
        np.testing.assert_allclose(exact, first + second)

    def test_the_gradient_has_both_terms(self):
        exact, same = gradients("xent", SOFTMAX)
        np.testing.assert_allclose(exact, same)

    def test_only_dl4j_clips_by_itself(self):
        labels, preout = np.array([[1.0, 0]]), np.array([[-700.0, 700]])
        exact, clipped = examples("xent", SIGMOID, labels, preout)
        np.testing.assert_allclose(exact, 1400)
        np.testing.assert_allclose(clipped, -2 * np.log(1e-5), rtol=1e-6)

    def test_only_dl4j_loses_the_gradient_of_what_is_certain_and_wrong(self):
        labels, preout = np.array([[1.0, 0]]), np.array([[-40.0, 40]])
        exact, lost = gradients("xent", SIGMOID, labels, preout)
        np.testing.assert_allclose(exact, [[-1, 1]])
        np.testing.assert_allclose(lost, 0, atol=1e-9)

    def test_what_is_clipped_is_flat(self):
        labels, preout = np.array([[1.0, 1]]), np.array([[-3.0, 0]])
        clip = BinaryCrossEntropy(clip_eps=0.1)
        exact, sloping = gradients(clip, SIGMOID, labels, preout)
        np.testing.assert_allclose(exact, [[0, -0.5]])
        p = SIGMOID.forward(preout)[0, 0]
        np.testing.assert_allclose(sloping, [[-p * (1 - p) / 0.1, -0.5]])

    def test_weights_come_in_front_of_softmax(self):
        conf = BinaryCrossEntropy(weights=WEIGHTS)
        exact, behind = gradients(conf, SOFTMAX)
        p = SOFTMAX.forward(PREOUT)
        slope = (p - LABELS) / (p * (1 - p))
        np.testing.assert_allclose(exact, SOFTMAX.backward(slope * WEIGHTS, PREOUT, p))
        np.testing.assert_allclose(behind, SOFTMAX.backward(slope, PREOUT, p) * WEIGHTS)


class TestMasksOfOutputs:
    @pytest.mark.parametrize(
        ("loss", "activation"),
        [("mse", "tanh"), ("mcxent", "sigmoid"), ("xent", "sigmoid")],
    )
    def test_fractions_are_squared_by_dl4j(self, loss, activation):
        function, halves = activation_function(activation), np.full((2, 3), 0.5)
        whole = gradients(loss, function)
        once, twice = gradients(loss, function, mask=halves)
        np.testing.assert_allclose(once, whole[0] / 2)
        np.testing.assert_allclose(twice, whole[1] / 4)

    def test_so_are_those_of_rows_with_one_output(self):
        columns = LABELS[:, :1], PREOUT[:, :1]
        once, twice = gradients("mse", IDENTITY, *columns, np.full(2, 0.5))
        np.testing.assert_allclose(once, 2 * twice)

    def test_what_is_masked_takes_its_share_of_a_softmax(self):
        mask = np.array([[1.0, 1, 0], [1, 1, 0]])
        share, none = gradients("mse", SOFTMAX, mask=mask)
        assert share[:, 2].all()
        assert not none[:, 2].any()

    @pytest.mark.parametrize(
        "loss", ["mcxent", "negativeloglikelihood", "sparse_mcxent"]
    )
    def test_dl4j_refuses_the_gradient_of_classes(self, loss):
        labels = np.zeros((2, 1)) if loss == "sparse_mcxent" else LABELS
        mask = np.array([[1.0, 0, 1], [0, 1, 1]])
        exact, refused = exact_and_dl4j(loss)
        score = refused.score(labels, PREOUT, SOFTMAX, mask)
        assert exact.score(labels, PREOUT, SOFTMAX, mask) == pytest.approx(score)
        assert exact.gradient(labels, PREOUT, SOFTMAX, mask).any()
        with pytest.raises(OptionError, match="needs an activation other than softmax"):
            refused.gradient(labels, PREOUT, SOFTMAX, mask)

    def test_dl4j_scores_no_pairs(self):
        labels, mask = np.array([[1.0, 0, 0], [0, 1, 0]]), np.ones((2, 3))
        exact, refused = exact_and_dl4j("multilabel")
        assert exact.score(labels, PREOUT, IDENTITY, mask) > 0
        with pytest.raises(
            OptionError, match=r"must be of whole examples.*two outputs"
        ):
            refused.score(labels, PREOUT, IDENTITY, mask)


@pytest.mark.parametrize(("length", "is_same"), [(1.0, True), (1e-3, False)])
def test_short_outputs_of_the_cosine(length, is_same):
    preout = length * PREOUT / np.linalg.norm(PREOUT, axis=1, keepdims=True)
    exact, cut = gradients("cosine_proximity", IDENTITY, preout=preout)
    assert np.allclose(exact, cut) == is_same


@pytest.mark.parametrize(("activation", "is_same"), [(SOFTMAX, True), (SIGMOID, False)])
def test_the_f_measure_of_two_outputs(activation, is_same):
    labels = np.array([[1.0, 0], [0, 1]])
    exact, one_slope = gradients("fmeasure", activation, labels, PREOUT[:, :2])
    assert np.allclose(exact, one_slope) == is_same

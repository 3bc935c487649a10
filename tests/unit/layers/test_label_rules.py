"""Each loss says which labels it takes, and what is none is refused."""

from typing import get_args

import numpy as np
import pytest

from daskdl.errors import DataError
from daskdl.nn.conf.names import LossLiteral
from daskdl.nn.losses.label_rules import RULES, label_rule

ANY = (-5.0, 0.0, 1e9)
# Labels that a loss takes, and some that it does not.
LABELS = {
    "xent": ((0.0, 0.5, 1.0), (-0.5, 1.5)),
    "mcxent": ((0.0, 0.5, 1.0), (-0.5, 1.5)),
    "negativeloglikelihood": ((0.0, 0.5, 1.0), (-0.5, 1.5)),
    "sparse_mcxent": ((0.0, 1.0, 2.0), (-1.0, 3.0, 0.5, np.inf)),
    "kl_divergence": ((0.0, 0.5, 1.0), (-0.5, 1.5)),
    "multilabel": ((0.0, 1.0), (-1.0, 2.0)),
    "fmeasure": ((0.0, 0.5, 1.0), (-0.5, 1.5)),
    "hinge": ((-1.0, 1.0), (0.0, 0.5, 2.0)),
    "squared_hinge": ((-1.0, 1.0), (0.0, 0.5, 2.0)),
    "poisson": ((0.0, 0.5, 7.0), (-0.5,)),
    "msle": ((-0.5, 0.0, 7.0), (-1.0, -2.0)),
    "mape": ((-0.5, 7.0), (0.0, -0.0)),
    "mse": (ANY, ()),
    "l2": (ANY, ()),
    "mae": (ANY, ()),
    "l1": (ANY, ()),
    "cosine_proximity": (ANY, ()),
    "wasserstein": (ANY, ()),
    "mixture_density": (ANY, ()),
}
WRONG = [(loss, value) for loss, (_, wrong) in LABELS.items() for value in wrong]
WITH_RULE = [loss for loss in LABELS if label_rule(loss, 3) is not None]


def test_every_loss_is_in_the_table():
    names = set(get_args(LossLiteral)) | {"mixture_density"}
    assert {*RULES, "sparse_mcxent"} == names
    assert set(LABELS) == names


@pytest.mark.parametrize("loss", LABELS)
def test_what_is_a_label_passes(loss):
    rule = label_rule(loss, 3)
    assert rule is None or rule.check("labels", np.array([LABELS[loss][0]])) is None


@pytest.mark.parametrize(("loss", "wrong"), WRONG)
def test_what_is_none_is_refused_with_its_row(loss, wrong):
    labels = np.full((4, 2), LABELS[loss][0][0])
    labels[2, 1] = wrong
    with pytest.raises(DataError) as caught:
        label_rule(loss, 3).check("me: labels", labels)
    assert f"me: labels of the loss '{loss}' must " in str(caught.value)
    assert f"got {wrong!r} in row 2." in str(caught.value)


@pytest.mark.parametrize("loss", WITH_RULE)
def test_nan_is_no_label(loss):
    with pytest.raises(DataError, match=r"got nan in row 0"):
        label_rule(loss, 3).check("labels", np.array([[np.nan]]))


@pytest.mark.parametrize(("loss", "wrong"), WRONG)
def test_what_a_mask_drops_may_be_anything(loss, wrong):
    counts = np.array([[True], [False]])
    labels = np.array([[LABELS[loss][0][0]] * 2, [wrong, np.nan]])
    assert label_rule(loss, 3).check("labels", labels, counts) is None


@pytest.mark.parametrize("loss", WITH_RULE)
def test_no_labels_at_all_pass(loss):
    assert label_rule(loss, 3).check("labels", np.ones((0, 2))) is None


def test_whole_numbers_and_truths_are_labels():
    label_rule("sparse_mcxent", 2).check("labels", np.array([[True], [False]]))
    label_rule("xent", 1).check("labels", np.array([[1], [0]], np.uint8))


def test_classes_of_unknown_number_are_not_told_from_others():
    assert label_rule("sparse_mcxent", None) is None

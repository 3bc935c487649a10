"""Averages of `Evaluation` over two classes, and over more."""

import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.evaluation.evaluation import Evaluation
from tests.dialects import DL4J

# Rows actual, columns predicted: class 0 has precision 8 / 12, class 1 has 5 / 7.
CONFUSION = [[8, 2], [4, 5]]
F1 = (16 / 22, 10 / 16)
F2 = (5 * 8 / (5 * 8 + 4 * 2 + 4), 5 * 5 / (5 * 5 + 4 * 4 + 2))


def evaluated(confusion=CONFUSION, **options):
    evaluation = Evaluation(**options)
    eye = np.eye(len(confusion))
    for actual, row in enumerate(confusion):
        for predicted, count in enumerate(row):
            evaluation.eval(eye[[actual] * count], eye[[predicted] * count])
    return evaluation


@pytest.fixture
def neither():
    return evaluated(binary_positive_class=None)


def test_without_a_positive_class_f_is_the_mean_of_both(neither):
    assert neither.f1() == pytest.approx(sum(F1) / 2)
    assert neither.f_beta(2.0) == pytest.approx(sum(F2) / 2)
    assert neither.score_for_metric("F1") == neither.f1()


@pytest.mark.parametrize("rate", ["precision", "recall", "f1", "g_measure"])
def test_macro_is_the_mean_of_both_classes(neither, rate):
    of_class = getattr(neither, rate)
    mean = (of_class(0) + of_class(1)) / 2
    assert of_class(averaging="macro") == pytest.approx(mean)


@pytest.mark.parametrize("rate", ["precision", "recall", "f1", "g_measure"])
def test_micro_is_the_accuracy(neither, rate):
    micro = getattr(neither, rate)(averaging="micro")
    assert micro == pytest.approx(neither.accuracy())


def test_the_report_says_averaged_of_what_is(neither):
    text = neither.stats()
    assert "macro-averaged (equally weighted avg. of 2 classes)" in text
    assert f"F1 Score:        {sum(F1) / 2:.4f}" in text


def test_a_class_that_never_occurs_is_left_out():
    """Its F is unknown, as with three classes."""
    one = evaluated([[3, 0], [0, 0]], binary_positive_class=None)
    assert one.f1() == 1.0


def test_what_is_read_averages_too(neither):
    assert Evaluation.from_json(neither.to_json()).f1() == neither.f1()


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("averaging", ["macro", "micro"])
def test_with_a_positive_class_an_averaged_f_is_that_of_class_1_in_dl4j(
    positive, averaging
):
    evaluation = evaluated(binary_positive_class=positive, dialect=DL4J)
    assert evaluation.f1() == pytest.approx(F1[positive])
    assert evaluation.f1(averaging=averaging) == pytest.approx(F1[1])
    assert evaluation.f_beta(2.0, averaging=averaging) == pytest.approx(F2[1])


@pytest.mark.parametrize("positive", [0, 1, None])
@pytest.mark.parametrize("averaging", ["macro", "micro"])
def test_an_averaged_f_is_averaged_whichever_class_is_positive(positive, averaging):
    evaluation = evaluated(binary_positive_class=positive)
    average = evaluated(binary_positive_class=None).f1(averaging=averaging)
    assert evaluation.f1(averaging=averaging) == average


@pytest.mark.parametrize("rate", ["g_measure", "matthews_correlation"])
def test_rates_that_never_mean_the_positive_class_check_their_options(rate):
    of_class = getattr(evaluated(), rate)
    with pytest.raises(OptionError, match="only one of class_index and averaging"):
        of_class(0, averaging="micro")
    with pytest.raises(OptionError, match="averaging must be one of"):
        of_class(averaging="makro")

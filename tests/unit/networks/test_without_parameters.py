"""Networks of a loss alone: nothing to update, and the data decide their size."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.dataset import DataSet
from daskdl.evaluation.evaluation import Evaluation
from daskdl.evaluation.evaluation_binary import EvaluationBinary
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.conf.input_type import FeedForward
from tests.unit.networks.small import sequence

LOSSES = {"mse": "identity", "mcxent": "softmax", "xent": "sigmoid"}
KINDS = {
    "mse": RegressionEvaluation,
    "mcxent": Evaluation,
    "xent": EvaluationBinary,
}


@pytest.fixture
def data():
    return DataSet(np.eye(3), np.roll(np.eye(3), 1, axis=0))


@pytest.fixture
def read_from_dl4j(tmp_path):
    """A function: such a network, from a file of DL4J, which tells no size."""

    def read(loss="mcxent"):
        path = f"{tmp_path}/{loss}.zip"
        layer = dl.LossLayer(loss=loss, activation=LOSSES[loss])
        sequence(FeedForward(size=3), layer).save(path)
        return dl.load(path)

    return read


@pytest.mark.parametrize("loss", LOSSES)
def test_it_trains_as_in_dl4j(read_from_dl4j, data, loss):
    net = read_from_dl4j(loss).fit(data, epochs=2)
    assert (net.iteration_count, net.epoch_count) == (2, 2)
    assert net.score == pytest.approx(net.compute_score(data))


@pytest.mark.parametrize("loss", LOSSES)
def test_its_loss_says_how_it_is_evaluated(read_from_dl4j, data, loss):
    assert type(read_from_dl4j(loss).evaluate(data)) is KINDS[loss]


def test_a_size_that_data_decide_is_none(read_from_dl4j):
    assert read_from_dl4j().output_layer_n_out == [None]


def test_class_names_are_taken_in_any_number(read_from_dl4j):
    net = read_from_dl4j()
    net.class_names = ["a", "b", "c", "d"]
    assert net.class_names == ("a", "b", "c", "d")

"""What regularization does to a parameter is in the score, of every layer."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.dialects import DL4J

ROWS, SERIES = FeedForward(size=3), Recurrent(size=3, time_steps=4)
IMAGES = Convolutional(height=4, width=4, channels=2)
CAPSULES = dl.PrimaryCapsules(capsule_dimensions=2, channels=2, kernel_size=3, stride=1)
POOL, OUT = dl.GlobalPooling(), dl.Output(n_out=2, l2=0.0)

NOT_IN_DL4J = {
    "attention": (SERIES, dl.SelfAttention(n_out=2, project_input=True), POOL, OUT),
    "recurrent attention": (SERIES, dl.RecurrentAttention(n_out=2), POOL, OUT),
    "locally connected": (SERIES, dl.LocallyConnected1D(n_out=2), POOL, OUT),
    "capsules": (
        IMAGES,
        CAPSULES,
        dl.Capsule(capsules=2, capsule_dimensions=2),
        dl.CapsuleStrength(),
        OUT,
    ),
    "one class": (ROWS, dl.OCNNOutput(hidden_size=2, activation="tanh")),
}


def score_and_change(input_type, *layers, **options):
    """Return the score of a minibatch, the parameters, and how they were changed."""
    conf = dl.MultiLayerConfiguration(
        input=input_type,
        layers=layers,
        dtype="float64",
        updater={"type": "sgd", "learning_rate": 1.0},
        **options,
    )
    network = dl.MultiLayerNetwork(conf)
    before = network.params.copy()
    shape = [3, *conf.nodes()[0].input_types[0].shape]
    x = np.random.default_rng(1).standard_normal(shape)
    if len(shape) > 2:
        x = np.moveaxis(x, -1, 1)
    labels = np.ones((3, 1)) if len(layers) == 1 else np.eye(2)[[0, 1, 0]]
    score = network.fit_minibatch(DataSet(x, labels))
    return score, before, network.params - before


def added(name, **options):
    """Return what L2 adds to the score, and half the squares of what it changes."""
    plain, _, change = score_and_change(*NOT_IN_DL4J[name], **options)
    score, before, more = score_and_change(*NOT_IN_DL4J[name], l2=1.0, **options)
    return score - plain, ((change - more) * before).sum() / 2


@pytest.mark.parametrize("name", NOT_IN_DL4J)
def test_what_changes_parameters_is_in_the_score(name):
    in_score, in_change = added(name)
    assert in_change > 0.1
    assert in_score == pytest.approx(in_change)


@pytest.mark.parametrize("name", NOT_IN_DL4J)
def test_in_dl4j_some_of_it_is_not(name):
    in_score, _ = added(name, dialect=DL4J)
    assert in_score == 0


def test_one_class_output_has_no_penalties_in_dl4j_at_all():
    _, in_change = added("one class", dialect=DL4J)
    assert in_change == 0

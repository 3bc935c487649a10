"""Pooling, resizing and losses of images: DL4J's numbers from our configurations.

Cases that DL4J itself could not compute, or counted wrongly, are listed by name.
"""

import numpy as np
import pytest

from daskdl.arrays.namespace import to_device
from daskdl.dl4j.network.parameters import to_dl4j
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.golden.image_cases import MODELS
from tests.golden.networks import Golden, arrays, deviation

# For a volume's width DL4J infers what the stride of the height gives: the weights of
# its file are of 80 inputs, and it computes 40.
WRONG_SIZE = "subsampling3d_max"
# SubsamplingLayer takes SUM in its configuration, and throws when it runs; volumes that
# were padded DL4J checks as if their channels were last, and refuses its own arrays.
THROWS = ("subsampling_sum_truncate", "subsampling_sum_same", "zeropadding3d")
# CnnLossLayer with channels last scores a softmax over the height.
WRONG_SCORE = ("cnnloss_nhwc",)
# Four examples come out for each that goes in: no DataSet holds such labels.
SPACE_TO_BATCH = "spacetobatch"
# Where it throws when it is asked for the score of each example.
UNSCORED = ("cnnloss_nhwc", "cnn3dloss")
COMPUTED = [name for name in MODELS if name not in (WRONG_SIZE, *THROWS)]
TRAINED = [name for name in COMPUTED if name != SPACE_TO_BATCH]


def case(golden, name, precision="double"):
    found = Golden(golden / "models", name, MODELS[name], precision)
    # Masks are recorded once for both precisions.
    masks = arrays(golden / "models" / f"{name}.npz", "double.")
    for key in ("fm0", "lm0"):
        if key in masks:
            found.expected[key] = masks[key]
    return found


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize(("precision", "bound"), [("double", 1e-12), ("float", 1e-6)])
def test_output(golden, name, precision, bound):
    found = case(golden, name, precision)
    assert deviation(found.output(), found.expected["out0"]) < bound


@pytest.mark.parametrize("name", TRAINED)
def test_gradient(golden, name):
    found = case(golden, name)
    _, gradient = found.gradient()
    assert deviation(gradient, found.expected["grad"]) < 1e-12


@pytest.mark.parametrize("name", [n for n in TRAINED if n not in WRONG_SCORE])
def test_score(golden, name):
    found = case(golden, name)
    score, _ = found.gradient()
    assert deviation(score, found.expected["score"]) < 1e-12
    inference = found.network.compute_score(found.data)
    assert deviation(inference, found.expected["score_inference"]) < 1e-12


@pytest.mark.parametrize("name", [n for n in TRAINED if n not in UNSCORED])
def test_score_of_each_example(golden, name):
    found = case(golden, name)
    scores = found.network.score_examples(found.data)
    assert deviation(scores, found.expected["score_examples"]) < 1e-12


@pytest.mark.parametrize("name", WRONG_SCORE)
def test_a_score_is_over_the_channels_also_where_they_are_last(golden, name):
    """Not what DL4J gives, whose gradient is the right one."""
    found = case(golden, name)
    score, _ = found.gradient()
    output, labels = found.expected["out0"], found.expected["y0"]
    expected = -(labels * np.log(output)).sum() / found.n_examples
    assert deviation(float(score), expected) < 1e-12


@pytest.mark.parametrize("name", THROWS)
def test_what_dl4j_refuses_is_computed(golden, name):
    found = case(golden, name)
    assert np.isfinite(found.output()).all()
    score, _ = found.gradient()
    assert np.isfinite(score)


def test_the_size_of_volumes_is_that_of_all_strides(golden):
    """Twice as many inputs are in DL4J's file, which it cannot use either."""
    network = MultiLayerNetwork(MODELS[WRONG_SIZE])
    assert network.layout["1_W"].shape == (40, 3)
    x = arrays(golden / "models" / f"{WRONG_SIZE}.npz", "double.")["x0"]
    assert np.isfinite(network.output(x)).all()


def test_images_of_blocks_are_examples_of_their_own(golden):
    found = case(golden, SPACE_TO_BATCH)
    network, expected = found.network, found.expected
    inside = np.ascontiguousarray(expected["x0"].transpose(0, 2, 3, 1))
    inside, labels = (to_device(x, network.params) for x in (inside, expected["y0"]))
    network._program.forward([inside], [None], training=True, rng=None)
    score = network._program.loss([labels], [None], averages=network.conf.mini_batch)
    network._program.backward([labels], [None])
    assert deviation(float(score), expected["score"]) < 1e-12
    gradient = to_dl4j(network, network.gradients)
    assert deviation(gradient, expected["grad"]) < 1e-12

"""Every class that a file or a program of DL4J may name, and what stands for it here.

The classes are read from DL4J's own jars, so that a release with a new one is seen.
"""

from pathlib import Path

import pytest

import daskdl as dl
from daskdl.dl4j.network.functions import (
    ACTIVATION,
    DISTRIBUTIONS,
    LOSS,
    WEIGHT_INIT,
)
from daskdl.dl4j.network.layers import read_layer
from daskdl.dl4j.network.preprocessors import PREPROCESSOR
from daskdl.dl4j.network.reconstructions import RECONSTRUCTION
from daskdl.dl4j.network.schedules import SCHEDULES
from daskdl.dl4j.network.training import (
    CONSTRAINTS,
    DROPOUT,
    NOISE,
    UPDATER,
    read_regularization,
)
from daskdl.dl4j.network.vertices import read_vertex
from daskdl.errors import FormatError

# DL4J's interface, and what reads an object of one of its classes.
READERS = {
    "org.deeplearning4j.nn.conf.layers.Layer": read_layer,
    "org.deeplearning4j.nn.conf.graph.GraphVertex": read_vertex,
    "org.deeplearning4j.nn.conf.InputPreProcessor": PREPROCESSOR.read,
    "org.deeplearning4j.nn.weights.IWeightInit": WEIGHT_INIT.read,
    "org.deeplearning4j.nn.conf.distribution.Distribution": DISTRIBUTIONS.read,
    "org.deeplearning4j.nn.conf.dropout.IDropout": DROPOUT.read,
    "org.deeplearning4j.nn.conf.weightnoise.IWeightNoise": NOISE.read,
    "org.deeplearning4j.nn.api.layers.LayerConstraint": (
        lambda value, where: CONSTRAINTS.read([value], where)
    ),
    "org.deeplearning4j.nn.conf.layers.variational.ReconstructionDistribution": (
        RECONSTRUCTION.read
    ),
    "org.nd4j.linalg.activations.IActivation": ACTIVATION.read,
    "org.nd4j.linalg.lossfunctions.ILossFunction": LOSS.read,
    "org.nd4j.linalg.learning.config.IUpdater": UPDATER.read,
    "org.nd4j.linalg.learning.regularization.Regularization": (
        lambda value, where: read_regularization([value], where, "")
    ),
    "org.nd4j.linalg.schedule.ISchedule": SCHEDULES.read,
}
# What programs name, and files do not: the names here are those of DL4J.
BY_NAME = (
    "org.nd4j.linalg.dataset.api.DataSetPreProcessor",
    "org.nd4j.linalg.dataset.api.MultiDataSetPreProcessor",
    "org.nd4j.linalg.dataset.api.preprocessor.Normalizer",
    "org.nd4j.evaluation.IEvaluation",
)
LEFT_OUT = {
    "org.deeplearning4j.nn.conf.distribution.serde.LegacyDistributionHelper": (
        "reads files of old releases; it is in none"
    ),
    "org.deeplearning4j.nn.conf.graph.LayerVertex": (
        "is read as the layer that it holds"
    ),
    "org.deeplearning4j.nn.layers.ocnn.OCNNOutputLayer$OCNNLossFunction": (
        "is a part of its layer, and not written"
    ),
    "org.deeplearning4j.nn.layers.util.IdentityLayer": (
        "is made by imports of Keras only, and gives what it gets"
    ),
    "org.nd4j.linalg.activations.impl.ActivationPReLU": (
        "holds the parameters of `PReLULayer`, which makes it"
    ),
    "org.nd4j.linalg.schedule.RampSchedule": (
        "of it DL4J writes nothing but the name; `ramp` is here"
    ),
    "org.nd4j.evaluation.custom.CustomEvaluation": (
        "holds functions, which no file can; write a class with `eval` and `merge`"
    ),
    "org.deeplearning4j.datasets.iterator.CombinedPreProcessor": (
        "does what `CompositeDataSetPreProcessor` does"
    ),
    "org.deeplearning4j.datasets.iterator.CombinedMultiDataSetPreProcessor": (
        "does what `CompositeMultiDataSetPreProcessor` does"
    ),
    "org.deeplearning4j.datasets.iterator.DummyPreProcessor": "does nothing",
}
"""What is left out on purpose, and why; the guide has the same table."""


@pytest.fixture(scope="module")
def classes(dl4j):
    """The classes that can be made, by interface."""
    return dl4j.ask("subtypes", of=[*READERS, *BY_NAME])


def is_read(read, name):
    """Return whether a class is known; that properties are missing says it is."""
    try:
        read({"@class": name}, "here")
    except FormatError as error:
        return "Register a reader" not in str(error) and "must be one of" not in str(
            error
        )
    except (LookupError, TypeError):
        return True
    return True


@pytest.mark.parametrize("root", READERS)
def test_every_class_of_a_file_is_read(classes, root):
    found = classes[root]
    unknown = {name for name in found if not is_read(READERS[root], name)}
    assert found
    assert unknown - LEFT_OUT.keys() == set()


@pytest.mark.parametrize("root", BY_NAME)
def test_every_class_of_a_program_has_its_name_here(classes, root):
    missing = {name for name in classes[root] if not hasattr(dl, name.split(".")[-1])}
    assert missing - LEFT_OUT.keys() == set()


def test_nothing_is_left_out_that_is_here_or_nowhere(classes):
    every = {name for found in classes.values() for name in found}
    assert LEFT_OUT.keys() - every == set()


def test_the_guide_says_what_is_left_out():
    page = Path(__file__).parents[2] / "docs" / "guide" / "dl4j.md"
    listed = page.read_text("utf-8").partition("## Classes that are left out")[2]
    listed = listed.partition("\n## ")[0]
    names = {name.replace("$", ".").split(".")[-1] for name in LEFT_OUT}
    assert {name for name in names if f"`{name}`" not in listed} == set()

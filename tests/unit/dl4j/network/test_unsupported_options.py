"""Options that DL4J has no property for are refused, and not left out in silence."""

import pytest

import daskdl as dl
from daskdl.dl4j.network.layers import BY_TAG
from daskdl.dl4j.network.unsupported_options import refuse_unsupported_options
from daskdl.dl4j.network.vertices import BY_TAG as VERTICES
from daskdl.errors import FormatError


def auto_encoder(**options):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=3),
        layers=[dl.AutoEncoder(n_out=2, **options), dl.Output(n_out=2)],
    )
    return dl.MultiLayerNetwork(conf)


def test_what_dl4j_cannot_be_told_is_refused():
    with pytest.raises(FormatError, match=r"l2 must have eps 1e-08.*got 0\.5"):
        refuse_unsupported_options(dl.L2Vertex(inputs=["a", "b"], eps=0.5), VERTICES)


def test_what_dl4j_does_anyway_needs_no_property():
    refuse_unsupported_options(dl.L2Vertex(inputs=["a", "b"], eps=1e-8), VERTICES)


def test_a_kind_of_ones_own_is_its_writers_business():
    refuse_unsupported_options(dl.L2Vertex(inputs=["a", "b"], eps=0.5), {})


def test_shared_options_that_a_kind_does_not_use_pass():
    conf = auto_encoder().nodes[0].conf.model_copy(update={"keep_probability": 0.5})
    refuse_unsupported_options(conf, BY_TAG)

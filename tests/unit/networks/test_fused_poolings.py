"""Which poolings are left to the convolution in front of them."""

import pytest

from daskdl import Convolution2D, Output, Subsampling
from daskdl.nn.conf.input_type import Convolutional
from tests.unit.networks.fusion_cases import IDENTITY, handed_through
from tests.unit.networks.small import sequence

OTHER_POOLINGS = {
    "windows that overlap": {"kernel_size": 3},
    "windows with gaps": {"kernel_size": 1},
    "averages": {"pooling_type": "avg"},
    "padding": {"padding": 1},
    "padding by mode": {"convolution_mode": "same"},
    "dilation": {"dilation": 2},
}


@pytest.mark.parametrize("why", OTHER_POOLINGS)
def test_a_pooling_works_for_itself_where_it_must(why):
    network = sequence(
        Convolutional(height=9, width=9, channels=2),
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        Subsampling(**OTHER_POOLINGS[why]),
        Output(n_out=2),
    )
    assert handed_through(network) == []


def test_a_pooling_behind_another_activation_works_for_itself():
    network = sequence(
        Convolutional(height=9, width=9, channels=2),
        Convolution2D(n_out=3, kernel_size=2, activation="tanh"),
        Subsampling(),
        Output(n_out=2),
    )
    assert handed_through(network) == []

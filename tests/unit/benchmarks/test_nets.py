"""The networks that are measured, and what a core does at best."""

import pytest

from benchmarks.serve.daskdl_nets import configuration
from benchmarks.serve.fma import multiply_adds
from benchmarks.serve.shapes import NETS
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.graph import ComputationGraph


@pytest.mark.parametrize("net", NETS)
def test_every_network_is_a_configuration_of_daskdl(net):
    assert configuration_from_dict(configuration(net))


def test_resnet50_has_the_parameters_of_the_paper_and_running_statistics():
    network = ComputationGraph(configuration_from_dict(configuration("resnet50")))
    # torchvision's has 25,557,032; means and variances of 26,560 channels are ours.
    assert network.n_params == 25_557_032 + 2 * 26_560


def test_multiply_adds_are_counted():
    made = multiply_adds()
    made.call()
    # At least four lanes, twelve sums.
    assert made.flops % (2 * 4 * 12) == 0

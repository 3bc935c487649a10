"""Layers and vertices work on CuPy arrays by the same code, tried without a GPU."""

import numpy as np
import pytest

from tests.devices import check_layer, check_loss, check_vertex
from tests.pretend_cupy import pretend
from tests.unit.layers.cases import CASES, OUTPUTS
from tests.unit.layers.vertex_cases import VERTICES


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_layers_compute_the_same(pretence, rng, name, training):
    check_layer(pretence, name, rng, training=training)


@pytest.mark.parametrize("name", OUTPUTS)
def test_losses_compute_the_same(pretence, rng, name):
    check_loss(pretence, name, rng)


@pytest.mark.parametrize("name", VERTICES)
def test_vertices_compute_the_same(pretence, rng, name):
    check_vertex(pretence, name, rng)


def test_the_pretence_refuses_numpy_functions():
    with pytest.raises(TypeError, match="sum was called on a device array"):
        np.sum(pretend(np.ones(3)))


def test_the_pretence_refuses_host_arrays():
    with pytest.raises(TypeError, match="Unsupported type"):
        pretend(np.ones(3)) + np.ones(3)


def test_the_pretence_refuses_to_read_what_it_has_written():
    array = pretend(np.ones(3))
    with pytest.raises(TypeError, match="an output overlaps an input"):
        array[1:] += array[:-1]
    with pytest.raises(TypeError, match="an output overlaps an input"):
        array[1:] = array[:-1]

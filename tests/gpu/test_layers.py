"""Every layer, loss and vertex on the device, against the same on the host."""

import pytest

from tests.devices import check_layer, check_loss, check_vertex
from tests.unit.layers.cases import CASES, OUTPUTS
from tests.unit.layers.vertex_cases import VERTICES


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_layers_compute_the_same(gpu, rng, name, training):
    check_layer(gpu, name, rng, training=training)


@pytest.mark.parametrize("name", OUTPUTS)
def test_losses_compute_the_same(gpu, rng, name):
    check_loss(gpu, name, rng)


@pytest.mark.parametrize("name", VERTICES)
def test_vertices_compute_the_same(gpu, rng, name):
    check_vertex(gpu, name, rng)

"""Layers and vertices work on CuPy arrays by the same code, tried without a GPU."""

import sys

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from tests.pretend_cupy import Namespace, PretendArray, plain, pretend
from tests.unit.layers.cases import CASES, OUTPUTS
from tests.unit.layers.cases import Alone as AloneLayer
from tests.unit.layers.vertex_cases import MASK, VERTICES
from tests.unit.layers.vertex_cases import Alone as AloneVertex


@pytest.fixture(autouse=True)
def _cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    # Bit for bit only where both run NumPy's kernels.
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")


class OnDevice(AloneLayer):
    """A layer whose arrays all pretend to be CuPy's."""

    def __init__(self, name):
        super().__init__(name, workspace=Workspace(Namespace))
        self.params = pretend(self.params)
        self.gradients = pretend(self.gradients)
        self.layer.bind(
            self.layout.views(self.params), self.layout.views(self.gradients)
        )
        self.layer.initialize(np.random.default_rng(3))

    def mask(self, batch=3):
        return pretend(super().mask(batch))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_layers_compute_the_same(rng, name, training):
    host, device = AloneLayer(name), OnDevice(name)
    x, grad_out = host.x(rng), rng.standard_normal(host.out_shape())
    output = device.forward(pretend(x), training=training)
    assert isinstance(output, PretendArray)
    np.testing.assert_array_equal(plain(output), host.forward(x, training=training))
    if training:
        grad_x = device.layer.backward(pretend(grad_out))
        np.testing.assert_array_equal(plain(grad_x), host.layer.backward(grad_out))
        np.testing.assert_array_equal(plain(device.gradients), host.gradients)


@pytest.mark.parametrize("name", OUTPUTS)
def test_losses_compute_the_same(rng, name):
    host, device = AloneLayer(name), OnDevice(name)
    x, labels = host.x(rng), rng.random(host.out_shape())
    mask = np.ones(host.out_shape()[:-1])
    host.forward(x)
    device.forward(pretend(x))
    scores = device.layer.score_examples(pretend(labels), pretend(mask))
    np.testing.assert_array_equal(
        plain(scores), host.layer.score_examples(labels, mask)
    )
    grad_x = device.layer.backward_loss(pretend(labels), pretend(mask))
    np.testing.assert_array_equal(plain(grad_x), host.layer.backward_loss(labels, mask))


@pytest.mark.parametrize("name", VERTICES)
def test_vertices_compute_the_same(rng, name):
    host = AloneVertex(name)
    device = AloneVertex(name, namespace=Namespace, put=pretend)
    inputs = host.inputs(rng)
    output = device.vertex.forward(
        [pretend(array) for array in inputs],
        masks=[None] * len(inputs),
        network_input=pretend(np.zeros((2, 5, 2))),
        network_mask=pretend(MASK),
    )
    expected = host.forward(inputs)
    np.testing.assert_array_equal(plain(output), expected)
    grads = device.vertex.backward(pretend(np.ones(expected.shape)))
    expected_grads = host.vertex.backward(np.ones(expected.shape))
    np.testing.assert_equal([plain(grad) for grad in grads], expected_grads)
    np.testing.assert_array_equal(plain(device.gradients), host.gradients)


def test_the_pretence_refuses_numpy_functions():
    with pytest.raises(TypeError, match="sum was called on a device array"):
        np.sum(pretend(np.ones(3)))


def test_the_pretence_refuses_host_arrays():
    with pytest.raises(TypeError, match="Unsupported type"):
        pretend(np.ones(3)) + np.ones(3)

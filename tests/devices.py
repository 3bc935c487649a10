"""The same computation on the host and on a device, and how equal it must be."""

import contextlib
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from daskdl.arrays.namespace import array_namespace, to_host
from daskdl.arrays.workspace import Workspace
from tests.unit.layers.cases import Alone as AloneLayer
from tests.unit.layers.vertex_cases import MASK
from tests.unit.layers.vertex_cases import Alone as AloneVertex

PRIORITY = "DASKDL_BACKEND_PRIORITY_GPU"


@dataclass(frozen=True)
class Device:
    """CuPy, or what stands in for it.

    ``rtol`` gives by dtype how far numbers may be apart, as a part of the largest one
    of an array; where a dtype is missing they must be equal bit for bit.
    """

    cupy: Any
    rtol: dict[str, float]

    def put(self, array):
        return self.cupy.asarray(array)

    def check(self, found, expected):
        """Hold an array of the device against one of the host."""
        if expected is None:
            assert found is None
            return
        assert array_namespace(found) is self.cupy
        found, expected = to_host(found), np.asarray(expected)
        assert found.dtype == expected.dtype
        rtol = self.rtol.get(expected.dtype.name)
        if rtol is None:
            np.testing.assert_array_equal(found, expected)
            return
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale)

    def network(self, network):
        """Return a copy of a network that lives on the device."""
        with living_on("cupy"):
            moved = pickle.loads(pickle.dumps(network))
        assert array_namespace(moved.params) is self.cupy
        return moved

    def check_network(self, device, host):
        """Hold the vectors of a network against those of the one on the host."""
        self.check(device.params, host.params)
        self.check(device.updater_state, host.updater_state)


class LayerOn(AloneLayer):
    """A layer whose arrays all lie on a device."""

    def __init__(self, name, device):
        super().__init__(name, workspace=Workspace(device.cupy))
        self._put = device.put
        self.params, self.gradients = map(device.put, (self.params, self.gradients))
        self.layer.bind(
            self.layout.views(self.params), self.layout.views(self.gradients)
        )
        self.layer.initialize(np.random.default_rng(3))

    def mask(self, batch=3):
        mask = super().mask(batch)
        return None if mask is None else self._put(mask)


@contextlib.contextmanager
def living_on(where):
    """Let networks that are made live where the environment says then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PRIORITY, where)
        yield


def check_layer(device, name, rng, *, training):
    """Forward and, in training, backward."""
    ours, theirs = AloneLayer(name), LayerOn(name, device)
    x, grad_out = ours.x(rng), rng.standard_normal(ours.out_shape())
    output = theirs.forward(device.put(x), training=training)
    device.check(output, ours.forward(x, training=training))
    if training:
        grad_x = theirs.layer.backward(device.put(grad_out))
        device.check(grad_x, ours.layer.backward(grad_out))
        device.check(theirs.gradients, ours.gradients)


def check_loss(device, name, rng):
    """The scores of an output layer, and the gradient of their sum."""
    ours, theirs = AloneLayer(name), LayerOn(name, device)
    x, labels = ours.x(rng), rng.random(ours.out_shape())
    mask = np.ones(ours.out_shape()[:-1])
    ours.forward(x)
    theirs.forward(device.put(x))
    put = (device.put(labels), device.put(mask))
    expected = ours.layer.loss.score_examples(labels, mask)
    device.check(theirs.layer.loss.score_examples(*put), expected)
    device.check(
        theirs.layer.backward_loss(*put), ours.layer.backward_loss(labels, mask)
    )


def check_vertex(device, name, rng):
    """Forward and backward of a vertex."""
    ours = AloneVertex(name)
    theirs = AloneVertex(name, namespace=device.cupy, put=device.put)
    inputs = ours.inputs(rng)
    output = theirs.vertex.forward(
        [device.put(array) for array in inputs],
        masks=[None] * len(inputs),
        network_input=device.put(np.zeros((2, 5, 2))),
        network_mask=device.put(MASK),
    )
    expected = ours.forward(inputs)
    device.check(output, expected)
    grads = theirs.vertex.backward(device.put(np.ones(expected.shape)))
    for found, grad in zip(
        grads, ours.vertex.backward(np.ones(expected.shape)), strict=True
    ):
        device.check(found, grad)
    device.check(theirs.gradients, ours.gradients)


def check_training(device, host, batches):
    """Minibatch by minibatch: scores, then all vectors."""
    moved = device.network(host)
    for batch in batches:
        score = moved.fit_minibatch(batch)
        expected = host.fit_minibatch(batch)
        rtol = device.rtol.get(host.dtype.name, 0)
        assert score == pytest.approx(expected, rel=rtol, abs=0)
    device.check_network(moved, host)

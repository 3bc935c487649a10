"""Activations and losses work on CuPy arrays by the same code, tried without a GPU."""

import numpy as np
import pytest

from daskdl.nn.activations.table import activation_function
from tests.pretend_cupy import PretendArray, plain, pretend
from tests.unit.layers.test_activations import ALL
from tests.unit.layers.test_losses import PAIRS, ROW_MASKS, made


@pytest.mark.usefixtures("pretence")
@pytest.mark.parametrize("name", ALL)
def test_activations_compute_the_same(rng, name):
    function = activation_function(ALL[name])
    preout, grad = rng.standard_normal((2, 4, 3))
    output = function.forward(preout, rng=np.random.default_rng(1))
    on_device = function.forward(pretend(preout), rng=np.random.default_rng(1))
    assert isinstance(on_device, PretendArray)
    np.testing.assert_array_equal(plain(on_device), output)
    result = function.backward(pretend(grad), pretend(preout), on_device)
    expected = function.backward(grad, preout, output)
    np.testing.assert_array_equal(plain(result), expected)


@pytest.mark.usefixtures("pretence")
@pytest.mark.parametrize("mask", ["none", "weights"])
@pytest.mark.parametrize(("conf", "activation", "make_labels"), PAIRS)
def test_losses_compute_the_same(rng, conf, activation, make_labels, mask):
    loss, function, *arrays = made(rng, conf, activation, make_labels)
    labels, preout = arrays
    device_labels, device_preout = map(pretend, arrays)
    mask = ROW_MASKS[mask]
    device_mask = None if mask is None else pretend(mask)
    score = loss.score(device_labels, device_preout, function, device_mask)
    assert score == loss.score(labels, preout, function, mask)
    grad = loss.gradient(device_labels, device_preout, function, device_mask)
    assert isinstance(grad, PretendArray)
    expected = loss.gradient(labels, preout, function, mask)
    np.testing.assert_array_equal(plain(grad), expected)

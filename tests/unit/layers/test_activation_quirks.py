"""What the activations of DL4J's dialect compute otherwise; the rest is golden."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT, quirks_of
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import Elu, Gelu, LeakyRelu, Relu, RRelu
from tests.dialects import DL4J

X = np.linspace(-3, 3, 62).reshape(2, 31)


def outputs_and_slopes(activation, x=X, rng=None):
    """Return what comes out and the gradient, in exact and in DL4J's dialect."""
    results = []
    for dialect in (EXACT, DL4J):
        function = activation_function(activation, quirks_of(dialect))
        drawn = None if rng is None else np.random.default_rng(rng)
        output = function.forward(x, rng=drawn)
        results.append((output, function.backward(np.ones_like(x), x, output)))
    return results


@pytest.mark.parametrize("name", ["hardsigmoid", "gelu", "rationaltanh"])
def test_constants_are_rounded(name):
    (exact, _), (rounded, _) = outputs_and_slopes(name)
    assert 1e-9 < np.abs(exact - rounded).max() < 1e-7


@pytest.mark.parametrize("name", ["hardsigmoid", "gelu", "rationaltanh"])
def test_constants_of_float32_are_the_same(name):
    exact, rounded = outputs_and_slopes(name, X.astype("f4"))
    np.testing.assert_allclose(exact, rounded, rtol=3e-7, atol=3e-7)


@pytest.mark.parametrize("activation", [LeakyRelu(alpha=0.3), Relu(negative_slope=0.3)])
def test_slopes_are_rounded_in_the_derivative_alone(activation):
    (output, slope), (same, rounded) = outputs_and_slopes(activation)
    np.testing.assert_array_equal(output, same)
    assert slope.min() == 0.3
    assert rounded.min() == np.float32(0.3)


def test_a_slope_below_a_threshold_is_not_rounded():
    activation = Relu(negative_slope=0.3, threshold=0.5)
    (_, slope), (_, same) = outputs_and_slopes(activation)
    np.testing.assert_array_equal(slope, same)


@pytest.mark.parametrize("alpha", [0.5, 2, -1])
def test_the_gradient_of_elu_takes_alpha_for_1(alpha):
    (_, slope), (_, of_one) = outputs_and_slopes(Elu(alpha=alpha))
    below = X < 0
    np.testing.assert_allclose(slope[below], alpha * np.exp(X[below]))
    np.testing.assert_allclose(of_one[below], np.exp(X[below]))


def test_precise_gelu_takes_cubes_of_products():
    (_, exact), (_, cubed) = outputs_and_slopes(Gelu(precise=True))
    assert 1e-2 < np.abs(exact - cubed).max() < 1


def test_the_gradient_of_cubed_products_is_nearly_the_derivative():
    function = activation_function(Gelu(precise=True), quirks_of(DL4J))
    preout = np.linspace(-6, 6, 601)[None]
    step = 1e-6
    above, below = function.forward(preout + step), function.forward(preout - step)
    grad = function.backward(np.ones_like(preout), preout, function.forward(preout))
    deviation = np.abs(grad - (above - below) / (2 * step)).max()
    assert 5e-5 < deviation < 1e-4


def test_rrelu_passes_the_gradient_whatever_it_drew():
    (output, slope), (same, passed) = outputs_and_slopes("rrelu", rng=3)
    np.testing.assert_array_equal(output, same)
    np.testing.assert_allclose(slope, output / X)
    np.testing.assert_array_equal(passed, np.ones_like(X))


def test_rrelu_compares_with_the_mean_slope_in_inference():
    (exact, _), (compared, _) = outputs_and_slopes(RRelu(l=0.2, u=0.4))
    np.testing.assert_allclose(exact, np.where(X < 0, 0.3 * X, X))
    np.testing.assert_allclose(compared, np.maximum(X, 0.3))


def test_relu_cuts_the_gradient_by_its_input():
    (_, exact), (_, cut) = outputs_and_slopes(Relu(max=1, negative_slope=-1))
    assert not exact[X < -1].any()
    assert (cut[X < -1] == np.float32(-1)).all()


@pytest.mark.parametrize(("dialect", "leaks"), [(EXACT, True), (DL4J, False)])
def test_a_leaky_rectifier_by_name_in_layers_of_same_diff(rng, dialect, leaks):
    conf = dl.MultiLayerConfiguration(
        input=dl.Recurrent(size=3, time_steps=5),
        layers=[
            dl.LocallyConnected1D(n_out=2, kernel_size=2, activation="leakyrelu"),
            dl.RnnLoss(loss="mse", activation="identity"),
        ],
        dialect=dialect,
    )
    network = dl.MultiLayerNetwork(conf)
    assert (network.output(rng.standard_normal((4, 3, 5))).min() < 0) == leaks

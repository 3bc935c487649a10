"""Batch normalization: running statistics, locked scale and shift, and inference."""

import numpy as np
import pytest

import daskdl as dl
from daskdl import BatchNormalization
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from tests.dialects import in_dl4j
from tests.gradients import check_gradient
from tests.unit.layers.single import Single

ROWS = FeedForward(size=3)
SERIES = Recurrent(size=3)


def norm(**options):
    return Single(BatchNormalization(**options), ROWS)


def locked_in_dl4j(**options):
    return Single(
        in_dl4j(BatchNormalization(lock_gamma_beta=True, **options)), ROWS
    ).layer


@pytest.fixture
def x(rng):
    return rng.standard_normal((5, 3)) + 2


def test_the_running_mean_moves_by_what_backward_leaves(x):
    layer = norm().layer
    layer.run.params["mean"][...] = 3.0
    layer.backward(np.ones_like(layer.forward(x, training=True)))
    moved = layer.run.params["mean"] - layer.run.gradients["mean"]
    np.testing.assert_allclose(moved, 0.9 * 3 + 0.1 * x.mean(axis=0))


def test_so_does_the_running_variance(x):
    layer = norm(use_log_std=False).layer
    layer.run.params["var"][...] = 2.0
    layer.backward(np.ones_like(layer.forward(x, training=True)))
    moved = layer.run.params["var"] - layer.run.gradients["var"]
    np.testing.assert_allclose(moved, 0.9 * 2 + 0.1 * x.var(axis=0))


def test_the_logarithm_of_the_deviation_is_that_of_the_moved_variance(x):
    layer = norm(decay=0.8).layer
    layer.run.params["log10stdev"][...] = 0.3
    layer.backward(np.ones_like(layer.forward(x, training=True)))
    moved = layer.run.params["log10stdev"] - layer.run.gradients["log10stdev"]
    variance = 0.8 * 10**0.6 + 0.2 * x.var(axis=0)
    np.testing.assert_allclose(moved, np.log10(np.sqrt(variance)))


@pytest.mark.parametrize(
    ("name", "value", "use_log_std"), [("log10stdev", 0.5, True), ("var", 10.0, False)]
)
def test_inference_normalises_by_the_running_statistics(x, name, value, use_log_std):
    layer = norm(use_log_std=use_log_std, gamma=2.0, beta=0.5).layer
    layer.run.params["mean"][...] = 3.0
    layer.run.params[name][...] = value
    expected = 2.0 * (x - 3) / np.sqrt(10 + 1e-5) + 0.5
    np.testing.assert_allclose(layer.forward(x, training=False), expected)


def test_fresh_it_is_the_identity_but_for_scale_and_shift():
    params = norm(gamma=1.5, beta=0.3).layer.run.params
    values = {name: set(view) for name, view in params.items()}
    fresh = {"gamma": {1.5}, "beta": {0.3}, "mean": {0.0}, "log10stdev": {0.0}}
    assert values == fresh


def test_a_fresh_variance_is_one():
    assert set(norm(use_log_std=False).layer.run.params["var"]) == {1.0}


@pytest.mark.parametrize(
    ("gamma", "beta", "scale", "shift"),
    [(2.0, 0.5, 2.0, 0.5), (2.0, 0.0, 1.0, 0.0), (1.0, 0.5, 1.0, 0.0)],
)
@pytest.mark.parametrize("training", [True, False])
def test_locked_scale_and_shift_count_only_together_in_dl4j(
    x, gamma, beta, scale, shift, training
):
    """It leaves both out where one changes nothing."""
    locked = locked_in_dl4j(gamma=gamma, beta=beta)
    plain = norm(lock_gamma_beta=True).layer.forward(x, training=training)
    output = locked.forward(x, training=training)
    np.testing.assert_allclose(output, scale * plain + shift)


@pytest.mark.parametrize(("gamma", "beta"), [(2.0, 0.5), (2.0, 0.0), (1.0, 0.5)])
@pytest.mark.parametrize("training", [True, False])
def test_locked_scale_and_shift_are_what_they_are(x, gamma, beta, training):
    locked = norm(lock_gamma_beta=True, gamma=gamma, beta=beta).layer
    plain = norm(lock_gamma_beta=True).layer.forward(x, training=training)
    output = locked.forward(x, training=training)
    np.testing.assert_allclose(output, gamma * plain + beta)


def test_the_gradient_in_dl4j_has_the_locked_scale_even_where_the_output_has_not(
    x, rng
):
    grad_out = rng.standard_normal(x.shape)
    locked = locked_in_dl4j(gamma=2.0)
    plain = norm(lock_gamma_beta=True).layer
    for layer in (locked, plain):
        layer.forward(x, training=True)
    expected = 2 * plain.backward(grad_out)
    np.testing.assert_allclose(locked.backward(grad_out), expected)


def test_the_gradient_in_inference_is_that_of_a_fixed_scale(x, rng):
    single = norm()
    single.params[...] = rng.uniform(0.5, 1.5, single.params.size)
    target = rng.standard_normal(x.shape)

    def loss_and_grad(vector):
        single.params[:6] = vector[:6]
        output = single.layer.forward(vector[6:].reshape(x.shape), training=False)
        grad_x = single.layer.backward(target)
        grad = np.concatenate([single.gradients[:6], grad_x.ravel()])
        return float((output * target).sum()), grad

    check_gradient(loss_and_grad, np.concatenate([single.params[:6], x.ravel()]))


def test_running_statistics_stay_after_inference(x):
    layer = norm().layer
    layer.backward(np.ones_like(layer.forward(x, training=False)))
    np.testing.assert_array_equal(layer.run.gradients["log10stdev"], 0)


def test_a_dropout_of_the_network_does_not_reach_it():
    dropout = {"type": "gaussian_noise", "stddev": 1.0}
    filled = Single(BatchNormalization(), ROWS, dropout=dropout).resolved
    assert not filled.draws_random_numbers


@pytest.fixture
def series(rng):
    """Four series of five steps, one with a gap and one without any step."""
    mask = np.ones((4, 5))
    mask[0, 3:] = mask[1, 2] = mask[2] = 0
    return rng.standard_normal((4, 5, 3)) + 2, mask


@pytest.mark.parametrize("is_rows", [False, True], ids=["series", "rows"])
def test_masked_steps_count_for_nothing(series, rng, is_rows):
    x, mask = series
    kept = mask > 0
    x[~kept] = np.nan
    grad_out = rng.standard_normal(x.shape)
    alone = norm().layer
    expected = alone.forward(x[kept], training=True)
    expected_grad = alone.backward(grad_out[kept])
    if is_rows:
        x, grad_out = x.reshape(-1, 3), grad_out.reshape(-1, 3)
        mask, kept = mask.reshape(-1, 1), kept.reshape(-1)
    layer = Single(BatchNormalization(), ROWS if is_rows else SERIES).layer
    output = layer.forward(x, training=True, mask=mask)
    np.testing.assert_array_equal(output[kept], expected)
    np.testing.assert_array_equal(output[~kept], 0)
    grad_x = layer.backward(grad_out)
    np.testing.assert_array_equal(grad_x[kept], expected_grad)
    np.testing.assert_array_equal(grad_x[~kept], 0)
    for name, gradient in alone.run.gradients.items():
        np.testing.assert_array_equal(layer.run.gradients[name], gradient)


def test_masked_examples_count_for_nothing(series):
    x, _ = series
    mask = np.array([[1.0], [0], [1], [1]])
    layer = Single(BatchNormalization(), SERIES).layer
    output = layer.forward(x, training=True, mask=mask)
    alone = norm().layer.forward(x[[0, 2, 3]].reshape(-1, 3), training=True)
    np.testing.assert_array_equal(output[[0, 2, 3]].reshape(-1, 3), alone)
    np.testing.assert_array_equal(output[1], 0)


def test_masked_steps_count_in_dl4j(series):
    x, mask = series
    layer = Single(in_dl4j(BatchNormalization()), SERIES).layer
    output = layer.forward(x, training=True, mask=mask)
    np.testing.assert_allclose(output.mean(axis=(0, 1)), 0, atol=1e-12)
    assert abs(output[mask > 0].mean(axis=0)).min() > 1e-3


def test_where_nothing_is_kept_running_statistics_stay(series):
    x, _ = series
    layer = Single(BatchNormalization(), SERIES).layer
    layer.forward(x, training=True, mask=np.zeros((4, 5)))
    layer.backward(np.zeros_like(x))
    for gradient in layer.run.gradients.values():
        np.testing.assert_array_equal(gradient, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_take_the_statistics_of_all_kept_steps(rng, dtype):
    """Of one thread's examples no step is kept."""
    mask = np.ones((8, 5))
    mask[4:], mask[0, 2:] = 0, 0
    data = dl.DataSet(
        rng.standard_normal((8, 3, 5)), np.eye(2)[[0, 1] * 4], features_mask=mask
    )
    found = []
    for threads in (1, 2):
        network = dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=SERIES,
                layers=[
                    BatchNormalization(),
                    dl.LSTM(n_out=4),
                    dl.GlobalPooling(pooling_type="avg"),
                    dl.Output(n_out=2),
                ],
                dtype=dtype,
            )
        ).init()
        network.threads = threads
        network.fit(data, batch_size=8, epochs=2)
        found.append(network.params.copy())
    rtol = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found[1], found[0], rtol=rtol, atol=rtol)

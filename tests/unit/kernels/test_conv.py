import numpy as np
import pytest

from daskdl.kernels.conv import convolution_backward, convolution_forward, reference
from tests.gradients import check_gradient
from tests.unit.kernels.naive import convolve, split
from tests.unit.kernels.windows import WINDOWS, make_window


def arrays(rng, window, *, batch=3, n_in=2, n_out=3):
    rows, columns = window.height, window.width
    x = rng.standard_normal((batch, rows.size, columns.size, n_in))
    weight = rng.standard_normal((rows.kernel, columns.kernel, n_in, n_out))
    return x, weight, rng.standard_normal(n_out)


def out_shape(x, weight, window):
    return (len(x), window.height.out, window.width.out, weight.shape[3])


@pytest.mark.parametrize("name", WINDOWS)
def test_forward_is_the_sum_over_windows(rng, workspace, name):
    window = make_window(name)
    x, weight, bias = arrays(rng, window)
    out = np.full(out_shape(x, weight, window), np.nan)
    convolution_forward(x, weight, bias, window, workspace, out=out)
    np.testing.assert_allclose(out, convolve(x, weight, bias, window), atol=1e-12)


@pytest.mark.parametrize("name", WINDOWS)
def test_gradients_are_central_differences(rng, workspace, name):
    window = make_window(name)
    parts = arrays(rng, window, batch=2)
    shapes = [part.shape for part in parts]
    target = rng.standard_normal(out_shape(parts[0], parts[1], window))

    def loss_and_grad(vector):
        x, weight, bias = split(vector, shapes)
        out = np.empty(target.shape)
        convolution_forward(x, weight, bias, window, workspace, out=out)
        grads = [np.full(shape, np.nan) for shape in shapes]
        convolution_backward(
            target,
            x,
            weight,
            window,
            workspace,
            grad_x=grads[0],
            grad_weight=grads[1],
            grad_bias=grads[2],
        )
        return float((out * target).sum()), np.concatenate([g.ravel() for g in grads])

    check_gradient(loss_and_grad, np.concatenate([part.ravel() for part in parts]))


@pytest.mark.parametrize("name", ["plain", "padding", "same, stride"])
def test_blocks_of_images_give_what_one_block_gives(rng, workspace, monkeypatch, name):
    window = make_window(name)
    x, weight, bias = arrays(rng, window, batch=5)
    shape = out_shape(x, weight, window)
    grad_out = rng.standard_normal(shape)

    def everything():
        out, grads = np.empty(shape), [np.empty(a.shape) for a in (x, weight, bias)]
        convolution_forward(x, weight, bias, window, workspace, out=out)
        convolution_backward(
            grad_out,
            x,
            weight,
            window,
            workspace,
            grad_x=grads[0],
            grad_weight=grads[1],
            grad_bias=grads[2],
        )
        return np.concatenate([out.ravel(), *(grad.ravel() for grad in grads)])

    whole = everything()
    per_image = window.height.out * window.width.out * window.n_cells * 2 * 8
    monkeypatch.setattr(reference, "COLUMNS_BYTES", 2 * per_image)
    np.testing.assert_allclose(everything(), whole, rtol=1e-12, atol=1e-12)


def test_scratch_is_bounded(rng, workspace, monkeypatch):
    window = make_window("plain")
    x, weight, bias = arrays(rng, window, batch=50)
    monkeypatch.setattr(reference, "COLUMNS_BYTES", 4096)
    out = np.empty(out_shape(x, weight, window))
    convolution_forward(x, weight, bias, window, workspace, out=out)
    assert workspace.nbytes <= 4096


def test_images_that_are_views_give_the_same(rng, workspace):
    window = make_window("plain")
    x, weight, bias = arrays(rng, window)
    view = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    out = np.empty(out_shape(x, weight, window))
    convolution_forward(view, weight, bias, window, workspace, out=out)
    np.testing.assert_allclose(out, convolve(x, weight, bias, window), atol=1e-12)

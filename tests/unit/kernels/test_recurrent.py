import numpy as np
import pytest

from daskdl.kernels.recurrent import lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import take_trace
from daskdl.nn.activations.table import activation_function
from tests.gradients import check_gradient
from tests.unit.kernels.naive import lstm, split

N_IN, N_OUT = 3, 2


def shapes(batch, steps):
    return [
        (batch, steps, N_IN),
        (N_IN, 4 * N_OUT),
        (N_OUT, 4 * N_OUT),
        (4 * N_OUT,),
    ]


def run(parts, workspace, target, activation="tanh", gate="sigmoid"):
    """Return the output and the gradients of sum(output * target)."""
    x, weight, recurrent_weight, bias = parts
    functions = activation_function(activation), activation_function(gate)
    keeps_preout = any(function.reads_preout for function in functions)
    trace = take_trace(
        workspace, "lstm", x.shape, N_OUT, x.dtype, keeps_preout=keeps_preout
    )
    out = lstm_forward(
        x,
        weight,
        recurrent_weight,
        bias,
        *functions,
        trace,
        workspace,
        out=np.full((*x.shape[:2], N_OUT), np.nan, x.dtype),
    )
    grads = [np.full(part.shape, np.nan, x.dtype) for part in parts]
    lstm_backward(
        target,
        weight,
        recurrent_weight,
        *functions,
        trace,
        workspace,
        grad_x=grads[0],
        grad_weight=grads[1],
        grad_recurrent_weight=grads[2],
        grad_bias=grads[3],
    )
    return out, grads


@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (2, 1), (1, 4), (3, 5)])
def test_forward_is_the_recurrence(rng, workspace, batch, steps):
    parts = [rng.standard_normal(shape) for shape in shapes(batch, steps)]
    out, _ = run(parts, workspace, np.zeros((batch, steps, N_OUT)))
    np.testing.assert_allclose(out, lstm(*parts), atol=1e-14)


@pytest.mark.parametrize(
    ("activation", "gate"),
    [
        ("tanh", "sigmoid"),
        ("softsign", "sigmoid"),
        ("gelu", "sigmoid"),
        ("identity", "sigmoid"),
        ("tanh", "hardsigmoid"),
        ("softmax", "softplus"),
    ],
)
@pytest.mark.parametrize(("batch", "steps"), [(2, 1), (2, 4)])
def test_gradients_are_central_differences(
    rng, workspace, batch, steps, activation, gate
):
    size = sum(int(np.prod(shape)) for shape in shapes(batch, steps))
    target = rng.standard_normal((batch, steps, N_OUT))

    def loss_and_grad(vector):
        parts = split(vector, shapes(batch, steps))
        out, grads = run(parts, workspace, target, activation, gate)
        return float((out * target).sum()), np.concatenate([g.ravel() for g in grads])

    check_gradient(loss_and_grad, 0.5 * rng.standard_normal(size))


def test_the_gate_blocks_are_input_forget_output_entry(workspace):
    """With only the first and last blocks open, h = tanh(1 * 1) times half."""
    bias = np.zeros(4 * N_OUT)
    bias[:N_OUT] = 50  # block input tanh(50) = 1
    bias[3 * N_OUT :] = 50  # input gate sigmoid(50) = 1
    parts = [np.zeros(shape) for shape in shapes(1, 1)[:3]]
    out, _ = run([*parts, bias], workspace, np.zeros((1, 1, N_OUT)))
    np.testing.assert_allclose(out, 0.5 * np.tanh(1), rtol=1e-12)


def test_float32_is_as_near_as_float32_can_be(rng, workspace):
    parts = [rng.standard_normal(shape).astype("f4") for shape in shapes(3, 5)]
    out, _ = run(parts, workspace, np.zeros((3, 5, N_OUT), "f4"))
    np.testing.assert_allclose(out, lstm(*parts), atol=1e-6)

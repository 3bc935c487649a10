import numpy as np
import pytest

from daskdl.kernels.simple_rnn import simple_rnn_backward, simple_rnn_forward
from daskdl.kernels.simple_rnn.weights import SimpleRnnWeights, take_trace
from daskdl.nn.activations.table import activation_function
from tests.gradients import check_gradient
from tests.unit.kernels.naive import simple_rnn, split

N_IN, N_OUT = 3, 4
MASK = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1.0]])
every_norm = pytest.mark.parametrize("is_normalized", [False, True])


def shapes(batch, steps, *, is_normalized=False):
    shapes = [(batch, steps, N_IN), (N_IN, N_OUT), (N_OUT, N_OUT), (N_OUT,)]
    return [*shapes, (2, N_OUT)] if is_normalized else shapes


def drawn(rng, *args, **options):
    return [rng.standard_normal(shape) for shape in shapes(*args, **options)]


class Run:
    """One forward pass, and the backward pass that belongs to it."""

    def __init__(self, parts, workspace, activation="tanh", *, mask=None, state=None):
        x = parts[0]
        self.weights = SimpleRnnWeights(*parts[1:])
        self.function = activation_function(activation)
        self.workspace, self.mask = workspace, mask
        self.trace = take_trace(
            workspace,
            "rnn",
            x.shape,
            N_OUT,
            x.dtype,
            is_normalized=self.weights.gains is not None,
        )
        self.out = simple_rnn_forward(
            x,
            self.weights,
            self.function,
            self.trace,
            workspace,
            out=np.full((*x.shape[:2], N_OUT), np.nan, x.dtype),
            mask=mask,
            state=state,
        )

    def gradients(self, target):
        """Return the gradients of sum(output * target), that of x first."""
        arrays = [
            None if part is None else np.full(part.shape, np.nan, part.dtype)
            for part in vars(self.weights).values()
        ]
        grad_x = np.full((*target.shape[:2], N_IN), np.nan, target.dtype)
        simple_rnn_backward(
            target,
            self.weights,
            self.function,
            self.trace,
            self.workspace,
            gradients=SimpleRnnWeights(*arrays),
            grad_x=grad_x,
            mask=self.mask,
        )
        return [grad_x, *(array for array in arrays if array is not None)]


@every_norm
@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (2, 1), (1, 4), (3, 5)])
def test_forward_is_the_recurrence(rng, workspace, batch, steps, is_normalized):
    parts = drawn(rng, batch, steps, is_normalized=is_normalized)
    out = Run(parts, workspace).out
    np.testing.assert_allclose(out, simple_rnn(*parts), atol=1e-13)


@every_norm
def test_the_second_half_goes_on_where_the_first_stopped(rng, workspace, is_normalized):
    parts = drawn(rng, 2, 6, is_normalized=is_normalized)
    state = Run([parts[0][:, :4], *parts[1:]], workspace).trace.hidden[-1].copy()
    second = Run([parts[0][:, 4:], *parts[1:]], workspace, state=state)
    np.testing.assert_allclose(second.out, simple_rnn(*parts)[:, 4:], atol=1e-13)


def test_dropped_steps_are_zero_and_the_next_begins_with_zeros(rng, workspace):
    parts = drawn(rng, 3, 4)
    out = Run(parts, workspace, mask=MASK).out
    np.testing.assert_allclose(out, simple_rnn(*parts, mask=MASK), atol=1e-14)


@every_norm
@pytest.mark.parametrize("activation", ["tanh", "swish", "softmax"])
@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
def test_gradients_are_central_differences(
    rng, workspace, activation, mask, is_normalized
):
    all_shapes = shapes(3, 4, is_normalized=is_normalized)
    size = sum(int(np.prod(shape)) for shape in all_shapes)
    target = rng.standard_normal((3, 4, N_OUT))
    if is_normalized and mask is not None:
        # Normalized zeros, which follow a dropped step, have no gradient.
        mask = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1.0]])

    def loss_and_grad(vector):
        run = Run(split(vector, all_shapes), workspace, activation, mask=mask)
        loss = float((run.out * target).sum())
        grads = run.gradients(target)
        return loss, np.concatenate([grad.ravel() for grad in grads])

    check_gradient(loss_and_grad, rng.standard_normal(size), rtol=2e-6)


def test_one_step_has_no_gradient_in_the_weights_between_steps(rng, workspace):
    run = Run(drawn(rng, 2, 1, is_normalized=True), workspace)
    grads = run.gradients(rng.standard_normal(run.out.shape))
    np.testing.assert_array_equal(grads[2], 0)
    np.testing.assert_array_equal(grads[4][1], 0)


def test_float32_stays_float32(rng, workspace):
    parts = [part.astype("f4") for part in drawn(rng, 3, 5, is_normalized=True)]
    out = Run(parts, workspace).out
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, simple_rnn(*parts), atol=2e-6)

import numpy as np
import pytest

from daskdl.kernels.recurrent import lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import take_trace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.nn.activations.table import activation_function
from tests.gradients import check_gradient
from tests.unit.kernels.naive import lstm, split

N_IN, N_OUT = 3, 2
MASK = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1.0]])


def shapes(batch, steps, *, peepholes=False):
    shapes = [
        (batch, steps, N_IN),
        (N_IN, 4 * N_OUT),
        (N_OUT, 4 * N_OUT),
        (4 * N_OUT,),
    ]
    return [*shapes, (N_OUT, 3)] if peepholes else shapes


def drawn(rng, *args, **options):
    return [rng.standard_normal(shape) for shape in shapes(*args, **options)]


class Run:
    """One forward pass, and the backward pass that belongs to it."""

    def __init__(
        self,
        parts,
        workspace,
        activation="tanh",
        gate="sigmoid",
        *,
        mask=None,
        state=None,
    ):
        x = parts[0]
        self.weights = LstmWeights(*parts[1:])
        self.functions = activation_function(activation), activation_function(gate)
        keeps_preout = any(function.reads_preout for function in self.functions)
        self.workspace, self.mask = workspace, mask
        self.trace = take_trace(
            workspace, "lstm", x.shape, N_OUT, x.dtype, keeps_preout=keeps_preout
        )
        self.out = lstm_forward(
            x,
            self.weights,
            *self.functions,
            self.trace,
            workspace,
            out=np.full((*x.shape[:2], N_OUT), np.nan, x.dtype),
            mask=mask,
            state=state,
        )

    def gradients(self, target, **options):
        """Return the gradients of sum(output * target), that of x first."""
        arrays = [
            None if part is None else np.full(part.shape, np.nan, part.dtype)
            for part in vars(self.weights).values()
        ]
        grad_x = np.full((*target.shape[:2], N_IN), np.nan, target.dtype)
        lstm_backward(
            target,
            self.weights,
            *self.functions,
            self.trace,
            self.workspace,
            gradients=LstmWeights(*arrays),
            grad_x=grad_x,
            mask=self.mask,
            **options,
        )
        return [grad_x, *(array for array in arrays if array is not None)]


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (2, 1), (1, 4), (3, 5)])
def test_forward_is_the_recurrence(rng, workspace, batch, steps, peepholes):
    parts = drawn(rng, batch, steps, peepholes=peepholes)
    np.testing.assert_allclose(Run(parts, workspace).out, lstm(*parts), atol=1e-14)


@pytest.mark.parametrize("peepholes", [False, True])
def test_dropped_steps_are_zero_and_the_next_begins_with_zeros(
    rng, workspace, peepholes
):
    parts = drawn(rng, 3, 4, peepholes=peepholes)
    out = Run(parts, workspace, mask=MASK).out
    np.testing.assert_allclose(out, lstm(*parts, mask=MASK), atol=1e-14)


@pytest.mark.parametrize("peepholes", [False, True])
def test_the_second_half_goes_on_where_the_first_stopped(rng, workspace, peepholes):
    parts = drawn(rng, 2, 6, peepholes=peepholes)
    first = Run([parts[0][:, :4], *parts[1:]], workspace)
    state = LstmState(first.trace.hidden[-1].copy(), first.trace.cells[-1].copy())
    second = Run([parts[0][:, 4:], *parts[1:]], workspace, state=state)
    np.testing.assert_allclose(second.out, lstm(*parts)[:, 4:], atol=1e-14)


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
@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize(("batch", "steps"), [(2, 1), (2, 4)])
def test_gradients_are_central_differences(
    rng, workspace, batch, steps, activation, gate, peepholes
):
    all_shapes = shapes(batch, steps, peepholes=peepholes)
    size = sum(int(np.prod(shape)) for shape in all_shapes)
    target = rng.standard_normal((batch, steps, N_OUT))

    def loss_and_grad(vector):
        run = Run(split(vector, all_shapes), workspace, activation, gate)
        grads = run.gradients(target)
        loss = float((run.out * target).sum())
        return loss, np.concatenate([grad.ravel() for grad in grads])

    check_gradient(loss_and_grad, 0.5 * rng.standard_normal(size))


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("masks_gradient", [False, True])
def test_gradients_under_a_mask_of_the_last_steps_are_central_differences(
    rng, workspace, peepholes, masks_gradient
):
    """As the wrapper of the last step has it: nothing arrives at dropped steps."""
    all_shapes = shapes(3, 4, peepholes=peepholes)
    size = sum(int(np.prod(shape)) for shape in all_shapes)
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0.0]])
    target = rng.standard_normal((3, 4, N_OUT)) * mask[:, :, None]

    def loss_and_grad(vector):
        run = Run(split(vector, all_shapes), workspace, mask=mask)
        grads = run.gradients(target, masks_gradient=masks_gradient)
        loss = float((run.out * target).sum())
        return loss, np.concatenate([grad.ravel() for grad in grads])

    check_gradient(loss_and_grad, 0.5 * rng.standard_normal(size))


def test_masked_gradients_do_not_reach_dropped_steps_of_the_input(rng, workspace):
    run = Run(drawn(rng, 3, 4), workspace, mask=MASK)
    grad_x = run.gradients(rng.standard_normal(run.out.shape), masks_gradient=True)[0]
    np.testing.assert_array_equal(grad_x[MASK == 0], 0)


def test_unmasked_gradients_do(rng, workspace):
    run = Run(drawn(rng, 3, 4), workspace, mask=MASK)
    grad_x = run.gradients(rng.standard_normal(run.out.shape))[0]
    assert (grad_x[MASK == 0] != 0).all()


def test_the_gate_blocks_are_input_forget_output_entry(workspace):
    """With only the first and last blocks open, h = tanh(1 * 1) times half."""
    bias = np.zeros(4 * N_OUT)
    bias[:N_OUT] = 50  # block input tanh(50) = 1
    bias[3 * N_OUT :] = 50  # input gate sigmoid(50) = 1
    parts = [np.zeros(shape) for shape in shapes(1, 1)[:3]]
    out = Run([*parts, bias], workspace).out
    np.testing.assert_allclose(out, 0.5 * np.tanh(1), rtol=1e-12)


def test_float32_is_as_near_as_float32_can_be(rng, workspace):
    parts = [part.astype("f4") for part in drawn(rng, 3, 5, peepholes=True)]
    out = Run(parts, workspace).out
    np.testing.assert_allclose(out, lstm(*parts), atol=1e-6)


def test_nothing_is_written_where_nobody_wants_the_output(rng, workspace):
    run = Run(drawn(rng, 2, 3), workspace)
    x = rng.standard_normal((2, 3, N_IN))
    out = lstm_forward(x, run.weights, *run.functions, run.trace, workspace, out=None)
    assert out is None

"""The LSTM in register tiles against NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.recurrent import cpu, lstm_backward, lstm_forward
from daskdl.kernels.recurrent.trace import take_trace
from daskdl.kernels.recurrent.weights import LstmState, LstmWeights
from daskdl.nn.activations.table import activation_function
from tests.memory import peak_bytes
from tests.pretend_cupy import pretend
from tests.unit.kernels.numpy_form import by_numpy

# batch, time, n_in, n_out
SIZES = [
    (1, 1, 1, 1),
    (1, 2, 3, 2),
    (2, 3, 5, 7),
    (3, 50, 4, 5),
    (13, 3, 17, 16),
    (32, 2, 7, 20),
    (33, 20, 9, 37),
    (7, 1, 3, 66),
    (300, 3, 2, 3),
]
every_size = pytest.mark.parametrize("sizes", SIZES, ids=str)
# Relative to the largest number. Errors of single precision grow with the steps.
TOLERANCES = {"f8": 1e-12, "f4": 1e-5}
dtypes = pytest.mark.parametrize("dtype", TOLERANCES)
PAIR = activation_function("tanh"), activation_function("sigmoid")
OF_TRACE = ["gates", "cells", "active_cells", "hidden"]
OF_GRADIENT = ["x", "weight", "recurrent_weight", "bias"]


class Lstm:
    """The arrays of one LSTM."""

    def __init__(self, rng, batch, time, n_in, n_out, dtype="f8"):
        def drawn(*shape):
            return rng.standard_normal(shape).astype(dtype)

        self.sizes, self.dtype = (batch, time, n_in, n_out), np.dtype(dtype)
        self.x = drawn(batch, time, n_in)
        self.weights = LstmWeights(
            drawn(n_in, 4 * n_out) / 2, drawn(n_out, 4 * n_out) / 4, drawn(4 * n_out)
        )
        self.grad_out = drawn(batch, time, n_out)
        self.state = LstmState(drawn(batch, n_out), drawn(batch, n_out))
        self.mask = None
        self.workspace = Workspace()
        self.trace = self.new_trace(self.workspace)

    def new_trace(self, workspace, *, keeps_preout=False):
        return take_trace(
            workspace,
            "lstm",
            self.x.shape,
            self.sizes[-1],
            self.dtype,
            keeps_preout=keeps_preout,
        )

    def out(self):
        return np.full_like(self.grad_out, np.nan)

    def gradients(self):
        """Return arrays to be overwritten: for x, and for the weights."""
        arrays = [self.x, *list(vars(self.weights).values())[:3]]
        grad_x, *rest = (np.full_like(array, np.nan) for array in arrays)
        return grad_x, LstmWeights(*rest)

    def forward(self, *, state=None):
        """Return output and trace, of the compiled pair."""
        out = self.out()
        cpu.lstm_forward(
            self.x,
            self.weights,
            self.trace,
            self.workspace,
            out,
            self.mask,
            state,
        )
        return out, self.trace

    def expected_forward(self, *, state=None):
        workspace = Workspace()
        trace = self.new_trace(workspace)
        given = (self.x, self.weights, *PAIR, trace, workspace)
        options = {"out": self.out(), "mask": self.mask, "state": state}
        out = by_numpy(lstm_forward, *given, **options)
        return out, trace

    def backward(self, grad_out=None, *, state=None):
        """Return the gradients in x and the weights behind :meth:`forward`."""
        self.forward(state=state)
        grad_x, gradients = self.gradients()
        grad_out = self.grad_out if grad_out is None else grad_out
        cpu.lstm_backward(
            grad_out,
            self.weights,
            self.trace,
            self.workspace,
            gradients,
            grad_x,
            self.mask,
            state,
        )
        return SimpleNamespace(x=grad_x, **vars(gradients))

    def expected_backward(self, *, state=None):
        grad_x, gradients = self.gradients()
        _, trace = self.expected_forward(state=state)
        by_numpy(
            lstm_backward,
            self.grad_out,
            self.weights,
            *PAIR,
            trace,
            Workspace(),
            gradients=gradients,
            grad_x=grad_x,
            mask=self.mask,
            state=state,
        )
        return SimpleNamespace(x=grad_x, **vars(gradients))


def assert_near(found, expected):
    atol = TOLERANCES[found.dtype.str[1:]] * np.abs(expected).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@every_size
@dtypes
@pytest.mark.parametrize("has_state", [False, True])
def test_output_and_trace_are_numpys(rng, sizes, dtype, has_state):
    lstm = Lstm(rng, *sizes, dtype)
    state = lstm.state if has_state else None
    (out, trace), (expected, expected_trace) = (
        lstm.forward(state=state),
        lstm.expected_forward(state=state),
    )
    assert_near(out, expected)
    for name in OF_TRACE:
        assert_near(getattr(trace, name), getattr(expected_trace, name))


@every_size
@dtypes
def test_gradients_are_numpys(rng, sizes, dtype):
    lstm = Lstm(rng, *sizes, dtype)
    found, expected = lstm.backward(), lstm.expected_backward()
    for name in OF_GRADIENT:
        assert_near(getattr(found, name), getattr(expected, name))


def test_nothing_that_is_read_is_changed(rng):
    lstm = Lstm(rng, 3, 4, 5, 6)
    read = [lstm.x, lstm.grad_out, *vars(lstm.state).values()]
    read += [array for array in vars(lstm.weights).values() if array is not None]
    before = [array.copy() for array in read]
    lstm.forward(state=lstm.state)
    lstm.backward()
    for array, copy in zip(read, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_the_backward_pass_leaves_of_the_trace_what_a_state_is_taken_from(rng):
    lstm = Lstm(rng, 3, 4, 5, 6)
    _, trace = lstm.forward()
    names = ("x", "cells", "active_cells", "hidden")
    before = [getattr(trace, name).copy() for name in names]
    lstm.backward()
    for name, copy in zip(names, before, strict=True):
        np.testing.assert_array_equal(getattr(trace, name), copy)


def test_gradients_of_gates_take_no_memory_of_their_own(rng):
    lstm = Lstm(rng, 3, 4, 5, 6)
    _, trace = lstm.forward()
    gates = trace.gates.copy()
    lstm.backward()
    assert not np.array_equal(trace.gates, gates)


def test_the_trace_alone_may_be_wanted(rng):
    lstm = Lstm(rng, 3, 4, 5, 6)
    given = (lstm.x, lstm.weights, *PAIR, lstm.trace, lstm.workspace)
    assert lstm_forward(*given, out=None) is None
    assert_near(lstm.trace.hidden, lstm.expected_forward()[1].hidden)


def test_the_gradient_of_the_input_may_be_unwanted(rng):
    lstm = Lstm(rng, 3, 4, 5, 6)
    lstm.forward()
    _, gradients = lstm.gradients()
    given = (lstm.grad_out, lstm.weights, *PAIR, lstm.trace, lstm.workspace)
    assert lstm_backward(*given, gradients=gradients, grad_x=None) is None
    assert_near(gradients.weight, lstm.expected_backward().weight)


@dtypes
@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_gradients_from_a_state_are_numpys(rng, dtype, n_steps):
    lstm = Lstm(rng, 3, n_steps, 4, 5, dtype)
    got = lstm.backward(state=lstm.state)
    expected = lstm.expected_backward(state=lstm.state)
    assert_near(got.x, expected.x)
    assert_near(got.weight, expected.weight)
    assert_near(got.recurrent_weight, expected.recurrent_weight)
    assert_near(got.bias, expected.bias)


def test_the_last_step_may_be_the_state_of_the_next_stretch(rng):
    """As a view: it is read before the first step overwrites it."""
    for time in (1, 3):
        lstm = Lstm(rng, 3, time, 5, 6)
        lstm.forward()
        trace = lstm.trace
        kept = LstmState(trace.hidden[-1].copy(), trace.cells[-1].copy())
        out, _ = lstm.forward(state=LstmState(trace.hidden[-1], trace.cells[-1]))
        assert_near(out, lstm.expected_forward(state=kept)[0])


def test_states_may_be_views_of_another_type(rng):
    lstm = Lstm(rng, 3, 4, 5, 6, "f4")
    wide = [np.repeat(part, 2, axis=1) for part in vars(lstm.state).values()]
    state = LstmState(*(part.astype("f8")[:, ::2] for part in wide))
    out, _ = lstm.forward(state=state)
    assert_near(out, lstm.expected_forward(state=lstm.state)[0])


@pytest.mark.parametrize(
    "viewed",
    [
        lambda grad: np.repeat(grad, 2, axis=-1)[..., ::2],
        lambda grad: np.ascontiguousarray(grad.transpose(1, 0, 2)).transpose(1, 0, 2),
        lambda grad: grad.astype("f8"),
    ],
    ids=["gaps", "time first", "double"],
)
def test_the_gradient_of_the_output_may_be_a_view_or_wider(rng, viewed):
    lstm = Lstm(rng, 3, 4, 5, 6, "f4")
    found = lstm.backward(viewed(lstm.grad_out))
    assert_near(found.recurrent_weight, lstm.expected_backward().recurrent_weight)


@dtypes
def test_a_short_minibatch_finds_nothing_of_the_one_before(rng, dtype):
    whole, short = Lstm(rng, 5, 4, 3, 6, dtype), Lstm(rng, 3, 4, 3, 6, dtype)
    whole.backward()
    short.workspace = whole.workspace
    short.trace = short.new_trace(whole.workspace)
    found, expected = short.backward(), short.expected_backward()
    for name in OF_GRADIENT:
        assert_near(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_nan_and_infinity_go_where_they_do_in_numpy(rng, special):
    lstm = Lstm(rng, 3, 4, 5, 6)
    lstm.x[1, 1, 2] = special
    lstm.grad_out[2, 2, 3] = special
    found, expected = lstm.backward(), lstm.expected_backward()
    for name in OF_GRADIENT:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-12
        )


def test_saturated_gates_are_numpys(rng):
    lstm = Lstm(rng, 4, 5, 3, 6)
    lstm.x *= 1000
    found, expected = lstm.backward(), lstm.expected_backward()
    for name in OF_GRADIENT:
        assert_near(getattr(found, name), getattr(expected, name))


@dtypes
@pytest.mark.parametrize("has_state", [False, True])
def test_masked_output_and_trace_are_numpys(rng, dtype, has_state):
    lstm = Lstm(rng, 5, 6, 3, 17, dtype)
    lstm.mask = rng.integers(0, 2, (5, 6)).astype("f8")
    state = lstm.state if has_state else None
    (out, trace), (expected, expected_trace) = (
        lstm.forward(state=state),
        lstm.expected_forward(state=state),
    )
    assert_near(out, expected)
    for name in ("gates", "cells", "active_cells", "hidden"):
        assert_near(getattr(trace, name), getattr(expected_trace, name))


@dtypes
def test_masked_gradients_are_numpys(rng, dtype):
    lstm = Lstm(rng, 5, 6, 3, 17, dtype)
    lstm.mask = rng.integers(0, 2, (5, 6)).astype("f8")
    found, expected = lstm.backward(), lstm.expected_backward()
    for name in OF_GRADIENT:
        assert_near(getattr(found, name), getattr(expected, name))


def test_an_lstm_with_and_one_without_a_mask_share_a_workspace(rng):
    lstm = Lstm(rng, 5, 6, 3, 17)
    plain = lstm.forward()[0]
    lstm.mask = np.zeros((5, 6))
    np.testing.assert_array_equal(lstm.forward()[0], 0)
    lstm.mask = None
    np.testing.assert_array_equal(lstm.forward()[0], plain)


def is_plain(lstm, activation="tanh", gate="sigmoid", *, trace=None):
    functions = activation_function(activation), activation_function(gate)
    return cpu.is_plain(lstm.weights, *functions, trace or lstm.trace)


@dtypes
def test_tanh_and_sigmoid_alone_are_plain(rng, dtype):
    assert is_plain(Lstm(rng, 2, 3, 4, 5, dtype))


@pytest.mark.parametrize(
    "functions",
    [("softsign", "sigmoid"), ("tanh", "hardsigmoid"), ("tanh", "softmax")],
    ids=str,
)
def test_other_activations_are_not_plain(rng, functions):
    assert not is_plain(Lstm(rng, 2, 3, 4, 5), *functions)


def test_peepholes_are_not_plain(rng):
    lstm = Lstm(rng, 2, 3, 4, 5)
    *arrays, _ = vars(lstm.weights).values()
    lstm.weights = LstmWeights(*arrays, np.zeros((5, 3)))
    assert not is_plain(lstm)


def test_a_trace_that_keeps_the_sums_is_not_plain(rng):
    lstm = Lstm(rng, 2, 3, 4, 5)
    assert not is_plain(lstm, trace=lstm.new_trace(Workspace(), keeps_preout=True))


@pytest.mark.parametrize("sizes", [(0, 3, 4, 5), (2, 0, 4, 5)], ids=str)
def test_nothing_at_all_is_not_plain(rng, sizes):
    assert not is_plain(Lstm(rng, *sizes))


def test_half_precision_is_not_plain(rng):
    assert not is_plain(Lstm(rng, 2, 3, 4, 5, "f2"))


def test_device_arrays_are_not_plain(rng):
    lstm = Lstm(rng, 2, 3, 4, 5)
    lstm.weights = LstmWeights(*map(pretend, list(vars(lstm.weights).values())[:3]))
    assert not is_plain(lstm)


def test_numpy_is_used_where_it_is_asked_for(rng, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
    assert not is_plain(Lstm(rng, 2, 3, 4, 5))


@dtypes
def test_nothing_is_allocated_once_it_runs(rng, dtype):
    lstm = Lstm(rng, 16, 20, 30, 40, dtype)
    out, (grad_x, gradients) = lstm.out(), lstm.gradients()

    def iterate():
        lstm_forward(lstm.x, lstm.weights, *PAIR, lstm.trace, lstm.workspace, out=out)
        lstm_backward(
            lstm.grad_out,
            lstm.weights,
            *PAIR,
            lstm.trace,
            lstm.workspace,
            gradients=gradients,
            grad_x=grad_x,
        )

    peak = peak_bytes(iterate)
    # Views of the arrays, and what NumPy 2.0 sums through: 8192 numbers. The gates of
    # all steps are 51,200.
    assert peak < 10_000 + 8192 * lstm.dtype.itemsize

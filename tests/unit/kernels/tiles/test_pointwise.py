"""Functions of single numbers against their formulas in more digits."""

import numpy as np
import pytest

from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Argument, Field, Pointwise, Program
from tests.unit.kernels.tiles.units import HOST_UNITS, name_of

# Modules of functions.
SINGLE = "tests.unit.kernels.tiles.single"
GATES = "daskdl.kernels.recurrent.gates"
MAXIMA = "daskdl.kernels.pooled_conv.maxima"

every_unit = pytest.mark.parametrize("unit", HOST_UNITS, ids=name_of)
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
# A sigmoid is at least this: 1 / (1 + the largest power of e that is a normal number).
LEAST = {"float32": np.exp(-87.0), "float64": np.exp(-708.0)}


def single(name, unit, x):
    """Return a function of single numbers, computed in registers."""
    y = np.full_like(x, np.nan)
    # Registers and, with every unit, a rest.
    rows, run = x.reshape(-1, 21).shape
    read, written = (Field(Argument(number), (run,)) for number in (0, 1))
    statement = Pointwise(f"{SINGLE}:{name}", (read,), (written,), (rows,), run)
    function = native(Program(x.dtype.name, 2, (statement,)), unit)
    function(x.ctypes.data, y.ctypes.data, 1)
    return y


def ascending(dtype):
    """Return numbers of either sign from subnormal ones to 1e30, dense up to 100."""
    tiny = float(np.finfo(dtype).smallest_subnormal)
    positive = np.concatenate(
        [np.linspace(0, 100, 4200), np.geomspace(tiny, 1e30, 4200)]
    )
    return np.sort(np.concatenate([-positive, positive])).astype(dtype)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x.astype(np.longdouble)))


@every_unit
@dtypes
def test_tanh_is_right_to_two_units_in_the_last_place(unit, dtype):
    x = ascending(dtype)
    expected = np.tanh(x.astype(np.longdouble))
    rtol = 2 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(single("tanh", unit, x), expected, rtol=rtol)


@every_unit
@dtypes
def test_sigmoid_is_right_to_two_units_in_the_last_place(unit, dtype):
    """Below the logarithm of the smallest number it stays at that number."""
    x = ascending(dtype)
    expected = np.maximum(sigmoid(x), LEAST[dtype])
    rtol = 2 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(single("sigmoid", unit, x), expected, rtol=rtol)


@every_unit
@dtypes
@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_a_larger_number_is_no_less_but_for_a_rounding(unit, dtype, name):
    y = single(name, unit, ascending(dtype)).astype(np.float64)
    slack = 1.01 * np.finfo(dtype).eps * np.abs(y[1:])
    assert (np.diff(y) >= -slack).all()


@every_unit
@dtypes
@pytest.mark.parametrize(
    ("name", "expected"),
    [("sigmoid", [0.5, 0.5, 1, 0, np.nan]), ("tanh", [0, 0, 1, -1, np.nan])],
)
def test_zeros_infinities_and_nan(unit, dtype, name, expected):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    y = single(name, unit, np.resize(special, 21))
    atol = float(np.finfo(dtype).tiny) * 2
    np.testing.assert_allclose(y, np.resize(expected, 21), rtol=0, atol=atol)


@every_unit
@dtypes
@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_nothing_leaves_the_range(unit, dtype, name):
    y = single(name, unit, ascending(dtype))
    assert (y.min(), y.max()) >= ({"sigmoid": 0, "tanh": -1}[name], 1)
    assert np.abs(y).max() <= 1


def forward(a, f, o, g, bias_a, bias_f, bias_o, bias_g, cell):
    a, f = np.tanh(a + bias_a), sigmoid(f + bias_f)
    o, g = sigmoid(o + bias_o), sigmoid(g + bias_g)
    cell = f * cell + g * a
    return a, f, o, g, cell, np.tanh(cell), o * np.tanh(cell)


def backward(a, f, o, g, active, cell_before, grad, grad_cell):
    grad_cell = grad_cell + grad * o * (1 - active**2)
    return (
        grad_cell * g * (1 - a**2),
        grad_cell * cell_before * f * (1 - f),
        grad * active * o * (1 - o),
        grad_cell * a * g * (1 - g),
        grad_cell * f,
    )


class Rows:
    """Rows of numbers, further apart than they are long, with NaN between them."""

    def __init__(self, rng, dtype, rows, columns, apart):
        self.apart = apart
        self.all = np.full((rows + 2) * apart, np.nan, dtype)
        self.values = self.all[apart:-apart].reshape(rows, apart)[:, :columns]
        self.values[...] = rng.standard_normal((rows, columns))

    def field(self, number):
        return Field(Argument(number, self.apart), (self.apart,))

    @property
    def is_alone(self):
        """Whether there are no other numbers."""
        return np.isfinite(self.all).sum() == self.values.size


@every_unit
@dtypes
@pytest.mark.parametrize(
    ("name", "formula", "n_reads", "n_writes"),
    [("forward", forward, 9, 7), ("backward", backward, 8, 5)],
)
def test_an_lstm_is_its_formulas(rng, unit, dtype, name, formula, n_reads, n_writes):
    rows, columns = 3, 37
    fields = [
        Rows(rng, dtype, rows, columns, columns + k) for k in range(n_reads + n_writes)
    ]
    reads, writes = fields[:n_reads], fields[n_reads:]
    of_program = tuple(rows.field(number) for number, rows in enumerate(fields))
    read, written = of_program[:n_reads], of_program[n_reads:]
    statement = Pointwise(f"{GATES}:{name}", read, written, (rows,), columns)
    expected = formula(*(rows.values.copy() for rows in reads))
    function = native(Program(dtype, len(fields), (statement,)), unit)
    function(*(rows.all.ctypes.data for rows in fields), 1)
    rtol = 16 * float(np.finfo(dtype).eps)
    for written, values in zip(writes, expected, strict=True):
        np.testing.assert_allclose(written.values, values, rtol=rtol, atol=rtol)
    assert all(rows.is_alone for rows in fields)


def test_what_is_written_may_be_what_was_read(rng):
    """A cell is brought forward in place, for each example anew."""
    fields = [Rows(rng, "float64", 2, 5, 8) for _ in range(9)]
    of_program = [rows.field(number) for number, rows in enumerate(fields)]
    written = (*of_program[:4], of_program[8], of_program[6], of_program[7])
    statement = Pointwise(f"{GATES}:forward", tuple(of_program), written, (2,), 5)
    read = [rows.values.copy() for rows in fields]
    expected = forward(*read)
    native(Program("float64", 9, (statement,)))(
        *(rows.all.ctypes.data for rows in fields), 1
    )
    np.testing.assert_allclose(fields[8].values, expected[4], rtol=1e-14)


def computed(name, reads, n_writes, unit):
    """Return a function of rows of numbers, written into rows of NaN."""
    n, run = reads.shape
    fields = [Field(Argument(number), ()) for number in range(n + n_writes)]
    statement = Pointwise(
        f"{MAXIMA}:{name}", tuple(fields[:n]), tuple(fields[n:]), (), run
    )
    written = np.full((n_writes, run), np.nan, reads.dtype)
    function = native(Program(reads.dtype.name, len(fields), (statement,)), unit)
    function(*(row.ctypes.data for row in (*reads, *written)), 1)
    return written


def numbers_with_special_ones(rng, dtype, n):
    """Return rows of numbers in which equal and special ones are frequent."""
    special = [-2, -1, -0.0, 0.0, 1, 2, np.inf, -np.inf, np.nan]
    return rng.choice(special, (n, 999), p=[0.12] * 8 + [0.04]).astype(dtype)


def first_of_the_largest(rows):
    """Return numbers of the winners: NaN neither beats nor is beaten."""
    best, winner = rows[0].copy(), np.zeros(rows.shape[1])
    for number, row in enumerate(rows):
        winner[row > best] = number
        best = np.maximum(best, row)
    return winner


@every_unit
@dtypes
def test_the_largest_number_is_numpys(rng, unit, dtype):
    rows = numbers_with_special_ones(rng, dtype, 4)
    largest, winner = computed("maximum", rows, 2, unit)
    np.testing.assert_array_equal(largest, rows.max(axis=0))
    np.testing.assert_array_equal(winner, first_of_the_largest(rows))


@every_unit
@dtypes
def test_behind_a_rectifier_nothing_is_below_zero_but_nan_stays(rng, unit, dtype):
    rows = numbers_with_special_ones(rng, dtype, 4)
    largest, winner = computed("rectified_maximum", rows, 2, unit)
    np.testing.assert_array_equal(largest, np.maximum(rows.max(axis=0), 0))
    np.testing.assert_array_equal(winner, first_of_the_largest(rows))


@every_unit
@dtypes
def test_a_gradient_goes_to_the_winner(rng, unit, dtype):
    grad = numbers_with_special_ones(rng, dtype, 1)[0]
    winner = rng.integers(0, 4, grad.shape)
    written = computed("to_winner", np.stack([grad, winner.astype(dtype)]), 4, unit)
    expected = np.where(winner == np.arange(4)[:, None], grad, 0)
    np.testing.assert_array_equal(written, expected)


@every_unit
@dtypes
def test_a_gradient_goes_through_a_rectifier_that_is_open(rng, unit, dtype):
    grad, output = numbers_with_special_ones(rng, dtype, 2)
    reads = np.stack([grad, np.zeros_like(grad), output])
    (written,) = computed("to_winner", reads, 1, unit)
    np.testing.assert_array_equal(written, np.where(output > 0, grad, 0))

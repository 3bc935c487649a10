"""Loop nests drawn at random, and what they compute by indices of NumPy.

All numbers are small integers: every order of summation gives the same bits. What must
be neither read nor written is NaN.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import (
    Argument,
    Axis,
    Contraction,
    Copy,
    Field,
    Pointwise,
    Program,
)

GUARD = 40
MOST_PRODUCTS = 20_000

n_loops = st.integers(0, 3)
strides = st.integers(-25, 25)


@dataclass
class Case:
    """A statement, its arrays as they were and as they must become.

    The number of an array is that of the program's argument.
    """

    statement: Contraction | Copy | Pointwise
    n_examples: int
    before: list[np.ndarray]
    after: list[np.ndarray]

    def run(self, unit, dtype):
        """Return the arrays that the statement leaves."""
        arrays = [array.astype(dtype) for array in self.before]
        program = Program(dtype, len(arrays), (self.statement,))
        addresses = [array.ctypes.data for array in arrays]
        native(program, unit)(*addresses, self.n_examples)
        return arrays


@st.composite
def sizes(draw, count, most=20):
    """Draw sizes whose product is bounded, any of them the large ones."""
    found, left = [1] * count, MOST_PRODUCTS
    for index in draw(st.permutations(range(count))):
        found[index] = draw(st.integers(1, min(most, left)))
        left //= found[index]
    return found


@st.composite
def strides_apart(draw, counts, run):
    """Draw strides of either sign with which no two runs share a place."""
    found, step = [0] * len(counts), run
    for index in draw(st.permutations(range(len(counts)))):
        step += draw(st.integers(0, 3))
        found[index] = step * draw(st.sampled_from((1, -1)))
        step *= counts[index]
    return found


@st.composite
def contractions(draw):
    """Draw contractions with 1 to 3 sums; those that add to C may overlap in it."""
    start = draw(st.sampled_from(["zero", "bias", "sum"]))
    n_sums = draw(st.integers(1, 3))
    columns, *counts = draw(sizes(3 + n_sums + draw(n_loops)))
    sums = [Axis(n, draw(strides), draw(strides)) for n in counts[:n_sums]]
    counts = [draw(st.integers(0, 3)), *counts[n_sums:]]
    if start == "sum":
        of_c = [draw(strides) for _ in counts]
    else:
        of_c = draw(strides_apart(counts, columns))
    *outer, down, across = (
        Axis(n, draw(strides), draw(strides), stride)
        for n, stride in zip(counts, of_c, strict=True)
    )
    rows = (replace(down, b=0), replace(across, b=0))
    numbers = draw(st.permutations(range(4)))
    return contraction_case(numbers, outer, rows, columns, sums, start, draw(strides))


def contraction_case(numbers, outer, rows, columns, sums, start, bias_step):
    """Return the case of a contraction; `outer` are the examples and the loops."""
    example, *loops = outer
    column = (columns, 1)
    at_a = offsets(*((axis.size, axis.a) for axis in (*outer, *rows, *sums)))
    at_b = offsets(*((axis.size, axis.b) for axis in (*outer, *sums)), column)
    at_c = offsets(*((axis.size, axis.c) for axis in (*outer, *rows)), column)
    at_bias = offsets((example.size, bias_step), column)
    rng = np.random.default_rng(20260101)
    (a, a_first), (b, b_first), (c, c_first), (bias, bias_first) = (
        filled(rng, at) for at in (at_a, at_b, at_c, at_bias)
    )
    if start != "sum":
        c.fill(np.nan)
    before = ordered(numbers, a, b, c.copy(), bias)
    n_products = math.prod(axis.size for axis in sums)
    total = a[at_a + a_first].reshape(-1, rows[0].size * rows[1].size, n_products)
    total = total @ b[at_b + b_first].reshape(-1, n_products, columns)
    total = total.reshape(at_c.shape)
    if start == "bias":
        between = (1,) * (total.ndim - 2)
        total += bias[at_bias + bias_first].reshape(-1, *between, columns)
    if start != "sum":
        c[at_c + c_first] = 0
    np.add.at(c, at_c + c_first, total)
    statement = Contraction(
        Argument(numbers[0], a_first, example.a),
        Argument(numbers[1], b_first, example.b),
        Argument(numbers[2], c_first, example.c),
        rows,
        columns,
        tuple(sums),
        tuple(loops),
        start,
        Argument(numbers[3], bias_first, bias_step) if start == "bias" else None,
    )
    return Case(statement, example.size, before, ordered(numbers, a, b, c, bias))


@st.composite
def copies(draw):
    """Draw copies, or zeros, of runs up to some registers long."""
    run, *counts = draw(sizes(1 + draw(n_loops), most=40))
    counts = [draw(st.integers(0, 3)), *counts]
    outer = [
        Axis(n, draw(strides), 0, stride)
        for n, stride in zip(counts, draw(strides_apart(counts, run)), strict=True)
    ]
    return copy_case(draw(st.permutations(range(2))), outer, run, draw(st.booleans()))


def copy_case(numbers, outer, run, is_read):
    """Return the case of a copy; `outer` are the examples and the loops."""
    example, *loops = outer
    at_a = offsets(*((axis.size, axis.a) for axis in outer), (run, 1))
    at_c = offsets(*((axis.size, axis.c) for axis in outer), (run, 1))
    rng = np.random.default_rng(20260101)
    (a, a_first), (c, c_first) = filled(rng, at_a), filled(rng, at_c)
    c.fill(np.nan)
    before = ordered(numbers, a, c.copy())
    c[at_c + c_first] = a[at_a + a_first] if is_read else 0
    statement = Copy(
        Argument(numbers[1], c_first, example.c),
        run,
        tuple(loops),
        Argument(numbers[0], a_first, example.a) if is_read else None,
    )
    return Case(statement, example.size, before, ordered(numbers, a, c))


@st.composite
def maxima(draw):
    """Draw the largest of 1 to 4 numbers, and its number, under loops."""
    run, *counts = draw(sizes(1 + draw(n_loops), most=40))
    counts = [draw(st.integers(0, 3)), *counts]
    of_reads = [[draw(strides) for _ in counts] for _ in range(draw(st.integers(1, 4)))]
    of_writes = [draw(strides_apart(counts, run)) for _ in range(2)]
    numbers = draw(st.permutations(range(len(of_reads) + 2)))
    return maximum_case(numbers, counts, run, of_reads, of_writes)


def maximum_case(numbers, counts, run, of_reads, of_writes):
    """Return the case; `counts` are the examples and the loops."""
    rng = np.random.default_rng(20260101)
    found, arrays, fields = [], [], []
    for number, steps in zip(numbers, [*of_reads, *of_writes], strict=True):
        at = offsets(*zip(counts, steps, strict=True), (run, 1))
        array, first = filled(rng, at)
        fields.append(Field(Argument(number, first, steps[0]), tuple(steps[1:])))
        arrays.append(array)
        found.append(at + first)
    n = len(of_reads)
    for array in arrays[n:]:
        array.fill(np.nan)
    before = ordered(numbers, *(array.copy() for array in arrays))
    values = np.stack(
        [array[at] for array, at in zip(arrays[:n], found[:n], strict=True)]
    )
    arrays[n][found[n]] = values.max(axis=0)
    arrays[n + 1][found[n + 1]] = values.argmax(axis=0)
    statement = Pointwise(
        "daskdl.kernels.pooled_conv.maxima:maximum",
        tuple(fields[:n]),
        tuple(fields[n:]),
        tuple(counts[1:]),
        run,
    )
    return Case(statement, counts[0], before, ordered(numbers, *arrays))


def ordered(numbers, *arrays):
    """Return the arrays by the numbers that the program gives them."""
    found = dict(zip(numbers, arrays, strict=True))
    return [found[number] for number in range(len(arrays))]


def offsets(*axes):
    """Return where each iteration of loops (size, stride) is, from the first one."""
    found = np.zeros((), np.int64)
    for size, stride in axes:
        found = found[..., None] + stride * np.arange(size)
    return found


def filled(rng, at):
    """Return an array with integers at the offsets and NaN elsewhere, and its first."""
    if not at.size:
        return np.full(2 * GUARD, np.nan), GUARD
    first = GUARD - at.min()
    array = np.full(at.max() + first + 1 + GUARD, np.nan)
    array[at + first] = rng.integers(-3, 4, at.shape)
    return array, int(first)

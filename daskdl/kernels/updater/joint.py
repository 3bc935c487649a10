"""A whole step of learning on a CUDA device, in one launch over the flat vectors.

What is treated alike lies in segments, and there may be a hundred: running statistics,
which no updater touches, lie between weights. Each thread looks its segment up.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.source import THREADS, CudaKernel, blocks_for
from daskdl.kernels.updater import Rule
from daskdl.kernels.updater.gpu import SOURCES


class Place(NamedTuple):
    """Where neighbours lie that are treated alike.

    Parameters
    ----------
    start, stop : int
        In the vectors of parameters and gradients.
    rule : int
        Which of the rules brings them forward.
    is_averaged : bool
        Whether their gradients are divided by the number of examples.
    state : int
        Where the first part of the state of `start` lies.
    part : int
        From one part of the state to the next.
    """

    start: int
    stop: int
    rule: int
    is_averaged: bool
    state: int
    part: int


class JointStep:
    """The updaters of all segments.

    Parameters
    ----------
    like : ndarray of CuPy
        On the device.
    places : sequence of Place
        In the order of the vectors.
    """

    def __init__(self, like: FloatArray, places: Sequence[Place]) -> None:
        self._n = places[-1].stop if places else 0
        self._n_places = len(places)
        table = np.array(places, np.int32).reshape(-1, len(Place._fields))
        self._table: Any = array_namespace(like).asarray(np.ascontiguousarray(table.T))

    def __call__(
        self,
        rules: Sequence[Rule],
        gradients: FloatArray,
        params: FloatArray,
        updater_state: FloatArray,
        *,
        divisor: int,
        held: Any = None,
    ) -> None:
        """Turn gradients into updates, and subtract them.

        Parameters
        ----------
        rules : sequence of Rule
            Which the places number.
        gradients, params : ndarray of CuPy of shape (n_params,), float32 or float64
            Changed in place.
        updater_state : ndarray of CuPy of shape (n_state,), same dtype
            Brought forward.
        divisor : int
            The number of examples.
        held : ndarray of CuPy of shape (1,), int32, optional
            Nothing is done unless it is 0.
        """
        by, n = gradients.dtype.type(divisor), self._n
        numbers = [number for rule in rules for number in rule.numbers]
        kernel = _kernel(tuple(rule.name for rule in rules))
        kernel(
            *(blocks_for(n), THREADS, gradients, params, updater_state),
            *(self._table, self._n_places, by, held, *numbers, n),
        )


@functools.cache
def _kernel(names: tuple[str, ...]) -> CudaKernel:
    numbers, cases = "", ""
    for index, name in enumerate(names):
        source = SOURCES[name]
        numbers += "".join(f"real {number}_{index}, " for number in source.numbers)
        given = "".join(
            f"const real {number} = {number}_{index}; " for number in source.numbers
        )
        reads = "".join(
            f"real {state} = at[{part} * step]; "
            for part, state in enumerate(source.states)
        )
        writes = "".join(
            f"at[{part} * step] = {state}; " for part, state in enumerate(source.states)
        )
        cases += f"case {index}: {{ {given}{reads}{source.body} {writes} break; }}\n"
    return CudaKernel(
        "joint_step",
        f"""
extern "C" __global__ void joint_step(
    real* gradients, real* params, real* states, const int* table, int places,
    real divisor, const int* held, {numbers}int n)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || (held && *held) || i < table[0]) return;
    int place = 0;
    for (int behind = places; behind - place > 1;) {{
        const int middle = (place + behind) / 2;
        if (table[middle] <= i) place = middle; else behind = middle;
    }}
    if (i >= table[places + place]) return;
    real g = gradients[i];
    if (table[3 * places + place]) g /= divisor;
    const int step = table[5 * places + place];
    real* at = states + table[4 * places + place] + (i - table[place]);
    switch (table[2 * places + place]) {{
    {cases}
    }}
    gradients[i] = g;
    params[i] -= g;
}}
""",
    )

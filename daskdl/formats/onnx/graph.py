"""A graph of ONNX operators while it grows: nodes, constants, and their names. Pure.

Nothing here needs the package `onnx`: :mod:`daskdl.formats.onnx.model` turns what was
collected into its messages.

Inside the graph images and volumes have their channels first, as ONNX's operators want
them, and time series their features last: (batch, channels, height, width) and (batch,
time, features).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import FormatError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    InputType,
    Recurrent,
    inside_type,
)
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.preprocessor import PreprocessorConf
from daskdl.nn.conf.vertex import VertexConf

__all__ = [
    "Graph",
    "Operator",
    "Part",
    "Writers",
    "axis_of",
    "feature_axis",
    "softmax_axis",
]


@dataclass(frozen=True)
class Operator:
    """One node of the graph.

    Parameters
    ----------
    kind : str
        ONNX's name of the operator.
    inputs, outputs : tuple of str
        Names of values; an input that is left out is empty.
    name : str
        Unique in the graph.
    attributes : mapping
        As ``onnx.helper.make_node`` takes them.
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A layer or vertex that is to be written.

    Parameters
    ----------
    name : str
        In the network; what messages and operators are called after.
    conf : LayerConf, VertexConf or PreprocessorConf
        With nothing left open.
    input_types : tuple of InputType
        What it gets, inside the network; a layer behind its preprocessor.
    output_type : InputType
        What comes out.
    params : dict of str to ndarray
        As the layer has them.
    """

    name: str
    conf: Any
    input_types: tuple[InputType, ...]
    output_type: InputType
    params: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def input_type(self) -> InputType:
        """The type of the first input."""
        return self.input_types[0]

    @property
    def who(self) -> str:
        """Kind and name, for messages."""
        return f"ONNX: {type(self.conf).__name__} {self.name!r}"

    def refused(self, text: str) -> FormatError:
        """Return the error of an option that ONNX has no form for.

        Parameters
        ----------
        text : str
            What must hold and what came.
        """
        return FormatError(f"{self.who}: {text}.")


LayerWriter = Callable[["Graph", Part, str], str]
VertexWriter = Callable[["Graph", Part, Sequence[str]], str]


@dataclass(frozen=True)
class Writers:
    """Functions that write a layer, vertex or preprocessor, by its configuration."""

    layers: Mapping[type[LayerConf], LayerWriter]
    vertices: Mapping[type[VertexConf], VertexWriter]
    preprocessors: Mapping[type[PreprocessorConf], LayerWriter]


class Graph:
    """Operators and constants, in the order in which they were added.

    Parameters
    ----------
    writers : Writers
        For layers that hold others.

    Attributes
    ----------
    operators : list of Operator
        Each behind those whose outputs it reads.
    constants : dict of str to ndarray
        By their names.
    inputs : dict of str to str
        The value inside the graph of each network input, for vertices that read one.
    """

    def __init__(self, writers: Writers) -> None:
        self.operators: list[Operator] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.inputs: dict[str, str] = {}
        self._writers = writers
        self._scope = "network"
        self._n_names = 0

    def layer(self, part: Part, x: str) -> str:
        """Write a layer with the preprocessor in front of it.

        Parameters
        ----------
        part : Part
            Of a kind that there is a writer for. Its `input_types` are in front of the
            preprocessor.
        x : str
            The value it reads.

        Returns
        -------
        str
            The value that comes out.

        Raises
        ------
        FormatError
            If ONNX has no form for an option of it.
        """
        self._scope = part.name
        (arriving,) = part.input_types
        before = part.conf.preprocessor
        if before is not None:
            entering = inside_type(before.output_type(arriving))
            x = self.preprocessor(Part(part.name, before, (arriving,), entering), x)
            part = Part(
                part.name, part.conf, (entering,), part.output_type, part.params
            )
        return self._writers.layers[type(part.conf)](self, part, x)

    def vertex(self, part: Part, inputs: Sequence[str]) -> str:
        """Write a vertex; as :meth:`layer`, with any number of inputs."""
        self._scope = part.name
        return self._writers.vertices[type(part.conf)](self, part, inputs)

    def preprocessor(self, part: Part, x: str) -> str:
        """Write a preprocessor; as :meth:`layer`, but of any kind.

        Raises
        ------
        FormatError
            If ONNX has no form for it.
        """
        write = self._writers.preprocessors.get(type(part.conf))
        if write is None:
            raise part.refused("must be of a kind that ONNX covers")
        return write(self, part, x)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator with one output, and return the name of that."""
        return self.ops(kind, *inputs, n_outputs=1, **attributes)[0]

    def ops(
        self, kind: str, *inputs: str, n_outputs: int, **attributes: Any
    ) -> tuple[str, ...]:
        """Add an operator with several outputs, and return their names."""
        name = self._name(kind)
        outputs = tuple(f"{name}:{i}" for i in range(n_outputs))
        self.operators.append(Operator(kind, inputs, outputs, name, attributes))
        return outputs

    def name_output(self, x: str, output: str) -> None:
        """Let a value also be an output of the whole graph under a name."""
        name = self._name("Identity")
        self.operators.append(Operator("Identity", (x,), (output,), name, {}))

    def floats(self, values: Any, what: str = "constant") -> str:
        """Add a constant of float32, and return its name."""
        return self._constant(np.asarray(values, np.float32), what)

    def wholes(self, *values: int) -> str:
        """Add a constant of int64, one axis, and return its name."""
        return self._constant(np.asarray(values, np.int64), "axes")

    def transposed(self, x: str, *axes: int) -> str:
        """Add a permutation of axes."""
        return self.op("Transpose", x, perm=list(axes))

    def sliced(
        self, x: str, start: int, stop: int | None, axis: int, step: int = 1
    ) -> str:
        """Add a slice along one axis; `stop` None goes to the end."""
        # ONNX's words for the end of an axis, in both directions.
        limits = np.iinfo(np.int64)
        end = stop if stop is not None else limits.max if step > 0 else limits.min
        return self.op(
            "Slice",
            x,
            self.wholes(start),
            self.wholes(int(end)),
            self.wholes(axis),
            self.wholes(step),
        )

    def length(self, x: str, axis: int) -> str:
        """Add the length of an axis, as a constant of one number that runs decide."""
        return self.op("Gather", self.op("Shape", x), self.wholes(axis), axis=0)

    def _constant(self, values: NDArray[Any], what: str) -> str:
        name = self._name(what)
        self.constants[name] = values
        return name

    def _name(self, what: str) -> str:
        self._n_names += 1
        return f"{self._scope}/{what}_{self._n_names}"


def axis_of(input_type: InputType, axis: int) -> int:
    """Return where an axis of the arrays inside a network lies in the graph."""
    if not isinstance(input_type, Convolutional | Convolutional3D) or axis == 0:
        return axis
    last = len(input_type.shape)
    return 1 if axis == last else axis + 1


def feature_axis(input_type: InputType) -> int:
    """Return the axis of features or channels in the graph."""
    return axis_of(input_type, len(input_type.shape))


def softmax_axis(part: Part) -> int:
    """Return the axis of a softmax that is no output layer's.

    That of the channels; for what :func:`~daskdl.nn.layers.softmax_axis.as_activated`
    does otherwise, the width or the time where channels come first.
    """
    input_type, quirks = part.input_type, part.conf.quirks
    is_first = getattr(input_type, "data_format", "").startswith("NC")
    if not is_first or "softmax_along_last_axis" not in quirks:
        return feature_axis(input_type)
    return 1 if isinstance(input_type, Recurrent) else -1

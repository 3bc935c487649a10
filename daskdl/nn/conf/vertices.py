"""Configurations of the vertices of a graph that are no layers; none has parameters."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import Names
from daskdl.nn.conf.values import Conf, Index, Positive, Real, canonical

ElementWiseOp = Literal["add", "subtract", "product", "average", "max"]


class VertexConf(Conf):
    """A vertex without parameters.

    Parameters
    ----------
    inputs : tuple of str
        The network inputs and vertices it reads, in this order.
    """

    type: str
    inputs: Names = ()

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return what comes out for `input_types`; refuse what cannot go in."""
        raise TypeError(f"{type(self).__name__} does not say what comes out of it.")

    @property
    def reads_network_input(self) -> str | None:
        """A network input whose length or mask is needed beside `inputs`."""
        return None

    def _only(self, input_types: Sequence[InputType]) -> InputType:
        if len(input_types) != 1:
            raise PathError(f"must be one name, got {self.inputs!r}.", "inputs")
        return input_types[0]


class MergeVertex(VertexConf):
    """Join the features (or channels) of its inputs, in their order."""

    type: Literal["merge"] = "merge"

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the first input's type with the sum of all features or channels."""
        first = input_types[0]
        same = [_with_features(first, _features(other)) for other in input_types]
        for other, expected in zip(input_types, same, strict=True):
            if other != expected:
                raise PathError(
                    f"must be alike except for features or channels, got {first} "
                    f"and {other}.",
                    "inputs",
                )
        return _with_features(first, sum(_features(other) for other in input_types))


class ElementWiseVertex(VertexConf):
    """Combine inputs of one shape number by number.

    Parameters
    ----------
    op : {"add", "subtract", "product", "average", "max"}
        ``subtract`` takes exactly two inputs; in a tie of ``max`` the first one gets
        the gradient.
    """

    type: Literal["element_wise"] = "element_wise"
    op: Annotated[ElementWiseOp, BeforeValidator(canonical(ElementWiseOp))]

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the type that all inputs share."""
        if self.op == "subtract" and len(input_types) != 2:
            raise PathError(
                f"must be two names for op 'subtract', got {self.inputs!r}.", "inputs"
            )
        for other in input_types[1:]:
            if other != input_types[0]:
                raise PathError(
                    f"must have one shape, got {input_types[0]} and {other}.", "inputs"
                )
        return input_types[0]


class SubsetVertex(VertexConf):
    """Take the features (or channels) from `from_` to `to`, both included."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["subset"] = "subset"
    from_: Index = Field(alias="from")
    to: Index

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type with fewer features or channels."""
        whole = self._only(input_types)
        if not self.from_ <= self.to < _features(whole):
            raise PathError(
                f"must be from {self.from_} (from) to {_features(whole) - 1}, the last "
                f"of {whole}, got {self.to}.",
                "to",
            )
        return _with_features(whole, self.to - self.from_ + 1)


class ScaleVertex(VertexConf):
    """Multiply by `scale_factor`."""

    type: Literal["scale"] = "scale"
    scale_factor: Real

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self._only(input_types)


class ShiftVertex(VertexConf):
    """Add `shift_factor`."""

    type: Literal["shift"] = "shift"
    shift_factor: Real

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self._only(input_types)


class L2NormalizeVertex(VertexConf):
    """Divide each example by its Euclidean norm, or by `eps` if that is larger."""

    type: Literal["l2_normalize"] = "l2_normalize"
    eps: Positive = 1e-8

    def output_type(self, input_types: Sequence[InputType]) -> InputType:
        """Return the input's type."""
        return self._only(input_types)


class LastTimeStepVertex(VertexConf):
    """Take the last time step, or the last one that the mask keeps.

    Parameters
    ----------
    mask_input : str, optional
        The network input whose mask counts; None takes the mask that arrives.
    """

    type: Literal["last_time_step"] = "last_time_step"
    mask_input: str | None = None

    @property
    def reads_network_input(self) -> str | None:
        """The network input whose mask is needed."""
        return self.mask_input

    def output_type(self, input_types: Sequence[InputType]) -> FeedForward:
        """Return rows of the features."""
        series = self._only(input_types)
        if not isinstance(series, Recurrent):
            raise PathError(f"must be a time series, got {series}.", "inputs")
        return FeedForward(size=series.size)


class DuplicateToTimeSeriesVertex(VertexConf):
    """Repeat a row at every time step of a network input.

    Parameters
    ----------
    input_name : str
        The network input that gives the number of time steps.
    """

    type: Literal["duplicate_to_time_series"] = "duplicate_to_time_series"
    input_name: str

    @property
    def reads_network_input(self) -> str | None:
        """The network input that gives the number of time steps."""
        return self.input_name

    def output_type(self, input_types: Sequence[InputType]) -> Recurrent:
        """Return time series of the features."""
        rows = self._only(input_types)
        if not isinstance(rows, FeedForward):
            raise PathError(f"must be rows, got {rows}.", "inputs")
        return Recurrent(size=rows.size)


def _features(input_type: InputType) -> int:
    if isinstance(input_type, Convolutional):
        return input_type.channels
    return input_type.n_features


def _with_features(input_type: InputType, n: int) -> InputType:
    if isinstance(input_type, Convolutional):
        return input_type.replaced(channels=n)
    if isinstance(input_type, Recurrent):
        return input_type.replaced(size=n)
    return FeedForward(size=n)


VERTICES: tuple[type[VertexConf], ...] = (
    MergeVertex,
    ElementWiseVertex,
    SubsetVertex,
    ScaleVertex,
    ShiftVertex,
    L2NormalizeVertex,
    LastTimeStepVertex,
    DuplicateToTimeSeriesVertex,
)

"""What a layer says of each of its parameters."""

from dataclasses import dataclass
from typing import Literal

ParameterRole = Literal["weight", "bias", "plain", "direct", "running", "frozen"]


@dataclass(frozen=True)
class Parameter:
    """One array that a layer learns, here and in DL4J's files.

    Parameters
    ----------
    name : str
        DL4J's name.
    shape : tuple of int
        As the layer uses it.
    role : {"weight", "bias", "plain", "direct", "running", "frozen"}
        Weights have l1, l2 and weight decay, biases have the options for biases, plain
        ones neither (scale and shift of batch normalization). The mean gradient of
        direct ones (class centers) is subtracted as it is. The "gradient" of running
        statistics is already what is subtracted; frozen ones never change. The updater
        does not see the last three.
    axes : tuple of int, optional
        ``array.transpose(axes)`` is what DL4J has; None where both have the same axes.
    dl4j_shape : tuple of int, optional
        What DL4J calls the shape, where ones are added to it; None: follows from
        `shape` and `axes`.
    order : {"f", "c"}
        How DL4J flattens its array.
    is_pretraining : bool
        Whether it changes only in layer-wise pretraining (decoders).
    is_scored : bool
        Whether what regularization does to it is in the score.
    """

    name: str
    shape: tuple[int, ...]
    role: ParameterRole = "weight"
    axes: tuple[int, ...] | None = None
    dl4j_shape: tuple[int, ...] | None = None
    order: Literal["f", "c"] = "f"
    is_pretraining: bool = False
    is_scored: bool = True

    @property
    def shape_in_dl4j(self) -> tuple[int, ...]:
        """The shape of DL4J's array."""
        if self.dl4j_shape is not None:
            return self.dl4j_shape
        axes = range(len(self.shape)) if self.axes is None else self.axes
        return tuple(self.shape[axis] for axis in axes)

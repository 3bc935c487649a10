"""What a layer says of each of its parameters."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

from daskdl.checks import check_one_of
from daskdl.dialects import Quirks
from daskdl.errors import OptionError

ParameterRole = Literal[
    "weight",
    "gain",
    "bias",
    "bias of weights",
    "visible bias",
    "plain",
    "direct",
    "moved",
    "threshold",
    "running",
    "frozen",
]
# Whose options a parameter has.
Kind = Literal["weights", "biases"]


@dataclass(frozen=True)
class Treatment:
    """Whose options a parameter has: one row of :data:`TREATMENTS`.

    Parameters
    ----------
    updater : {"weights", "biases"} or None
        Whose updater brings it forward; None: it sees none.
    penalty : {"weights", "biases"} or None
        Whose l1, l2 and weight decay change it.
    scored : {"weights", "biases"} or None
        Whose are in the score.
    groups : tuple of str
        By which of ``"weights"``, ``"biases"`` and ``"all"`` constraints name it.
    noise : {"weights", "biases"} or None
        With which parameters it has noise.
    """

    updater: Kind | None = None
    penalty: Kind | None = None
    scored: Kind | None = None
    groups: tuple[str, ...] = ()
    noise: Kind | None = None


_WEIGHT = Treatment("weights", "weights", "weights", ("weights", "all"), "weights")
_BIAS = Treatment("biases", "biases", "biases", ("biases", "all"), "biases")

# What a ``ParamInitializer`` says of a parameter's key, and its layer's
# ``getUpdaterByParam`` and ``getRegularizationByParam``; the layers' own exceptions are
# roles too. Whatever treats parameters reads it here.
TREATMENTS: dict[ParameterRole, Treatment] = {
    "weight": _WEIGHT,
    # That of layer normalization, where a dialect takes it for a weight.
    "gain": replace(_WEIGHT, noise=None),
    "bias": _BIAS,
    # That of CenterLossOutput.
    "bias of weights": replace(_BIAS, updater="weights"),
    # That of AutoEncoder, where a dialect takes it for neither weight nor bias, but
    # where it scores pretraining.
    "visible bias": Treatment("weights", scored="biases"),
    # Scale and shift of batch normalization, gains of layer normalization.
    "plain": Treatment("weights", groups=("all",)),
    "direct": Treatment(),
    # Centers, which no updater moves.
    "moved": Treatment(),
    # That of OCNNOutput, which training sets besides.
    "threshold": replace(_BIAS, noise=None),
    "running": Treatment(groups=("all",)),
    "frozen": Treatment(),
}


@dataclass(frozen=True)
class Parameter:
    """One array that a layer learns, here and in files that lay it otherwise.

    Parameters
    ----------
    name : str
        As in files.
    shape : tuple of int
        As the layer uses it.
    role : str
        A key of :data:`TREATMENTS`. The mean gradient of ``"direct"`` parameters is
        subtracted as it is. The "gradient" of ``"running"`` statistics and of what is
        ``"moved"`` is already what is subtracted; ``"frozen"`` ones never change.
    axes : tuple of int, optional
        ``array.transpose(axes)`` is what files have; None where the axes are the same.
    file_shape : tuple of int, optional
        What files call the shape, where ones are added to it; None: follows from
        `shape` and `axes`.
    order : {"f", "c"}
        How files flatten their array.
    is_pretraining : bool
        Whether it changes only in layer-wise pretraining (decoders).
    is_scored : bool
        Whether what regularization does to it is in the score; in ``exact`` all of it
        is.
    """

    name: str
    shape: tuple[int, ...]
    role: ParameterRole = "weight"
    axes: tuple[int, ...] | None = None
    file_shape: tuple[int, ...] | None = None
    order: Literal["f", "c"] = "f"
    is_pretraining: bool = False
    is_scored: bool = True

    def __post_init__(self) -> None:
        who = f"Parameter {self.name!r}"
        check_one_of(who, "role", self.role, TREATMENTS)
        shape: Any = self.shape
        if not isinstance(shape, tuple) or not all(
            isinstance(n, Integral) for n in shape
        ):
            raise OptionError(
                f"{who}: shape must be a tuple of int, got {shape!r}. One axis is (3,)."
            )

    @property
    def treatment(self) -> Treatment:
        """Whose options it has."""
        return TREATMENTS[self.role]

    @property
    def shape_in_file(self) -> tuple[int, ...]:
        """The shape of the array in files."""
        if self.file_shape is not None:
            return self.file_shape
        axes = range(len(self.shape)) if self.axes is None else self.axes
        return tuple(self.shape[axis] for axis in axes)


def gain(shape: tuple[int, ...], quirks: Quirks) -> Parameter:
    """Return g, the gain of layer normalization: like the scale of batch normalization.

    Parameters
    ----------
    shape : tuple of int
    quirks : frozenset of str
        Of the layer.
    """
    role: ParameterRole = "gain" if "gains_are_weights" in quirks else "plain"
    return Parameter("g", shape, role)

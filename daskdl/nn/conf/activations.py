"""Activation functions as configurations give them: a name, or a name with options.

Values only; :mod:`daskdl.nn.activations` holds the arithmetic.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, StrictBool, model_validator

from daskdl.arrays.namespace import FloatArray
from daskdl.checks import normalised
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.kinds import ACTIVATION_KINDS, AnyOf
from daskdl.nn.conf.named import named, or_registered
from daskdl.nn.conf.names import ActivationLiteral
from daskdl.nn.conf.values import Conf, Real


class Elu(Conf):
    """``x`` from 0 on, and ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    alpha : float
        What comes out goes down to its negative.
    """

    type: Literal["elu"] = "elu"
    alpha: Real = 1.0


class Gelu(Conf):
    """``x * sigmoid(1.702 * x)``, or if `precise` the form with tanh.

    Parameters
    ----------
    precise : bool
        Whether the form with tanh is computed.
    """

    type: Literal["gelu"] = "gelu"
    precise: StrictBool = False


class LeakyRelu(Conf):
    """``x`` from 0 on, and ``alpha * x`` below.

    Parameters
    ----------
    alpha : float
        Slope below 0.
    """

    type: Literal["leakyrelu"] = "leakyrelu"
    alpha: Real = 0.01


class Relu(Conf):
    """``max(x, 0)`` with what can be added to it; None leaves an option out.

    Parameters
    ----------
    max : float, optional
        The largest value that comes out.
    negative_slope : float, optional
        The slope below `threshold`: ``negative_slope * (x - threshold)``.
    threshold : float, optional
        From where on `x` itself comes out.
    """

    type: Literal["relu"] = "relu"
    max: Real | None = None
    negative_slope: Real | None = None
    threshold: Real | None = None


class RRelu(Conf):
    """``x`` from 0 on, and in training below it a slope drawn between `l` and `u`.

    Parameters
    ----------
    l, u : float
        Bounds of the slopes that are drawn; after training it is their mean.
    """

    # Every number takes its slope from one stream.
    can_be_cut: ClassVar[bool] = False

    type: Literal["rrelu"] = "rrelu"
    l: Real = 1 / 8  # noqa: E741 - as in files
    u: Real = 1 / 3

    @model_validator(mode="after")
    def _check_order(self) -> "RRelu":
        if self.l > self.u:
            raise PathError(f"must be at most u ({self.u}), got {self.l}.", "l")
        return self


class ThresholdedRelu(Conf):
    """``x`` above `theta`, and 0 up to it.

    Parameters
    ----------
    theta : float
        What `x` must be above.
    """

    type: Literal["thresholdedrelu"] = "thresholdedrelu"
    theta: Real = 1.0


class ActivationDefinition(Conf):
    """An activation of one's own, a function of each number by itself.

    Derive from it, and register it with `daskdl.activation`. Options are annotated
    fields.
    """

    # Whether threads may call it at one time; see :class:`LayerDefinition`.
    can_be_cut: ClassVar[bool] = False

    type: str = ""

    def forward(self, x: FloatArray) -> FloatArray:
        """Return the function of `x`, which is not to be changed: an array like it."""
        raise TypeError(f"{type(self).__name__}: must have a method forward(x).")

    def derivative(self, x: FloatArray) -> FloatArray:
        """Return the derivative of :meth:`forward` at `x`, which is not to be changed.

        What is returned is an array like it.
        """
        raise TypeError(f"{type(self).__name__}: must have a method derivative(x).")


_Ours: TypeAlias = Elu | Gelu | LeakyRelu | Relu | RRelu | ThresholdedRelu
ActivationOptions: TypeAlias = _Ours | ActivationDefinition
WITH_OPTIONS = get_args(_Ours)
_ELSEWHERE = {"linear": "identity", "silu": "swish"}
_find_ours = named(ActivationLiteral, _Ours, elsewhere=_ELSEWHERE)
_NAMES = frozenset(map(normalised, get_args(ActivationLiteral)))


def is_ours(name: str) -> bool:
    """Return whether an activation of the package has this name, in any spelling."""
    return normalised(name) in _NAMES


find_activation = or_registered(
    _find_ours, is_ours, ACTIVATION_KINDS, ActivationDefinition
)
_Registered = Annotated[ActivationDefinition, AnyOf(ACTIVATION_KINDS)]
AnyActivation = Annotated[
    ActivationLiteral | _Ours | _Registered, BeforeValidator(find_activation)
]


def draws_random_numbers(activation: ActivationLiteral | ActivationOptions) -> bool:
    """Return whether the activation needs random numbers in training."""
    return activation == "rrelu" or isinstance(activation, RRelu)

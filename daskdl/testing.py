"""Gradient checks and other tests for layers that users write."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.checks import check_type
from daskdl.dialects import EXACT, quirks_of
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.layers.layer import Layer

__all__ = ["Difference", "check_gradients", "largest_difference"]

Vector: TypeAlias = NDArray[np.float64]

_STEPS_OF_SERIES = 4
# Beyond it directions are compared in place of coordinates.
_MOST_COORDINATES = 500
_DIRECTIONS = 32


def check_gradients(
    layer: LayerConf,
    input_type: InputType,
    *,
    batch_size: int = 3,
    mask: Any = None,
    seed: int = 0,
    tolerance: float = 1e-6,
    dialect: str = EXACT,
) -> float:
    """Compare a layer's gradients with central differences, in float64.

    The loss is the sum of the output times random numbers; compared are the gradients
    of all parameters and of the input, but for those that are frozen.

    Parameters
    ----------
    layer : layer
        A configuration; what it leaves open has the defaults of a network.
    input_type : InputType
        What goes in. Series of any length have four steps here.
    batch_size : int
        Number of examples.
    mask : ndarray of shape (batch, time) or (batch, 1), optional
        1 keeps, 0 drops.
    seed : int
        Of the input and the first weights. At a kink, like that of a rectifier at 0, a
        gradient is none: another seed is elsewhere.
    tolerance : float
        How far they may be apart, relative to 1 or their sum.
    dialect : str
        How the layer computes.

    Returns
    -------
    float
        The largest difference.

    Raises
    ------
    AssertionError
        If a gradient is wrong, with the parameter or the place in the input.

    Examples
    --------
    >>> import daskdl
    >>> from daskdl.testing import check_gradients
    >>> check_gradients(daskdl.Dense(n_out=3), daskdl.FeedForward(size=4)) < 1e-6
    True
    """
    check_type("check_gradients", "layer", layer, LayerConf)
    trial = _Trial(layer, input_type, batch_size, mask, seed, dialect)
    worst = largest_difference(
        trial.gradient(), trial.loss, seed=seed, learns=trial.learns()
    )
    if not worst.error <= tolerance:
        place = "mixed" if worst.coordinate is None else trial.place(worst.coordinate)
        raise AssertionError(
            f"{type(layer).__name__}: gradients must be those of the output, got the "
            f"gradient and its central difference of {place}: {worst.analytic:.9g} "
            f"against {worst.numeric:.9g}."
        )
    return worst.error


class Difference(NamedTuple):
    """A derivative along a direction, as a gradient tells it and as a difference.

    Parameters
    ----------
    error : float
        How far the two are apart, relative to 1 or their sum.
    coordinate : int, optional
        That of the direction; None if it is none of the coordinates'.
    analytic, numeric : float
        The two.
    """

    error: float
    coordinate: int | None
    analytic: float
    numeric: float


def largest_difference(
    gradient: Vector,
    loss: Callable[[Vector], float],
    *,
    step: float = 1e-6,
    seed: int = 0,
    learns: NDArray[np.bool_] | None = None,
) -> Difference:
    """Return where a gradient is farthest from the central difference of a loss.

    Parameters
    ----------
    gradient : ndarray of float64, shape (n,)
        Beyond 500 numbers 32 random directions are compared in place of coordinates.
    loss : function of an ndarray of float64, shape (n,)
        With that added to where the gradient was taken.
    step : float
        How far to go to either side.
    seed : int
        Of the directions.
    learns : ndarray of bool, shape (n,), optional
        False for what stays as it is, and has no gradient.
    """
    directions = _directions(gradient.size, seed)
    if learns is not None:
        directions = directions * learns
    worst = Difference(0.0, None, 0.0, 0.0)
    for index, direction in enumerate(directions):
        numeric = (loss(step * direction) - loss(-step * direction)) / (2 * step)
        told = float(gradient @ direction)
        error = abs(told - numeric) / max(1.0, abs(told) + abs(numeric))
        if not error <= worst.error:
            coordinate = index if len(directions) == gradient.size else None
            worst = Difference(error, coordinate, told, numeric)
    return worst


class _Trial:
    """A layer by itself with its first weights and one minibatch."""

    def __init__(
        self,
        layer: LayerConf,
        input_type: InputType,
        batch_size: int,
        mask: Any,
        seed: int,
        dialect: str,
    ) -> None:
        inside = inside_type(input_type)
        options = NetworkConf(dtype="float64", dialect=dialect, activation="tanh")
        conf = with_quirks(layer, quirks_of(dialect))
        conf = conf.filled(options.defaults(), inside, "layer")
        self._layer = Layer(conf, inside, "layer", Workspace())
        self._layout = ParamLayout.of(conf.parameter_shapes(inside))
        self._params = np.zeros(self._layout.size)
        self._gradients = np.zeros(self._layout.size)
        self._layer.bind(
            self._layout.views(self._params), self._layout.views(self._gradients)
        )
        self._layer.initialize(np.random.default_rng(seed))
        rng = np.random.default_rng([seed, 1])
        sizes = [_STEPS_OF_SERIES if n is None else n for n in inside.shape]
        if mask is not None and len(sizes) == 2:
            sizes[0] = np.shape(mask)[1]
        self._x = rng.standard_normal((batch_size, *sizes))
        self._params += 0.1 * rng.standard_normal(self._params.size)
        self._mask = None if mask is None else np.asarray(mask, np.float64)
        self._seed = seed
        self._target = rng.standard_normal(self._forward(self._x).shape)

    def gradient(self) -> Vector:
        """Return the gradients of the parameters, then that of the input."""
        self._forward(self._x)
        grad_x = self._layer.backward(self._target)
        told = np.zeros_like(self._x) if grad_x is None else grad_x
        return np.concatenate([self._gradients, told.ravel()]).astype(np.float64)

    def learns(self) -> NDArray[np.bool_]:
        """Return which numbers have a gradient: frozen parameters have none."""
        flags = np.ones(self._layout.size, bool)
        views = self._layout.views(flags)
        for item in self._layer.conf.parameters(self._layer.input_type):
            views[item.name][...] = item.role not in ("frozen", "running")
        passes = np.full(self._x.size, not self._layer.conf.stops_gradient)
        return np.concatenate([flags, passes])

    def loss(self, change: Vector) -> float:
        """Return the loss with parameters and input changed by so much."""
        start = self._params.copy()
        self._params += change[: start.size]
        output = self._forward(self._x + change[start.size :].reshape(self._x.shape))
        found = float((output * self._target).sum())
        self._params[...] = start
        return found

    def place(self, index: int) -> str:
        """Return the name of a coordinate."""
        for slot in self._layout:
            if slot.offset <= index < slot.stop:
                where = np.unravel_index(index - slot.offset, slot.shape)
                return f"{slot.name}{[int(i) for i in where]}"
        where = np.unravel_index(index - self._params.size, self._x.shape)
        return f"the input{[int(i) for i in where]}"

    def _forward(self, x: Any) -> Any:
        return self._layer.forward(
            x,
            training=True,
            mask=self._mask,
            # Whatever is drawn, is drawn alike each time.
            rng=np.random.default_rng([self._seed, 2]),
        )


def _directions(size: int, seed: int) -> Any:
    if size <= _MOST_COORDINATES:
        return np.eye(size)
    drawn = np.random.default_rng([seed, 3]).standard_normal((_DIRECTIONS, size))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

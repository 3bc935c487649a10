"""What happens to a layer's input in training: dropout and its relatives at work."""

import math
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.arrays.random import cut_of, moment_of
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.dropouts import (
    AlphaDropout,
    Dropouts,
    GaussianDropout,
    GaussianNoise,
    PlainDropout,
    SpatialDropout,
)
from daskdl.nn.conf.schedules import value_at

_Shape: TypeAlias = tuple[int, ...]
_Drawn: TypeAlias = NDArray[Any] | None
_Moment: TypeAlias = tuple[int, int]


class InputDropout:
    """Change each number in training to ``factor * x + shift``, both random.

    Parameters
    ----------
    conf : dropout configuration, or None
        None changes nothing.
    owner : str
        Name of the layer; its buffers are keyed by it.
    workspace : Workspace
        Lends the arrays.

    References
    ----------
    Srivastava et al., *Dropout*, 2014, in the inverted variant: scaled in training, so
    that inference changes nothing. The others: :mod:`daskdl.nn.conf.dropouts`.
    """

    def __init__(
        self, conf: Dropouts | None, owner: Hashable, workspace: Workspace
    ) -> None:
        self._conf = conf
        self._owner = owner
        self._workspace = workspace
        self._factor: FloatArray | None = None

    def forward(
        self, x: FloatArray, *, training: bool, rng: np.random.Generator | None
    ) -> FloatArray:
        """Return `x` itself, or a buffer with what became of its numbers.

        Parameters
        ----------
        x : ndarray of shape (batch, ...)
            Not changed.
        training : bool
            Nothing changes in inference.
        rng : numpy.random.Generator or None
            Draws on the host, so that CPU and GPU drop the same numbers; an
            :class:`~daskdl.arrays.random.IterationStream` where there are schedules.

        Raises
        ------
        OptionError
            If something is to be dropped and there is no `rng`, or if a schedule gives
            a value that is none.
        """
        self._factor = None
        if not training or self._conf is None:
            return x
        if rng is None:
            raise OptionError(
                f"Dropout of {self._owner!r}: training needs a random generator, "
                "got rng=None."
            )
        factor, shift = self._drawn(x, rng)
        out = self._buffer("dropped", x)
        if factor is None:
            out[...] = x
        else:
            self._factor = self._buffer("factor", x)
            self._factor[...] = to_device(factor, like=x)
            array_namespace(x).multiply(x, self._factor, out=out)
        if shift is not None:
            out += to_device(shift.astype(x.dtype, copy=False), like=x)
        return out

    def backward(self, grad_x: FloatArray) -> FloatArray:
        """Return the gradient in `x` of :meth:`forward`, an array like `grad_x`.

        Parameters
        ----------
        grad_x : ndarray of the same shape as `x`
            Gradient in what came out. Not changed, and returned if nothing was dropped.
        """
        if self._factor is None:
            return grad_x
        out = self._buffer("grad_x", grad_x)
        array_namespace(grad_x).multiply(grad_x, self._factor, out=out)
        return out

    def _drawn(self, x: FloatArray, rng: np.random.Generator) -> tuple[_Drawn, _Drawn]:
        try:
            draw, cut = _DRAW[type(self._conf)], cut_of(rng)
            if cut is None:
                return draw(self._conf, x.shape, rng, moment_of(rng))
            drawn = draw(self._conf, cut.whole(x.shape), rng, moment_of(rng))
        except OptionError as error:
            raise OptionError(f"Dropout of {self._owner!r}: {error}") from None
        factor, shift = [None if all_ is None else cut.rows_of(all_) for all_ in drawn]
        return factor, shift

    def _buffer(self, what: str, x: FloatArray) -> FloatArray:
        buffer: FloatArray = self._workspace.take(
            (self._owner, "dropout", what), x.shape, x.dtype
        )
        return buffer


def _plain(
    conf: PlainDropout, shape: _Shape, rng: np.random.Generator, now: _Moment
) -> tuple[_Drawn, _Drawn]:
    keep = _probability(conf, now)
    return _kept(shape, keep, rng) * np.float64(1 / keep), None


def _spatial(
    conf: SpatialDropout, shape: _Shape, rng: np.random.Generator, now: _Moment
) -> tuple[_Drawn, _Drawn]:
    keep = _probability(conf, now)
    whole = (shape[0], *(1 for _ in shape[1:-1]), shape[-1])
    return _kept(whole, keep, rng) * np.float64(1 / keep), None


def _alpha(
    conf: AlphaDropout, shape: _Shape, rng: np.random.Generator, now: _Moment
) -> tuple[_Drawn, _Drawn]:
    keep = _probability(conf, now)
    floor = -conf.lambda_ * conf.alpha
    scale = 1 / math.sqrt(keep + floor**2 * keep * (1 - keep))
    kept = _kept(shape, keep, rng)
    shift = scale * floor * (~kept - (1 - keep))
    return kept * np.float64(scale), shift


def _gaussian(
    conf: GaussianDropout, shape: _Shape, rng: np.random.Generator, now: _Moment
) -> tuple[_Drawn, _Drawn]:
    rate = value_at(conf.rate, *now)
    if not 0 <= rate < 1:
        raise OptionError(f"rate must be from 0 to below 1, got {rate}.")
    return rng.normal(1.0, math.sqrt(rate / (1 - rate)), shape), None


def _noise(
    conf: GaussianNoise, shape: _Shape, rng: np.random.Generator, now: _Moment
) -> tuple[_Drawn, _Drawn]:
    stddev = value_at(conf.stddev, *now)
    if stddev < 0:
        raise OptionError(f"stddev must be at least 0, got {stddev}.")
    return None, rng.normal(0.0, stddev, shape)


def _kept(shape: _Shape, keep: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    kept: NDArray[np.bool_] = rng.random(shape, dtype=np.float32) < keep
    return kept


def _probability(
    conf: PlainDropout | SpatialDropout | AlphaDropout, now: _Moment
) -> float:
    keep = value_at(conf.keep_probability, *now)
    if not 0 < keep <= 1:
        raise OptionError(
            f"keep_probability must be above 0 and at most 1, got {keep}."
        )
    return keep


_DRAW: dict[Any, Callable[..., tuple[_Drawn, _Drawn]]] = {
    PlainDropout: _plain,
    SpatialDropout: _spatial,
    AlphaDropout: _alpha,
    GaussianDropout: _gaussian,
    GaussianNoise: _noise,
}

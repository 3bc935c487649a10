"""What turns a gradient into an update, in place on stretches of the flat vector.

An updater here is a rule on three arrays of one length: the gradient, which becomes the
update; its state; and nothing else. All steps are elementwise, so a stretch is worked
off in pieces that stay in the cache: one pass over memory, and one small scratch
buffer, whatever the size of the network.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.updaters import (
    AdaGrad,
    Adam,
    Nesterovs,
    NoOp,
    RmsProp,
    Sgd,
    Updater,
)

# Gradient, two states and scratch of 16384 float64 are 512 KiB: they fit a level-2
# cache, and the calls of NumPy cost nothing beside the work.
PIECE = 16_384

# DL4J begins with its default whatever epsilon is configured.
_ADAGRAD_INITIAL_STATE = 1e-6


@dataclass(frozen=True)
class UpdaterBlock:
    """Consecutive parameters that share an updater, and their state.

    Parameters
    ----------
    updater : updater configuration
        Equal for all parameters of the block.
    start, stop : int
        The stretch of the flat parameter and gradient vectors.
    state_start : int
        Where the block's state begins in the flat updater state. Each part of it
        (Adam: first all M, then all V) has ``stop - start`` numbers.
    """

    updater: Updater
    start: int
    stop: int
    state_start: int

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.stop - self.start

    @property
    def n_parts(self) -> int:
        """Number of state vectors."""
        return _N_PARTS[type(self.updater)]

    @property
    def state_stop(self) -> int:
        """Index behind the block's state."""
        return self.state_start + self.n_parts * self.size

    def parts(self, updater_state: FloatArray) -> FloatArray:
        """Return the block's state as a view of shape (n_parts, size)."""
        state = updater_state[self.state_start : self.state_stop]
        return state.reshape(self.n_parts, self.size)


def initialize_state(block: UpdaterBlock, updater_state: FloatArray) -> None:
    """Write the state that DL4J begins with into the block's part of the vector."""
    initial = 0.0
    if isinstance(block.updater, AdaGrad):
        initial = _ADAGRAD_INITIAL_STATE
    if isinstance(block.updater, RmsProp):
        initial = block.updater.epsilon
    block.parts(updater_state)[...] = initial


def learning_rate(updater: Updater) -> float:
    """Return the factor of weight decay: 1 for a rule without a learning rate."""
    return 1.0 if isinstance(updater, NoOp) else updater.learning_rate


def apply_updater(
    block: UpdaterBlock,
    gradients: FloatArray,
    updater_state: FloatArray,
    *,
    iteration: int,
    workspace: Workspace,
) -> None:
    """Turn the block's gradient into its update.

    Parameters
    ----------
    block : UpdaterBlock
        Which stretch, and which rule.
    gradients : ndarray of shape (n_params,)
        The block's stretch is overwritten by the update, which is to be subtracted.
    updater_state : ndarray of shape (n_state,)
        The block's part is brought forward.
    iteration : int
        Iterations done before this one; Adam's t is one more.
    workspace : Workspace
        Gives the scratch buffer, at most :data:`PIECE` numbers.

    Notes
    -----
    Scalars are computed in double precision and then rounded to the type of the
    arrays. DL4J computes Adam's bias correction in that type itself: its float32
    updates differ from these by up to 3e-5 of their size in the first iterations.
    """
    if isinstance(block.updater, NoOp):
        return
    rule = _RULES[type(block.updater)]
    gradient = gradients[block.start : block.stop]
    state = block.parts(updater_state)
    # On a GPU one launch over everything is the fast way.
    on_host = array_namespace(gradient).__name__ == "numpy"
    piece = min(PIECE, block.size) if on_host else block.size
    for start in range(0, block.size, piece):
        part = slice(start, start + piece)
        g = gradient[part]
        scratch = workspace.take("updater", g.shape, g.dtype)
        rule(block.updater, g, state[:, part], scratch, iteration + 1)


def _sgd(conf: Sgd, g: FloatArray, state: FloatArray, scratch: Any, t: int) -> None:
    """Compute ``u = learning_rate * g``."""
    g *= conf.learning_rate


def _nesterovs(
    conf: Nesterovs, g: FloatArray, state: FloatArray, scratch: FloatArray, t: int
) -> None:
    """Compute ``v' = mu v - lr g`` and ``u = mu v - (1 + mu) v'``."""
    xp = array_namespace(g)
    (v,) = state
    v *= conf.momentum
    scratch[...] = v
    g *= conf.learning_rate
    v -= g
    xp.multiply(v, 1 + conf.momentum, out=g)
    xp.subtract(scratch, g, out=g)


def _adam(
    conf: Adam, g: FloatArray, state: FloatArray, scratch: FloatArray, t: int
) -> None:
    """Compute ``u = a m / (sqrt(v) + eps)``.

    ``a = lr sqrt(1 - beta2^t) / (1 - beta1^t)``: epsilon is added to the root of the
    uncorrected v, as in the last lines of section 2 of Kingma and Ba.
    """
    xp = array_namespace(g)
    m, v = state
    m *= conf.beta1
    xp.multiply(g, 1 - conf.beta1, out=scratch)
    m += scratch
    v *= conf.beta2
    g *= g
    g *= 1 - conf.beta2
    v += g
    xp.sqrt(v, out=g)
    g += conf.epsilon
    xp.divide(m, g, out=g)
    g *= conf.learning_rate * math.sqrt(1 - conf.beta2**t) / (1 - conf.beta1**t)


def _adagrad(
    conf: AdaGrad, g: FloatArray, state: FloatArray, scratch: FloatArray, t: int
) -> None:
    """Compute ``h += g^2`` and ``u = lr g / (sqrt(h) + eps)``."""
    xp = array_namespace(g)
    (h,) = state
    xp.multiply(g, g, out=scratch)
    h += scratch
    _divide_by_root(g, h, conf.epsilon, scratch)
    g *= conf.learning_rate


def _rmsprop(
    conf: RmsProp, g: FloatArray, state: FloatArray, scratch: FloatArray, t: int
) -> None:
    """Compute ``s = d s + (1 - d) g^2`` and ``u = lr g / (sqrt(s) + eps)``."""
    xp = array_namespace(g)
    (s,) = state
    s *= conf.decay
    xp.multiply(g, g, out=scratch)
    scratch *= 1 - conf.decay
    s += scratch
    _divide_by_root(g, s, conf.epsilon, scratch)
    g *= conf.learning_rate


def _divide_by_root(
    g: FloatArray, squares: FloatArray, epsilon: float, scratch: FloatArray
) -> None:
    xp = array_namespace(g)
    xp.sqrt(squares, out=scratch)
    scratch += epsilon
    g /= scratch


_RULES: dict[type[Any], Callable[..., None]] = {
    Sgd: _sgd,
    Nesterovs: _nesterovs,
    Adam: _adam,
    AdaGrad: _adagrad,
    RmsProp: _rmsprop,
}
_N_PARTS: dict[type[Any], int] = {
    Sgd: 0,
    Nesterovs: 1,
    Adam: 2,
    AdaGrad: 1,
    RmsProp: 1,
    NoOp: 0,
}

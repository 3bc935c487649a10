"""Stretches of the flat vectors that share an updater, worked off in place."""

from dataclasses import dataclass

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.updater import update
from daskdl.nn.conf.updaters import Updater
from daskdl.nn.updaters.table import initial_state, rule_of, state_parts
from daskdl.nn.updaters.update_context import UpdateContext


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
    is_pretraining : bool
        Whether the parameters change only in layer-wise pretraining.
    """

    updater: Updater
    start: int
    stop: int
    state_start: int
    is_pretraining: bool = False

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.stop - self.start

    @property
    def n_parts(self) -> int:
        """Number of state vectors."""
        return len(state_parts(self.updater))

    @property
    def state_stop(self) -> int:
        """Index behind the block's state."""
        return self.state_start + self.n_parts * self.size

    def parts(self, updater_state: FloatArray) -> FloatArray:
        """Return the block's state as a view of shape (n_parts, size)."""
        state = updater_state[self.state_start : self.state_stop]
        return state.reshape(self.n_parts, self.size)


def initialize_state(block: UpdaterBlock, updater_state: FloatArray) -> None:
    """Write the updater's initial state into its block of a vector (n_state,)."""
    block.parts(updater_state)[...] = initial_state(block.updater)


def apply_updater(
    block: UpdaterBlock,
    gradients: FloatArray,
    updater_state: FloatArray,
    *,
    iteration: int,
    workspace: Workspace,
    epoch: int = 0,
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
    iteration, epoch : int
        Iterations and epochs done before this one; Adam's t is one more.
    workspace : Workspace
        Gives a small scratch buffer.
    """
    gradient = gradients[block.start : block.stop]
    rule = rule_of(block.updater, UpdateContext(iteration, epoch, gradient.dtype))
    update(rule, gradient, block.parts(updater_state), workspace)

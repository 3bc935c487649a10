"""What layers and vertices work with in a pass: parameters, masks, buffers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.team import Cut
from daskdl.arrays.workspace import Workspace
from daskdl.dialects import Quirks
from daskdl.kernels.window import Window
from daskdl.nn.conf.input_type import FeedForward, InputType
from daskdl.nn.layers.scaling import ScalingOf

if TYPE_CHECKING:
    from daskdl.nn.conf.layer import LayerConf

Backward: TypeAlias = Callable[[FloatArray], FloatArray | None]
# What a layer's forward pass returns: its output, and what takes the gradient back.
LayerPass: TypeAlias = tuple[FloatArray, Backward]
# An array in another shape, and what takes the gradient back to the old one.
Reshaped: TypeAlias = tuple[FloatArray, Callable[[FloatArray], FloatArray]]
# What a layer may do for the one behind it.
Work: TypeAlias = Literal["rectifier", "normalization", "pooling", "sums"]


@dataclass
class Fused:
    """What a layer does for the one behind it, or leaves to the part in front.

    See :mod:`daskdl.nn.fusion`, which writes it down when a network is built.

    Attributes
    ----------
    rectifies : bool
        Whether to rectify the output, which only a rectifier reads.
    scaling_of : function without arguments, or None
        To scale the output in inference, which only a normalization reads: returns
        factors and shifts as they are now.
    pool_on : function of sizes, or None
        To return the maxima of the output, which only a pooling reads: returns its
        window on images of these sizes, without padding, dilation and overlap.
    sums_steps : {"sum", "avg"} or None
        To return sums or averages over all steps of the output, which only a pooling
        reads, where no mask drops any.
    is_done : bool
        Whether the part in front does it already: arrays are handed through.
    """

    rectifies: bool = False
    scaling_of: ScalingOf | None = None
    pool_on: Callable[[tuple[int, ...]], Window] | None = None
    sums_steps: Literal["sum", "avg"] | None = None
    is_done: bool = False


# Of a vertex: its inputs and their masks; its output, and what takes the gradient in
# it to those in the inputs.
Arrays: TypeAlias = Sequence[FloatArray]
Masks: TypeAlias = Sequence[FloatArray | None]
VertexBackward: TypeAlias = Callable[[FloatArray], list[FloatArray]]
VertexPass: TypeAlias = tuple[FloatArray, VertexBackward]


class LossPass(Protocol):
    """The loss of an output layer in one forward pass."""

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss.

        Labels and mask are those of :meth:`score_examples`. Not always the sum of what
        that returns: some losses are of a whole minibatch.
        """

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the loss of each example.

        Parameters
        ----------
        labels : ndarray of shape (batch, *output_type.shape)
            Targets.
        mask : ndarray, optional
            1 keeps, 0 drops: whole examples (batch,) or (batch, 1), time steps
            (batch, time), or single outputs in the shape of the labels.

        Returns
        -------
        scores : ndarray of shape (batch,)
            Summed over outputs and time steps.

        Raises
        ------
        ShapeError
            If labels or mask do not fit the output.
        OptionError
            If single outputs of a softmax are masked.
        """

    def backward(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Write the gradients of the summed loss.

        Parameters
        ----------
        labels, mask
            As for :meth:`score_examples`.

        Returns
        -------
        grad_x : ndarray of shape (batch, *input_type.shape), same dtype, or None
            None where nobody reads it.

        Raises
        ------
        ShapeError, OptionError
            As :meth:`score_examples`.
        """

    def arrived_mask(self) -> FloatArray | None:
        """Return the mask that counts in the loss where the labels have none.

        Returns
        -------
        ndarray of shape (batch,) or (batch, time), or None
            None if none arrived.
        """


class InnerLayer(Protocol):
    """A layer inside a wrapper: see :class:`daskdl.nn.layers.layer.Layer`."""

    conf: "LayerConf"
    run: "Run"
    arrived_mask: FloatArray | None
    mask: FloatArray | None

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Return the output, of shape (batch, *output_type.shape)."""

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Return the gradient in the input, of its shape."""


@dataclass
class PartRun:
    """What layers and vertices have alike in one forward and backward pass.

    Attributes
    ----------
    params, gradients : dict of str to ndarray
        By the names of :meth:`LayerDefinition.parameters`; views of the network's flat
        vectors. Write gradients into them: ``run.gradients["W"][...] = ...``, summed
        over the examples.
    quirks : frozenset of str
        Of the network's dialect; empty in ``exact``.
    who : str
        What messages call the layer or vertex.
    name : str
        Unique in the network: buffers are keyed by it.
    workspace : Workspace
        Lends all arrays.
    part : str
        Which part of the layer works, if it is not the layer itself: a preprocessor has
        buffers of its own.
    batch_size : int
        Examples that arrived, for vertices and preprocessors; rows may be their time
        steps.
    """

    params: dict[str, FloatArray]
    gradients: dict[str, FloatArray]
    quirks: Quirks = frozenset()
    who: str = ""
    name: str = ""
    workspace: Workspace = field(default_factory=Workspace)
    part: str = ""
    batch_size: int = 0

    def buffer(self, what: str, shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
        """Return an array that every iteration uses again, with what was in it.

        Parameters
        ----------
        what : str
            Its name within the layer or vertex.
        shape : tuple of int
        dtype : dtype

        Returns
        -------
        ndarray of `shape`
        """
        array: FloatArray = self.workspace.take(self._key(what), shape, dtype)
        return array

    def lent(self, what: str, shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
        """Return an array of this pass alone, with anything in it.

        Once nobody holds it, nor a view of it, its memory goes to others: for outputs
        and gradients. Hold what the way back reads, and nothing else.

        Parameters
        ----------
        what, shape, dtype
            As of :meth:`buffer`. A name is for one array a pass.

        Returns
        -------
        ndarray of `shape`
        """
        array: FloatArray = self.workspace.lend(self._key(what), shape, dtype)
        return array

    def lent_like(self, what: str, array: FloatArray) -> FloatArray:
        """Return what is :meth:`lent` with the shape and dtype of `array`.

        Parameters
        ----------
        what : str
        array : ndarray of any shape

        Returns
        -------
        ndarray of the same shape
        """
        return self.lent(what, array.shape, array.dtype)

    def like(self, what: str, array: FloatArray) -> FloatArray:
        """Return a :meth:`buffer` with the shape and dtype of `array`.

        Parameters
        ----------
        what : str
        array : ndarray of any shape

        Returns
        -------
        ndarray of the same shape
        """
        return self.buffer(what, array.shape, array.dtype)

    def _key(self, what: str) -> tuple[str, ...]:
        return (self.name, self.part, what) if self.part else (self.name, what)


@dataclass
class Run(PartRun):
    """What a layer works with in one forward and backward pass.

    Attributes
    ----------
    params, gradients, quirks, who, name, workspace, part, batch_size
        As of :class:`PartRun`.
    training : bool
        Whether random numbers and statistics of the minibatch are on.
    mask : ndarray of shape (batch, time), (batch, 1), or None
        1 keeps, 0 drops.
    rng : numpy.random.Generator or None
        In training, for layers that say `draws`.
    needs_grad_x : bool
        Whether anybody reads the gradient in the input; if not, what takes the gradient
        back may return None.
    needs_gradients : bool
        Whether anybody reads the gradients of the parameters; they may be written all
        the same.
    uses_mask : bool
        Whether a wrapper wants a mask used that such layers by themselves pass on.
    fused : Fused
        What is done for the layer behind, or by the part in front.
    input_type, output_type : InputType
        What comes in, and what comes out.
    inner : tuple of InnerLayer
        The layers that a wrapper holds.
    loss : LossPass or None
        What an output layer's forward pass leaves for training and scores.
    carries_state : bool
        Whether a recurrent layer begins with `state`, and leaves its last one there.
    state : object
        What a recurrent layer carries over; None before the first step.
    back_length : int or None
        How many time steps a gradient flows back in a recurrent layer at most; None is
        all.
    forgets_between_segments : bool
        Whether a recurrent layer begins each segment of truncated backpropagation with
        zeros.
    cut : Cut or None
        The part of the minibatch that is here, where threads have one each.
    memory : dict
        What a layer keeps from one iteration to the next beside its parameters.
    """

    training: bool = False
    mask: FloatArray | None = None
    rng: np.random.Generator | None = None
    needs_grad_x: bool = True
    needs_gradients: bool = True
    uses_mask: bool = False
    fused: Fused = field(default_factory=Fused)
    input_type: InputType = field(default_factory=lambda: FeedForward(size=1))
    output_type: InputType = field(default_factory=lambda: FeedForward(size=1))
    inner: tuple[InnerLayer, ...] = ()
    loss: LossPass | None = None
    carries_state: bool = False
    state: Any = None
    back_length: int | None = None
    forgets_between_segments: bool = False
    cut: Cut | None = None
    memory: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class VertexRun(PartRun):
    """What a vertex works with in one forward and backward pass.

    Attributes
    ----------
    params, gradients, quirks, who, name, workspace, part, batch_size
        As of :class:`PartRun`.
    input_types : tuple of InputType
        What comes in, in the order of the inputs.
    output_type : InputType
        What comes out.
    inputs : sequence of ndarray of shape (batch, ...)
        What the last forward pass got.
    masks : sequence of ndarray of shape (batch, time), (batch, 1), or None
        The mask that came with each input.
    network_input, network_mask : ndarray or None
        Features, as they are inside the network, and mask of the network input that
        :attr:`VertexConf.reads_network_input` names.
    rectifies : bool
        Whether the output is to be rectified, see :meth:`VertexConf.can_rectify`.
    """

    input_types: tuple[InputType, ...]
    output_type: InputType
    inputs: Arrays = ()
    masks: Masks = ()
    network_input: FloatArray | None = None
    network_mask: FloatArray | None = None
    rectifies: bool = False

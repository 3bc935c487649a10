"""What every layer can do, and what an output layer can do besides."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.run import Fused

C = TypeVar("C", bound=LayerConf)
T = TypeVar("T")

WORKERS: "dict[type[LayerConf], type[Layer[Any]]]" = {}
L = TypeVar("L", bound="Layer[Any]")


def works_for(conf: type[LayerConf]) -> Callable[[type[L]], type[L]]:
    """Return a decorator: objects of the class do what such a configuration says."""

    def enter(worker: type[L]) -> type[L]:
        WORKERS[conf] = worker
        return worker

    return enter


class Layer(ABC, Generic[C]):
    """A layer at work: what it is, says its configuration.

    Parameters
    ----------
    conf : LayerConf
        The configuration with nothing left open.
    input_type : InputType
        What the layer gets.
    name : str
        What messages call it; unique in the network.
    workspace : Workspace
        Lends all its arrays.

    Attributes
    ----------
    output_type : InputType
        What comes out.
    params, gradients : dict of str to ndarray
        Views of the network's flat vectors, empty until :meth:`bind`.
    needs_grad_x : bool
        Whether anybody reads the gradient in the input. The network says no where
        nothing in front of the layer has parameters; to compute it costs as much there
        as the gradient of the weights.
    needs_gradients : bool
        Whether anybody reads the gradients of the parameters. A wrapper that keeps them
        as they are says no; a layer may write them all the same.
    carries_state : bool
        Whether a recurrent layer begins with `state`, and leaves its last one there.
    state : object
        What a recurrent layer carries over; None before the first step.
    back_length : int or None
        How many time steps a gradient flows back in a recurrent layer at most; None is
        all.
    forgets_between_segments : bool
        Whether a recurrent layer begins each segment of truncated backpropagation with
        zeros. A wrapper says so of layers that are such.
    fused : Fused
        What is done for the layer behind, or by the part in front.
    """

    forgets_in_wrappers: ClassVar[bool] = False

    def __init__(
        self, conf: C, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        self.conf = conf
        self.input_type = input_type
        self.output_type = conf.output_type(input_type)
        self.name = name
        self.params: dict[str, FloatArray] = {}
        self.gradients: dict[str, FloatArray] = {}
        self.needs_grad_x = True
        self.needs_gradients = True
        self.carries_state = False
        self.state: Any = None
        self.back_length: int | None = None
        self.forgets_between_segments = False
        self.fused = Fused()
        self._workspace = workspace

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Take the views to read parameters from and write gradients to.

        Parameters
        ----------
        params, gradients : dict of str to ndarray
            By the names and with the shapes of ``conf.parameters``: (n_in, n_out) for
            the weights of a dense layer.
        """
        self.params = params
        self.gradients = gradients

    def initialize(self, rng: np.random.Generator) -> None:
        """Write initial values into the bound parameters, drawn on the host.

        A layer without parameters has nothing to do.
        """

    @abstractmethod
    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, and keep what the backward pass needs.

        Parameters
        ----------
        x : ndarray of shape (batch, *input_type.shape), dtype of the parameters
            Not changed, and read again by :meth:`backward`.
        training : bool
            Whether batch statistics and random numbers are on.
        mask : ndarray of shape (batch, time), optional
            1 keeps, 0 drops a time step; (batch, 1) masks examples.
        rng : numpy.random.Generator, optional
            For layers that draw; needed in training if this one does.

        Returns
        -------
        output : ndarray of shape (batch, *output_type.shape)
            A buffer of this layer, or `x` itself; valid until the next forward pass.

        Raises
        ------
        ShapeError
            If `x` or `mask` do not fit.
        """

    @abstractmethod
    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the last forward pass.

        Gradient views are overwritten with sums over examples and time steps.

        Parameters
        ----------
        grad_out : ndarray of shape (batch, *output_type.shape), same dtype
            Gradient of the loss in the output. Not changed.

        Returns
        -------
        grad_x : ndarray of shape (batch, *input_type.shape), same dtype, or None
            A buffer of this layer, or `grad_out` itself; valid until the next backward
            pass. None if a layer with parameters has `needs_grad_x` False.
        """

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that goes on with the output.

        Parameters
        ----------
        mask : ndarray of shape (batch, time), (batch, 1) or one of cells, or None
            That of the input.

        Returns
        -------
        ndarray of the same shape, unless the layer changes the number of steps or cells
            None masks nothing.
        """
        return mask

    def walk(self) -> "Iterator[Layer[Any]]":
        """Yield the layer, and those inside it."""
        yield self

    def use_mask(self) -> None:
        """Use a mask that layers of this kind by themselves only pass on."""

    def step_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that the steps of the last output obey: `mask` arrived.

        By itself what :meth:`feed_forward_mask` returns, which says the shapes.
        """
        return self.feed_forward_mask(mask)

    @property
    def who(self) -> str:
        """Class and name, for messages."""
        return f"{type(self.conf).__name__} {self.name!r}"

    def _draw(
        self, name: str, fan_in: float, fan_out: float, rng: np.random.Generator
    ) -> None:
        """Write fresh weights into a parameter, as the option `weight_init` says."""
        given = getattr(self.conf, "weight_init", None)
        scheme: AnyWeightInit = self._given("weight_init", given)
        draw_weights(
            scheme,
            fan_in,
            fan_out,
            rng,
            out=self.params[name],
            quirks=self.conf.quirks,
        )

    def _given(self, option: str, value: T | None) -> T:
        """Refuse an option that the network's defaults should have filled."""
        if value is None:
            raise OptionError(
                f"{self.who}: {option} must be given, got None. Build layers from a "
                "network's configuration, which fills in its defaults."
            )
        return value

    def _buffer(self, what: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return self._workspace.take((self.name, what), shape, dtype)

    def _like(self, what: str, array: FloatArray) -> FloatArray:
        """Return a buffer with shape and dtype of `array`."""
        buffer: FloatArray = self._buffer(what, array.shape, array.dtype)
        return buffer

    def _check_input(self, x: FloatArray) -> None:
        expected = self.input_type.shape
        if self.carries_state and isinstance(self.input_type, Recurrent):
            # A stretch of a series is shorter than the series are.
            expected = (None, self.input_type.size)
        if not fits(expected, x):
            axes = ", ".join("time" if n is None else str(n) for n in expected)
            raise ShapeError(
                f"{self.who}: x must have shape (batch, {axes}), got {x.shape}."
            )


class OutputLayer(Layer[C]):
    """A layer with a loss."""

    # Whether a mask of the labels sets what it drops of the output to 0.
    masks_output: bool = True
    # Whether some dialects divide the score by the number of examples whatever
    # `mini_batch` says.
    has_mean_score: bool = False

    # Whether training sets a parameter to what this process has seen, besides updates.
    sets_parameters: ClassVar[bool] = False

    def begin_iteration(self, epoch: int) -> None:
        """Take notice that an iteration of training begins; most need not know.

        Parameters
        ----------
        epoch : int
            Epochs done before this one.
        """

    def arrived_mask(self) -> FloatArray | None:
        """Return the mask that counts in the loss where the labels have none.

        Returns
        -------
        ndarray of shape (batch,) or (batch, time), or None
            Of the last forward pass; None if none arrived.
        """
        return None

    @abstractmethod
    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the loss of each example of the last forward pass.

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
            If labels or mask do not fit the last output.
        OptionError
            If single outputs of a softmax are masked.
        """

    @abstractmethod
    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss of the last forward pass.

        Labels and mask are those of :meth:`score_examples`. Not always the sum of what
        that returns: some losses are of a whole minibatch.
        """

    @abstractmethod
    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients of the summed scores: :meth:`backward` from the loss.

        Parameters
        ----------
        labels, mask
            As for :meth:`score_examples`.

        Returns
        -------
        grad_x : ndarray of shape (batch, *input_type.shape), same dtype, or None
            As for :meth:`backward`.

        Raises
        ------
        ShapeError, OptionError
            As :meth:`score_examples`.
        """

"""A layer in its place in a network, with what it works with.

What is computed says its configuration: options, shapes, parameters, forward and
backward are one class, a frozen value that holds no state. Everything that changes is
in the :class:`~daskdl.nn.run.Run`, which the configuration's methods get. Here is what
all kinds have alike: preprocessor, dropout and weight noise in front, and the layers
that a wrapper holds.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent, inside_type
from daskdl.nn.conf.layer import LayerConf, given
from daskdl.nn.layers.definition import LayerDefinition, checked_forward
from daskdl.nn.layers.initial_params import draw_params
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.noisy_params import NoisyParams
from daskdl.nn.layers.same_diff import counts_twice, doubled
from daskdl.nn.lent_arrays import read_only, reading
from daskdl.nn.preprocessors.table import build_preprocessor
from daskdl.nn.run import Backward, LossPass, Run

Params: TypeAlias = dict[str, FloatArray]


class Layer:
    """A layer of a network, or one inside a wrapper.

    Parameters
    ----------
    conf : LayerConf
        With nothing left open; see :meth:`LayerConf.filled`.
    input_type : InputType
        What arrives, in front of the preprocessor.
    name : str
        What messages call it; unique in the network: its buffers are keyed by it.
    workspace : Workspace
        Lends all its arrays.

    Attributes
    ----------
    input_type, output_type : InputType
        What comes in, behind the preprocessor, and what comes out.
    run : Run
        What the configuration's methods work with.
    compute : function of (run, x)
        The forward method of the configuration.
    way_back : function of (gradient in the output)
        What the last forward pass returned beside its output.
    arrived : ndarray of shape (batch, ...)
        What the last forward pass got, in front of the preprocessor, if the layer can
        be pretrained.
    arrived_mask : ndarray of shape (batch, time), or None
        The mask that came with it.
    mask : ndarray of shape (batch, time), (batch, 1), or None
        Goes on with the output of the last :meth:`forward`.

    Raises
    ------
    OptionError
        If an option is left open, the input does not fit, or the configuration does not
        say what is computed.
    """

    arrived: FloatArray
    arrived_mask: FloatArray | None = None
    mask: FloatArray | None = None

    def __init__(
        self, conf: LayerConf, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        kind = type(conf)
        if kind.forward is LayerConf.forward:
            raise OptionError(
                f"Layer: the configuration of {name!r} must be of a known layer, got "
                f"{kind.__name__}."
            )
        self.conf = conf
        self.name = name
        self.who = f"{kind.__name__} {name!r}"
        if "activation" not in conf.unused_options:
            given(self.who, "activation", getattr(conf, "activation", ""))
        self._preprocessor = None
        if conf.preprocessor is not None:
            self._preprocessor = build_preprocessor(
                conf.preprocessor, inside_type(input_type), name, workspace
            )
            input_type = self._preprocessor.output_type
        self.input_type = inside_type(input_type)
        self.output_type = conf.output_type(self.input_type)
        self.run = Run(
            {},
            {},
            quirks=conf.quirks,
            input_type=self.input_type,
            output_type=self.output_type,
            who=self.who,
            name=name,
            workspace=workspace,
        )
        is_own = isinstance(conf, LayerDefinition)
        self.compute = checked_forward(conf) if is_own else conf.forward
        self._no_way_back = _refuse_backward(self.who)
        self.way_back: Backward = self._no_way_back
        self._draws = conf.draws_random_numbers
        self._counts_twice = counts_twice(conf)
        dropout, noise = conf.input_dropout, conf.applied_noise
        self._dropout = (
            None if dropout is None else InputDropout(dropout, name, workspace)
        )
        self._noise = None if noise is None else NoisyParams(conf, noise, self.run)
        self._inside = conf.layers_inside(self.input_type)
        self.run.inner = self.inner = tuple(
            Layer(held.conf, held.input_type, f"{name}.{held.name}", workspace)
            for held in self._inside
        )
        self._rule_inner()

    def _rule_inner(self) -> None:
        """Tell the layers inside what a wrapper says of masks and state."""
        forget = "wrapped_layers_forget" in self.conf.quirks
        for inner in self.inner:
            for layer in inner.walk():
                run, conf = layer.run, layer.conf
                run.uses_mask |= self.conf.masks_inside
                forgets = bool(inner.inner) or conf.forgets_in_wrappers
                run.forgets_between_segments |= forget and forgets

    def walk(self) -> "Iterator[Layer]":
        """Yield the layer, and those inside it."""
        yield self
        for inner in self.inner:
            yield from inner.walk()

    def bind(self, params: Params, gradients: Params) -> None:
        """Take the views to read parameters from and write gradients to.

        Parameters
        ----------
        params, gradients : dict of str to ndarray
            By the names and with the shapes of ``conf.parameters``: (n_in, n_out) for
            the weights of a dense layer.
        """
        self.run.params, self.run.gradients = params, gradients
        for held, inner in zip(self._inside, self.inner, strict=True):
            inner.bind(_of(held.prefix, params), _of(held.prefix, gradients))

    def initialize(self, rng: np.random.Generator) -> None:
        """Write initial values into the bound parameters, drawn on the host."""
        for inner in self.inner:
            inner.initialize(rng)
        if not self.inner:
            draw_params(self.conf, self.run, rng)

    def enter(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None,
        rng: np.random.Generator | None,
        batch_size: int,
    ) -> FloatArray:
        """Return what the layer itself gets; make its run ready.

        Parameters
        ----------
        x : ndarray of shape (rows, ...)
            What arrives. Not changed.
        training : bool
            Whether batch statistics and random numbers are on.
        mask : ndarray of shape (batch, time), (batch, 1), or None
            1 keeps, 0 drops a time step, or an example.
        rng : numpy.random.Generator or None
            For what draws.
        batch_size : int
            Examples of the minibatch; rows may be their time steps.

        Returns
        -------
        ndarray of shape (batch, *input_type.shape)
            `x` itself where nothing changes it.

        Raises
        ------
        OptionError
            If training needs random numbers and `rng` is None.
        ShapeError
            If `x` does not fit.
        """
        run = self.run
        # It holds what the last pass has left behind.
        self.way_back = self._no_way_back
        self.arrived_mask = mask
        if self.conf.is_pretrainable:
            self.arrived = x
        if self._preprocessor is not None:
            mask = self._preprocessor.feed_forward_mask(mask, batch_size=batch_size)
            x = self._preprocessor.forward(x, batch_size=batch_size)
        if self._dropout is not None:
            x = self._dropout.forward(x, training=training, rng=rng)
        if self._noise is not None:
            self._noise.swap(training=training, rng=rng)
        if training and rng is None and self._draws:
            raise OptionError(
                f"{self.who}: training needs a random generator, got None."
            )
        run.training, run.mask, run.rng = training, mask, rng if training else None
        # What the part in front has done already comes in other shapes.
        if not run.fused.is_done:
            self._check_input(x)
        return x

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
        batch_size: int | None = None,
    ) -> FloatArray:
        """Compute the output, and the mask that goes on with it.

        Parameters
        ----------
        x, training, mask, rng
            As for :meth:`enter`.
        batch_size : int, optional
            As for :meth:`enter`; None stands for the rows of `x`.

        Returns
        -------
        output : ndarray of shape (batch, *output_type.shape)
            A buffer of this layer, or `x` itself; valid until the next forward pass.

        Raises
        ------
        OptionError
            As :meth:`enter`, and if the layer cannot work on data of this length or
            size.
        """
        size = len(x) if batch_size is None else batch_size
        x = self.enter(x, training=training, mask=mask, rng=rng, batch_size=size)
        try:
            output, self.way_back = self.compute(self.run, x)
        except PathError as error:
            raise self.refusal(error) from None
        self.mask = self.conf.feed_forward_mask(self.run, self.run.mask)
        return output

    def refusal(self, error: PathError) -> OptionError:
        """Return what the layer says of data: then no key is to blame."""
        return OptionError(f"{self.who}: {error}")

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the last forward pass.

        Gradient views are overwritten with sums over examples and time steps.

        Parameters
        ----------
        grad_out : ndarray of shape (batch, *output_type.shape), same dtype
            Gradient of the loss in the output. Not changed.

        Returns
        -------
        grad_x : ndarray of the shape of what arrived, same dtype, or None
            A buffer of this layer, or `grad_out` itself; valid until the next backward
            pass. None if nobody reads it.
        """
        if self._counts_twice:
            grad_out = doubled(self.run, grad_out)
        return self._leave(self.way_back(grad_out))

    def forget_pass(self) -> None:
        """Hold no longer what the last forward pass left for loss and backward pass."""
        self.forget_way_back()
        self.run.loss = None
        for layer in self.walk():
            layer.run.mask = layer.mask = layer.arrived_mask = None

    def forget_way_back(self) -> None:
        """Hold no longer what the last forward pass left for the backward pass."""
        for layer in self.walk():
            layer.way_back = layer._no_way_back

    @property
    def loss(self) -> LossPass:
        """The loss of the last forward pass, of an output layer."""
        if self.run.loss is None:
            raise ShapeError(f"{self.who}: the loss must follow forward.")
        return self.run.loss

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray | None:
        """Compute the gradients of the summed scores: :meth:`backward` from the loss.

        Parameters
        ----------
        labels, mask
            As for :meth:`LossPass.score_examples`.

        Returns
        -------
        grad_x : ndarray of the shape of what arrived, same dtype, or None
            As for :meth:`backward`.
        """
        return self._leave(self.loss.backward(labels, mask))

    def pretrain(self, *, rng: np.random.Generator, batch_size: int) -> float:
        """Train the layer on the input of the last forward pass, without labels.

        Parameters
        ----------
        rng : numpy.random.Generator
            For dropout and noise too.
        batch_size : int
            As for :meth:`enter`.

        Returns
        -------
        score : float
            See :meth:`LayerConf.pretrain`.

        Raises
        ------
        OptionError
            If the layer cannot be pretrained.
        """
        if not self.conf.is_pretrainable:
            raise OptionError(
                f"{self.who}: must be an autoencoder to be pretrained, got a layer "
                "that learns from labels only."
            )
        x = self.enter(
            self.arrived, training=True, mask=None, rng=rng, batch_size=batch_size
        )
        lent = read_only(x) if isinstance(self.conf, LayerDefinition) else x
        score = reading(
            self.who,
            "pretrain must not write to x",
            lambda: self.conf.pretrain(self.run, lent, rng),
        )
        if not isinstance(score, float | int | np.number):
            raise ShapeError(
                f"{self.who}: pretrain must return the score, got {score!r}."
            )
        if self._noise is not None:
            self._noise.backward()
        return score

    @property
    def has_entrance(self) -> bool:
        """Whether a preprocessor or dropout changes what the layer gets."""
        return self._preprocessor is not None or self._dropout is not None

    def _leave(self, grad_x: FloatArray | None) -> FloatArray | None:
        if self._noise is not None:
            self._noise.backward()
        if grad_x is None:
            return None
        if self._dropout is not None:
            grad_x = self._dropout.backward(grad_x)
        if self._preprocessor is not None:
            grad_x = self._preprocessor.backward(grad_x)
        return grad_x

    def _check_input(self, x: FloatArray) -> None:
        expected = self.input_type.shape
        if self.run.carries_state and isinstance(self.input_type, Recurrent):
            # A stretch of a series is shorter than the series are.
            expected = (None, self.input_type.size)
        if not fits(expected, x):
            axes = ", ".join("time" if n is None else str(n) for n in expected)
            raise ShapeError(
                f"{self.who}: x must have shape (batch, {axes}), got {x.shape}."
            )


def _refuse_backward(who: str) -> Callable[[FloatArray], FloatArray | None]:
    def refuse(grad_out: FloatArray) -> FloatArray | None:
        raise ShapeError(f"{who}: backward must follow forward.")

    return refuse


def _of(prefix: str, arrays: Params) -> Params:
    """Return the arrays of a layer inside, by the names that it knows."""
    if not prefix:
        return arrays
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }

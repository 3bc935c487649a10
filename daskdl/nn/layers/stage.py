"""A layer with what happens in front of it: preprocessor, dropout, noise on weights.

Layers know nothing of these. Networks and wrappers hold their layers in stages.
"""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.building import build_layer
from daskdl.nn.layers.definition import DefinedLayer
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.layer import Layer, OutputLayer
from daskdl.nn.layers.noisy_params import NoisyParams
from daskdl.nn.layers.same_diff import as_counted
from daskdl.nn.preprocessors.table import build_preprocessor


class Stage:
    """One layer in its place.

    Parameters
    ----------
    conf : LayerConf
        With nothing left open.
    input_type : InputType
        What arrives, in front of the preprocessor.
    name : str
        Unique in the network.
    workspace : Workspace
        Lends all arrays.

    Attributes
    ----------
    layer : Layer
        The layer itself.
    """

    def __init__(
        self, conf: LayerConf, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        self._workspace = workspace
        self._preprocessor = None
        if conf.preprocessor is not None:
            self._preprocessor = build_preprocessor(
                conf.preprocessor, inside_type(input_type), name, workspace
            )
            input_type = self._preprocessor.output_type
        self.layer: Layer[Any] = build_layer(conf, input_type, name, workspace)
        # Asked once: wrapped layers and options of options say so.
        self._draws = conf.draws_random_numbers
        self._dropout = InputDropout(conf.input_dropout, name, workspace)
        entering = inside_type(input_type)
        self._noise = NoisyParams(conf, entering, self.layer, workspace)

    def enter(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None,
        rng: np.random.Generator | None,
        batch_size: int,
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return what the layer gets, and its mask; swap in noisy weights.

        Parameters
        ----------
        x, training, mask, rng
            As for :meth:`Layer.forward`.
        batch_size : int
            Examples of the minibatch; rows may be their time steps.

        Raises
        ------
        OptionError
            If training needs random numbers and `rng` is None.
        """
        self._arrived = x
        if self._preprocessor is not None:
            mask = self._preprocessor.feed_forward_mask(mask, batch_size=batch_size)
            x = self._preprocessor.forward(x, batch_size=batch_size)
        x = self._dropout.forward(x, training=training, rng=rng)
        self._noise.swap(training=training, rng=rng)
        if training and rng is None and self._draws:
            raise OptionError(
                f"{self.layer.who}: training needs a random generator, got None."
            )
        return x, mask

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None,
        rng: np.random.Generator | None,
        batch_size: int,
    ) -> tuple[FloatArray, FloatArray | None]:
        """Compute the output, and the mask that goes on with it.

        Parameters
        ----------
        x, training, mask, rng, batch_size
            As for :meth:`enter`.

        Raises
        ------
        OptionError
            As :meth:`enter`, and if the layer cannot work on data of this length or
            size.
        """
        x, mask = self.enter(
            x, training=training, mask=mask, rng=rng, batch_size=batch_size
        )
        try:
            output = self.layer.forward(x, training=training, mask=mask, rng=rng)
        except PathError as error:
            raise self.refusal(error) from None
        return output, self.layer.feed_forward_mask(mask)

    def refusal(self, error: PathError) -> OptionError:
        """Return what the layer says of data: then no key is to blame."""
        return OptionError(f"{self.layer.who}: {error}")

    def pretrain(self, *, rng: np.random.Generator, batch_size: int) -> float:
        """Train the layer on the input of the last forward pass, without labels.

        Parameters
        ----------
        rng : numpy.random.Generator
            For dropout and noise too.
        batch_size : int
            As for :meth:`forward`.

        Returns
        -------
        score : float
            See :meth:`LayerConf.pretrain`.

        Raises
        ------
        OptionError
            If the layer cannot be pretrained.
        """
        layer = self.layer
        if not isinstance(layer, DefinedLayer) or not layer.conf.is_pretrainable:
            raise OptionError(
                f"{layer.who}: must be an autoencoder to be pretrained, got a "
                "layer that learns from labels only."
            )
        x, _ = self.enter(
            self._arrived, training=True, mask=None, rng=rng, batch_size=batch_size
        )
        score = layer.pretrain(x, rng=rng)
        self._noise.backward()
        return score

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad_out = as_counted(
            self.layer.conf, grad_out, self.layer.name, self._workspace
        )
        return self._leave(self.layer.backward(grad_out))

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None
    ) -> FloatArray | None:
        """Compute the gradients of the loss; see :meth:`OutputLayer.backward_loss`."""
        return self._leave(self.output_layer.backward_loss(labels, mask))

    @property
    def has_entrance(self) -> bool:
        """Whether a preprocessor or dropout changes what the layer gets."""
        return (
            self._preprocessor is not None or self.layer.conf.input_dropout is not None
        )

    @property
    def output_layer(self) -> OutputLayer[Any]:
        """The layer, which must have a loss.

        Raises
        ------
        OptionError
            If it has none.
        """
        if not isinstance(self.layer, OutputLayer):
            raise OptionError(
                f"{self.layer.who}: training and scores need an output layer at the "
                "end, got a layer without a loss. Replace it, for example with Output "
                "or LossLayer."
            )
        return self.layer

    def _leave(self, grad_x: FloatArray | None) -> FloatArray | None:
        self._noise.backward()
        if grad_x is None:
            return None
        grad_x = self._dropout.backward(grad_x)
        if self._preprocessor is not None:
            grad_x = self._preprocessor.backward(grad_x)
        return grad_x

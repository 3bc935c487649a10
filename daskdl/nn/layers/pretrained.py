"""What a layer can do that learns from features alone, before the others."""

from abc import abstractmethod
from typing import TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.layer import Layer

C = TypeVar("C", bound=LayerConf)


class PretrainedLayer(Layer[C]):
    """A layer that can be trained by itself, without labels."""

    @abstractmethod
    def pretrain(self, x: FloatArray, *, rng: np.random.Generator) -> float:
        """Compute the gradients of one step of unsupervised training.

        All gradient views are overwritten with sums over the examples.

        Parameters
        ----------
        x : ndarray of shape (batch, *input_type.shape)
            Not changed.
        rng : numpy.random.Generator
            For corruption and samples.

        Returns
        -------
        score : float
            Summed over the examples, without regularization.
        """

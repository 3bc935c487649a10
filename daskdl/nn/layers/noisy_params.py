"""Noise on the weights of a layer, drawn anew in each iteration of training."""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace, to_device
from daskdl.arrays.random import moment_of
from daskdl.errors import OptionError
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.schedules import value_at
from daskdl.nn.conf.weight_noise import AnyWeightNoise, DropConnect
from daskdl.nn.distributions import sample
from daskdl.nn.run import Run


class NoisyParams:
    """Lends a layer noisy copies of its parameters for one forward and backward.

    Inference is without noise.

    Parameters
    ----------
    conf : LayerConf
        Of the layer, resolved.
    noise : DropConnect or WeightNoise
        What is done to them.
    run : Run
        Of the layer: its parameters are swapped, and it lends the copies.
    """

    def __init__(self, conf: LayerConf, noise: AnyWeightNoise, run: Run) -> None:
        self._noise = noise
        self._run = run
        self._names = frozenset(
            item.name
            for item in conf.parameters(run.input_type)
            if _is_noised(item, noise)
        )
        self._true: dict[str, FloatArray] = {}
        self._noisy: dict[str, FloatArray] = {}
        self._factors: dict[str, FloatArray] = {}
        self._keeps_factors = "noise_not_in_gradient" not in conf.quirks

    def swap(self, *, training: bool, rng: np.random.Generator | None) -> None:
        """Give the layer noisy parameters in training, else the true ones.

        Raises
        ------
        OptionError
            If training has no `rng`, or a schedule gives no probability.
        """
        run = self._run
        if run.params is not self._noisy:
            self._true = run.params
        self._factors = {}
        if not training:
            run.params = self._true
            return
        if rng is None:
            raise OptionError(
                f"Weight noise of {self._run.name!r}: training needs a random "
                "generator, got rng=None."
            )
        self._noisy = {
            name: self._noised(name, array, rng) if name in self._names else array
            for name, array in self._true.items()
        }
        run.params = self._noisy

    def backward(self) -> None:
        """Turn the layer's gradients, in place, into those in the true parameters."""
        for name, factor in self._factors.items():
            self._run.gradients[name][...] *= factor

    def _noised(
        self, name: str, array: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        noise, xp = self._noise, array_namespace(array)
        out = self._run.like(f"noisy {name}", array)
        if isinstance(noise, DropConnect):
            keep = self._retain_probability(noise, rng)
            kept = rng.random(array.shape, dtype=np.float32) < keep
            return self._scaled(name, array, to_device(kept, like=array), out)
        drawn = sample(noise.distribution, array.shape, rng).astype(array.dtype)
        if not noise.additive:
            return self._scaled(name, array, to_device(drawn, like=array), out)
        xp.add(array, to_device(drawn, like=array), out=out)
        return out

    def _scaled(
        self, name: str, array: FloatArray, factor: Any, out: FloatArray
    ) -> FloatArray:
        array_namespace(array).multiply(array, factor, out=out)
        if self._keeps_factors:
            self._factors[name] = factor
        return out

    def _retain_probability(
        self, noise: DropConnect, rng: np.random.Generator
    ) -> float:
        keep = value_at(noise.weight_retain_probability, *moment_of(rng))
        if not 0 < keep <= 1:
            raise OptionError(
                f"Weight noise of {self._run.name!r}: weight_retain_probability must "
                f"be above 0 and at most 1, got {keep}."
            )
        return keep


def _is_noised(parameter: Parameter, noise: AnyWeightNoise) -> bool:
    kind = parameter.treatment.noise
    if kind != "biases":
        return kind is not None
    if isinstance(noise, DropConnect):
        return noise.apply_to_biases
    return noise.apply_to_bias

"""The first values of a layer's parameters."""

from collections.abc import Mapping

import numpy as np

from daskdl.errors import OptionError
from daskdl.nn.conf.layer import LayerConf, given
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.run import Run


def draw_params(conf: LayerConf, run: Run, rng: np.random.Generator) -> None:
    """Fill the parameters as their roles say, and then as the layer does.

    Parameters
    ----------
    conf : LayerConf
        With nothing left open.
    run : Run
        With the parameters.
    rng : numpy.random.Generator
    """
    bias = getattr(conf, "bias_init", None)
    gain = getattr(conf, "gain_init", None)
    begin: Mapping[str, float | None] = {
        "gain": gain,
        "bias": bias,
        "bias of weights": bias,
    }
    for item in conf.parameters(run.input_type):
        if item.role == "weight":
            draw_weight(conf, run, item, rng)
        else:
            run.params[item.name].fill(begin.get(item.role) or 0.0)
    conf.initialize(run, rng)


def draw_weight(
    conf: LayerConf, run: Run, item: Parameter, rng: np.random.Generator
) -> None:
    """Draw one parameter as the options say.

    Parameters
    ----------
    conf, run, rng
        As for :func:`draw_params`.
    item : Parameter

    Raises
    ------
    OptionError
        If the options do not say how.
    """
    scheme: AnyWeightInit = given(run.who, "weight_init", conf.weight_init_of(item))
    out = run.params[item.name]
    if out.ndim == 1:
        # Some vectors are rows in files, and drawn as such.
        out = out.reshape(item.shape_in_file)
    try:
        draw_weights(scheme, *conf.fans(item), rng, out=out, quirks=conf.quirks)
    except OptionError as error:
        raise OptionError(f"{run.who}, {item.name}: {error}") from None

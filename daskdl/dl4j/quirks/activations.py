"""Quirks of DL4J's activations."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import (
    all_of,
    any_of,
    has_activation,
    has_option,
    option_holds,
    sets_option,
)

_IS_DOUBLE = has_option("dtype", "float64")

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="rounds_constants_of_activations",
        where="constants of `hardsigmoid`, `gelu`, `rationaltanh`",
        habit="are rounded to float32, in float64 networks too",
        exact="have the precision of the network",
        test="unit/layers/test_activation_quirks.py",
        concerns=all_of(
            _IS_DOUBLE, has_activation("hardsigmoid", "gelu", "rationaltanh")
        ),
    ),
    Quirk(
        name="rounds_slopes_in_derivatives",
        where="slope of `leakyrelu`; of `relu` with a slope and no threshold",
        habit="is float32 in the derivative, and not in the function",
        exact="is the same in both",
        test="unit/layers/test_activation_quirks.py",
        concerns=all_of(
            _IS_DOUBLE,
            any_of(
                has_activation("leakyrelu"),
                sets_option("negative_slope"),
                sets_option("leak", of=("primary_capsules",)),
            ),
        ),
    ),
    Quirk(
        name="elu_gradient_ignores_alpha",
        where="`elu` with an alpha",
        habit="the gradient takes alpha for 1",
        exact="is the derivative",
        test="unit/layers/test_activation_quirks.py",
        concerns=option_holds("alpha", lambda alpha: alpha != 1, of=("elu",)),
    ),
    Quirk(
        name="precise_gelu_cubes_products",
        where="precise `gelu`",
        habit="takes the cube of `0.044715 * x`; the gradient has constants of six "
        "digits",
        exact="takes `0.044715 * x**3`, and its derivative",
        test="unit/layers/test_activation_quirks.py",
        concerns=has_option("precise", True),
    ),
    Quirk(
        name="rrelu_passes_gradients",
        where="gradient of `rrelu`",
        habit="is 1 everywhere",
        exact="is the slope that was drawn, or the mean one",
        test="unit/layers/test_activation_quirks.py",
        concerns=has_activation("rrelu"),
    ),
    Quirk(
        name="rrelu_compares_in_inference",
        where="`rrelu` in inference",
        habit="is `max(x, (l + u) / 2)`",
        exact="multiplies what is below 0 by `(l + u) / 2`",
        test="unit/layers/test_activation_quirks.py",
        concerns=has_activation("rrelu"),
    ),
    Quirk(
        name="relu_cuts_gradient_by_input",
        where="`relu` with a maximum and a slope",
        habit="the gradient is 0 where the input is not below the maximum",
        exact="is 0 where the output is not",
        test="unit/layers/test_activation_quirks.py",
        concerns=all_of(
            sets_option("negative_slope"),
            option_holds("max", lambda most: most is not None, of=("relu",)),
        ),
    ),
    Quirk(
        name="same_diff_leakyrelu_is_tight",
        where="`leakyrelu` in locally connected layers and `recurrent_attention`",
        habit="by name it has slope 0; with options it leaks",
        exact="leaks",
        test="unit/layers/test_activation_quirks.py",
        concerns=option_holds(
            "activation",
            lambda activation: activation == "leakyrelu",
            of=("locally_connected1d", "locally_connected2d", "recurrent_attention"),
        ),
    ),
)

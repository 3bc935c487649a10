"""The names that configurations may use, as literals for types and messages."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from daskdl.dialects import known_dialects
from daskdl.nn.conf.errors import PathError, one_of
from daskdl.nn.conf.values import AnySpelling

ActivationLiteral = Literal[
    "cube",
    "elu",
    "gelu",
    "hardsigmoid",
    "hardtanh",
    "identity",
    "leakyrelu",
    "mish",
    "rationaltanh",
    "rectifiedtanh",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
    "thresholdedrelu",
]
LossLiteral = Literal[
    "mcxent",
    "negativeloglikelihood",
    "sparse_mcxent",
    "xent",
    "mse",
    "l2",
    "l1",
    "mae",
    "mape",
    "msle",
    "kl_divergence",
    "cosine_proximity",
    "hinge",
    "squared_hinge",
    "poisson",
    "wasserstein",
    "fmeasure",
    "multilabel",
]
GradientNormalizationLiteral = Literal[
    "none",
    "renormalize_l2_per_layer",
    "renormalize_l2_per_param_type",
    "clip_elementwise_absolute_value",
    "clip_l2_per_layer",
    "clip_l2_per_param_type",
]

GradientNormalizationName = Annotated[GradientNormalizationLiteral, AnySpelling()]
PoolingName = Annotated[Literal["max", "avg", "sum", "pnorm"], AnySpelling()]
VolumePoolingName = Annotated[Literal["max", "avg"], AnySpelling()]
ConvolutionModeName = Annotated[Literal["truncate", "same", "strict"], AnySpelling()]
SeriesConvolutionModeName = Annotated[
    Literal["truncate", "same", "strict", "causal"], AnySpelling()
]

OptimizationAlgoLiteral = Literal[
    "stochastic_gradient_descent",
    "line_gradient_descent",
    "conjugate_gradient",
    "lbfgs",
]
OptimizationAlgoName = Annotated[OptimizationAlgoLiteral, AnySpelling()]
BackpropTypeName = Annotated[Literal["standard", "truncated_bptt"], AnySpelling()]


def _installed_dialect(name: str) -> str:
    known = known_dialects()
    if name not in known:
        raise PathError(one_of(known, name))
    return name


DialectName = Annotated[str, AfterValidator(_installed_dialect)]

"""Names that DL4J writes as enumerations, and numbers that it writes as pairs."""

from typing import Any

from daskdl.dl4j.network.json_objects import Codec, Json, look_up, shown
from daskdl.errors import FormatError


def _title(option: str) -> str:
    return "".join(word.capitalize() for word in option.split("_"))


def enumeration(*names: str, title: bool = False) -> Codec:
    """Return the codec of names that DL4J writes in capitals, or ``LikeThis``."""
    written = {name: _title(name) if title else name.upper() for name in names}
    read = {java.lower(): name for name, java in written.items()}

    def reading(value: Json, where: str) -> Any:
        name = read.get(value.lower()) if isinstance(value, str) else None
        if name is None:
            raise FormatError(
                f"{where}: must be one of {', '.join(written.values())}, got "
                f"{shown(value)}."
            )
        return name

    return Codec(reading, lambda name: written[name])


GRADIENT_NORMALIZATIONS = {
    "none": "None",
    "renormalize_l2_per_layer": "RenormalizeL2PerLayer",
    "renormalize_l2_per_param_type": "RenormalizeL2PerParamType",
    "clip_elementwise_absolute_value": "ClipElementWiseAbsoluteValue",
    "clip_l2_per_layer": "ClipL2PerLayer",
    "clip_l2_per_param_type": "ClipL2PerParamType",
}
_NORMALIZATION_NAMES = {java: name for name, java in GRADIENT_NORMALIZATIONS.items()}


NORMALIZATION = Codec(
    lambda value, where: look_up(_NORMALIZATION_NAMES, value, where),
    GRADIENT_NORMALIZATIONS.__getitem__,
)
CONVOLUTION_MODE = enumeration("strict", "truncate", "same", "causal", title=True)
POOLING = enumeration("max", "avg", "sum", "pnorm")
BIDIRECTIONAL_MODE = enumeration("concat", "add", "mul", "average")


def _first(value: Json, where: str) -> Any:
    if value == []:
        raise FormatError(f"{where}: must hold a number, got an empty list.")
    return value[0] if isinstance(value, list) else value


def _only(value: Any) -> Json:
    return value[0] if isinstance(value, list | tuple) else value


def _twice(value: Any) -> Json:
    return [_only(value)] * 2


def one_and(second: int) -> Codec:
    """Return the codec of pairs of which the second is always the same."""
    return Codec(_first, lambda value: [_only(value), second])


#: Of layers on series, whose properties are single numbers.
ONE = Codec(_first, _only)
#: Of layers on series, whose properties are pairs of which the second means nothing.
ONE_OF_TWO = Codec(_first, _twice)

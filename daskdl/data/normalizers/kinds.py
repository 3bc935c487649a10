"""All kinds of normalizers by name, for files and jobs.

Other packages register kinds of their own by entry points of the group
``daskdl.normalizers``. The name is the kind; what it names has ``from_dict(values)``
for checkpoints and jobs, and ``read(stream)`` for files of DL4J, where the name is that
of the Java class that wrote them.
"""

import importlib.metadata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from daskdl.checks import as_known, did_you_mean, some
from daskdl.data.normalizers.hybrid import MultiNormalizerHybrid
from daskdl.data.normalizers.image import (
    ImagePreProcessingScaler,
    VGG16ImagePreProcessor,
)
from daskdl.data.normalizers.image_multi import ImageMultiPreProcessingScaler
from daskdl.data.normalizers.min_max import (
    MultiNormalizerMinMaxScaler,
    NormalizerMinMaxScaler,
)
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.normalizers.standardize import (
    MultiNormalizerStandardize,
    NormalizerStandardize,
)
from daskdl.errors import FormatError

__all__ = ["GROUP", "NORMALIZERS", "normalizer_from_dict", "plugged_in"]

_MULTI_IMAGE = ImageMultiPreProcessingScaler
GROUP = "daskdl.normalizers"
"""Group of the entry points."""

NORMALIZERS: Mapping[str, type[Normalizer]] = MappingProxyType(
    {
        found.kind: found
        for found in (
            NormalizerStandardize,
            NormalizerMinMaxScaler,
            ImagePreProcessingScaler,
            VGG16ImagePreProcessor,
            MultiNormalizerStandardize,
            MultiNormalizerMinMaxScaler,
            MultiNormalizerHybrid,
        )
    }
)
"""The normalizers, by name: DL4J's names of its types in lower case."""


def normalizer_from_dict(values: Any) -> Normalizer:
    """Return the normalizer that ``to_dict`` described, of whatever kind.

    Parameters
    ----------
    values : dict
        With the kind as ``type``. Without what was learnt: a normalizer to be fitted.

    Raises
    ------
    FormatError
        If the kind is not known, or the values do not come from there.
    OptionError
        If an option cannot be right.
    """
    kind = values.get("type") if isinstance(values, dict) else None
    # Without options there is none of those, which a table of kinds alone is for.
    known = {**NORMALIZERS, _MULTI_IMAGE.kind: _MULTI_IMAGE}
    kind = as_known(kind, known)
    found: Any = known.get(kind) if isinstance(kind, str) else None
    if found is None and isinstance(kind, str):
        found = plugged_in(kind)
    if found is None:
        raise FormatError(
            f"normalizer: type must be one of {some(known, len(known))}, "
            f"got {kind!r}.{did_you_mean(kind, known)} Others are registered by "
            f"an entry point of the group {GROUP!r}."
        )
    made: Normalizer = found.from_dict({**values, "type": kind})
    return made


def plugged_in(name: str) -> Any:
    """Return the normalizer of an entry point; None if there is none of that name."""
    found = next(iter(importlib.metadata.entry_points(group=GROUP, name=name)), None)
    return None if found is None else found.load()

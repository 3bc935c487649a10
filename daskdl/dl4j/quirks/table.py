"""All quirks of DL4J 1.0.0-M2.1, in the order of the families."""

from dataclasses import replace

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks import (
    activations,
    attention,
    evaluation,
    images,
    losses,
    recurrent,
    rows,
    training,
)

_FAMILIES: dict[str, tuple[Quirk, ...]] = {
    "Activations": activations.QUIRKS,
    "Losses": losses.QUIRKS,
    "Training": training.QUIRKS,
    "Rows, normalization, autoencoders": rows.QUIRKS,
    "Images and windows": images.QUIRKS,
    "Recurrent layers": recurrent.QUIRKS,
    "Attention and vertices": attention.QUIRKS,
    "Evaluation": evaluation.QUIRKS,
}

QUIRKS: tuple[Quirk, ...] = tuple(
    replace(quirk, family=family)
    for family, quirks in _FAMILIES.items()
    for quirk in quirks
)

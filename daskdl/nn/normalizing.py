"""The normalizer of a network or of one call, and its class names."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from daskdl.checks import check_type, indexed
from daskdl.data.normalizers.learned import LearnedNormalizer
from daskdl.data.normalizers.normalizer import Group, Normalizer
from daskdl.errors import OptionError
from daskdl.nn.batches import ArraySpec
from daskdl.nn.conf.axes import feature_axis

__all__ = [
    "NormalizerChoice",
    "check_class_names",
    "check_normalizer",
    "chosen_normalizer",
]
__all__ += ["changed_classes", "check_classes_kept", "fitted_normalizer", "settle_axis"]
__all__ += ["warn_of_changed_classes"]

NormalizerChoice: TypeAlias = Normalizer | Literal["own"] | None
"""The network's own, another one, or None for data that are normalized already."""


def check_normalizer(who: str, normalizer: Any) -> Normalizer | None:
    """Refuse objects that are no normalizers of networks.

    Raises
    ------
    OptionError
        If it is neither a normalizer nor None, or one that changes more than numbers.
    """
    if normalizer is not None:
        check_type(who, "normalizer", normalizer, Normalizer)
        if not normalizer.fits_networks:
            raise OptionError(
                f"{who}: normalizer must change numbers alone, got a "
                f"{type(normalizer).__name__}. Give it as pre_processor to "
                "daskdl.fit or a front end, or data that went through its transform."
            )
    checked: Normalizer | None = normalizer
    return checked


def chosen_normalizer(
    who: str, own: Normalizer | None, choice: Any
) -> Normalizer | None:
    """Return the normalizer of a call: its own choice, or that of the network.

    Parameters
    ----------
    who : str
        For messages.
    own : Normalizer or None
        Of the network.
    choice : Normalizer, None or "own"

    Raises
    ------
    OptionError
        If the choice is something else.
    """
    if isinstance(choice, str):
        if choice == "own":
            return own
        raise OptionError(
            f"{who}: normalizer must be 'own', None or a normalizer, got {choice!r}."
        )
    return check_normalizer(who, choice)


def changed_classes(normalizer: Normalizer | None, labels: Sequence[ArraySpec]) -> str:
    """Return which labels a normalizer spoils, in words; empty if none.

    Classes and probabilities mean nothing once they are normalized. Only pixels that
    are scaled to what ``xent`` takes, as images that are labels, do.

    Parameters
    ----------
    normalizer : Normalizer or None
    labels : sequence of ArraySpec
        What the labels of each output are.
    """
    if normalizer is None or not normalizer.is_fit_label:
        return ""
    learns = isinstance(normalizer, LearnedNormalizer)
    for index, spec in enumerate(labels):
        rule = spec.rule
        if rule is None or not rule.tells_classes:
            continue
        is_fine = rule.loss == "xent" and not learns
        if normalizer.changes_labels(index) and not is_fine:
            which = indexed("labels", index, len(labels))
            return f"{which} of the loss {rule.loss!r}"
    return ""


def warn_of_changed_classes(
    read_from: str, normalizer: Normalizer | None, labels: Sequence[ArraySpec]
) -> None:
    """Warn that the normalizer in a file changes classes or probabilities."""
    changed = changed_classes(normalizer, labels)
    if changed:
        warnings.warn(
            f"{read_from}: its {type(normalizer).__name__} changes {changed}, which "
            "are classes or probabilities, so outputs are neither. Give the network a "
            "normalizer without fit_label before training.",
            stacklevel=3,
        )


def check_classes_kept(
    who: str, normalizer: Normalizer | None, labels: Sequence[ArraySpec]
) -> None:
    """Refuse a normalizer that changes classes or probabilities.

    Parameters
    ----------
    who : str
        For messages.
    normalizer, labels
        See :func:`changed_classes`.

    Raises
    ------
    OptionError
        With the loss.
    """
    changed = changed_classes(normalizer, labels)
    if changed:
        raise OptionError(
            f"{who}: normalizer must leave {changed} as they are, which are classes or "
            f"probabilities, got a {type(normalizer).__name__} that changes them. "
            "Normalize labels for regression only: leave out fit_label."
        )


def fitted_normalizer(
    who: str, own: Normalizer | None, choice: Any
) -> Normalizer | None:
    """Return the normalizer of a prediction, which must be fitted.

    Raises
    ------
    OptionError
        If the choice is nothing of the kind, or has learnt nothing yet.
    """
    normalizer = chosen_normalizer(who, own, choice)
    if normalizer is not None and not normalizer.is_fitted:
        raise OptionError(
            f"{who}: normalizer must be fitted before it is used, got a "
            f"{type(normalizer).__name__} that is not. Call fit."
        )
    return normalizer


def settle_axis(
    who: str,
    normalizer: Normalizer,
    inputs: Sequence[ArraySpec],
    outputs: Sequence[ArraySpec],
) -> None:
    """Let a normalizer that was told no axis learn along that of the features.

    One that has learnt along another axis already is warned of: each time step, or row
    of pixels, is then changed by its own mean.

    Parameters
    ----------
    who : str
        For messages.
    normalizer : Normalizer
    inputs, outputs : sequence of ArraySpec
        What it is to normalize.

    Raises
    ------
    OptionError
        If inputs and outputs have their features along different axes.
    """
    if not isinstance(normalizer, LearnedNormalizer) or normalizer.is_axis_given:
        return
    axes = _axes(normalizer, "features", inputs)
    if normalizer.needs_labels:
        axes |= _axes(normalizer, "labels", outputs)
    if len(axes) > 1:
        raise OptionError(
            f"{who}: what a {type(normalizer).__name__} changes must have its "
            "features along one axis, got both 1 and -1 by the network's data formats. "
            "Use formats that agree."
        )
    (axis,) = axes or {normalizer.feature_axis}
    if not normalizer.is_fitted:
        normalizer.feature_axis = axis
    elif axis != normalizer.feature_axis:
        warnings.warn(
            f"{who}: {type(normalizer).__name__} was fitted along axis "
            f"{normalizer.feature_axis}, and the network has its features along axis "
            f"{axis}. Give feature_axis={axis} before it is fitted, or let the "
            "network fit it.",
            stacklevel=3,
        )


def _axes(
    normalizer: LearnedNormalizer, group: Group, specs: Sequence[ArraySpec]
) -> set[int]:
    """Return the axes of features in normalized arrays; rows have one axis only."""
    return {
        feature_axis(spec.type)
        for index, spec in enumerate(specs)
        if len(spec.type.border_shape) > 1
        and normalizer.strategy(group, index) is not None
    }


def check_class_names(
    who: str, names: Sequence[str], n_out: int | None
) -> tuple[str, ...]:
    """Return names of classes, or refuse them.

    Parameters
    ----------
    who : str
        For messages.
    names : sequence of str
    n_out : int or None
        Of the output; one number tells two classes. None where data decide it.

    Raises
    ------
    OptionError
        If there is not one name a class, or one stands there twice.
    """
    given = None if isinstance(names, str) else tuple(names)
    if given is None or not all(isinstance(name, str) for name in given):
        raise OptionError(f"{who}: class_names must be texts in a list, got {names!r}.")
    n_classes = len(given) if n_out is None else max(n_out, 2)
    if len(given) != n_classes or len(set(given)) != n_classes:
        raise OptionError(
            f"{who}: class_names must be {n_classes} different names, one a class, got "
            f"{len(given)}, of which {len(set(given))} differ."
        )
    return given

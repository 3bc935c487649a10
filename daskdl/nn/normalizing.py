"""Which normalizer a call of a network uses, and what classes are called."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from daskdl.checks import check_type
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import OptionError

__all__ = ["NormalizerChoice", "check_class_names", "check_normalizer", "chosen"]
__all__ += ["usable"]

NormalizerChoice: TypeAlias = Normalizer | Literal["own"] | None
"""The network's own, another one, or None for data that are normalized already."""


def check_normalizer(who: str, normalizer: Any) -> Normalizer | None:
    """Refuse what is no normalizer.

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


def chosen(who: str, own: Normalizer | None, choice: Any) -> Normalizer | None:
    """Return the normalizer that is meant.

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


def usable(who: str, own: Normalizer | None, choice: Any) -> Normalizer | None:
    """Return the normalizer that is meant, for data that are to be predicted.

    Raises
    ------
    OptionError
        If the choice is nothing of the kind, or has learnt nothing yet.
    """
    normalizer = chosen(who, own, choice)
    if normalizer is not None and not normalizer.is_fitted:
        raise OptionError(
            f"{who}: normalizer must be fitted before it is used, got a "
            f"{type(normalizer).__name__} that is not. Call fit."
        )
    return normalizer


def check_class_names(
    who: str, names: Sequence[str] | None, n_out: int
) -> tuple[str, ...] | None:
    """Return names of classes, or refuse them.

    Parameters
    ----------
    who : str
        For messages.
    names : sequence of str, or None
    n_out : int
        Of the output; one number tells two classes.

    Raises
    ------
    OptionError
        If there is not one name a class, or one stands there twice.
    """
    if names is None:
        return None
    given = None if isinstance(names, str) else tuple(names)
    if given is None or not all(isinstance(name, str) for name in given):
        raise OptionError(f"{who}: class_names must be texts in a list, got {names!r}.")
    n_classes = max(n_out, 2)
    if len(given) != n_classes or len(set(given)) != n_classes:
        raise OptionError(
            f"{who}: class_names must be {n_classes} different names, one a class, got "
            f"{len(given)}, of which {len(set(given))} differ."
        )
    return given

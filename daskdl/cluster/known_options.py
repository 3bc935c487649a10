"""Constructors that name what they do not know, instead of Python's TypeError."""

import inspect
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from daskdl.checks import as_known, did_you_mean
from daskdl.cluster.dl4j_names import named
from daskdl.errors import OptionError

__all__ = ["KnownOptions", "refusal_of"]

K = TypeVar("K", bound="KnownOptions")


class KnownOptions:
    """The base of classes whose options DL4J's programs give by its names.

    Attributes
    ----------
    classes_of_dl4j : tuple of str
        Whose names are answered by name.
    """

    classes_of_dl4j: ClassVar[tuple[str, ...]] = ()

    def __new__(cls: type[K], *positional: Any, **options: Any) -> K:
        """Refuse options that the constructor would not take.

        Raises
        ------
        OptionError
            If there are too many without a name, or a name is none of its own.
        """
        parameters = inspect.signature(cls.__init__).parameters.values()
        _check_positional(cls, positional, [*parameters][1:])
        known = [one.name for one in parameters][1:]
        for name in options:
            if name not in known:
                raise refusal_of(cls.__name__, name, known, cls.classes_of_dl4j)
        return super().__new__(cls)


def refusal_of(
    who: str, name: str, known: Iterable[str], classes: Iterable[str]
) -> OptionError:
    """Return the error for an option that is none of `known`.

    Parameters
    ----------
    who : str
        Whose option it was to be.
    name : str
    known : iterable of str
        The options that there are.
    classes : iterable of str
        Of DL4J, which may have it.
    """
    known = list(known)
    dl4j = named(name, *classes)
    found = as_known(name, known) if dl4j is None or not dl4j.here else dl4j.here
    if found in known:
        return OptionError(f"{who}: {found} must be written so, got {name!r}.")
    if dl4j is None:
        return OptionError(
            f"{who}: options must be among {', '.join(known)}, got {name!r}."
            f"{did_you_mean(name, known)}"
        )
    owner = " and ".join(dl4j.of)
    if dl4j.here:
        return OptionError(
            f"{who}: options must be its own, got {name!r}, which is one of {owner}."
        )
    return OptionError(
        f"{who}: options must be its own, got {name!r} of DL4J's {owner}. "
        f"{dl4j.instead.replace('`', '')}."
    )


def _check_positional(
    cls: type, given: tuple[Any, ...], parameters: list[inspect.Parameter]
) -> None:
    taken = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    if len(given) > len(taken):
        behind = f"{', '.join(taken)}, and options" if taken else "options"
        raise OptionError(
            f"{cls.__name__}: must be called with {behind} by name, got {len(given)} "
            "arguments without one."
        )

"""Names of classes that are stored with their numbers, and whether they agree.

Spark's StringIndexer numbers the classes of a column by how often they come. Fitted
anew on other rows it gives the same classes other numbers, which nothing but the stored
names tells.
"""

from collections.abc import Iterable, Sequence

from daskdl.errors import DataError

__all__ = ["agreed_names", "check_numbers_of_names"]

_ADVICE = (
    "Number the classes once, in Spark with one StringIndexer that is fitted on the "
    "training data, and use these numbers everywhere."
)


def agreed_names(
    named: Iterable[tuple[str, Sequence[str] | None]],
) -> tuple[str, ...] | None:
    """Return the names of classes that several parts of data have.

    Parameters
    ----------
    named : iterable of (str, sequence of str or None)
        What messages call each part, and the names in the order of their numbers; None
        where nothing is stored.

    Returns
    -------
    tuple of str, or None
        The longest, since a part may leave out the last classes; None if no part has
        any.

    Raises
    ------
    DataError
        If two parts have different names for a number.
    """
    found: tuple[str, ...] = ()
    whose = ""
    for who, names in named:
        if names is None:
            continue
        for number, (name, other) in enumerate(zip(names, found, strict=False)):
            if name != other:
                raise DataError(
                    f"{who}: class {number} must be {other!r}, as in {whose}, got "
                    f"{name!r}. {_ADVICE}"
                )
        if len(names) > len(found):
            found, whose = tuple(names), who
    return found or None


def check_numbers_of_names(
    who: str, names: Sequence[str], expected: Sequence[str]
) -> None:
    """Refuse names that have other numbers than a network knows them by.

    A network may call its classes otherwise than the data do, so that names which only
    one of them has are no mistake.

    Parameters
    ----------
    who : str
        What messages call the data.
    names : sequence of str
        Of the data.
    expected : sequence of str
        Of the network.

    Raises
    ------
    DataError
        With the first such name.
    """
    numbers = {name: number for number, name in enumerate(expected)}
    for number, name in enumerate(names):
        if numbers.get(name, number) != number:
            raise DataError(
                f"{who}: class {name!r} must have the number {numbers[name]}, as in "
                f"the network, got {number}. {_ADVICE}"
            )

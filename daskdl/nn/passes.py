"""Passes over data in this process, each of which is checked once."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pairs import is_features, is_pair
from daskdl.nn.batches import Batch, minibatches

Check: TypeAlias = Callable[[str, Batch], None]
"""Refuses a batch that holds what cannot be used; its name comes first."""


def passes_over(
    who: str, data: Any, batch_size: int | None, check: Check
) -> Callable[[], Iterator[Batch]]:
    """Return a function that begins a pass over minibatches, each checked once.

    Data in memory are looked at now, before anything is done with them. All others are
    while they are first read, since to read them once more may take as long as to train
    on them; what they give in later passes is not looked at.

    Parameters
    ----------
    who : str
        Named in errors.
    data, batch_size
        See :func:`daskdl.nn.batches.minibatches`.
    check : callable

    Raises
    ------
    DataError, OptionError
        As `check` and :func:`daskdl.nn.batches.minibatches` do.
    """
    if is_single(data):
        for batch in minibatches(who, data, None):
            check(who, batch)
        return partial(minibatches, who, data, batch_size)
    if isinstance(data, list | tuple):
        for _ in _checked(who, minibatches(who, data, None), check):
            pass
        return partial(minibatches, who, data, batch_size)
    numbers = count()

    def begin() -> Iterator[Batch]:
        batches = minibatches(who, data, batch_size)
        return batches if next(numbers) else _checked(who, batches, check)

    return begin


def is_single(data: Any) -> bool:
    """Return whether data are one data set or arrays, and not several."""
    is_set = isinstance(data, DataSet | MultiDataSet)
    return is_set or is_pair(data) or is_features(data)


def is_in_memory(data: Any) -> bool:
    """Return whether all minibatches are in memory."""
    return is_single(data) or isinstance(data, list | tuple)


def _checked(who: str, batches: Iterable[Batch], check: Check) -> Iterator[Batch]:
    for number, batch in enumerate(batches):
        check(f"{who}: {type(batch).__name__} {number}", batch)
        yield batch

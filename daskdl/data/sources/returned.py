"""Predictions that come back as the kind that the data are, if it lives elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, opened_by

__all__ = ["OutputColumn", "Returned", "returned_for"]


@dataclass(frozen=True)
class OutputColumn:
    """The column of a predictions file that holds an output of the network.

    Parameters
    ----------
    name : str
    shape : tuple of int
        Of the output of one example; -1 for a size that the data decide.
    dtype : str
        Of the network's outputs.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str


class Returned(Protocol):
    """How predictions come back; made before anything is predicted.

    Attributes
    ----------
    data : object
        What to predict in place of the user's data.
    options : SourceOptions
        How to read it.
    key : str
        Name of the column of keys in the predictions.
    output : str
        Where the predictions are to be written.
    """

    data: Any
    options: SourceOptions
    key: str
    output: str

    def bring(self, columns: Sequence[OutputColumn]) -> Any:
        """Return what was written at `output` in the kind of the user's data."""


def returned_for(data: Any, options: SourceOptions) -> Returned | None:
    """Ask the opener of the data how predictions come back; None if as pairs.

    Raises
    ------
    OptionError
        If no source accepts the data.
    """
    if isinstance(data, Source):
        return None
    ask = getattr(opened_by(data), "returned", None)
    return None if ask is None else ask(data, options)

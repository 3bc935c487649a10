"""The base class of evaluations: count, merge, report, and go to a file."""

import os
from abc import ABC, abstractmethod
from typing import Any, TypeVar

from daskdl.checks import did_you_mean
from daskdl.data.texts import read_text, write_text
from daskdl.errors import FormatError, OptionError

E = TypeVar("E", bound="Evaluable")


class Evaluable(ABC):
    """Counts over labels and predictions; two of the same class can be merged.

    Evaluations are picklable, so that a worker can return one. Merging is associative
    and does not depend on the order, except for the rounding of sums.
    """

    #: Names of single numbers that :meth:`score_for_metric` knows, as DL4J spells them.
    METRICS: tuple[str, ...] = ()

    @abstractmethod
    def eval(self, labels: Any, predictions: Any, mask: Any = None) -> None:
        """Count a batch; see :func:`daskdl.evaluation.rows.unmasked_rows` for shapes.

        Raises
        ------
        ShapeError
            When labels, predictions, mask and earlier batches do not go together.
        DataError
            When a label or a prediction that counts is NaN.
        """

    @abstractmethod
    def merge(self, other: "Evaluable") -> None:
        """Add the counts of another evaluation, which is not changed.

        Raises
        ------
        OptionError
            When the other one is of another class.
        ShapeError
            When it has another number of outputs.
        """

    @abstractmethod
    def new_instance(self) -> "Evaluable":
        """Return an evaluation with the same options and no data."""

    @abstractmethod
    def stats(self) -> str:
        """Return the report that DL4J prints."""

    @abstractmethod
    def to_json(self) -> str:
        """Return DL4J's JSON."""

    @classmethod
    @abstractmethod
    def from_json(cls: type[E], text: str) -> E:
        """Return the evaluation that :meth:`to_json` or DL4J wrote.

        Raises
        ------
        FormatError
            When the text is no such JSON or holds impossible values.
        """

    def save(
        self,
        path_or_url: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Write the JSON of :meth:`to_json` to a file, which appears when it is whole.

        Parameters
        ----------
        path_or_url : str or path
            Anything that fsspec opens: plain paths, ``file://``, ``hdfs://``, ...
        overwrite : bool
            Replace what is there.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        OutputExistsError
            If there is a file and `overwrite` is False.
        OutputError
            If the store does not take it.
        """
        write_text(
            path_or_url,
            self.to_json(),
            overwrite=overwrite,
            storage_options=storage_options,
        )

    @classmethod
    def load(
        cls: type[E],
        path_or_url: str | os.PathLike[str],
        *,
        storage_options: dict[str, Any] | None = None,
    ) -> E:
        """Read the file of :meth:`save`, or DL4J's JSON, of an evaluation like this.

        Parameters
        ----------
        path_or_url : str or path
            Anything that fsspec opens.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        SourceNotFoundError
            If there is no file.
        FormatError
            If it holds something else, or an evaluation of another class.
        DataError
            If it is no text.
        """
        text = read_text(path_or_url, storage_options=storage_options)
        try:
            return cls.from_json(text)
        except FormatError as error:
            raise FormatError(f"{path_or_url}: {error}") from error

    @abstractmethod
    def score_for_metric(self, metric: str) -> float:
        """Return a metric by its DL4J name, in any case: ``F1``, ``mse``, ...

        Raises
        ------
        OptionError
            When the name is not in ``METRICS``.
        """

    def _check_metric(self, metric: str) -> str:
        name = metric.upper()
        if name not in self.METRICS:
            raise OptionError(
                f"{type(self).__name__}: metric must be one of "
                f"{', '.join(self.METRICS)}, got {metric!r}."
                f"{did_you_mean(name, self.METRICS)}"
            )
        return name

    def _of_same_class(self: E, other: "Evaluable") -> E:
        """Return `other`, which must be of this class."""
        if not isinstance(other, type(self)) or type(other) is not type(self):
            raise OptionError(
                f"{type(self).__name__}: only another {type(self).__name__} can be "
                f"merged, got {type(other).__name__}."
            )
        return other

    def __repr__(self) -> str:
        return self.stats()


def evaluations_of(who: str, given: Any) -> list[Evaluable]:
    """Return one evaluation or several as a list.

    Raises
    ------
    OptionError
        If one is none.
    """
    several = isinstance(given, list | tuple)
    for one in given if several else (given,):
        if not isinstance(one, Evaluable):
            is_class = isinstance(one, type)
            got = one.__name__ if is_class else type(one).__name__
            raise OptionError(
                f"{who}: evaluations must be evaluations, such as daskdl.Evaluation(), "
                f"got {got}.{f' Make one: {got}().' if is_class else ''}"
            )
    return list(given) if several else [given]

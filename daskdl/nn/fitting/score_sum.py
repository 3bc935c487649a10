"""The sum of an epoch's scores, of which some may still be on a device."""

from typing import SupportsFloat

# A device is not waited for more often.
_MOST_WAITED_FOR = 256


class ScoreSum:
    """A sum of scores, each times its examples.

    Parameters
    ----------
    total : float
        Of those before.
    """

    def __init__(self, total: float = 0.0) -> None:
        self._total = total
        self._late: list[tuple[SupportsFloat, int]] = []

    def add(self, score: SupportsFloat, examples: int) -> None:
        """Add the score of a minibatch of so many examples, without waiting for it.

        Raises
        ------
        DivergedError
            If one of those before is no number.
        """
        if isinstance(score, float):
            self._total += score * examples
            return
        self._late.append((score, examples))
        if len(self._late) == _MOST_WAITED_FOR:
            self._wait()

    @property
    def total(self) -> float:
        """The sum of all.

        Raises
        ------
        DivergedError
            If a score is no number.
        """
        self._wait()
        return self._total

    def _wait(self) -> None:
        late, self._late = self._late, []
        for score, examples in late:
            self._total += float(score) * examples

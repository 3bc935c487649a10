"""The score of the last minibatch: a number, that says so where it is called."""

from typing import Any, NoReturn

from daskdl.errors import OptionError


class LastScore:
    """The attribute `score` of networks.

    In DL4J ``score`` is a method; who calls the number gets told what to call instead.
    """

    def __get__(self, network: Any, owner: type | None = None) -> float:
        """Return the score of `network`; of its class, this itself."""
        return self if network is None else vars(network)["score"]  # type: ignore[return-value]

    def __set__(self, network: Any, score: float) -> None:
        """Keep a score."""
        vars(network)["score"] = _Score(score)


class _Score(float):
    def __call__(self, *data: Any, **how: Any) -> NoReturn:
        """Refuse to be called."""
        raise OptionError(
            "Network.score: is the score of the last minibatch, a number, and must not "
            "be called. compute_score(data) returns that of data."
        )

    def __reduce__(self) -> Any:
        """Travel as the number that it is."""
        return float, (float(self),)

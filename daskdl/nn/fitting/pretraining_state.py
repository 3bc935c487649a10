"""Where layers in pretraining stand: what a checkpoint holds beside the network.

All of it is plain values and arrays. Nothing is read or written here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskdl.arrays.namespace import FloatArray, to_host

if TYPE_CHECKING:
    from daskdl.nn.pretraining import Pretraining

__all__ = ["PretrainingState"]


@dataclass(frozen=True, kw_only=True)
class PretrainingState:
    """What layers have come to, beside their parameters.

    Parameters
    ----------
    number : int
        Of the layer that learns, in the order of the run, from 0.
    counts : mapping of str to (int, int)
        Iterations and epochs of each layer that has learnt, by its name.
    updater_states : mapping of str to ndarray of shape (n_state,), float
        Likewise, in main memory.
    """

    number: int
    counts: Mapping[str, tuple[int, int]]
    updater_states: Mapping[str, FloatArray]

    @classmethod
    def of(cls, pretraining: "Pretraining", number: int) -> "PretrainingState":
        """Return copies of what the layers of a network have come to.

        Parameters
        ----------
        pretraining : Pretraining
        number : int
            Of the layer that learns.
        """
        # Of those that were pretrained before the run, too: they may learn again.
        begun = [one for one in pretraining.known if one.iteration_count]
        return cls(
            number=number,
            counts={one.name: (one.iteration_count, one.epoch_count) for one in begun},
            updater_states={
                one.name: to_host(one.updater_state).copy() for one in begun
            },
        )

    def restore(self, who: str, pretraining: "Pretraining") -> None:
        """Let the layers of a network stand there, and others at their beginning.

        Parameters
        ----------
        who : str
            Named in errors.
        pretraining : Pretraining

        Raises
        ------
        OptionError
            If one of these layers is not there.
        """
        for layer in pretraining.known:
            layer.begin_anew()
        for name, (iteration_count, epoch_count) in self.counts.items():
            pretraining.layer(who, name).stand_at(
                self.updater_states[name],
                iteration_count=iteration_count,
                epoch_count=epoch_count,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of all but the arrays."""
        return {"number": self.number, "counts": dict(self.counts)}

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], updater_states: Mapping[str, FloatArray]
    ) -> "PretrainingState":
        """Return the state of which :meth:`to_dict` made plain values.

        Parameters
        ----------
        values : mapping
            May have gone through JSON.
        updater_states : mapping of str to ndarray of shape (n_state,), float

        Raises
        ------
        KeyError, TypeError, ValueError
            If they are none.
        """
        counts = {
            name: (iteration_count, epoch_count)
            for name, (iteration_count, epoch_count) in values["counts"].items()
        }
        if counts.keys() != updater_states.keys():
            raise ValueError(f"updater states of {sorted(updater_states)} alone")
        return cls(
            number=values["number"], counts=counts, updater_states=updater_states
        )

"""The state of a run beside its network: where it stands, and what it was begun with.

All of it is plain values, which a checkpoint stores. Nothing is read or written here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import zip_longest
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.data.plan import Minibatch
from daskdl.data.room import LEAST_ROOM, Room
from daskdl.data.sources.partition import Source
from daskdl.errors import FormatError, OptionError
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.fitting.pretraining_state import PretrainingState

__all__ = ["DataFingerprint", "RunPlan", "RunPosition", "RunState"]


@dataclass(frozen=True, kw_only=True)
class RunPosition:
    """Where the training of a run stands.

    Parameters
    ----------
    epoch : int
        Epochs of the run that are whole.
    positions : tuple of int
        Of the epoch that follows: how many minibatches of its share each worker has
        trained, in the order of ranks. Empty at its beginning.
    room : Room
        With which those shares were made; it decides the order of data that memory does
        not hold.
    left : tuple of tuple of int
        Numbers of the minibatches that each worker has left, where they are not the
        rest of those shares, as work was moved or dealt again.
    """

    epoch: int = 0
    positions: tuple[int, ...] = ()
    room: Room = LEAST_ROOM
    left: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class DataFingerprint:
    """What shows that data are those that a run was begun with.

    Parameters
    ----------
    examples, minibatches : int or None
        Of an epoch; None where only the end of the data tells.
    partitions : tuple of (str, int)
        Name and number of rows of each; empty for arrays that are trained as they are.
    """

    examples: int | None = None
    minibatches: int | None = None
    partitions: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(
        cls, source: Source, minibatches: tuple[Minibatch, ...]
    ) -> "DataFingerprint":
        """Return the fingerprint of a source that was cut into minibatches."""
        rows = [0] * len(source.partitions)
        for minibatch in minibatches:
            for piece in minibatch.pieces:
                rows[piece.partition] = max(rows[piece.partition], piece.stop)
        names = [partition.name for partition in source.partitions]
        return cls(
            examples=sum(rows),
            minibatches=len(minibatches),
            partitions=tuple(zip(names, rows, strict=True)),
        )

    def difference(self, now: "DataFingerprint") -> tuple[Any, Any] | None:
        """Return the first difference in words, before and now; None if there is none.

        Partitions are compared where both have some.
        """
        for what in ("examples", "minibatches"):
            before, after = getattr(self, what), getattr(now, what)
            if before != after and None not in (before, after):
                return f"{before} {what}", f"{after}"
        if not (self.partitions and now.partitions):
            return None
        for (name, rows), (name_now, rows_now) in zip(
            self.partitions, now.partitions, strict=False
        ):
            if (name, rows) != (name_now, rows_now):
                return f"{name} with {rows} rows", f"{name_now} with {rows_now}"
        counts = len(self.partitions), len(now.partitions)
        return (
            None if counts[0] == counts[1] else (f"{counts[0]} parts", f"{counts[1]}")
        )


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What a fit must have in common with the run that it goes on.

    Parameters
    ----------
    seed : int
        Of the network.
    shuffle : bool
    batch_size : int or None
    normalizer : str or None
        Class of what the minibatches go through.
    master : str or None
        The training master and those of its options that change what is learnt; None in
        one process.
    layers : tuple of str
        Names of those that are pretrained, in their order; none where the network is
        trained.
    epochs : int or None
        Of each of these layers. None of a fit, which may go on for more of them.
    data : DataFingerprint
    """

    seed: int = 0
    shuffle: bool = False
    batch_size: int | None = None
    normalizer: str | None = None
    master: str | None = None
    layers: tuple[str, ...] = ()
    epochs: int | None = None
    data: DataFingerprint = DataFingerprint()

    def check_goes_on(self, who: str, path: str, run: "RunPlan") -> None:
        """Refuse to go on a run that was begun otherwise.

        Parameters
        ----------
        who, path : str
            For messages: the call, and the checkpoint.
        run : RunPlan
            Of the checkpoint.

        Raises
        ------
        OptionError
            Over the first difference, which it names.
        """
        for one in fields(self):
            before, now = getattr(run, one.name), getattr(self, one.name)
            if one.name == "data":
                difference = run.data.difference(self.data)
                before, now = difference or (None, None)
            if before != now:
                raise OptionError(
                    f"{who}: resume must go on with the {one.name} of the run, "
                    f"{_told(before)}, got {_told(now)}. ({path})"
                )


@dataclass(frozen=True, kw_only=True)
class RunState:
    """What a checkpoint of a run holds beside the network.

    Parameters
    ----------
    plan : RunPlan
        What the run was begun with.
    position : RunPosition
    workers : int
        That trained; 0 in one process.
    iteration : int
        Minibatches trained since the run began.
    examples, score_sum : int, float
        Of the epoch that is not whole: its examples so far, the sum of their scores.
    is_stopped : bool
        Whether a listener ended the run.
    threshold : float
        Where the threshold of gradient sharing stands; NaN without one.
    report : FitReport
        Of the run so far.
    listeners : tuple of (str, mapping)
        Class and kept state of each listener. Values are arrays, or as JSON has them.
    members : tuple of mapping of str to object
        Of each worker by rank: what it alone has, such as a residual. Values are
        arrays, or as JSON has them.
    pretraining : PretrainingState or None
        Where layers stand; then the rest but the plan is of the one that learns.
    """

    plan: RunPlan
    position: RunPosition
    workers: int = 0
    iteration: int = 0
    examples: int = 0
    score_sum: float = 0.0
    is_stopped: bool = False
    threshold: float = float("nan")
    report: FitReport = field(default_factory=FitReport)
    listeners: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    members: tuple[Mapping[str, Any], ...] = ()
    pretraining: PretrainingState | None = None

    @property
    def arrays(self) -> tuple[dict[str, FloatArray], ...]:
        """The arrays of each worker by rank, and of each listener behind them.

        Last the updater states of layers in pretraining, by their names.
        """
        layers = self.pretraining
        last = () if layers is None else (layers.updater_states,)
        kept = (state for _, state in self.listeners)
        all_of_them = (*self.members, *kept, *last)
        return tuple(_part(one, are_arrays=True) for one in all_of_them)

    def has_ended(self, epochs: int) -> bool:
        """Tell whether the network, or the layer that learns, has nothing left."""
        return self.is_stopped or self.position.epoch >= epochs

    def is_complete(self, epochs: int) -> bool:
        """Tell whether nothing is left to train of a run of so many epochs."""
        layers = self.pretraining
        is_last = layers is None or layers.number + 1 == len(self.plan.layers)
        return is_last and self.has_ended(epochs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of all but the arrays."""
        # Not by asdict, which would copy the arrays.
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            **values,
            "members": tuple(_part(one, are_arrays=False) for one in self.members),
            "listeners": tuple(
                (name, _part(state, are_arrays=False)) for name, state in self.listeners
            ),
            "plan": asdict(self.plan),
            "position": asdict(self.position),
            "report": asdict(self.report),
            "pretraining": self.pretraining and self.pretraining.to_dict(),
        }

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], arrays: tuple[Mapping[str, FloatArray], ...]
    ) -> "RunState":
        """Return the state of which :meth:`to_dict` made plain values.

        Parameters
        ----------
        values : mapping
            May have gone through JSON.
        arrays : tuple of mapping of str to ndarray of any shape
            As :attr:`arrays` are.

        Raises
        ------
        FormatError
            If they are none.
        """
        try:
            plan, position = dict(values["plan"]), dict(values["position"])
            data = dict(plan["data"])
            data["partitions"] = tuple(
                (name, rows) for name, rows in data["partitions"]
            )
            plan["data"] = DataFingerprint(**data)
            plan["layers"] = tuple(plan.get("layers", ()))
            position["positions"] = tuple(position["positions"])
            position["room"] = Room(**position["room"])
            position["left"] = tuple(map(tuple, position.get("left", ())))
            # Checkpoints of earlier versions have members without plain values.
            members = values.get("members", [{}] * len(arrays))
            names = [name for name, _ in values["listeners"]]
            kept = [state for _, state in values["listeners"]]
            last = len(members) + len(kept)
            joined = _joined([*members, *kept], arrays[:last])
            changes = {
                "plan": RunPlan(**plan),
                "position": RunPosition(**position),
                "report": FitReport.from_dict(values["report"]),
                "listeners": tuple(zip(names, joined[len(members) :], strict=True)),
                "members": joined[: len(members)],
                "pretraining": _pretraining(values.get("pretraining"), arrays[last:]),
            }
            return cls(**{**values, **changes})
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"run: must be the state of a run, got values without it: {error!r}. "
                "A newer file needs a newer daskdl."
            ) from error


def _part(member: Mapping[str, Any], *, are_arrays: bool) -> dict[str, Any]:
    return {
        name: value
        for name, value in member.items()
        if isinstance(value, np.ndarray) == are_arrays
    }


def _joined(
    plain: Sequence[Mapping[str, Any]], arrays: Sequence[Mapping[str, FloatArray]]
) -> tuple[Mapping[str, Any], ...]:
    nothing: Mapping[str, Any] = {}
    pairs = zip_longest(plain, arrays, fillvalue=nothing)
    return tuple({**values, **of_rank} for values, of_rank in pairs)


def _pretraining(
    plain: Mapping[str, Any] | None, arrays: Sequence[Mapping[str, FloatArray]]
) -> PretrainingState | None:
    if plain is None:
        if arrays:
            raise ValueError("arrays of nobody")
        return None
    # None at all before the first layer has learnt.
    (own,) = arrays or [{}]
    return PretrainingState.from_dict(plain, own)


def _told(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)

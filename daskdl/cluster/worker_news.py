"""What a fit is told of its workers: who went, who was left out, what they measured."""

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from daskdl.cluster.membership import LostMember
from daskdl.cluster.reports import LeftOut
from daskdl.cluster.session_members import SessionMembers
from daskdl.nn.fitting.events import (
    ResidualMeasured,
    SpansMeasured,
    WorkerLeftOut,
    WorkerLost,
    WorkersJoined,
    WorkersRejoined,
)
from daskdl.nn.fitting.fit import Fit


class WorkerNews:
    """Tells a fit of the members of its session.

    Parameters
    ----------
    members : SessionMembers
    fit : Fit
        Whose clock runs.
    """

    def __init__(self, members: SessionMembers, fit: Fit) -> None:
        self._members = members
        self._fit = fit
        self._clock_s: float | None = None
        self._noticed: dict[int, float] = {}
        self._untold: set[int] = set()
        self._judged: set[int] = set()  # told, or known when all went the last time

    def notice(self, rank: int) -> None:
        """Note when a member went."""
        self._noticed[rank] = self._fit.time_s

    def will_tell(self, rank: int) -> None:
        """Note that it is to be told once it is known what the member left."""
        self._untold.add(rank)

    def tell_lost(self, lost_members: Iterable[LostMember], epoch: int) -> None:
        """Tell which members went in an epoch, and what they left."""
        for lost in lost_members:
            self._untold.discard(lost.rank)
            self._judged.add(lost.rank)
            address = self._members.address_of(lost.rank)
            self._fit.tell(
                WorkerLost(
                    time_s=self._noticed[lost.rank],
                    epoch=epoch,
                    worker=address,
                    reason=self._members.memory.reason(address),
                    redealt_examples=lost.redealt_examples,
                    repeated_examples=lost.repeated_examples,
                )
            )

    def tell_all_lost(self, epoch: int) -> bool:
        """Tell the rest, when all went; return whether the memory of one was full.

        Also of those that went before they could train, of whom nothing is told.
        """
        gone = map(self._members.address_of, self._noticed.keys() - self._judged)
        is_full = bool(self._members.memory.reason_of_any(gone))
        self._judged |= self._noticed.keys()
        self.tell_lost([LostMember(r, (), 0) for r in sorted(self._untold)], epoch)
        return is_full

    def reason_of_last(self) -> str:
        """Return in words that memory was nearly full where the last ones went."""
        gone = map(self._members.address_of, reversed(self._noticed))
        return self._members.memory.reason_of_any(gone)

    def tell_joined(self, before: Collection[int], epoch: int) -> None:
        """Tell which members there are that were not there before."""
        there = self._members.addresses.items()
        if joined := [address for rank, address in there if rank not in before]:
            self._fit.tell(
                WorkersJoined(
                    time_s=self._fit.time_s, epoch=epoch, workers=tuple(joined)
                )
            )

    def tell_rejoined(self, epoch: int, repeated_examples: int) -> None:
        """Tell which members go on, where all went, and what is trained again."""
        self._fit.tell(
            WorkersRejoined(
                time_s=self._fit.time_s,
                epoch=epoch,
                workers=tuple(self._members.addresses.values()),
                repeated_examples=repeated_examples,
            )
        )

    def tell_left_out(self, event: LeftOut) -> None:
        """Tell that a worker is there and does not take part."""
        self._fit.tell(
            WorkerLeftOut(
                time_s=self._fit.time_s, worker=event.address, reason=event.reason
            )
        )

    def tell_measured(self, rank: int, values: Mapping[str, Any]) -> None:
        """Tell what a member measured of its residual, and what it did when.

        Parameters
        ----------
        rank : int
        values : mapping
            Of any of its reports.
        """
        worker, now = self._members.address_of(rank), self._fit.time_s
        for one in values.get("measured", ()):
            self._fit.tell(ResidualMeasured(time_s=now, worker=worker, **one))
        if "spans" not in values:
            return
        spans, began_s = dict(values["spans"]), self._began_s()
        start_s, stop_s = (spans.pop(name) - began_s for name in ("start_s", "stop_s"))
        latest = [(at - began_s, name, s) for at, name, s in spans.pop("latest", ())]
        self._fit.tell(
            SpansMeasured(
                time_s=now,
                worker=worker,
                member=rank,
                start_s=start_s,
                stop_s=stop_s,
                latest=tuple(latest),
                **spans,
            )
        )

    def _began_s(self) -> float:
        """Return when the fit began, on the scheduler's clock."""
        if self._clock_s is None:
            offset_s = self._members.clock_offset_s()
            self._clock_s = time.time() + offset_s - self._fit.time_s
        return self._clock_s

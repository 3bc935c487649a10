"""Publishing: a message into every subscriber's outbox, full ones included."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from daskdl.cluster.bus.options import Merge, WhenFull
from daskdl.cluster.bus.outbox import Outbox
from daskdl.cluster.bus.payload import (
    Parcel,
    Payload,
    decode_readonly,
    encode,
)
from daskdl.cluster.bus.peers import Peers
from daskdl.cluster.bus.state import TopicState
from daskdl.errors import BusClosedError, StepTimeoutError

# Long enough for an evaluation or a checkpoint at the other end.
PUBLISH_TIMEOUT_S = 300.0
ON_BLOCK_EVERY_S = 0.02


class Publisher:
    """Numbers messages and hands them out; used by the task's threads.

    Parameters
    ----------
    state : TopicState
        Shared with the event loop.
    peers : Peers
        Whose outboxes are filled.
    wake : callable
        Tells the event loop that there is something to send.
    """

    def __init__(
        self, state: TopicState, peers: Peers, wake: Callable[[], None]
    ) -> None:
        self._state = state
        self._peers = peers
        self._wake = wake
        self._number = 0
        self._has_ended = False
        # Reentrant: on_block may publish. Nothing has been handed out at that point.
        self._turn = threading.RLock()

    def publish(
        self,
        data: Any,
        *,
        to: str | None,
        copy: bool,
        is_whole: bool,
        is_brief: bool,
        timeout_s: float | None,
        on_block: Callable[[], Any] | None,
    ) -> int:
        """Hand `data` to members that receive; see :meth:`Topic.publish`."""
        self._state.check_open()
        payload = encode(data)
        wait_s = PUBLISH_TIMEOUT_S if timeout_s is None else timeout_s
        deadline = time.monotonic() + wait_s
        if not self._turn.acquire(timeout=max(0.0, wait_s)):
            raise self._too_slow(wait_s, "another thread is publishing")
        try:
            when_full = "block" if is_whole else self._state.options.when_full
            waits = when_full == "block" and not self.has_room(payload.nbytes, to)
            if copy and (waits or not self._has_rings):
                # What is called meanwhile may write to its arrays; and the event loop
                # is not to wait for a copy.
                payload, copy = payload.copy(), False
            if waits:
                self._wait_for_room(payload.nbytes, to, deadline, wait_s, on_block)
            return self._hand_out(payload, to, when_full, copy=copy, is_brief=is_brief)
        finally:
            self._turn.release()

    def has_room(self, nbytes: int, to: str | None) -> bool:
        """Return whether nobody need wait to hand out a message of this size."""
        with self._state.changed:
            self._peers.flush()
            boxes = self._outboxes(to).values()
            return self._state.is_closed or all(box.has_room(nbytes) for box in boxes)

    @property
    def _has_rings(self) -> bool:
        with self._state.changed:
            return self._peers.has_rings

    def end(self) -> None:
        """Hand out the last word, once."""
        with self._turn, self._state.changed:
            if self._state.role.sends and not self._has_ended:
                self._has_ended = True
                self._peers.end(Parcel(self._number + 1, self._number + 1, None))
            is_done = self._peers.flush()
        if not is_done:
            self._wake()

    def _outboxes(self, to: str | None) -> dict[str, Outbox]:
        outboxes = self._peers.outboxes()
        if to is None:
            return outboxes
        return {to: outboxes[to]} if to in outboxes else {}

    def _hand_out(
        self,
        payload: Payload,
        to: str | None,
        when_full: WhenFull,
        *,
        copy: bool,
        is_brief: bool,
    ) -> int:
        state = self._state
        merge = when_full if callable(when_full) else None
        merged = {} if merge is None else self._merge_where_full(payload, to, merge)
        with state.changed:
            state.check_open()
            if self._has_ended:
                raise BusClosedError(
                    f"Topic {state.name!r}: publish must come before end()."
                )
            self._number += 1
            parcel = Parcel(self._number, self._number, payload, is_brief)
            for id_, outbox in self._outboxes(to).items():
                if when_full == "drop_oldest":
                    outbox.drop_for(payload.nbytes)
                outbox.put(merged.get(id_, parcel))
            number = self._number
            is_done = self._peers.flush()
            if copy and not is_done:
                own = replace(parcel, payload=payload.copy())
                for outbox in self._outboxes(to).values():
                    outbox.own(parcel, own)
        if not is_done:
            self._wake()
        return number

    def _wait_for_room(
        self,
        nbytes: int,
        to: str | None,
        deadline: float,
        wait_s: float,
        on_block: Callable[[], Any] | None,
    ) -> None:
        changed, inbox = self._state.changed, self._state.inbox
        started = time.monotonic()
        while not self.has_room(nbytes, to):
            arrivals = inbox.arrivals
            if on_block is not None:
                on_block()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self._state.stats.blocked_s += time.monotonic() - started
                raise self._too_slow(wait_s, "a subscriber is not keeping up")
            with changed:
                # Not missed: whoever makes room or delivers needs the lock.
                if not self.has_room(nbytes, to) and inbox.arrivals == arrivals:
                    every_s = (
                        PUBLISH_TIMEOUT_S if on_block is None else ON_BLOCK_EVERY_S
                    )
                    changed.wait(min(left_s, every_s))
        self._state.stats.blocked_s += time.monotonic() - started

    def _merge_where_full(
        self, payload: Payload, to: str | None, merge: Merge
    ) -> dict[str, Parcel]:
        """Empty full queues; return the merged message of each member that had one.

        The merge function runs without the lock. If it fails, nothing has changed.
        """
        taken: dict[str, tuple[Outbox, list[Parcel]]] = {}
        with self._state.changed:
            for id_, outbox in self._outboxes(to).items():
                if not outbox.has_room(payload.nbytes):
                    taken[id_] = (outbox, outbox.take_waiting())
        try:
            merged = self._merge_each(taken, payload, merge)
        except BaseException:
            for outbox, waiting in taken.values():
                outbox.put_back(waiting)
            raise
        self._state.stats.merged += sum(len(waiting) for _, waiting in taken.values())
        return merged

    def _merge_each(
        self,
        taken: dict[str, tuple[Outbox, list[Parcel]]],
        payload: Payload,
        merge: Merge,
    ) -> dict[str, Parcel]:
        # Equally slow subscribers have the same messages waiting: merge these once.
        done: dict[tuple[int, ...], Parcel] = {}
        merged: dict[str, Parcel] = {}
        for id_, (_, waiting) in taken.items():
            key = tuple(id(parcel) for parcel in waiting)
            if key not in done:
                done[key] = self._merge(waiting, payload, merge)
            merged[id_] = done[key]
        return merged

    def _merge(self, waiting: list[Parcel], payload: Payload, merge: Merge) -> Parcel:
        payloads = [parcel.payload for parcel in waiting] + [payload]
        data = [decode_readonly(each) for each in payloads if each is not None]
        first, last = waiting[0].first, self._number + 1
        return Parcel(first, last, encode(merge(data)).copy())

    def _too_slow(self, wait_s: float, reason: str) -> StepTimeoutError:
        return StepTimeoutError(
            f"Topic {self._state.name!r}: publish must find room within {wait_s:g} s; "
            f"{reason}."
        )

"""What members have trained where a fit ends by an error or is interrupted."""

import time

from daskdl.cluster.phase import Phase
from daskdl.cluster.reports import MemberFailed, MemberReport, WorkerGone
from daskdl.cluster.session_members import SessionMembers
from daskdl.errors import StepTimeoutError
from daskdl.training.state import NetworkState

# Whoever presses Ctrl-C does not wait for ever.
WAIT_S = 10.0


def trained_so_far(members: SessionMembers, phase: Phase) -> NetworkState:
    """Return the network behind what members have begun of a phase, which ends there.

    Nobody else hears of it: listeners may be what ended the fit.

    Raises
    ------
    StepTimeoutError
        If they do not end it in time.
    ClusterError
        If nobody is left.
    """
    phase.cut()
    deadline = time.monotonic() + WAIT_S
    while phase.ledger.waiting_for:
        if time.monotonic() > deadline:
            raise StepTimeoutError(
                f"Session: members must end within {WAIT_S:g} s, they did not."
            )
        event = members.next_event()
        if isinstance(event, MemberReport):
            _take(event, phase)
        elif isinstance(event, WorkerGone):
            _lose(event.address, members, phase)
        elif isinstance(event, MemberFailed) and event.rank in members.addresses:
            _lose(members.addresses[event.rank], members, phase)
    return members.snapshot()


def _take(report: MemberReport, phase: Phase) -> None:
    values = report.values
    if report.what == "finished" and values["phase"] == phase.number:
        phase.finished(report.rank, values["trained"], values["positions"])


def _lose(address: str, members: SessionMembers, phase: Phase) -> None:
    rank = members.lose(address)
    if rank is not None:
        phase.lost(rank)

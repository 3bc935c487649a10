"""The checks of ``daskdl doctor --scheduler``: versions, clocks, connections."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distributed.comm import get_address_host_port

from daskdl.checks import some
from daskdl.cli.finding import Finding
from daskdl.cli.versions import versions_here
from daskdl.cluster.calls import Answers, call_each
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.errors import DaskdlError

__all__ = ["CheckedCluster", "check_cluster", "clocks_apart", "opened_cluster"]

_ANSWER_S = 30.0
_CONNECT_S = 3.0
# What two clocks that NTP keeps may be apart; Kerberos takes five minutes.
_MOST_SKEW_S = 1.0
# What is told less closely than this finds no clock that is wrong by seconds.
_MOST_TOLD_S = 10.0


@dataclass(frozen=True)
class CheckedCluster:
    """A cluster that answers, for further checks.

    Attributes
    ----------
    client : distributed.Client
    """

    client: Any

    def on_workers(
        self, function: Callable[..., Any], *given: Any, timeout_s: float = _ANSWER_S
    ) -> Answers:
        """Call a function on each worker, each for itself."""
        asked = dict.fromkeys(self.client.nthreads(), given)
        answers: Answers = self.client.sync(
            call_each, self.client, function, asked, timeout_s
        )
        return answers


@contextlib.contextmanager
def opened_cluster(
    scheduler: str | None,
) -> Iterator[tuple[CheckedCluster | None, list[Finding]]]:
    """Open the cluster of a scheduler.

    Parameters
    ----------
    scheduler : str, optional
        Its address; without one there is nothing to check.

    Yields
    ------
    cluster : CheckedCluster or None
        If it answers, with versions that go together.
    findings : list of Finding
        How that went.
    """
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            yield None, []
            return
        what = f"scheduler {scheduler}"
        try:
            client = stack.enter_context(connect(ClusterOptions(scheduler=scheduler)))
        except DaskdlError as error:
            to_do = "see the message"
            yield None, [Finding(what, str(error), is_ok=False, to_do=to_do)]
            return
        told = f"answers, {len(client.nthreads())} workers, versions go together"
        yield CheckedCluster(client), [Finding(what, told)]


def check_cluster(cluster: CheckedCluster) -> Iterator[Finding]:
    """Compare versions and clocks with those of this process, and try connections."""
    begin_s = time.time()
    answers = cluster.on_workers(_facts)
    scheduler = cluster.client.run_on_scheduler(_facts)
    end_s = time.time()
    facts = {"scheduler": scheduler, **answers.values}
    yield _answering(answers)
    yield _versions(facts)
    clocks = {who: told["time_s"] for who, told in facts.items()}
    yield clocks_apart("clocks of the cluster", clocks, begin_s, end_s)
    yield _connections(cluster)


def clocks_apart(
    what: str, clocks: Mapping[str, float], begin_s: float, end_s: float
) -> Finding:
    """Return a finding on clocks that were read between two moments of this one.

    Parameters
    ----------
    what : str
        Name of the finding.
    clocks : mapping of str to float
        Seconds since the epoch that others read, by their names.
    begin_s, end_s : float
        This clock before and after that.
    """
    # How far each is outside of the time in which it was asked: at least that is wrong.
    apart = {
        who: max(begin_s - read_s, read_s - end_s, 0.0)
        for who, read_s in clocks.items()
    }
    wrong = {who: skew for who, skew in apart.items() if skew > _MOST_SKEW_S}
    if wrong:
        texts = (f"{who} by {skew:,.0f} s" for who, skew in sorted(wrong.items()))
        return Finding(
            what,
            f"differ from this one: {some(texts)}",
            is_ok=False,
            to_do="keep clocks with NTP: logs cannot be compared, and Kerberos refuses "
            "what is five minutes apart",
            is_needed=False,
        )
    asked_s = end_s - begin_s
    told_within_s = _MOST_SKEW_S + asked_s
    if told_within_s > _MOST_TOLD_S:
        return Finding(
            what,
            f"cannot be told more closely than {told_within_s:.1f} s: answers took "
            f"{asked_s:.1f} s",
            is_ok=False,
            to_do="look again when the machines have less to do",
            is_needed=False,
        )
    return Finding(what, f"within {told_within_s:.1f} s of this one", is_needed=False)


def _facts() -> dict[str, Any]:
    return {
        "versions": versions_here(),
        "time_s": time.time(),
        "host": socket.gethostname(),
    }


def _answering(answers: Answers) -> Finding:
    hosts = {told["host"] for told in answers.values.values()}
    bad = [f"{address} is silent" for address in sorted(answers.silent)]
    bad += [f"{address}: {error}" for address, error in sorted(answers.failed.items())]
    return Finding(
        "workers",
        some(bad) or f"{len(answers.values)} answer, on {len(hosts)} hosts",
        is_ok=not bad,
        to_do="restart them",
    )


def _versions(facts: Mapping[str, Mapping[str, Any]]) -> Finding:
    """Tell of all packages that differ; what may not has been refused before this."""
    here = versions_here()
    differing = [
        f"{package} {version or 'none'} on {who}, {here.get(package) or 'none'} here"
        for who, told in facts.items()
        for package, version in told["versions"].items()
        if version != here.get(package)
    ]
    same = ", ".join(f"{package} {version}" for package, version in here.items())
    return Finding(
        "versions of the cluster",
        some(differing) or same,
        is_ok=not differing,
        to_do="install the same ones everywhere",
        is_needed=False,
    )


def _connections(cluster: CheckedCluster) -> Finding:
    """Have each worker open a connection to each other one."""
    addresses = list(cluster.client.nthreads())
    answers = cluster.on_workers(_unreachable, addresses)
    closed = [
        f"{other} from {address}: {reason}"
        for address, found in sorted(answers.values.items())
        for other, reason in found
    ]
    return Finding(
        "connections between workers",
        some(closed) or f"{len(addresses)} workers reach each other",
        is_ok=not closed,
        to_do="start workers with --worker-port 9000:9100 and open those ports; with "
        "several networks name one with --interface",
    )


async def _unreachable(addresses: Iterable[str]) -> list[tuple[str, str]]:
    """Return the addresses that this worker cannot connect to, with the reasons."""
    others = list(addresses)
    reasons = await asyncio.gather(*(_refusal(address) for address in others))
    return [(a, reason) for a, reason in zip(others, reasons, strict=True) if reason]


async def _refusal(address: str) -> str:
    host, port = get_address_host_port(address)
    opening = asyncio.open_connection(host, port)
    try:
        _, writer = await asyncio.wait_for(opening, _CONNECT_S)
    except asyncio.TimeoutError:  # a class of its own before 3.11
        return f"no answer within {_CONNECT_S:g} s"
    except OSError as error:
        return str(error)
    writer.close()
    return ""

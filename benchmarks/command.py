"""Time daskdl and its peers in turns, and print ratios.

Peers that cannot be started are left out, and the reason is printed.
"""

import argparse
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from benchmarks import table
from benchmarks.alone import Alone
from benchmarks.child import Child, PeerError
from benchmarks.clusters import cluster_rows
from benchmarks.coder import coder_rows
from benchmarks.joined import joined, read_report
from benchmarks.machine import quiet_cores
from benchmarks.page import with_table
from benchmarks.peers import (
    JAX,
    LIMIT,
    OTHER,
    OURS,
    PEERS,
    SPARK,
    TORCH,
    Setting,
    Sizes,
    start,
    start_cluster,
)
from benchmarks.picture import svg
from benchmarks.ratios import Clock, best_rates
from benchmarks.report import Failure, Report, command_line
from benchmarks.results import Row, row
from benchmarks.rounds import Pace, measure
from benchmarks.serve.shapes import CODER, JOB, MEMORY, START
from benchmarks.works import (
    CLUSTERS,
    PEAKS,
    Timing,
    cluster_timings,
    names,
    timings,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write what was asked for.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words of the command line; None stands for those of this process.
    """
    options = _parser().parse_args(arguments)
    console = Console()
    earlier = [read_report(path.read_text()) for path in options.join]
    report = measured(
        options.works or ([] if earlier else names()),
        _peers(options),
        _setting(options),
        Pace(options.rounds, options.seconds, options.warm_up),
        command_line(arguments),
        lambda line: console.print(line, style="dim", markup=False, highlight=False),
    )
    # Without works of its own this run says nothing.
    reports = joined([*earlier, report] if report.rows or not earlier else earlier)
    if options.markdown:
        for line in table.markdown(reports):
            console.out(line, highlight=False)
    else:
        table.show(console, reports)
    if options.json is not None:
        options.json.write_text(report.to_json())
    if options.picture is not None:
        options.picture.write_text(svg(reports))
    if options.update is not None:
        page = options.update.read_text()
        options.update.write_text(with_table(page, table.markdown(reports)))


def measured(
    works: Sequence[str],
    peers: Sequence[str],
    setting: Setting,
    pace: Pace,
    command: str,
    tell: Callable[[str], None],
) -> Report:
    """Return the figures of all works.

    Parameters
    ----------
    works, peers : sequence of str
        What, and who; ours must be among the peers.
    setting : Setting
        What the peers have in common.
    pace : Pace
        How long.
    command : str
        For the report.
    tell : callable
        Gets a line now and then.
    """
    compared = [peer for peer in peers if peer != OURS]
    clock: Clock = "cpu" if setting.threads == 1 else "wall"
    report = Report(command, compared, setting.threads, clock, pace)

    taken = [timing for work in works for timing in timings(work)]
    if taken:
        with ExitStack() as stack:
            children = _started(stack, [*peers, LIMIT], setting, report, tell)
            report.peaks |= _peaks(children, report)
            for timing in taken:
                report.rows += _take_turns(report, children, timing, tell)
    # With nobody else in memory.
    alone = Alone(report, setting)
    if START in works:
        tell(START)
        report.rows += alone.start_rows()
    if MEMORY in works:
        tell(MEMORY)
        report.rows += alone.memory_rows(pace.warm_up_s)
    _on_clusters(report, [name for name in CLUSTERS if name in works], setting, tell)
    return report


def _on_clusters(
    report: Report,
    works: Sequence[str],
    setting: Setting,
    tell: Callable[[str], None],
) -> None:
    for work in works:
        tell(f"starting two workers: {work}")
        try:
            with start_cluster(setting) as child:
                report.versions.setdefault(OURS, child.greeting["versions"])
                for timing in cluster_timings(work, setting.sizes.examples):
                    report.rows += _take_turns(report, {OURS: child}, timing, tell)
        except PeerError as error:
            report.failures.append(Failure(OURS, str(error), work))
    if JOB in works and setting.sizes.dl4j_spark is None:
        reason = "is not named by --dl4j-spark or DASKDL_BENCH_DL4J_SPARK"
        report.failures.append(Failure(SPARK, reason, JOB))


def _started(
    stack: ExitStack,
    peers: Sequence[str],
    setting: Setting,
    report: Report,
    tell: Callable[[str], None],
) -> dict[str, Child]:
    children = {}
    for peer in peers:
        tell(f"starting {PEERS[peer].title}")
        try:
            child = stack.enter_context(start(peer, setting, os.environ))
        except PeerError as error:
            report.failures.append(Failure(peer, str(error)))
            continue
        children[peer] = child
        report.versions[peer] = child.greeting["versions"]
    return children


def _peaks(children: dict[str, Child], report: Report) -> dict[str, float]:
    """Return what the machine does at best, in 1e9 a second by unit."""
    if LIMIT not in children:
        return {}
    limits = tuple(PEAKS.values())
    result = measure({LIMIT: children[LIMIT]}, LIMIT, "", report.pace, limits)
    rates = zip(PEAKS, result.turns, strict=True)
    return {
        unit: statistics.median(best_rates(result, [form], report.clock)) / 1e6
        for unit, form in rates
    }


def _take_turns(
    report: Report,
    children: dict[str, Child],
    timing: Timing,
    tell: Callable[[str], None],
) -> Iterator[Row]:
    result = measure(
        children,
        timing.case,
        timing.what,
        report.pace.times(timing.share_of_turn, timing.most_rounds),
        timing.limits,
        tell,
    )
    for peer, reason in result.failures.items():
        report.failures.append(Failure(peer, reason, timing.case, timing.what))
    report.measurements.append(result)
    if timing.case in CLUSTERS:
        yield from cluster_rows(result)
        return
    if timing.case == CODER:
        yield from coder_rows(result, report.clock)
        return
    figures = row(result, report.peers, report.clock, timing.limit)
    if figures is not None:
        yield figures


def _peers(options: argparse.Namespace) -> list[str]:
    peers = [OURS, *(peer for peer in options.peers.split(",") if peer != OURS)]
    if options.against is not None:
        peers.insert(1, OTHER)
    return peers


def _setting(options: argparse.Namespace) -> Setting:
    if options.core is not None:
        cores = frozenset(options.core)
    else:
        cores = frozenset(quiet_cores(options.threads))
    interpreters = {
        peer: path
        for peer in (OURS, TORCH, JAX)
        if (path := getattr(options, f"python_{peer}")) is not None
    }
    spark = options.dl4j_spark
    sizes = Sizes(
        options.minibatches,
        options.data_gb,
        options.examples,
        # Jobs run in folders of their own.
        None if spark is None else os.path.abspath(spark),
    )
    return Setting(options.threads, cores, interpreters, options.against, sizes)


def _work(name: str) -> str:
    if name not in names():
        raise argparse.ArgumentTypeError(f"must be one of {names()}, got {name!r}")
    return name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "works",
        nargs="*",
        metavar="name",
        type=_work,
        help=f"of {', '.join(names())}; default: all",
    )
    compared = [peer for peer in PEERS if peer not in (OTHER, LIMIT)]
    add("--peers", default=",".join(compared), help="default: %(default)s")
    add("--against", metavar="FOLDER", help="another checkout of daskdl, as a peer")
    add("--threads", type=int, default=1, help="of each peer; default: 1")
    add("--rounds", type=int, default=7, help="default: %(default)s")
    add("--seconds", type=float, default=0.3, help="of a turn; default: %(default)s")
    add(
        "--warm-up",
        type=float,
        default=0.5,
        help="seconds in front of the first round; default: %(default)s",
    )
    add(
        "--core",
        type=int,
        action="append",
        help="where all of them run; default: where others do least",
    )
    for peer in (OURS, TORCH, JAX):
        add(f"--python-{peer}", metavar="PATH", help=f"interpreter of {peer}")
    sizes = Sizes()
    add(
        "--minibatches",
        type=int,
        default=sizes.minibatches,
        help="of a worker in a fit of scaling; default: %(default)s",
    )
    add(
        "--data-gb",
        type=float,
        default=sizes.data_gb,
        help="what data reads, in 1e9 bytes; default: %(default)s",
    )
    add(
        "--examples",
        type=int,
        default=sizes.examples,
        help="of an epoch of job; default: %(default)s",
    )
    add(
        "--dl4j-spark",
        metavar="FOLDER",
        default=os.environ.get("DASKDL_BENCH_DL4J_SPARK"),
        help="of the run.sh that trains with DL4J on Spark, for job",
    )
    add("--json", type=Path, metavar="FILE", help="write all figures there")
    add(
        "--join",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="figures of an earlier run; without names nothing is measured again",
    )
    add("--picture", type=Path, metavar="FILE", help="write bars there, as SVG")
    add("--markdown", action="store_true", help="print the tables in Markdown")
    add("--update", type=Path, metavar="PAGE", help="renew the tables of a page")
    return parser

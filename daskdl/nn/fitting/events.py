"""Events of a fit, and the report it leaves.

Listeners, the command line's live view, the run directory and the HTML page only read
these. All times are seconds since the start of the fit, on the caller's clock. A fit in
one process has no workers, and counts no examples beforehand.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from daskdl.nn.fitting.curve import Curve
from daskdl.nn.fitting.timeline import Span, Timeline


@dataclass(frozen=True, kw_only=True)
class Preparing:
    """A step before the fit that may take a while."""

    doing: str


@dataclass(frozen=True, kw_only=True)
class FitStarted:
    """The data were scanned and the minibatches are dealt."""

    epochs: int
    workers: tuple[str, ...] = ()
    examples: int | None = None  # of an epoch, if that is known
    minibatches: int | None = None
    skipped: int = 0  # rows of the data that could not become examples
    layer: str | None = None  # that is pretrained


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the fit is; sent at most a few times a second."""

    time_s: float
    epoch: int
    examples: int  # trained in this epoch, all workers together
    iteration: int  # minibatches trained since the start of the fit
    score: float  # mean since the last Progress, by examples
    examples_per_s: float
    workers: int
    bytes_sent: int


@dataclass(frozen=True, kw_only=True)
class Staleness:
    """How many minibatches late workers took in what others shared.

    A message is late by what its receiver had told of itself since the position that
    the message tells.
    """

    mean: float  # over all messages
    most: int


@dataclass(frozen=True, kw_only=True)
class ResidualMeasured:
    """How large the residual of a worker was beside the threshold of its message.

    Told of each encoded message where the training master has `encoding_debug_mode`;
    see :class:`~daskdl.encoding.residual_statistics.ResidualStatistics`.
    """

    time_s: float
    worker: str
    iteration: int  # the worker's counter
    length: int
    threshold: float
    reached: int  # elements whose magnitude is the threshold or more
    sparsity: float  # their share
    mean: float  # of the magnitudes
    largest: float
    percentiles: Mapping[str, float]  # of the magnitudes, by "50" to "99.99"


@dataclass(frozen=True, kw_only=True)
class SpansMeasured:
    """What a worker did between two moments.

    Told of each worker some times a second, in a fit of hours every few seconds. Times
    are on the caller's clock, as well as that of the worker is known.
    """

    time_s: float
    worker: str
    member: int  # its number in the session
    start_s: float
    stop_s: float
    seconds: Mapping[str, float]  # by activity; see daskdl.nn.fitting.timeline
    minibatches: int  # that it trained since it joined
    clock_offset_s: float  # from the worker's clock to the scheduler's
    clock_error_s: float
    latest: tuple[Span, ...] = ()  # single spans; of who returns


@dataclass(frozen=True, kw_only=True)
class WorkerLost:
    """A worker went; its unfinished minibatches are dealt again.

    `reason` is empty where nothing is known.
    """

    time_s: float
    epoch: int
    worker: str
    reason: str = ""
    redealt_examples: int
    repeated_examples: int  # of these, how many may count twice


@dataclass(frozen=True, kw_only=True)
class WorkersRejoined:
    """All workers had gone, and these came: training goes on from a snapshot.

    That was taken at the end of `epoch` or within the next one. What was trained since
    is trained again, and the epochs after `epoch` are told again.
    """

    time_s: float
    epoch: int  # 0: from the start
    workers: tuple[str, ...]
    repeated_examples: int


@dataclass(frozen=True, kw_only=True)
class WorkersJoined:
    """These workers came while others train, and take part from now on."""

    time_s: float
    epoch: int
    workers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WorkerLeftOut:
    """A worker does not take part, though it is there; the fit goes on without it."""

    time_s: float
    worker: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class EpochFinished:
    """Every example of the epoch was trained."""

    time_s: float
    epoch: int
    examples: int
    score: float
    wall_s: float
    workers: int
    values: Mapping[str, float] = field(default_factory=dict)  # that listeners reported


@dataclass(frozen=True, kw_only=True)
class CheckpointFailed:
    """A checkpoint could not be stored after an epoch; the fit goes on."""

    time_s: float
    epoch: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class FitFinished:
    """The network is back at the client."""

    time_s: float


Event = (
    Preparing
    | FitStarted
    | Progress
    | ResidualMeasured
    | SpansMeasured
    | WorkerLost
    | WorkersRejoined
    | WorkersJoined
    | WorkerLeftOut
    | EpochFinished
    | CheckpointFailed
    | FitFinished
)


@dataclass
class FitReport:
    """The report of one fit, collected from its events.

    `skipped` rows were left out of the data with ``handle_invalid="skip"``. `loads`
    counts how often a part of stored data was read to be trained; on a cluster by all
    workers together. `staleness` is None where no updates were shared. `timeline` is
    what each worker did when; empty in one process.
    """

    examples: int = 0
    skipped: int = 0
    wall_s: float = 0.0
    examples_per_s: float = 0.0
    bytes_sent: int = 0
    workers: tuple[str, ...] = ()
    peak_worker_bytes: int = 0
    loads: int = 0
    staleness: Staleness | None = None
    epochs: list[EpochFinished] = field(default_factory=list)
    lost: list[WorkerLost] = field(default_factory=list)
    left_out: list[WorkerLeftOut] = field(default_factory=list)
    rejoined: list[WorkersRejoined] = field(default_factory=list)
    joined: list[WorkersJoined] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=Curve)
    residuals: list[ResidualMeasured] = field(default_factory=Curve)
    failed_checkpoints: list[CheckpointFailed] = field(default_factory=list)
    timeline: Timeline = field(default_factory=Timeline)

    @property
    def repeated_examples(self) -> int:
        """Examples that may count twice because workers went."""
        events: list[WorkerLost | WorkersRejoined] = [*self.lost, *self.rejoined]
        return sum(event.repeated_examples for event in events)

    @property
    def worker_events(self) -> list[WorkerLost | WorkersJoined | WorkersRejoined]:
        """What went and came, in order of time."""
        # Who is lost and comes at once was lost first.
        return sorted(
            [*self.lost, *self.joined, *self.rejoined], key=lambda event: event.time_s
        )

    @property
    def lost_workers(self) -> tuple[str, ...]:
        """Workers that went, in this order; one that went twice too."""
        events = self.worker_events
        return tuple(each.worker for each in events if isinstance(each, WorkerLost))

    @property
    def joined_workers(self) -> tuple[str, ...]:
        """Workers that came after the start, in this order; one that came twice too."""
        came = [each for each in self.worker_events if not isinstance(each, WorkerLost)]
        return tuple(worker for event in came for worker in event.workers)

    @property
    def missing_workers(self) -> frozenset[str]:
        """Workers that went and did not come back."""
        missing: set[str] = set()
        for event in self.worker_events:
            if isinstance(event, WorkerLost):
                missing.add(event.worker)
            else:
                missing.difference_update(event.workers)
        return frozenset(missing)

    def add(self, event: Event) -> None:
        """Add an event to the report."""
        if isinstance(event, FitStarted):
            self.workers = event.workers
            self.skipped = event.skipped
        elif isinstance(event, SpansMeasured):
            self._add_spans(event)
        elif name := _LISTS.get(type(event)):
            getattr(self, name).append(event)
        if isinstance(event, WorkersRejoined):
            self.epochs = [each for each in self.epochs if each.epoch <= event.epoch]

    def _add_spans(self, event: SpansMeasured) -> None:
        lane = self.timeline.lane(event.worker, event.member)
        lane.minibatches = event.minibatches
        lane.clock_offset_s = event.clock_offset_s
        lane.clock_error_s = event.clock_error_s
        lane.latest.extend(event.latest)
        self.timeline.add(lane, event.start_s, event.stop_s, event.seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON, but for the timeline."""
        values = {**asdict(self), "repeated_examples": self.repeated_examples}
        del values["timeline"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "FitReport":
        """Return the report whose fields ``dataclasses.asdict`` made plain values."""
        lists = set(_LISTS.values())
        lists.update(("timeline", "repeated_examples"))
        others = {name: one for name, one in values.items() if name not in lists}
        report = cls(**_with_tuple(others))
        if "timeline" in values:
            report.timeline = Timeline.from_dict(values["timeline"])
        if report.staleness is not None:
            report.staleness = Staleness(**values["staleness"])
        for kind, name in _LISTS.items():
            # Checkpoints of earlier versions lack some.
            events = values.get(name, ())
            getattr(report, name).extend(kind(**_with_tuple(one)) for one in events)
        return report


# Where the report keeps the events of a kind.
_LISTS: dict[type[Any], str] = {
    EpochFinished: "epochs",
    WorkerLost: "lost",
    WorkerLeftOut: "left_out",
    WorkersRejoined: "rejoined",
    WorkersJoined: "joined",
    Progress: "progress",
    ResidualMeasured: "residuals",
    CheckpointFailed: "failed_checkpoints",
}


def _with_tuple(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in which the addresses of workers are a tuple, as before JSON."""
    workers = values.get("workers")
    if isinstance(workers, list):
        return {**values, "workers": tuple(workers)}
    return dict(values)

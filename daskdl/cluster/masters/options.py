"""The training masters: how workers train together, as values that cannot be wrong.

The names are DL4J's. A master holds options only; what a worker does with a peer's
message is in ``gradient_sharing`` and ``dense_round``, and what follows from a mean in
``outer_momentum``.
"""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields, replace
from typing import Any, ClassVar

from daskdl.checks import (
    as_known,
    check_at_least,
    check_count,
    check_fraction,
    check_one_of,
    check_positive,
    check_type,
    check_whole,
    did_you_mean,
)
from daskdl.cluster.dl4j_methods import refuses_methods_of_dl4j
from daskdl.cluster.dl4j_names import AVERAGING, SHARED, VOID
from daskdl.cluster.known_options import KnownOptions
from daskdl.cluster.masters.dl4j_options import (
    algorithm_of,
    check_workers_per_node,
    checked_storage_level,
)
from daskdl.cluster.masters.training_hook import TrainingHook, hooks_of
from daskdl.cluster.masters.tree import FAN_OUT
from daskdl.data.room import Room
from daskdl.data.sources.source import checked_approach
from daskdl.encoding.algorithms import (
    AdaptiveThresholdAlgorithm,
    FixedThresholdAlgorithm,
    TargetSparsityThresholdAlgorithm,
    ThresholdAlgorithm,
)
from daskdl.encoding.handler import ROUNDINGS
from daskdl.encoding.residual import (
    NoOpResidualPostProcessor,
    ResidualClippingPostProcessor,
    ResidualPostProcessor,
)
from daskdl.errors import OptionError

DEALINGS = ("balanced", "fixed")
REPARTITIONS = ("always", "never")  # DL4J's Repartition, but for the third
MESH_BUILD_MODES = ("auto", "plain", "mesh")
# More members send each other more messages than a tree does; see design 0038.
MOST_PLAIN = 8


@refuses_methods_of_dl4j
@dataclass(frozen=True, kw_only=True)
class TrainingMaster(KnownOptions):
    """Options that all masters have.

    Parameters
    ----------
    batch_size_per_worker : int, optional
        Examples of one minibatch of one worker, unless ``fit`` is given a `batch_size`.
    rng_seed : int, optional
        Of the order of minibatches with ``shuffle=True``; the network's own seed if not
        given.
    collect_training_stats : bool
        Whether the front end tells them as DL4J does. What a fit did is measured in any
        case, and costs nothing.
    repartition : {'always', 'never'}
        Whether every epoch deals all minibatches in equal shares, or whole partitions:
        each to the worker that has it in memory, of a persisted Dask collection, or to
        one that reads it alone. Then workers may have more or less to train, and none
        takes over another's work, until some come or go. Data in memory lie nowhere.
    training_hooks : TrainingHook or several
        What runs on workers before and after each minibatch.
    storage_level : {'memory_only', 'none'}
        Whether a worker keeps what it has read and decoded of stored data, where its
        memory has room for all that it trains of them, or reads it again every epoch.
        Data in memory, and rows that Spark brings there, are where they are.
    workers_per_node : int
        1, or DL4J's -1 for what is best: a worker process trains one network, whose
        minibatches its threads share.
    worker_prefetch_num_batches : int
        Minibatches that a worker reads ahead of the one it trains. 0 reads none ahead.
    start_timeout_s : float
        How long workers may take to start the session.
    peer_timeout_s : float
        How long a worker waits for a peer that is alive but silent.
    idle_timeout_s : float
        How long a worker waits for the client between two epochs, for instance while
        the client evaluates.
    rejoin_timeout_s : float
        When all workers went: how long to wait for others, who go on from the network
        that the client had last. 0 does not wait.
    elastic : bool
        Whether workers that join the cluster while it trains take part, as soon as they
        have shown that they can.
    dealing : {'balanced', 'fixed'}
        Which worker trains a minibatch. Both begin with equal shares, in the same order
        in every run. 'balanced' moves minibatches from workers that are slow to those
        that would have nothing left, 'fixed' never does: the same bits in every run
        where the master allows it, at the speed of the slowest.
    rdd_training_approach : {'export', 'direct'}
        How DataFrames and RDDs of Spark that are given to a front end reach the
        workers, unless the call says it: by files that Spark writes, or from Spark's
        tasks into the workers' memory. Means nothing for other data.
    export_directory : str, optional
        Where Spark writes them, unless the call says it: a path or URL that Spark's
        executors and all workers see. With 'direct', where workers write what their
        memory has no room for. If not given, as Spark's configuration or the
        environment say.
    """

    classes_of_dl4j: ClassVar[tuple[str, ...]] = (SHARED, AVERAGING, VOID)

    batch_size_per_worker: int | None = None
    rng_seed: int | None = None
    collect_training_stats: bool = True
    repartition: str = "always"
    training_hooks: tuple[TrainingHook, ...] = ()
    storage_level: str | None = "memory_only"
    workers_per_node: int = 1
    worker_prefetch_num_batches: int = 2
    start_timeout_s: float = 60.0
    peer_timeout_s: float = 120.0
    idle_timeout_s: float = 600.0
    rejoin_timeout_s: float = 60.0
    elastic: bool = True
    dealing: str = "balanced"
    rdd_training_approach: str = "export"
    export_directory: str | None = None

    def __post_init__(self) -> None:
        who = type(self).__name__
        check_one_of(who, "dealing", self.dealing, DEALINGS)
        repartition = as_known(self.repartition, REPARTITIONS)
        check_one_of(who, "repartition", repartition, REPARTITIONS)
        object.__setattr__(self, "repartition", repartition)
        approach = checked_approach(who, self.rdd_training_approach)
        object.__setattr__(self, "rdd_training_approach", approach)
        if self.export_directory is not None:
            check_type(who, "export_directory", self.export_directory, str)
        for entry in fields(self):
            if entry.type is bool:
                check_type(who, entry.name, getattr(self, entry.name), bool)
        check_whole(
            who, "worker_prefetch_num_batches", self.worker_prefetch_num_batches
        )
        check_positive(who, "start_timeout_s", self.start_timeout_s)
        check_positive(who, "peer_timeout_s", self.peer_timeout_s)
        check_positive(who, "idle_timeout_s", self.idle_timeout_s)
        check_at_least(who, "rejoin_timeout_s", self.rejoin_timeout_s, 0)
        if self.batch_size_per_worker is not None:
            check_count(who, "batch_size_per_worker", self.batch_size_per_worker)
        if self.rng_seed is not None:
            check_whole(who, "rng_seed", self.rng_seed)
        check_workers_per_node(who, self.workers_per_node)
        hooks = hooks_of(who, self.training_hooks)
        object.__setattr__(self, "training_hooks", hooks)
        level = checked_storage_level(who, self.storage_level)
        object.__setattr__(self, "storage_level", level)

    def room(self, of_memory: Room) -> Room:
        """Return what a worker may hold of stored data."""
        return of_memory if self.keeps_data else replace(of_memory, cache_bytes=0)

    @property
    def keeps_data(self) -> bool:
        """Whether a worker keeps stored data from epoch to epoch, if they fit."""
        return self.storage_level == "memory_only"

    def seed(self, of_network: int) -> int:
        """Return the seed of the order of minibatches."""
        return of_network if self.rng_seed is None else self.rng_seed

    def batch_size(self, of_call: int | None) -> int | None:
        """Return the examples of a minibatch; what the call of ``fit`` says counts."""
        return self.batch_size_per_worker if of_call is None else of_call

    @property
    def moves_work(self) -> bool:
        """Whether minibatches may move between workers during an epoch."""
        return self.dealing == "balanced" and self.repartition == "always"

    def source_options(self) -> dict[str, Any]:
        """Return what it says of data, by the names of `SourceOptions`."""
        return {
            "rdd_training_approach": self.rdd_training_approach,
            "export_directory": self.export_directory,
        }

    def in_words(self) -> str:
        """Return its class and those of its options that change what is learnt."""
        ours = {entry.name for entry in fields(TrainingMaster)}
        ours.add("encoding_debug_mode")
        told = [
            f"{entry.name}={getattr(self, entry.name)!r}"
            for entry in fields(self)
            if entry.name not in ours
        ]
        return f"{type(self).__name__}({', '.join(told)})"


@dataclass(frozen=True, kw_only=True)
class SharedTrainingMaster(TrainingMaster):
    """Share threshold-encoded updates between all workers, without a barrier.

    Each worker subtracts its own updates whole, turns what it has not told the others
    into messages of signed indices or two-bit codes, and subtracts the messages of the
    others. What it has not told yet is its residual.

    Parameters
    ----------
    threshold_algorithm : ThresholdAlgorithm
        Chooses the threshold of each message. Where its first one is not given, an
        epoch of which messages told too little ends with a dense one; see design 0080.
    updates_threshold : float, optional
        In place of it: ``AdaptiveThresholdAlgorithm(initial_threshold=...)``.
    residual_post_processor : ResidualPostProcessor
        What happens to the residual after encoding.
    rounding : {'nearest', 'down'}
        What is sent of an element: a whole threshold once it has reached half of one,
        or, as DL4J does, once it has reached all of it. Rounded down, the others lag
        behind what was learned, and learning overshoots.
    iterations_together : int
        Of how many iterations a message tells, at most; of one among the first 127 of
        the network, of 2, 3, ... from the 128th, 192nd, ... on. More than 1 costs less
        time where iterations are short, and some networks learn much less then.
    warm_up : int, optional
        Of how many first iterations of the network the messages are dense. Networks
        learn most then, and messages of few elements would hold it back; see design
        0037. ``None`` is 9 from four workers on and 0 below, where it brings nothing.
        0 encodes from the first one, as DL4J does.
    max_staleness : int, optional
        How many minibatches ahead of the slowest worker one may be; who is further
        waits for it. ``None`` waits a moment for those that are a little behind, and
        not at all for the slow.
    staleness_aware : bool
        Whether a worker divides each update, before it is subtracted anywhere, by how
        many minibatches its peers are behind in what it has seen of them, on average;
        see design 0044.
    encoding_debug_mode : bool
        Whether each encoded message comes with an event that tells how large the
        residual was beside the threshold, and a line in the worker's log. Slow: for
        choosing thresholds.
    mesh_build_mode : {'auto', 'plain', 'mesh'}
        How updates reach all workers: each goes to all ('plain'), or sums go up and
        down a tree of the workers ('mesh'). 'auto' is 'plain' up to 8 workers, and
        'mesh' for more.
    fan_out : int
        To how many workers of its host one passes sums on in the tree and, where it
        speaks for the host, to how many other hosts. Fewer make a deeper tree, in which
        updates come later and each worker has fewer messages.

    References
    ----------
    Strom, "Scalable distributed DNN training using commodity GPU cloud computing",
    2015; Basu et al., "Qsparse-local-SGD", 2019, for local steps between messages;
    Zhang et al., "Staleness-aware async-SGD for distributed deep learning", 2015, whose
    server divides what comes, where we divide what goes; DL4J's SharedTrainingMaster.
    Where we differ from it: own updates are not encoded, no quantum is lost when the
    encoding changes, residuals last as long as the fit, and from fit to fit of a front
    end, not only for an epoch, and a tree carries sums, of which none is lost with a
    worker.
    """

    threshold_algorithm: ThresholdAlgorithm = field(
        default_factory=AdaptiveThresholdAlgorithm
    )
    residual_post_processor: ResidualPostProcessor = field(
        default_factory=ResidualClippingPostProcessor
    )
    rounding: str = "nearest"
    iterations_together: int = 1
    warm_up: int | None = None
    max_staleness: int | None = None
    staleness_aware: bool = False
    encoding_debug_mode: bool = False
    mesh_build_mode: str = "auto"
    fan_out: int = FAN_OUT
    updates_threshold: InitVar[float | None] = None

    def __post_init__(self, updates_threshold: float | None) -> None:
        super().__post_init__()
        who = type(self).__name__
        check_one_of(who, "rounding", self.rounding, ROUNDINGS)
        check_one_of(who, "mesh_build_mode", self.mesh_build_mode, MESH_BUILD_MODES)
        for name in ("iterations_together", "fan_out"):
            check_count(who, name, getattr(self, name))
        for name in ("warm_up", "max_staleness"):
            if getattr(self, name) is not None:
                check_whole(who, name, getattr(self, name))
        check_type(
            *(who, "threshold_algorithm", self.threshold_algorithm),
            ThresholdAlgorithm,
        )
        if updates_threshold is not None:
            algorithm = algorithm_of(who, updates_threshold, self.threshold_algorithm)
            object.__setattr__(self, "threshold_algorithm", algorithm)
        check_type(
            *(who, "residual_post_processor", self.residual_post_processor),
            ResidualPostProcessor,
        )

    def is_tree(self, members: int) -> bool:
        """Whether so many members of a phase share over a tree."""
        if self.mesh_build_mode == "auto":
            return members > MOST_PLAIN
        return self.mesh_build_mode == "mesh"


@dataclass(frozen=True, kw_only=True)
class ParameterAveragingTrainingMaster(TrainingMaster):
    """Average the parameters of all workers every few minibatches.

    Parameters
    ----------
    averaging_frequency : int
        Minibatches a worker trains between two averagings.
    save_updater : bool
        Whether the updater state is averaged as well. Without it each round starts
        from the state that the fit started with, as in DL4J on Spark.
    own_updater : bool
        Without `save_updater`: whether each worker goes on with a state of its own from
        round to round, as in DL4J's ParallelWrapper. The network that comes back has
        that of one of them.
    overlap : bool
        Whether workers train on while a mean is on its way; they go on from it when it
        arrives, with what they have trained since on top of it. They wait only where
        the next round is full before that. Updater states are then averaged at the end
        of each phase, as at the end of an epoch, and otherwise each worker's own. With
        ``dealing='fixed'`` a mean is taken when the next round is full, so that a run
        repeats its bits.

    References
    ----------
    DL4J's ParameterAveragingTrainingMaster. Where we differ: the mean is weighted by
    examples, so that a short round counts for what it is, no minibatch is dropped, and
    `save_updater` is on unless said otherwise. For `overlap` see
    :func:`~daskdl.cluster.masters.delayed_mean.carried_on`.
    """

    averaging_frequency: int = 5
    save_updater: bool = True
    own_updater: bool = False
    overlap: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        who = type(self).__name__
        check_count(who, "averaging_frequency", self.averaging_frequency)
        if self.own_updater and self.save_updater:
            raise OptionError(
                f"{who}: own_updater must go with save_updater=False, got both. An "
                "averaged state is nobody's own."
            )

    @property
    def resets_updater(self) -> bool:
        """Whether each round starts from the updater state of the fit's start."""
        return not (self.save_updater or self.own_updater)


@dataclass(frozen=True, kw_only=True)
class BlockMomentumTrainingMaster(ParameterAveragingTrainingMaster):
    """Average parameters, and go on from further in the direction of all rounds.

    The mean of n workers moves less than one worker that trains all their minibatches.
    What it moves in a round is taken for a gradient, which an outer optimizer with
    momentum follows; see :class:`~daskdl.cluster.masters.outer_momentum.OuterMomentum`.

    Parameters
    ----------
    outer_momentum : float
        How much of the direction of a round goes into the next, from 0 to below 1;
        BMUF's block momentum.
    outer_learning_rate : float
        How far to go, as a multiple of the mean's movement; BMUF's block learning rate.
    outer_nesterov : bool
        Whether a round starts from where momentum alone will lead.
    outer_alignment : bool
        Whether momentum counts only as far as a round goes in the direction of the
        earlier ones: by their cosine, and not at all where they are apart.

    Notes
    -----
    A worker that is alone takes no outer step: it trains as one process does. Running
    statistics of batch normalization become their mean.

    References
    ----------
    Chen and Huo, "Scalable training of deep learning machines by incremental block
    training with intra-block parallel optimization and blockwise model-update
    filtering", 2016. Where we differ: they set a momentum of 1 - 1/n, and have no
    alignment.
    """

    # What reached most of what was tried, without losing anywhere: design 0043.
    outer_momentum: float = 0.9
    outer_learning_rate: float = 1.0
    outer_nesterov: bool = True
    outer_alignment: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        who = type(self).__name__
        check_fraction(who, "outer_momentum", self.outer_momentum)
        check_positive(who, "outer_learning_rate", self.outer_learning_rate)


@dataclass(frozen=True, kw_only=True)
class DiLoCoTrainingMaster(BlockMomentumTrainingMaster):
    """Average parameters rarely, and go on with Nesterov momentum from there.

    The rule and the options of :class:`BlockMomentumTrainingMaster`, every 500
    minibatches of a worker or at the end of an epoch, whichever comes first. There are
    too few rounds for an alignment of their directions.

    Notes
    -----
    Who waits for a round hears nothing of those that still train: `peer_timeout_s` must
    be longer than the fastest is ahead of the slowest after so many minibatches.

    References
    ----------
    Douillard et al., "DiLoCo: Distributed low-communication training of language
    models", 2023. Where we differ: their outer momentum is 0.9 and their outer rate
    0.7; the updater state is averaged as well, where each of their workers keeps its
    own, as with ``save_updater=False, own_updater=True``.
    """

    averaging_frequency: int = 500
    outer_momentum: float = 0.6
    outer_alignment: bool = False


@dataclass(frozen=True, kw_only=True)
class AllReduceTrainingMaster(TrainingMaster):
    """Average the gradients of all workers before every update.

    So n workers train as one process does with minibatches n times as large, with any
    updater, and all hold the same parameters at any time. Workers wait for each other
    in every iteration, in which each sends less than twice the size of the parameters.

    Notes
    -----
    Gradients are weighted by examples; who has no minibatch left goes on with those of
    the others. Batch normalization takes the mean and variance of a worker's own
    minibatch, and the running ones are averaged with the gradients. Each worker draws
    dropout of its own. Minibatches stay where they were dealt: all take as long.
    """

    @property
    def moves_work(self) -> bool:
        """Never: which minibatches are averaged together must not depend on timing."""
        return False


@dataclass(frozen=True, kw_only=True)
class PowerSGDTrainingMaster(AllReduceTrainingMaster):
    """Average approximations of low rank of the gradients before every update.

    As :class:`AllReduceTrainingMaster`, with far shorter messages: a gradient of shape
    (rows, columns) travels as two factors, of ``rows + columns`` numbers for each rank.
    What an approximation leaves out, each worker adds to its next gradient. Workers
    hold the same parameters at any time.

    Parameters
    ----------
    matrix_rank : int
        Of the approximations. Higher ones learn more from longer messages.
    start_compress_iteration : int
        How many first iterations of the network average whole gradients: it learns most
        then.
    min_compression_rate : float
        How many times shorter the factors must be; what is shortened less travels
        whole, as biases and running statistics do.

    References
    ----------
    Vogels, Karimireddy, Jaggi, "PowerSGD: Practical low-rank gradient compression for
    distributed optimization", 2019; the last two options are those of PyTorch's hook.
    """

    matrix_rank: int = 2
    start_compress_iteration: int = 10
    min_compression_rate: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        who = type(self).__name__
        check_count(who, "matrix_rank", self.matrix_rank)
        check_whole(who, "start_compress_iteration", self.start_compress_iteration)
        check_positive(who, "min_compression_rate", self.min_compression_rate)


MASTERS: dict[str, type[TrainingMaster]] = {
    "shared": SharedTrainingMaster,
    "averaging": ParameterAveragingTrainingMaster,
    "block_momentum": BlockMomentumTrainingMaster,
    "diloco": DiLoCoTrainingMaster,
    "allreduce": AllReduceTrainingMaster,
    "powersgd": PowerSGDTrainingMaster,
}
"""The masters by their names in job files."""

_ALGORITHMS: dict[str, type] = {
    "adaptive": AdaptiveThresholdAlgorithm,
    "target_sparsity": TargetSparsityThresholdAlgorithm,
    "fixed": FixedThresholdAlgorithm,
}
_POST_PROCESSORS: dict[str, type] = {
    "clipping": ResidualClippingPostProcessor,
    "none": NoOpResidualPostProcessor,
}
_NESTED: dict[str, dict[str, type]] = {
    "threshold_algorithm": _ALGORITHMS,
    "residual_post_processor": _POST_PROCESSORS,
}


def training_master(kind: str, options: Mapping[str, Any]) -> TrainingMaster:
    """Make a training master from plain values, as a job file has them.

    Parameters
    ----------
    kind : {'shared', 'averaging', 'block_momentum', 'diloco', 'allreduce', 'powersgd'}
        Which master, in any spelling.
    options : mapping
        Its options; ``threshold_algorithm`` and ``residual_post_processor`` are
        mappings with a ``type`` (for example ``{type: adaptive, initial_threshold:
        0.001}``) and the options of that type.

    Raises
    ------
    OptionError
        When the kind or an option is unknown or has an illegal value.
    """
    kind = as_known(kind, MASTERS)
    check_one_of("training", "master", kind, MASTERS)
    master = MASTERS[kind]
    values = {
        name: _nested(name, value) if name in _NESTED else value
        for name, value in options.items()
    }
    made: TrainingMaster = _make(f"training.{kind}", master, values)
    return made


def _nested(option: str, value: Any) -> Any:
    who = f"training.{option}"
    options = dict(value) if isinstance(value, Mapping) else {"type": value}
    kind = as_known(options.pop("type", None), _NESTED[option])
    check_one_of(who, "type", kind, _NESTED[option])
    return _make(who, _NESTED[option][kind], options)


def _make(who: str, kind: type, options: Mapping[str, Any]) -> Any:
    known = [entry.name for entry in fields(kind) if entry.init]
    for name in options:
        if name not in known:
            raise OptionError(
                f"{who}: {name!r} is no option of {kind.__name__}; it has "
                f"{', '.join(known)}.{did_you_mean(name, known)}"
            )
    return kind(**options)

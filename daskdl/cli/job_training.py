"""The part of a job file that says how to train."""

from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from daskdl.cli.job_boards import MLflowOptions, TensorBoardOptions
from daskdl.cli.job_early_stopping import EarlyStoppingOptions, ValidationOptions
from daskdl.cli.job_moments import Moments
from daskdl.cli.job_pretraining import PretrainingOptions
from daskdl.cli.job_values import TypeWithOptions
from daskdl.cluster.masters.options import MASTERS, TrainingMaster, training_master
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.values import (
    AnySpelling,
    Conf,
    Count,
    Index,
    NonNegative,
    Positive,
)

__all__ = ["Checkpoints", "Training"]


class Checkpoints(Moments):
    """When a job writes checkpoints of its run, and how many it keeps."""

    every_minutes: Annotated[
        Positive | None, Field(description="Also after so many minutes, likewise.")
    ] = None
    keep_last: Annotated[Count, Field(description="How many are kept.")] = 3


class Training(Conf):
    """The training of a job: epochs, batch size, and how workers train together.

    The keys below `mlflow` belong to the training master; those that are not
    given have the master's own defaults, and those of another master are refused.
    """

    master: Annotated[
        Literal[
            "shared",
            "averaging",
            "block_momentum",
            "diloco",
            "allreduce",
            "powersgd",
        ],
        AnySpelling(),
        Field(
            description="shared: workers exchange compressed updates without waiting; "
            "averaging: they average their parameters every few minibatches; "
            "block_momentum, diloco: and go on with momentum from there; "
            "allreduce: they average their gradients before every update; powersgd: "
            "likewise, with gradients of low rank."
        ),
    ] = "shared"
    epochs: Annotated[
        Index,
        Field(
            description="Passes over the training data; 0 for a job that does nothing "
            "but pretrain."
        ),
    ] = 1
    pretrain: Annotated[
        PretrainingOptions | None,
        Field(
            description="Layers that are trained without labels first, one after the "
            "other, on `data.pretrain` or else `data.train`."
        ),
    ] = None
    batch_size: Annotated[
        Count | None,
        Field(
            description="Examples a minibatch, per worker; 32 if not given. Data that "
            "are stored as minibatches keep theirs if not given."
        ),
    ] = None
    shuffle: Annotated[
        bool, Field(description="Deal the minibatches in a new order every epoch.")
    ] = True
    checkpoints: Annotated[
        Checkpoints,
        Field(description="When checkpoints of the run are written."),
    ] = Checkpoints()
    validation: Annotated[
        ValidationOptions | None,
        Field(
            description="When the network is evaluated on `data.validation`; after "
            "every epoch if not given."
        ),
    ] = None
    early_stopping: Annotated[
        EarlyStoppingOptions | None,
        Field(
            description="What ends the training early on `data.validation`; the best "
            "network is kept, in place of the last."
        ),
    ] = None
    tensorboard: Annotated[
        TensorBoardOptions | None,
        Field(
            description="Write what TensorBoard shows into the output directory; `{}` "
            "for the defaults."
        ),
    ] = None
    mlflow: Annotated[
        MLflowOptions | None,
        Field(
            description="Tell an MLflow server of the training; `{}` for the defaults."
        ),
    ] = None
    threshold_algorithm: Annotated[
        TypeWithOptions | None,
        Field(
            description="shared: how the threshold of a message is chosen: adaptive, "
            "target_sparsity or fixed, or a mapping with that `type` and its options."
        ),
    ] = None
    residual_post_processor: Annotated[
        TypeWithOptions | None,
        Field(
            description="shared: what happens to what was not sent: clipping or none, "
            "or a mapping with that `type` and its options."
        ),
    ] = None
    rounding: Annotated[
        Annotated[Literal["nearest", "down"], AnySpelling()] | None,
        Field(
            description="shared: send an element once it has reached half of the "
            "threshold (nearest), or all of it, as DL4J does (down)."
        ),
    ] = None
    iterations_together: Annotated[
        Count | None,
        Field(
            description="shared: of how many iterations, at most, a message tells "
            "once a network has trained for a while: faster, may learn less."
        ),
    ] = None
    warm_up: Annotated[
        Index | None,
        Field(
            description="shared: of how many first iterations of the network the "
            "messages are dense; 0 as DL4J."
        ),
    ] = None
    max_staleness: Annotated[
        Index | None,
        Field(
            description="shared: how many minibatches ahead of the slowest worker one "
            "may be before it waits."
        ),
    ] = None
    staleness_aware: Annotated[
        bool | None,
        Field(
            description="shared: divide each update by how many minibatches a worker "
            "has not yet seen of the others."
        ),
    ] = None
    encoding_debug_mode: Annotated[
        bool | None,
        Field(
            description="shared: measure the residual before each encoded message, for "
            "the report and the workers' logs. Slow."
        ),
    ] = None
    mesh_build_mode: Annotated[
        Annotated[Literal["auto", "plain", "mesh"], AnySpelling()] | None,
        Field(
            description="shared: send each update to all workers (plain), or sums of "
            "them over a tree (mesh); auto: over a tree from nine workers on."
        ),
    ] = None
    fan_out: Annotated[
        Count | None,
        Field(
            description="shared: to how many workers of its host, and to how many "
            "other hosts, one passes sums on in a tree."
        ),
    ] = None
    averaging_frequency: Annotated[
        Count | None,
        Field(
            description="averaging, block_momentum, diloco: minibatches a worker "
            "between two averagings."
        ),
    ] = None
    save_updater: Annotated[
        bool | None,
        Field(
            description="averaging, block_momentum, diloco: average the updater state "
            "too."
        ),
    ] = None
    own_updater: Annotated[
        bool | None,
        Field(
            description="averaging, block_momentum, diloco, without save_updater: each "
            "worker goes on with an updater state of its own."
        ),
    ] = None
    overlap: Annotated[
        bool | None,
        Field(
            description="averaging, block_momentum, diloco: train on while a mean is "
            "on its way; updater states are then averaged at the end of an epoch."
        ),
    ] = None
    outer_momentum: Annotated[
        NonNegative | None,
        Field(
            description="block_momentum, diloco: how much of the direction of a round "
            "goes into the next, below 1."
        ),
    ] = None
    outer_learning_rate: Annotated[
        Positive | None,
        Field(
            description="block_momentum, diloco: how far to go, as a multiple of the "
            "way to the mean."
        ),
    ] = None
    outer_nesterov: Annotated[
        bool | None,
        Field(
            description="block_momentum, diloco: start a round from where momentum "
            "alone will lead."
        ),
    ] = None
    outer_alignment: Annotated[
        bool | None,
        Field(
            description="block_momentum, diloco: momentum counts as far as a round "
            "goes in the direction of the earlier ones."
        ),
    ] = None
    matrix_rank: Annotated[
        Count | None, Field(description="powersgd: rank of a gradient that travels.")
    ] = None
    start_compress_iteration: Annotated[
        Index | None,
        Field(
            description="powersgd: of how many first iterations of the network whole "
            "gradients travel."
        ),
    ] = None
    min_compression_rate: Annotated[
        Positive | None,
        Field(
            description="powersgd: how many times shorter a gradient must become; "
            "others travel whole."
        ),
    ] = None
    worker_prefetch_num_batches: Annotated[
        Index | None, Field(description="Minibatches that a worker reads ahead.")
    ] = None
    start_timeout_s: Annotated[
        Positive | None,
        Field(description="Limit for workers that are there to start the training."),
    ] = None
    peer_timeout_s: Annotated[
        Positive | None, Field(description="Limit for a peer that keeps silent.")
    ] = None
    idle_timeout_s: Annotated[
        Positive | None, Field(description="Limit for the client between two epochs.")
    ] = None
    rejoin_timeout_s: Annotated[
        NonNegative | None,
        Field(description="Limit for others to come when all workers went."),
    ] = None
    elastic: Annotated[
        bool | None,
        Field(description="Workers that join while others train take part."),
    ] = None
    dealing: Annotated[
        Annotated[Literal["balanced", "fixed"], AnySpelling()] | None,
        Field(
            description="Move minibatches from slow workers to fast ones (balanced), "
            "or train the same ones on the same workers in every run (fixed)."
        ),
    ] = None
    rdd_training_approach: Annotated[
        Annotated[Literal["export", "direct"], AnySpelling()] | None,
        Field(
            description="How Spark's data reach the workers. The files of a job are "
            "read as they are."
        ),
    ] = None
    export_directory: Annotated[
        str | None,
        Field(description="Where Spark writes its data, of which a job reads none."),
    ] = None

    @model_validator(mode="after")
    def _check_epochs(self) -> "Training":
        if not self.epochs and self.pretrain is None:
            raise PathError("must be at least 1 without `pretrain`, got 0.", "epochs")
        for board in ("tensorboard", "mlflow"):
            if not self.epochs and getattr(self, board) is not None:
                raise PathError(
                    "must be left out with `epochs: 0`: pretraining is not written.",
                    board,
                )
        return self

    @model_validator(mode="after")
    def _check_master(self) -> "Training":
        known = {field.name for field in fields(MASTERS[self.master])}
        for name in self._given():
            if name not in known:
                raise PathError(f"does not go with master {self.master!r}.", name)
        try:
            self.training_master()
        except OptionError as error:
            raise PathError(str(error).removeprefix("training.")) from error
        return self

    def training_master(self) -> TrainingMaster:
        """Return the training master that the keys describe."""
        return training_master(self.master, self._given())

    def _given(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _MASTER_OPTIONS}
        return {name: value for name, value in values.items() if value is not None}


_OF_ANY_MASTER = (
    "master",
    "epochs",
    "pretrain",
    "batch_size",
    "shuffle",
    "checkpoints",
    "validation",
    "early_stopping",
    "tensorboard",
    "mlflow",
)
_MASTER_OPTIONS = tuple(
    name for name in Training.model_fields if name not in _OF_ANY_MASTER
)

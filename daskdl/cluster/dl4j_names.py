"""DL4J's names for training on Spark: what each is here, or what takes its place.

The constructors of training masters and front ends read it, so that a name that a
program brings along is answered by name; the page for users of Spark has a row for
each, which a test holds against it.
"""

import re
from dataclasses import dataclass

from daskdl.checks import normalised

__all__ = ["NAMES", "Dl4jName", "named", "snake_case"]

SHARED = "SharedTrainingMaster"
AVERAGING = "ParameterAveragingTrainingMaster"
VOID = "VoidConfiguration"
INTERFACE = "TrainingMaster"
SEQUENCE = "SparkDl4jMultiLayer"
GRAPH = "SparkComputationGraph"


@dataclass(frozen=True)
class Dl4jName:
    """A name of DL4J.

    Parameters
    ----------
    name : str
        As DL4J spells it.
    of : tuple of str
        Its classes that have it.
    here : str
        The option or method that it is; empty if it is none.
    instead : str
        Otherwise what takes its place, or why nothing does: a sentence.
    """

    name: str
    of: tuple[str, ...]
    here: str = ""
    instead: str = ""


def snake_case(name: str) -> str:
    """Return ``evaluate_roc_multi_class`` for ``evaluateROCMultiClass``."""
    borders = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    return re.sub(borders, "_", name).lower()


def named(name: str, *of: str) -> Dl4jName | None:
    """Return what is known of a name, in any spelling; None if it is none of DL4J's.

    Parameters
    ----------
    name : str
    *of : str
        The classes of DL4J that may have it.
    """
    spelled = normalised(name)
    return next(
        (one for one in NAMES if normalised(one.name) == spelled and {*one.of} & {*of}),
        None,
    )


def _same(of: tuple[str, ...], *names: str) -> tuple[Dl4jName, ...]:
    """Return names that are the same here, but for Python's way to spell them."""
    return tuple(Dl4jName(name, of, snake_case(name)) for name in names)


def _gone(of: tuple[str, ...], instead: str, *names: str) -> tuple[Dl4jName, ...]:
    """Return names that are none here, for one reason."""
    return tuple(Dl4jName(name, of, instead=instead) for name in names)


_MASTERS = (SHARED, AVERAGING)
_FRONT_ENDS = (SEQUENCE, GRAPH)

NAMES: tuple[Dl4jName, ...] = (
    # The front ends
    *_same(
        _FRONT_ENDS,
        "calculateScore",
        "doEvaluation",
        "evaluate",
        "evaluateROC",
        "evaluateROCMultiClass",
        "evaluateRegression",
        "feedForwardWithKey",
        "fit",
        "fitPaths",
        "getDefaultEvaluationWorkers",
        "getNetwork",
        "getScore",
        "getSparkTrainingStats",
        "getTrainingMaster",
        "scoreExamples",
        "setCollectTrainingStats",
        "setDefaultEvaluationWorkers",
        "setListeners",
        "setNetwork",
    ),
    *_same(
        (SEQUENCE,),
        "feedForwardWithMaskAndKey",
        "fitContinuousLabeledPoint",
        "fitLabeledPoint",
        "predict",
    ),
    *_same((GRAPH,), "fitMultiDataSet"),
    *(
        Dl4jName(name, (GRAPH,), here)
        for name, here in {
            "calculateScoreMultiDataSet": "calculate_score",
            "doEvaluationMDS": "do_evaluation",
            "evaluateMDS": "evaluate",
            "evaluateROCMDS": "evaluate_roc",
            "evaluateRegressionMDS": "evaluate_regression",
            "feedForwardWithKeySingle": "feed_forward_with_key",
            "fitPathsMultiDataSet": "fit_paths",
            "scoreExamplesMultiDataSet": "score_examples",
        }.items()
    ),
    *_gone(
        _FRONT_ENDS,
        "No Spark is behind it: the cluster is that of the `client` that it was given",
        "getSparkContext",
    ),
    *_gone(
        _FRONT_ENDS,
        "Nothing sets it: `get_score` returns that of the last fit",
        "setScore",
    ),
    # The masters' builders
    *_same(
        _MASTERS,
        "batchSizePerWorker",
        "collectTrainingStats",
        "exportDirectory",
        "rddTrainingApproach",
        "rngSeed",
        "storageLevel",
        "workerPrefetchNumBatches",
    ),
    *_same(
        (SHARED,),
        "encodingDebugMode",
        "residualPostProcessor",
        "thresholdAlgorithm",
        "updatesThreshold",
        "workersPerNode",
    ),
    *_same((AVERAGING,), "averagingFrequency", "saveUpdater", "trainingHooks"),
    *_gone(
        _MASTERS,
        "Leave it out: data sets are asked for their size",
        "rddDataSetNumExamples",
    ),
    *_gone(
        _MASTERS,
        "Say it where the network is trained: `network.fit(data, workers=n)`",
        "numWorkers",
    ),
    *_gone(
        (SHARED,),
        "Workers find each other by the scheduler; `mesh_build_mode` is an option of "
        "the master",
        "voidConfiguration",
    ),
    *_gone(
        (SHARED,),
        "Leave it out: messages go over Dask's own connections",
        "transport",
    ),
    *_gone(
        (SHARED,),
        "Leave it out: memory is given back when it is no longer used, and nothing "
        "has to be collected",
        "workerTogglePeriodicGC",
        "workerPeriodicGCFrequency",
    ),
    *_gone(
        (SHARED,),
        "A `TrainingHook` of your own can sleep",
        "debugLongerIterations",
    ),
    *_gone(
        (AVERAGING,),
        "Leave it out: each worker adds up a part of the vector, and no driver is in "
        "the way",
        "aggregationDepth",
    ),
    # Methods of the masters
    *_gone(
        (INTERFACE,),
        "A master is a value that never changes: give it `training_hooks`",
        "addHook",
        "removeHook",
    ),
    *_gone(
        (INTERFACE,),
        "It is an option that can be looked at: `collect_training_stats`",
        "getIsCollectTrainingStats",
    ),
    *_gone(
        (INTERFACE,),
        "What was exported goes with `daskdl.spark.delete_temp_files`",
        "deleteTempFiles",
    ),
    *_gone(
        (INTERFACE,),
        "What is left of options as text is the `training:` of a job file",
        "toJson",
        "toYaml",
        "fromJson",
        "fromYaml",
    ),
    *_gone(
        _MASTERS,
        "Leave it out: every epoch deals all minibatches in equal shares, each to one "
        "worker; `dealing` says whether they may move from slow workers to others",
        "repartitioner",
        "repartitionStrategy",
    ),
    Dl4jName("repartitionData", (SHARED,), "repartition"),
    Dl4jName("repartionData", (AVERAGING,), "repartition"),
    Dl4jName("storageLevelStreams", (AVERAGING,), "storage_level"),
    # VoidConfiguration
    *_same((VOID,), "meshBuildMode"),
    *_gone(
        (VOID,),
        "Give the client the scheduler's address, or set `DASK_SCHEDULER_ADDRESS`",
        "controllerAddress",
    ),
    *_gone(
        (VOID,),
        "Say it where workers are started: `dask worker --worker-port`; a free one is "
        "taken if it is not given",
        "unicastPort",
        "portSupplier",
        "unicastControllerPort",
    ),
    *_gone(
        (VOID,),
        "Say it where workers are started: `dask worker --interface`, or "
        "`dask worker --contact-address`",
        "networkMask",
    ),
    *_gone(
        (VOID,),
        "Leave it out: messages go by TCP, or TLS if Dask is configured for it",
        "transportType",
    ),
    *_gone(
        (VOID,),
        "Leave it out: TCP has no largest message",
        "maxChunkSize",
        "chunksBufferSize",
    ),
    *_gone(
        (VOID,),
        "The limits here are `peer_timeout_s`, `start_timeout_s`, `idle_timeout_s` and "
        "`rejoin_timeout_s`",
        "retransmitTimeout",
        "responseTimeframe",
        "responseTimeout",
    ),
    *_gone(
        (VOID,),
        "Leave it out: a worker that dies costs its unfinished minibatches, however "
        "often",
        "maxFailuresPerNode",
        "faultToleranceStrategy",
    ),
    *_gone(
        (VOID,),
        "Leave it out: several trainings share a cluster",
        "streamId",
    ),
    *_gone(
        (VOID,),
        "Leave it out: DL4J does not use it any more",
        "ttl",
        "multicastPort",
        "multicastNetwork",
        "multicastInterface",
        "numberOfShards",
        "shardAddresses",
        "backupAddresses",
        "forcedRole",
        "executionMode",
        "useHS",
        "useNS",
    ),
)
"""Every option and method, in the order of the page."""

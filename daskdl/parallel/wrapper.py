"""Training by several processes of this machine: DL4J's ParallelWrapper."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any

from daskdl.checks import (
    as_known,
    check_count,
    check_one_of,
    check_type,
    check_whole,
)
from daskdl.cluster.camel_case import answers_to_camel_case
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.frontend import (
    DaskComputationGraph,
    DaskMultiLayer,
    front_end,
)
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    TrainingMaster,
)
from daskdl.encoding.algorithms import ThresholdAlgorithm
from daskdl.encoding.residual import ResidualPostProcessor
from daskdl.errors import OptionError
from daskdl.nn.network import Network
from daskdl.parallel.other_options import refuse_others

__all__ = ["ParallelWrapper"]

# Its workers are there; only what else the machine does can delay them. Without one the
# others would train other rounds.
_START_TIMEOUT_S = 300.0

AVERAGING, SHARED_GRADIENTS = MODES = ("averaging", "shared_gradients")

_OPTIONS = (
    "workers",
    "training_mode",
    "prefetch_buffer",
    "averaging_frequency",
    "average_updaters",
    "threshold_algorithm",
    "residual_post_processor",
)
_A_MASTER = "Give a training master as training_mode."
_NO_MEMORY = "Memory is given back by itself: leave it out."
# Those of DL4J's builder, and what to do without them.
_ELSEWHERE = {
    "report_score_after_averaging": "Scores come to listeners: fit(data, "
    "listeners=ScoreIterationListener()).",
    "gradients_accumulator": _A_MASTER,
    "trainer_factory": _A_MASTER,
    "trainer_context_args": _A_MASTER,
    "model_params_supplier": _A_MASTER,
    "updater_params_supplier": _A_MASTER,
    "legacy_averaging": _NO_MEMORY,
    "temporary_memory": _NO_MEMORY,
    "workspace_mode": _NO_MEMORY,
}


@answers_to_camel_case
class ParallelWrapper:
    """Train a network by several processes of this machine; DL4J's ParallelWrapper.

    The processes are Dask workers of a cluster that nobody else sees. They are started
    with the first ``fit``, and last until :meth:`close` or the end of a ``with`` block.

    Parameters
    ----------
    network : MultiLayerNetwork or ComputationGraph
        Trained in place.
    workers : int, optional
        How many processes, of one thread each; one a core if not given.
    training_mode : {'averaging', 'shared_gradients'} or TrainingMaster
        Average the parameters, or share encoded updates: by a
        :class:`~daskdl.ParameterAveragingTrainingMaster` or a
        :class:`~daskdl.SharedTrainingMaster`. Any training master with options of its
        own stands for DL4J's CUSTOM.
    prefetch_buffer : int, optional
        Minibatches that a worker reads ahead; 2 if not given.
    averaging_frequency : int, optional
        With 'averaging': minibatches of a worker between two averagings; 1 if not
        given.
    average_updaters : bool, optional
        With 'averaging': whether the updater state is averaged, too; it is if not
        given. Else each worker has its own.
    threshold_algorithm : ThresholdAlgorithm, optional
        With 'shared_gradients': chooses the threshold of each message.
    residual_post_processor : ResidualPostProcessor, optional
        With 'shared_gradients': what happens to the residual.

    Attributes
    ----------
    network : MultiLayerNetwork or ComputationGraph
        As the last fit left it. It predicts and evaluates in this process.
    training_master : TrainingMaster
        How the workers train together.

    Raises
    ------
    OptionError
        If an option is out of range, does not go with the mode, or is one of DL4J's
        that has no meaning here: the message says what takes its place.

    Notes
    -----
    Workers import the main module, so a program that is run as a file needs ``if
    __name__ == "__main__":`` around what it does.

    References
    ----------
    DL4J's ParallelWrapper. Where we differ: workers are processes, not threads, since
    Python runs for one thread at a time; all minibatches of an epoch are dealt once.
    """

    def __init__(
        self,
        network: Network[Any],
        *,
        workers: int | None = None,
        training_mode: str | TrainingMaster = AVERAGING,
        prefetch_buffer: int | None = None,
        averaging_frequency: int | None = None,
        average_updaters: bool | None = None,
        threshold_algorithm: ThresholdAlgorithm | None = None,
        residual_post_processor: ResidualPostProcessor | None = None,
        **others: Any,
    ) -> None:
        who = type(self).__name__
        refuse_others(who, others, _OPTIONS, _ELSEWHERE)
        check_type(who, "network", network, Network)
        self.network = network
        self._workers = (
            None if workers is None else check_count(who, "workers", workers)
        )
        self.training_master = _master(
            who,
            training_mode,
            {
                AVERAGING: {
                    "averaging_frequency": averaging_frequency,
                    "average_updaters": average_updaters,
                },
                SHARED_GRADIENTS: {
                    "threshold_algorithm": threshold_algorithm,
                    "residual_post_processor": residual_post_processor,
                },
            },
            prefetch_buffer,
        )
        self._cluster = ExitStack()
        self._front: DaskMultiLayer | DaskComputationGraph | None = None

    def fit(self, data: Any, **fit_options: Any) -> Network[Any]:
        """Train on data, which the workers share.

        Parameters
        ----------
        data, **fit_options
            As :meth:`daskdl.DaskMultiLayer.fit` takes them: ``epochs``,
            ``batch_size``, which is that of a worker, ``shuffle``, ``normalizer``,
            ``listeners``, ``resume``, and how to read the data.

        Returns
        -------
        network
            :attr:`network`, trained; its ``last_fit`` tells what was done.

        Raises
        ------
        OptionError, DataError, ShapeError
            Before any worker trains, when options, data and network do not go together.
        WorkerLostError
            When no worker is left.
        """
        self._check_workers(fit_options.get("workers"))
        trained: Network[Any] = self._started().fit(data, **fit_options)
        return trained

    def _check_workers(self, wanted: Any) -> None:
        """Refuse more workers than there will ever be: nobody else can start one."""
        n_workers = ClusterOptions(workers=self._workers).n_workers_here
        if isinstance(wanted, int) and wanted > n_workers:
            raise OptionError(
                f"{type(self).__name__}.fit: workers must be at most {n_workers}, got "
                f"{wanted}. Give workers to {type(self).__name__}."
            )

    def close(self) -> None:
        """End the workers. A later :meth:`fit` starts others."""
        self._front = None
        self._cluster.close()

    def __enter__(self) -> "ParallelWrapper":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _started(self) -> DaskMultiLayer | DaskComputationGraph:
        if self._front is None:
            options = ClusterOptions(workers=self._workers)
            client = self._cluster.enter_context(connect(options))
            self._front = front_end(client, self.network, self.training_master)
        return self._front


def _master(
    who: str,
    mode: Any,
    options: dict[str, dict[str, Any]],
    prefetch_buffer: int | None,
) -> TrainingMaster:
    """Return the training master that a mode and the options of all modes describe."""
    own = isinstance(mode, TrainingMaster)
    if isinstance(mode, type) and issubclass(mode, TrainingMaster):
        raise OptionError(
            f"{who}: training_mode must be a training master, got the class "
            f"{mode.__name__}. Write {mode.__name__}()."
        )
    if not own:
        mode = check_one_of(who, "training_mode", as_known(mode, MODES), MODES)
    for other, values in options.items():
        given = [name for name, value in values.items() if value is not None]
        if given and other != mode:
            came = type(mode).__name__ if own else repr(mode)
            raise OptionError(
                f"{who}: {given[0]} must go with training_mode {other!r}, got {came}."
            )
    if own:
        if prefetch_buffer is not None:
            raise OptionError(
                f"{who}: prefetch_buffer must be left out with a training master, got "
                f"{prefetch_buffer!r}. Give it worker_prefetch_num_batches."
            )
        master: TrainingMaster = mode
        return master
    made = {name: value for name, value in options[mode].items() if value is not None}
    made["start_timeout_s"] = _START_TIMEOUT_S
    if prefetch_buffer is not None:
        n_ahead = check_whole(who, "prefetch_buffer", prefetch_buffer)
        made["worker_prefetch_num_batches"] = n_ahead
    if mode == SHARED_GRADIENTS:
        return SharedTrainingMaster(**made)
    # DL4J averages after each minibatch here, and every five on Spark.
    made = {"averaging_frequency": 1, **made}
    check_count(who, "averaging_frequency", made["averaging_frequency"])
    if "average_updaters" in made:
        check_type(who, "average_updaters", made["average_updaters"], bool)
        made["save_updater"] = made.pop("average_updaters")
        made["own_updater"] = not made["save_updater"]
    return ParameterAveragingTrainingMaster(**made)

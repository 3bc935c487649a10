"""The listener that tells an MLflow server of a fit."""

import logging
import os
import tempfile
import threading
from collections.abc import Mapping
from typing import Any

from daskdl.checks import check_at_least, check_count, check_type, some
from daskdl.errors import MissingExtraError, OptionError, OutputError
from daskdl.nn.fitting.events import EpochFinished, Event, Progress
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.training.boards.extras import extra_package
from daskdl.training.boards.hyperparameters import hyperparameters
from daskdl.training.boards.measures import Measures, of_epoch
from daskdl.training.boards.mlflow_run import MLflowRun, RunPlace, legal_name
from daskdl.training.boards.sending import End, Sender

__all__ = ["MLflowListener"]

logger = logging.getLogger(__name__)

# A database that is away is found out later, by who sends.
_STORE_S = 10.0
# Of what Ctrl-C and SIGTERM end, which is killed soon.
_KILLED_WAIT_S = 5.0
_NETWORK = "model.safetensors"


class MLflowListener(Listener):
    """Tell an MLflow server of hyperparameters, scores, speed and how a run ended.

    In one process and on a cluster alike: from where ``fit`` was called, in a thread of
    its own, which no training waits for. Needs ``pip install 'daskdl[mlflow]'``.

    Parameters
    ----------
    tracking_uri : str or path, optional
        Of the server, ``http://...``; of MLflow's own setting if not given:
        ``mlflow.set_tracking_uri``, ``MLFLOW_TRACKING_URI``.
    experiment : str, optional
        Its name; made if there is none. That of MLflow's own setting if not given.
    run_name : str, optional
        MLflow makes one up if not given.
    tags : mapping of str to str, optional
        Of the run.
    run_id : str, optional
        A run that is there, in place of a new one, such as
        ``mlflow.active_run().info.run_id``. Who began it ends it.
    frequency : int
        Score, examples a second and learning rates every so many minibatches. A device
        is waited for at each.
    log_network : bool
        Store the network as an artifact of the run once it is trained.
    end_timeout_s : float
        How long the end of a fit waits for the server to take what is left; after
        Ctrl-C five seconds at most.

    Attributes
    ----------
    run_id : str or None
        Of the run; None until the server has answered.

    Raises
    ------
    MissingExtraError
        If MLflow is not installed, or what it needs for such a store.
    OptionError
        If there is no such kind of store.

    Notes
    -----
    The step is the iteration. Metrics are ``score``, ``examples_per_s``,
    ``learning_rate``, ``epoch``, of an epoch ``epoch_score`` and what other listeners
    reported, such as ``epoch_validation_loss``; on a cluster ``workers`` and
    ``bytes_sent``. The run ends as FINISHED, FAILED or, after Ctrl-C, KILLED.

    A server that is away costs a warning, and no fit: up to 100,000 numbers wait for
    it, and what it does not take is counted and told at the end. One that goes on with
    ``resume`` goes on with its run, where what is trained again stands twice. A further
    fit with the same listener goes on with it, too, behind its last step.

    MLflow's active run, if there is one, is not touched.

    Examples
    --------
    >>> import daskdl
    >>> listener = daskdl.MLflowListener(  # doctest: +SKIP
    ...     "http://localhost:5000", experiment="digits"
    ... )
    """

    def __init__(
        self,
        tracking_uri: str | os.PathLike[str] | None = None,
        experiment: str | None = None,
        *,
        run_name: str | None = None,
        tags: Mapping[str, str] | None = None,
        run_id: str | None = None,
        frequency: int = 10,
        log_network: bool = False,
        end_timeout_s: float = 30.0,
    ) -> None:
        who = type(self).__name__
        if tracking_uri is not None:
            check_type(who, "tracking_uri", tracking_uri, str, os.PathLike)
            tracking_uri = os.fspath(tracking_uri)
        names = {"experiment": experiment, "run_name": run_name, "run_id": run_id}
        for name, value in names.items():
            if value is not None:
                check_type(who, name, value, str)
            if value == "":
                raise OptionError(f"{who}: {name} must not be empty. Leave it out.")
        if run_id is not None and (experiment, run_name) != (None, None):
            raise OptionError(
                f"{who}: experiment and run_name must be left out with run_id, got "
                f"{experiment!r} and {run_name!r}: that run has them."
            )
        check_type(who, "log_network", log_network, bool)
        self._logs_network = log_network
        self._every = check_count(who, "frequency", frequency)
        self._wait_s = check_at_least(who, "end_timeout_s", end_timeout_s, 0)
        self._place = RunPlace(
            tracking_uri=tracking_uri,
            experiment=experiment,
            run_name=run_name,
            tags=_checked_tags(who, tags),
            run_id=run_id,
        )
        extra_package(who, "mlflow", "mlflow")
        _check_store(who, self._place)
        self._run: MLflowRun | None = None
        self._sender: Sender | None = None
        # Steps that earlier fits of this listener told, and the last of all.
        self._base = self._step = 0
        self._key: str | None = None
        self._of_cluster: dict[str, float] = {}

    @property
    def run_id(self) -> str | None:
        """The id of the run; None until the server has answered."""
        return self._place.run_id if self._run is None else self._run.run_id

    def on_fit_start(self, fit: Fit) -> None:
        """Begin to tell, of a new run or of that which goes on."""
        if fit.resumed_from is None:
            self._base = self._step
        self._run = MLflowRun(self._place, self._key)
        self._key = self._run.key
        self._measures = Measures(fit, self._every)
        self._step = self._base + fit.iteration
        self._sender = Sender(type(self).__name__, self._run, hyperparameters(fit))

    def iteration_done(self, fit: Fit) -> None:
        """Tell the numbers of this moment, if it is time."""
        self._step = self._base + fit.iteration
        if values := self._measures.take(fit):
            self._tell({**values, **self._of_cluster})

    def on_event(self, event: Event) -> None:
        """Tell the figures of an epoch, and what only a cluster knows."""
        if isinstance(event, EpochFinished):
            values = of_epoch(event)
            self._tell({f"epoch_{name}": values[name] for name in values})
        elif isinstance(event, Progress):
            sent = event.bytes_sent
            self._of_cluster = {"workers": event.workers, "bytes_sent": sent}

    def _tell(self, values: Mapping[str, float]) -> None:
        if self._sender is not None:
            self._sender.add(values, self._step)

    def on_fit_end(self, fit: Fit) -> None:
        """Tell what is left, and that the run is finished."""
        if not self._logs_network:
            self._close(End("FINISHED"), self._wait_s)
            return
        with tempfile.TemporaryDirectory(prefix="daskdl-") as directory:
            end = End("FINISHED", directory=directory)
            try:
                fit.network.save(os.path.join(directory, _NETWORK))
            except OutputError as error:
                logger.warning("MLflowListener: no network is stored: %s", error)
                end = End("FINISHED")
            self._close(end, self._wait_s)

    def on_fit_error(self, fit: Fit, error: BaseException) -> None:
        """Tell what is left, and that the run failed or was killed."""
        if isinstance(error, Exception):
            reason = f"{type(error).__name__}: {error}"
            self._close(End("FAILED", reason), self._wait_s)
        else:
            self._close(End("KILLED"), min(self._wait_s, _KILLED_WAIT_S))

    def _close(self, end: End, wait_s: float) -> None:
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.close(end, wait_s)

    def kept_state(self) -> Mapping[str, Any]:
        """Return which run it is, and behind which step it began."""
        return {"key": self._key, "base": self._base}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Go on with that one, from there."""
        self._key, self._base = state["key"], state["base"]


def _checked_tags(who: str, tags: Mapping[str, str] | None) -> dict[str, str]:
    if tags is None:
        return {}
    check_type(who, "tags", tags, Mapping)
    wrong = [
        name
        for name, value in tags.items()
        if not (isinstance(name, str) and isinstance(value, str))
        or name != legal_name(name)
    ]
    if wrong:
        raise OptionError(
            f"{who}: tags must be texts by names of letters, digits, blanks, '_', '-', "
            f"'.' and '/', got {some(wrong)}."
        )
    return dict(tags)


def _check_store(who: str, place: RunPlace) -> None:
    """Refuse a store that MLflow does not have, before anything is trained."""
    errors: list[Exception] = []

    def look() -> None:
        try:
            place.client()
        except Exception as error:  # noqa: BLE001 - raised below
            errors.append(error)

    thread = threading.Thread(target=look, name=who, daemon=True)
    thread.start()
    thread.join(_STORE_S)
    for error in errors:
        if isinstance(error, ImportError):
            raise MissingExtraError(
                f"{who}: MLflow must have the packages of the store, got {error}. Give "
                "the tracking_uri of a server, http://..., or run: pip install mlflow"
            ) from error
        raise OptionError(
            f"{who}: tracking_uri must be one that MLflow opens, got "
            f"{place.tracking_uri!r}: {error}"
        ) from error

"""One run of an MLflow server, by MLflow's own client and explicit ids.

Every call waits for the server, up to minutes: see ``sending``, whose thread they are
made in. MLflow's fluent state is not touched, so that a run that somebody has active
stays what it is.
"""

import logging
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from daskdl.training.boards.sending import End, Point

__all__ = ["MLflowRun", "RunPlace", "legal_name"]

logger = logging.getLogger(__name__)

# Of the run that is to be found again, whether or not its id ever came back.
_KEY_TAG = "daskdl.run"
_ERROR_TAG = "daskdl.error"
# MLflow's limits of a request, of a name, and of a value: parameters have 6,000
# characters since MLflow 2.10, 500 in servers before.
_MOST_PARAMETERS = 100
_NAME_CHARACTERS = 250
_VALUE_CHARACTERS = 500
_TAG_CHARACTERS = 5000
# Words of MLflow's own, which a proxy in front of it does not have.
_REFUSALS = ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST")
_PRINTS_NO_URL = "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"


@dataclass(frozen=True, kw_only=True)
class RunPlace:
    """Where a run is to be.

    Parameters
    ----------
    tracking_uri : str or None
        None for MLflow's own setting.
    experiment : str or None
        Name; made if there is none. None for that of MLflow's environment variables.
    run_name : str or None
        None for one that MLflow makes up.
    tags : mapping of str to str
    run_id : str or None
        Of a run that is there already, and that somebody else ends.
    """

    tracking_uri: str | None = None
    experiment: str | None = None
    run_name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    run_id: str | None = None

    def client(self) -> Any:
        """Return MLflow's client; of an URL of HTTP this asks nobody."""
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.tracking_uri)


class MLflowRun:
    """One run at the server: opened, given numbers, ended.

    Parameters
    ----------
    place : RunPlace
    key : str, optional
        Of a run that may be there; a new one if not given.

    Attributes
    ----------
    key : str
        Known here before any server answers, so that a checkpoint can hold it.
    run_id : str or None
        Known once it is opened.
    """

    most_points = 1000  # MLflow's limit of a request

    def __init__(self, place: RunPlace, key: str | None = None) -> None:
        self._place = place
        self.key = uuid.uuid4().hex if key is None else key
        self.run_id = place.run_id
        self._may_be_there = key is not None
        self._are_files_there = False
        self._client: Any = None

    def open(self, parameters: Mapping[str, str]) -> None:
        """Find the run or make it; tell parameters that it does not have."""
        if self._client is None:
            self._client = self._place.client()
        if self.run_id is None:
            self.run_id = self._found_or_made()
        known = self._client.get_run(self.run_id)
        if self._is_ours and known.info.status != "RUNNING":
            self._client.update_run(self.run_id, status="RUNNING")
        self._tell(parameters, known.data.params)
        logger.info("MLflow: the run is %s, %r", self.run_id, known.info.run_name)

    @property
    def _is_ours(self) -> bool:
        return self._place.run_id is None

    def _found_or_made(self) -> str:
        experiment = self._experiment()
        if self._may_be_there:
            found = self._client.search_runs(
                [experiment], f"tags.`{_KEY_TAG}` = '{self.key}'", max_results=1
            )
            if found:
                return str(found[0].info.run_id)
        # From now on: an answer may get lost.
        self._may_be_there = True
        from mlflow.tracking.context.registry import resolve_tags

        tags = resolve_tags({**self._place.tags, _KEY_TAG: self.key})
        run = self._client.create_run(
            experiment, tags=tags, run_name=self._place.run_name
        )
        return str(run.info.run_id)

    def _experiment(self) -> str:
        name = self._place.experiment
        if name is None:
            # What mlflow.set_experiment sets, too.
            if number := os.environ.get("MLFLOW_EXPERIMENT_ID"):
                return number
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "Default")
        found = self._client.get_experiment_by_name(name)
        if found is None:
            return str(self._client.create_experiment(name))
        return str(found.experiment_id)

    def _tell(self, parameters: Mapping[str, str], known: Mapping[str, str]) -> None:
        from mlflow.entities import Param

        # Those of a run are never changed; MLflow would refuse all.
        told = [
            Param(name, value[:_VALUE_CHARACTERS])
            for name, value in _with_legal_names(parameters).items()
            if name not in known
        ]
        for start in range(0, len(told), _MOST_PARAMETERS):
            self._client.log_batch(
                self.run_id, params=told[start : start + _MOST_PARAMETERS]
            )

    def send(self, points: Iterable[Point]) -> None:
        """Send numbers, no more than :attr:`most_points`."""
        from mlflow.entities import Metric

        metrics = [
            Metric(legal_name(one.name), one.value, one.time_ms, one.step)
            for one in points
        ]
        self._client.log_batch(self.run_id, metrics=metrics)

    def end(self, end: End) -> Exception | None:
        """Store files, and say how the run ended, unless that is up to others.

        Returns
        -------
        Exception or None
            What kept the files from being stored: the run has ended all the same.
        """
        error = self._store(end.directory)
        if end.reason:
            reason = end.reason[:_TAG_CHARACTERS]
            self._client.set_tag(self.run_id, _ERROR_TAG, reason)
        if self._is_ours:
            with _nothing_printed():
                self._client.set_terminated(self.run_id, status=end.status)
        return error

    def _store(self, directory: str | None) -> Exception | None:
        if directory is None or self._are_files_there:
            return None
        try:
            self._client.log_artifacts(self.run_id, directory)
        except Exception as error:  # noqa: BLE001 - of whatever store it is
            return error
        self._are_files_there = True
        return None

    def is_refusal(self, error: Exception) -> bool:
        """Tell whether the server would refuse the same again."""
        return getattr(error, "error_code", None) in _REFUSALS


def legal_name(name: str) -> str:
    """Return a name as MLflow takes it: of parameters, metrics and tags."""
    parts = re.sub(r"[^\w\-. /]", "_", name).split("/")
    # They are paths to MLflow, which must not lead anywhere else.
    legal = ["_" if part in ("", ".", "..") else part for part in parts]
    return "/".join(legal)[:_NAME_CHARACTERS]


def _with_legal_names(parameters: Mapping[str, str]) -> dict[str, str]:
    return {legal_name(name): value for name, value in parameters.items()}


@contextmanager
def _nothing_printed() -> Iterator[None]:
    # It prints where the run is to be seen, into what programs read of a command.
    before = os.environ.get(_PRINTS_NO_URL)
    os.environ[_PRINTS_NO_URL] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PRINTS_NO_URL]
        else:
            os.environ[_PRINTS_NO_URL] = before

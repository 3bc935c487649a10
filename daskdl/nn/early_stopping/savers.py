"""Where the best network is kept while training goes on, and the latest if wanted."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskdl.arrays.namespace import to_device, to_host
from daskdl.checks import check_one_of, check_type
from daskdl.data.files import check_free, make_folder
from daskdl.nn.early_stopping.remembering import Remembering
from daskdl.nn.file_formats import ENDINGS, writer_of

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["EarlyStoppingModelSaver", "FileModelSaver", "InMemoryModelSaver"]

_COUNTERS = ("iteration_count", "epoch_count", "score")


class EarlyStoppingModelSaver(Remembering, ABC):
    """The base class of savers.

    References
    ----------
    DL4J, ``EarlyStoppingModelSaver``.
    """

    @abstractmethod
    def begin(self, network: "Network[Any]", *, goes_on: bool) -> None:
        """Forget an earlier fit, before anything is trained.

        Parameters
        ----------
        network : Network
            What will be trained; not kept.
        goes_on : bool
            Whether a run goes on, whose best network is that of the saver, or what
            :meth:`restore_state` was given.
        """

    @abstractmethod
    def save_best_model(self, network: "Network[Any]", score: float) -> None:
        """Keep a network, in place of the best one until now."""

    @abstractmethod
    def save_latest_model(self, network: "Network[Any]", score: float) -> None:
        """Keep a network, in place of the latest one until now."""

    @abstractmethod
    def get_best_model(self) -> "Network[Any] | None":
        """Return the best network, None if there is none."""

    @abstractmethod
    def get_latest_model(self) -> "Network[Any] | None":
        """Return the latest network, None if none was saved."""


class InMemoryModelSaver(EarlyStoppingModelSaver):
    """Keeps copies in this process, and the best one in checkpoints of the run.

    References
    ----------
    DL4J, ``InMemoryModelSaver``.
    """

    def __init__(self) -> None:
        self._best: Network[Any] | None = None
        self._latest: Network[Any] | None = None
        self._restored: Mapping[str, Any] = {}

    def begin(self, network: "Network[Any]", *, goes_on: bool) -> None:
        """Forget an earlier fit, or take the best network out of a checkpoint."""
        self._best = self._latest = None
        if goes_on and self._restored:
            best = network.clone()
            for name in ("params", "updater_state"):
                vector = getattr(best, name)
                vector[...] = to_device(self._restored[name], vector)
            for name in _COUNTERS:
                setattr(best, name, self._restored[name])
            self._best = best
        self._restored = {}

    def save_best_model(self, network: "Network[Any]", score: float) -> None:
        """Keep a copy."""
        self._best = network.clone()

    def save_latest_model(self, network: "Network[Any]", score: float) -> None:
        """Keep a copy."""
        self._latest = network.clone()

    def get_best_model(self) -> "Network[Any] | None":
        """Return the copy of the best network."""
        return self._best

    def get_latest_model(self) -> "Network[Any] | None":
        """Return the copy of the latest network."""
        return self._latest

    def kept_state(self) -> Mapping[str, Any]:
        """Return the vectors and counters of the best network."""
        best = self._best
        if best is None:
            return {}
        vectors = {
            "params": to_host(best.params),
            "updater_state": to_host(best.updater_state),
        }
        return {**vectors, **{name: getattr(best, name) for name in _COUNTERS}}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take the best network over as training begins."""
        self._restored = dict(state)


class FileModelSaver(EarlyStoppingModelSaver):
    """Keeps ``best_model`` and ``latest_model`` as files of one directory.

    Parameters
    ----------
    directory : path or str
        Here or on any store that :meth:`Network.save` reaches: ``hdfs://``, ``s3://``.
        Made before anything is trained.
    ending : str
        Of the files, which tells the format: ``".safetensors"``, or ``".zip"`` for one
        that DL4J reads.
    overwrite : bool
        Replace the files of an earlier fit, which are refused otherwise.

    References
    ----------
    DL4J, ``LocalFileModelSaver``, ``LocalFileGraphSaver``.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        ending: str = ".safetensors",
        overwrite: bool = False,
    ) -> None:
        who = type(self).__name__
        check_type(who, "directory", directory, str, os.PathLike)
        check_type(who, "overwrite", overwrite, bool)
        self._directory = os.fspath(directory).rstrip("/")
        # Only from these a network comes back.
        endings = [*ENDINGS["daskdl"], *ENDINGS["dl4j"]]
        self._ending = check_one_of(who, "ending", ending, endings)
        self._overwrite = overwrite
        self._has_best = self._has_latest = False

    @property
    def best_model_path(self) -> str:
        """Path or URL of the best network."""
        return f"{self._directory}/best_model{self._ending}"

    @property
    def latest_model_path(self) -> str:
        """Path or URL of the latest network."""
        return f"{self._directory}/latest_model{self._ending}"

    def begin(self, network: "Network[Any]", *, goes_on: bool) -> None:
        """Make the directory, and refuse to replace the files of another fit.

        Raises
        ------
        OutputError, OutputExistsError
        """
        make_folder(self._directory)
        if goes_on:
            return
        self._has_best = self._has_latest = False
        if not self._overwrite:
            check_free(self.best_model_path)
            check_free(self.latest_model_path)

    def save_best_model(self, network: "Network[Any]", score: float) -> None:
        """Write the file; it appears when it is whole."""
        network.save(self.best_model_path, overwrite=True)
        self._has_best = True

    def save_latest_model(self, network: "Network[Any]", score: float) -> None:
        """Write the file; it appears when it is whole."""
        network.save(self.latest_model_path, overwrite=True)
        self._has_latest = True

    def get_best_model(self) -> "Network[Any] | None":
        """Read the file of the best network."""
        return self._load(self.best_model_path) if self._has_best else None

    def get_latest_model(self) -> "Network[Any] | None":
        """Read the file of the latest network."""
        return self._load(self.latest_model_path) if self._has_latest else None

    def kept_state(self) -> Mapping[str, Any]:
        """Return whether there is a file."""
        return {"has_best": self._has_best, "has_latest": self._has_latest}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Go on with the files that are there."""
        self._has_best, self._has_latest = state["has_best"], state["has_latest"]

    def _load(self, path: str) -> "Network[Any]":
        network: Network[Any] = writer_of(type(self).__name__, path, None).load(path)
        return network

"""The directory of a search: what it was begun with, and a folder for each trial."""

import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from daskdl.data.files import is_local, make_folder
from daskdl.data.filesystems import filesystem
from daskdl.data.retries import BROKEN
from daskdl.data.store import info_of, remove
from daskdl.data.texts import read_text, write_text
from daskdl.errors import (
    FormatError,
    OptionError,
    OutputExistsError,
    SourceNotFoundError,
)
from daskdl.nn.fitting.checkpoint_directory import checkpoints_in
from daskdl.nn.fitting.first_difference import first_difference
from daskdl.nn.fitting.run_state import DataFingerprint
from daskdl.nn.network import Network
from daskdl.tuning.trial import Trial

__all__ = ["OtherDataError", "SearchDirectory"]

VERSION = 1
_NETWORK_OF = "network_of_trial"


class OtherDataError(OptionError):
    """The data are not those of the search: no trial can go on with them."""


class SearchDirectory:
    """Reads and writes the files of a search; each appears when it is complete.

    ``search.json`` holds what the search was begun with, ``trial-0001/trial.json`` what
    came of a trial; beside it lie checkpoints, as long as the trial may go on, and
    ``best_model.safetensors``.

    Parameters
    ----------
    who : str
        For messages.
    path_or_url : str or path
        Here or on any store.
    """

    def __init__(self, who: str, path_or_url: str | os.PathLike[str]) -> None:
        self._who = who
        self.url = os.fspath(path_or_url).rstrip("/")
        self._file = f"{self.url}/search.json"
        self._options: Mapping[str, Any] = {}
        self._data: DataFingerprint | None = None
        self._turn = threading.Lock()  # of trials that begin at one time
        self._was_there = True

    def told_trial(self) -> int | None:
        """Return of which trial the network is that was written down, if any was."""
        try:
            options = self._kept().get("options") or {}
        except SourceNotFoundError:
            return None
        number: int = options.get(_NETWORK_OF, 1)
        return number

    def begin(self, options: Mapping[str, Any], *, resume: bool) -> None:
        """Take the directory for a search, or go on with the one that is there.

        Parameters
        ----------
        options : mapping of str to object
            All that decides about the result, as plain values.
        resume : bool

        Raises
        ------
        OutputExistsError
            If there is a search, and it is not to go on.
        SourceNotFoundError
            If one is to go on, and there is none.
        OptionError
            If it was begun with other options, over the first one.
        """
        # As JSON gives them back.
        self._options = options = json.loads(json.dumps(options))
        fs, path = filesystem(self._file)
        is_there = info_of(fs, path) is not None
        if resume:
            if not is_there:
                raise SourceNotFoundError(
                    f"{self._who}: resume must have a search to go on with, got "
                    f"nothing there: {self._file}. Leave it out to begin anew."
                )
            self._go_on(options)
        elif is_there:
            raise OutputExistsError(
                f"{self._who}: {self.url} must hold no other search, got one. Go on "
                "with it by fit(..., resume=True), or give another directory."
            )
        else:
            fs, path = filesystem(self.url)
            self._was_there = not is_local(self.url) or info_of(fs, path) is not None
            make_folder(self.url)
            self._write()

    def _kept(self) -> dict[str, Any]:
        kept = _read(self._file)
        if not isinstance(kept, dict) or kept.get("version", VERSION + 1) > VERSION:
            raise FormatError(
                f"{self._file}: must be a search of version {VERSION} at most. A newer "
                "file needs a newer daskdl."
            )
        return kept

    def _go_on(self, options: Mapping[str, Any]) -> None:
        kept = self._kept()
        begun, now = dict(kept.get("options") or {}), dict(options)
        if begun.pop(_NETWORK_OF, 1) != now.pop(_NETWORK_OF, 1):
            # The one that was written down cannot be built now, as others could not be
            # then; such trials are tried again.
            begun.pop("network", None)
            now.pop("network")
        if difference := first_difference("options", begun, now):
            where, was, came = difference
            raise OptionError(
                f"{self._who}: resume must go on with the "
                f"{where.removeprefix('options.')} of the search, {was!r}, got "
                f"{came!r}. ({self._file})"
            )
        if data := kept.get("data"):
            data["partitions"] = tuple(map(tuple, data["partitions"]))
            self._data = DataFingerprint(**data)

    def give_up(self, trials: Sequence[Trial]) -> None:
        """Let go of the directory, unless one of `trials` left something in it.

        On this machine it goes where it came, if it is empty.
        """
        with suppress(*BROKEN):
            if any(map(self._has_begun, trials)):
                return
            fs, path = filesystem(self._file)
            remove(fs, path)
            if not self._was_there:
                fs, path = filesystem(self.url)
                fs.rmdir(path)

    def _has_begun(self, trial: Trial) -> bool:
        fs, path = filesystem(f"{self.folder(trial)}/trial.json")
        return info_of(fs, path) is not None or self.has_checkpoint(trial)

    def check_data(self, data: DataFingerprint) -> None:
        """Refuse other data than those that the first trial was trained with.

        Raises
        ------
        OtherDataError
        """
        # Trials may have minibatches of different sizes.
        data = replace(data, minibatches=None)
        with self._turn:
            if self._data is None:
                self._data = data
                self._write()
                return
        if difference := self._data.difference(data):
            was, came = difference
            raise OtherDataError(
                f"{self._who}: resume must go on with the data of the search, {was}, "
                f"got {came}. ({self._file})"
            )

    def _write(self) -> None:
        data = None if self._data is None else asdict(self._data)
        values = {"version": VERSION, "options": self._options, "data": data}
        _write(self._file, values)

    def read_trials(self, drawn: Sequence[Trial]) -> list[Trial]:
        """Return trials as they were left; those that were not trained, as drawn.

        Raises
        ------
        FormatError
            If a file is none of a trial.
        OptionError
            If one had other parameters.
        """
        return [self._read_trial(trial) for trial in drawn]

    def _read_trial(self, drawn: Trial) -> Trial:
        url = f"{self.folder(drawn)}/trial.json"
        try:
            values = _read(url)
        except SourceNotFoundError:
            return drawn
        try:
            trial = Trial.from_dict(values)
        except FormatError as error:
            raise FormatError(f"{url}: {error}") from error
        kept, now = trial.parameters, drawn.parameters
        if difference := first_difference("parameters", kept, now):
            where, was, came = difference
            raise OptionError(
                f"{self._who}: resume must draw the {where} of trial {trial.number} "
                f"again, {was!r}, got {came!r}. Was it another version of the package "
                f"of the distribution? ({url})"
            )
        return trial

    def write_trial(self, trial: Trial) -> None:
        """Write what is known of a trial."""
        make_folder(self.folder(trial))
        _write(f"{self.folder(trial)}/trial.json", trial.to_dict())

    def folder(self, trial: Trial) -> str:
        """Return path or URL of the folder of a trial, where checkpoints are."""
        return f"{self.url}/{trial.name}"

    def best_model(self, trial: Trial) -> str:
        """Return the path or URL of the best network of a trial."""
        return f"{self.folder(trial)}/best_model.safetensors"

    def save_best_model(self, trial: Trial, network: Network[Any]) -> None:
        """Write the best network of a trial in place of the one before."""
        make_folder(self.folder(trial))
        network.save(self.best_model(trial), overwrite=True)

    def has_checkpoint(self, trial: Trial) -> bool:
        """Tell whether a trial was begun, so that it goes on."""
        fs, path = filesystem(self.folder(trial))
        return bool(checkpoints_in(fs, path))

    def remove_checkpoints(self, trial: Trial) -> None:
        """Remove the checkpoints of a trial that does not go on."""
        fs, path = filesystem(self.folder(trial))
        for name in checkpoints_in(fs, path):
            remove(fs, f"{path}/{name}")


def _read(url: str) -> Any:
    try:
        return json.loads(read_text(url))
    except ValueError as error:
        if isinstance(error, SourceNotFoundError):
            raise
        raise FormatError(f"{url}: must be JSON, it is not: {error}") from error


def _write(url: str, values: Mapping[str, Any]) -> None:
    text = json.dumps(values, indent=1, allow_nan=False)
    write_text(url, f"{text}\n", overwrite=True)

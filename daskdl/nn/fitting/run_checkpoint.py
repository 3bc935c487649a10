"""The listener that writes checkpoints of a run, and going on from one."""

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskdl.checks import check_count, check_positive, check_type
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.errors import OptionError, OutputExistsError
from daskdl.nn.file_formats import writer_of
from daskdl.nn.fitting.checkpoint_directory import CheckpointDirectory, read_newest
from daskdl.nn.fitting.first_difference import first_difference
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.run_state import RunPlan, RunPosition, RunState

if TYPE_CHECKING:
    from daskdl.nn.network import Network

__all__ = ["Resumed", "RunCheckpoint", "resumed_run"]

logger = logging.getLogger(__name__)


class RunCheckpoint(Listener):
    """Write checkpoints of a run, from which ``fit(..., resume=directory)`` goes on.

    In pretraining ``pretrain(..., resume=directory)`` does, at the layer and the epoch
    where it stood. One that cannot be written is a warning, but for the first.

    Parameters
    ----------
    directory : path or str
        Of this run alone; files in it are named ``checkpoint-000001.safetensors`` and
        so on. Each is a network, too, which :func:`daskdl.load` reads; of pretraining
        it does not, as the network is not what it is to become.
    every_n_epochs : int
        The last epoch is written, too.
    every_n_iterations : int, optional
        Also within an epoch, after so many minibatches; on a cluster of all workers
        together, as soon as all stand at a common position.
    every_minutes : float, optional
        The same by the clock.
    keep_last : int
        How many are kept, each of another position of the run: one that is written at
        the same takes the place of the earlier. With one there is none before a damaged
        one.
    at_start : bool
        Write one before anything is trained, so that a store that does not take it is
        found out then, and there always is one to go on from.
    overwrite : bool
        Remove the checkpoints of an earlier run, which are refused otherwise, when the
        first of this run is written.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        every_n_epochs: int = 1,
        every_n_iterations: int | None = None,
        every_minutes: float | None = None,
        keep_last: int = 3,
        at_start: bool = True,
        overwrite: bool = False,
    ) -> None:
        who = "RunCheckpoint"
        self._every_n_epochs = check_count(who, "every_n_epochs", every_n_epochs)
        if every_n_iterations is not None:
            check_count(who, "every_n_iterations", every_n_iterations)
        if every_minutes is not None:
            check_positive(who, "every_minutes", every_minutes)
        self._every_n_iterations = every_n_iterations
        self._every_minutes = every_minutes
        self._directory = CheckpointDirectory(
            directory, check_count(who, "keep_last", keep_last)
        )
        check_type(who, "at_start", at_start, bool)
        check_type(who, "overwrite", overwrite, bool)
        self._at_start, self._overwrite = at_start, overwrite
        self._iteration, self._time_s = 0, 0.0  # of the last one
        self._position: RunPosition | None = None  # likewise, if this fit wrote it
        self._begins, self._is_own = True, False

    def on_fit_start(self, fit: Fit) -> None:
        """Refuse the directory of another run, before anything is trained."""
        has_written = self._position is not None
        self._begins, self._position = True, None
        self._iteration, self._time_s = fit.iteration, time.monotonic()
        if fit.layer_number and fit.resumed_from is None:
            # The next layer of a run: its last checkpoint is enough, if it is ours.
            self._is_own = self._is_own or has_written
            return
        if fit.layer is None and fit.network.searches_lines:
            raise OptionError(
                "RunCheckpoint: network must be trained by updates, got one that is by "
                f"{fit.network.conf.optimization_algo!r}, whose memory no checkpoint "
                "holds. Use CheckpointListener."
            )
        names = self._directory.names()
        self._is_own = self._directory.holds(fit.resumed_from)
        if names and not self._overwrite and not self._is_own:
            raise OutputExistsError(
                f"RunCheckpoint: {self._directory.url} must hold no checkpoint of "
                f"another run, got {names[0]}. Go on with it by fit(..., resume=...), "
                "by pretrain if it is of pretraining, or pass overwrite=True to "
                "replace it."
            )
        self._directory.begin(fit.resumed_from)

    def iteration_done(self, fit: Fit) -> None:
        """Ask for a standstill, if it is time."""
        if self._is_due(fit):
            fit.want_checkpoint()

    def on_standstill(self, fit: Fit) -> None:
        """Write a checkpoint, if it is time."""
        begins, self._begins = self._begins, False
        # What it goes on from is there already.
        is_first = self._at_start and not self._is_own
        if not (is_first if begins else self._is_time(fit)):
            return
        state = fit.run_state()
        writer = writer_of("RunCheckpoint", "checkpoint.safetensors", None)
        self._directory.add(
            lambda url: writer.save_run(
                fit.network,
                url,
                state.to_dict(),
                state.arrays,
                layers=state.plan.layers,
            ),
            # Gradient sharing stands at the end of the last epoch a second time, once
            # all members have all updates.
            replaces_last=state.position == self._position,
        )
        self._iteration, self._time_s = fit.iteration, time.monotonic()
        self._position = state.position

    def _is_time(self, fit: Fit) -> bool:
        at = fit.position
        if fit.is_stopped() or fit.is_checkpoint_wanted or self._is_due(fit):
            return True
        # Within an epoch others may have wanted a standstill, and no checkpoint.
        is_epoch = not at.positions and at.epoch % self._every_n_epochs == 0
        return is_epoch or at.epoch == fit.epochs

    def _is_due(self, fit: Fit) -> bool:
        every, minutes = self._every_n_iterations, self._every_minutes
        if every is not None and fit.iteration // every > self._iteration // every:
            return True
        return minutes is not None and time.monotonic() - self._time_s > 60 * minutes


@dataclass(frozen=True)
class Resumed:
    """A checkpoint that was read, to go on from.

    Attributes
    ----------
    path : str
        Path or URL of the file.
    network : Network
        As it was there.
    state : RunState
        What the run needs besides.
    """

    path: str
    network: "Network[Any]"
    state: RunState

    def normalizer(self, who: str, given: Any) -> Normalizer | None:
        """Return the normalizer of the run, as far as the call wants one.

        Raises
        ------
        OptionError
            If the call gives another.
        """
        own = self.network.normalizer
        if isinstance(given, str) and given == "own":
            return own if self.state.plan.normalizer else None
        if given is None or own is None:
            return given  # type: ignore[no-any-return]
        is_other = type(given) is not type(own) or (
            given.is_fitted and given.to_dict() != own.to_dict()
        )
        if is_other:
            raise OptionError(
                f"{who}: resume must go on with the normalizer of the run, {own!r}, "
                f"got {given!r}. Leave normalizer out. ({self.path})"
            )
        return own

    def is_complete(self, who: str, epochs: int) -> bool:
        """Tell whether the run has nothing left of so many epochs, and log it.

        To be asked behind :meth:`check`: of another run nobody wants the network.
        """
        if not self.state.is_complete(epochs):
            return False
        done = self.state.position.epoch
        logger.warning(
            "%s: the run is complete, %s: nothing is trained. (%s)",
            who,
            f"a listener ended it after {done} epochs"
            if self.state.is_stopped
            else f"{done} of {epochs} epochs",
            self.path,
        )
        return True

    def tell_complete(self, fit: Fit) -> None:
        """Tell the listeners of a fit that would go on that nothing is left."""
        fit.go_on(self.state, self.path)
        fit.complete()

    def tell_ended(self, fit: Fit) -> None:
        """Tell listeners that a layer goes on and ends, as another one is behind it.

        So they come to the next one as if the run had never been stopped.
        """
        fit.go_on(self.state, self.path)
        with fit.telling_errors():
            fit.end_again()

    def check(self, who: str, plan: RunPlan) -> None:
        """Refuse to go on with a run that was begun otherwise.

        Raises
        ------
        OptionError
            Over the first difference, which it names.
        """
        plan.check_goes_on(who, self.path, self.state.plan)

    def warn_of_workers(self, who: str, n_workers: int) -> None:
        """Warn if others go on: then not with the bits that the run would have had."""
        if n_workers != self.state.workers:
            logger.warning(
                "%s: the run goes on with %d workers in place of %d. (%s)",
                *(who, n_workers, self.state.workers, self.path),
            )

    def take_over(self, network: "Network[Any]") -> None:
        """Overwrite vectors, counters and names of `network` with those of the run.

        And of its layers, where the run pretrains them.
        """
        network.params[...] = self.network.params
        network.updater_state[...] = self.network.updater_state
        for name in ("iteration_count", "epoch_count", "score", "class_names"):
            setattr(network, name, getattr(self.network, name))
        network.restore_normalizer(self.network.normalizer)
        if self.state.pretraining is not None:
            self.state.pretraining.restore("resume", network.pretraining)


def resumed_run(
    who: str,
    path_or_url: str | os.PathLike[str] | None,
    network: "Network[Any]",
    epochs: int,
    *,
    of_layers: bool = False,
) -> Resumed | None:
    """Read the checkpoint that `network` is to go on from.

    Parameters
    ----------
    who : str
        For messages.
    path_or_url : str, path or None
        Of a checkpoint, or of a directory of them, of which the newest that is whole is
        taken; None begins a run, and there is nothing to read.
    network : Network
        Not changed.
    epochs : int
        Of the whole run.
    of_layers : bool
        Whether its layers are pretrained.

    Raises
    ------
    SourceNotFoundError
        If there is no checkpoint.
    FormatError
        If no one is whole.
    OptionError
        If the run pretrains and the call does not, or the other way round; if the
        configurations differ; if the run has trained more epochs: the network would
        not be one of so many.
    """
    if path_or_url is None:
        return None
    reader = writer_of(who, "checkpoint.safetensors", None)

    def read(url: str) -> Resumed:
        saved, values, arrays = reader.load_run(url)
        return Resumed(url, saved, RunState.from_dict(values, arrays))

    path, resumed = read_newest(who, os.fspath(path_or_url), read)
    if (resumed.state.pretraining is not None) != of_layers:
        kinds = "a fit", "pretraining"
        came, wanted = kinds if of_layers else reversed(kinds)
        call = "fit" if of_layers else "pretrain, and call fit behind it"
        raise OptionError(
            f"{who}: resume must be a checkpoint of {wanted}, got one of {came}. Give "
            f"it to {call}. ({path})"
        )
    before, now = resumed.network.conf.to_dict(), network.conf.to_dict()
    if type(resumed.network) is not type(network):
        before, now = type(resumed.network).__name__, type(network).__name__
    if difference := first_difference("configuration", before, now):
        where, was, came = difference
        raise OptionError(
            f"{who}: resume must go on with the network of the run, whose {where} is "
            f"{was!r}, got {came!r}. ({path})"
        )
    if (done := resumed.state.position.epoch) > epochs:
        raise OptionError(
            f"{who}: epochs must be at least {done}, which the run has trained, "
            f"got {epochs}. ({path})"
        )
    return resumed

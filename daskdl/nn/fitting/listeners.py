"""Listeners for everyday: scores in the log, checkpoints, evaluations."""

import logging
import os
import posixpath
import re
from functools import partial
from typing import Any

import numpy as np

from daskdl.checks import check_count, check_type
from daskdl.data.files import check_free, make_folder
from daskdl.errors import (
    OptionError,
    OutputError,
    OutputExistsError,
    StorageError,
)
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.fitting.evaluated_data import check_evaluated
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener

logger = logging.getLogger(__name__)

# As in str.format; other braces may be part of a name.
_FIELD = re.compile(r"\{(\w*)(?::([^{}/]*))?\}")


class ScoreIterationListener(Listener):
    """Log the score every so many minibatches.

    Parameters
    ----------
    print_iterations : int
        How many. On a cluster at the next moment that tells how far it is.

    References
    ----------
    DL4J, ``ScoreIterationListener``.
    """

    def __init__(self, print_iterations: int = 10) -> None:
        self._every = check_count(
            "ScoreIterationListener", "print_iterations", print_iterations
        )
        self._next = self._every

    def on_fit_start(self, fit: Fit) -> None:
        """Begin to count."""
        self._next = self._every

    def iteration_done(self, fit: Fit) -> None:
        """Log the score, if it is time."""
        if fit.iteration >= self._next:
            logger.info("iteration %d: score %.6g", fit.iteration, fit.score)
            self._next = (fit.iteration // self._every + 1) * self._every


class CheckpointListener(Listener):
    """Save the network at the end of epochs.

    Parameters
    ----------
    path_or_url : path or str
        ``{epoch}`` in it is the number of the epoch, from 1, and ``{epoch:03d}`` the
        same with zeros in front; without it each checkpoint takes the place of the
        last. In pretraining ``{layer}`` is the name of the layer that learns. The
        ending tells the format.
    save_every_n_epochs : int
        The last epoch is saved, too, also of a fit that a listener ends.
    overwrite : bool
        Replace what is there when the fit starts, which is refused otherwise.

    References
    ----------
    DL4J, ``CheckpointListener``.
    """

    def __init__(
        self,
        path_or_url: str | os.PathLike[str],
        save_every_n_epochs: int = 1,
        *,
        overwrite: bool = False,
    ) -> None:
        who = "CheckpointListener"
        check_type(who, "path_or_url", path_or_url, str, os.PathLike)
        self._overwrite = overwrite
        self._path = os.fspath(path_or_url)
        for field in _FIELD.finditer(self._path):
            _check_field(who, field)
        self._every = check_count(who, "save_every_n_epochs", save_every_n_epochs)
        # Epochs of this fit: the last that was saved, and the last that was whole.
        self._saved: int | None = None
        self._whole: int | None = None

    def on_fit_start(self, fit: Fit) -> None:
        """Refuse to overwrite existing checkpoints, before anything is trained."""
        layers = fit.plan().layers
        self._check_layers(fit, layers)
        self._saved = self._whole = None
        # A run that goes on finds its own, as the next layer of a run does.
        if self._overwrite or fit.resumed_from is not None or fit.layer_number:
            return
        epochs = filter(partial(self._is_time, fit), range(1, fit.epochs + 1))
        names = layers or (fit.layer,)
        for path in {self._path_of(n, name) for n in epochs for name in names}:
            check_free(path)

    def on_epoch_end(self, fit: Fit) -> None:
        """Save the network, if it is time; its folder is made."""
        self._whole = fit.epoch
        if self._is_time(fit, fit.epoch):
            self._save(fit, overwrite=True)

    def on_fit_end(self, fit: Fit) -> None:
        """Save the last epoch of a fit that a listener ended between two times."""
        if self._whole != fit.epoch or self._saved == fit.epoch:
            return
        try:
            # Nobody could know at the start that its place would be needed.
            is_ours = self._overwrite or "epoch" not in _fields(self._path)
            self._save(fit, overwrite=is_ours or fit.resumed_from is not None)
        except (OutputError, OutputExistsError, StorageError) as error:
            logger.warning("the last epoch, %d, is not saved: %s", fit.epoch, error)

    def _save(self, fit: Fit, *, overwrite: bool) -> None:
        path = self._path_of(fit.epoch, fit.layer)
        make_folder(posixpath.dirname(path) or ".")
        fit.network.save(path, overwrite=overwrite)
        self._saved = fit.epoch

    def _is_time(self, fit: Fit, epoch: int) -> bool:
        return epoch % self._every == 0 or epoch == fit.epochs

    def _check_layers(self, fit: Fit, layers: tuple[str, ...]) -> None:
        has_layer = "layer" in _fields(self._path)
        if has_layer and fit.layer is None:
            raise OptionError(
                "CheckpointListener: path_or_url must have {layer} in pretraining "
                f"alone, got {self._path!r} where the network is trained."
            )
        if len(layers) > 1 and "epoch" in _fields(self._path) and not has_layer:
            raise OptionError(
                "CheckpointListener: path_or_url must have {layer} beside {epoch} as "
                f"{len(layers)} layers are pretrained, got {self._path!r}: each would "
                "write in the place of the one before."
            )

    def _path_of(self, epoch: int, layer: str | None) -> str:
        values = {"epoch": epoch, "layer": layer or ""}
        return _FIELD.sub(
            lambda field: format(values[field[1]], field[2] or ""), self._path
        )


def _check_field(who: str, field: re.Match[str]) -> None:
    """Refuse a field that nobody fills, or a form in which no epoch can be written."""
    name, form = field[1], field[2]
    if name not in ("epoch", "layer") or (name == "layer" and form):
        raise OptionError(
            f"{who}: path_or_url must have no field but {{epoch}} and {{layer}}, got "
            f"{field[0]}."
        )
    try:
        format(1, form or "")
    except ValueError as error:
        raise OptionError(
            f"{who}: path_or_url must have {{epoch}} in a form of whole numbers, such "
            f"as {{epoch:03d}}, got {field[0]}."
        ) from error


def _fields(path: str) -> set[str]:
    return {field[1] for field in _FIELD.finditer(path)}


class EvaluativeListener(Listener):
    """Evaluate the network at the end of epochs, and report the figures.

    Parameters
    ----------
    data, **how
        As ``evaluate`` takes them.
    frequency : int
        Every how many epochs.
    name : str
        In front of the figures in the report: ``"train"`` makes ``train_accuracy``.

    Attributes
    ----------
    evaluation : Evaluation, EvaluationBinary, RegressionEvaluation or None
        The last one.

    References
    ----------
    DL4J, ``EvaluativeListener``.
    """

    def __init__(
        self, data: Any, frequency: int = 1, *, name: str = "", **how: Any
    ) -> None:
        if "evaluation" in how:
            raise OptionError(
                "EvaluativeListener: evaluation must be left out, got one, which would "
                "count on from epoch to epoch. The loss says what is counted."
            )
        self._data = data
        self._prefix = f"{name}_" if name else ""
        self.reports_as = name
        self._how = how
        self._every = check_count("EvaluativeListener", "frequency", frequency)
        self.evaluation: Any = None

    def on_fit_start(self, fit: Fit) -> None:
        """Refuse data that the network cannot be evaluated on."""
        name = self.reports_as or type(self).__name__
        check_evaluated(name, fit, self._data, **self._how)

    def on_epoch_end(self, fit: Fit) -> None:
        """Evaluate, if it is time."""
        if fit.epoch % self._every:
            return
        self.evaluation = fit.evaluate(self._data, **self._how)
        figures = figures_of(self.evaluation)
        fit.report_values(**{self._prefix + name: figures[name] for name in figures})


def figures_of(evaluation: Any) -> dict[str, float]:
    """Return the figure that says most of an evaluation, by its name."""
    if isinstance(evaluation, RegressionEvaluation):
        return {"mean_squared_error": float(evaluation.mean_squared_error().mean())}
    return {"accuracy": float(np.mean(evaluation.accuracy()))}

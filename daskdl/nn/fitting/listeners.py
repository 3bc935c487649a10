"""Listeners for everyday: scores in the log, checkpoints, evaluations."""

import logging
import os
import posixpath
import re
from functools import partial
from typing import Any

import numpy as np

from daskdl.checks import check_count
from daskdl.data.files import check_free, make_folder
from daskdl.errors import OptionError
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.fitting.evaluated_data import check_evaluated
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.listener import Listener

logger = logging.getLogger(__name__)


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
        ``{epoch}`` in it is the number of the epoch, from 1; without it each
        checkpoint takes the place of the last. In pretraining ``{layer}`` is the name
        of the layer that learns. The ending tells the format.
    save_every_n_epochs : int
        The last epoch is saved, too.
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
        self._overwrite = overwrite
        self._path = os.fspath(path_or_url)
        if odd := set(re.findall(r"{\w*}", self._path)) - {"{epoch}", "{layer}"}:
            raise OptionError(
                "CheckpointListener: path_or_url must have no field but {epoch} and "
                f"{{layer}}, got {', '.join(sorted(odd))}."
            )
        self._every = check_count(
            "CheckpointListener", "save_every_n_epochs", save_every_n_epochs
        )

    def on_fit_start(self, fit: Fit) -> None:
        """Refuse to overwrite existing checkpoints, before anything is trained."""
        layers = fit.plan().layers
        self._check_fields(fit, layers)
        # A run that goes on finds its own, as the next layer of a run does.
        if self._overwrite or fit.resumed_from is not None or fit.layer_number:
            return
        epochs = filter(partial(self._is_time, fit), range(1, fit.epochs + 1))
        names = layers or (fit.layer,)
        for path in {self._path_of(n, name) for n in epochs for name in names}:
            check_free(path)

    def on_epoch_end(self, fit: Fit) -> None:
        """Save the network, if it is time; its folder is made."""
        if self._is_time(fit, fit.epoch):
            path = self._path_of(fit.epoch, fit.layer)
            make_folder(posixpath.dirname(path) or ".")
            fit.network.save(path, overwrite=True)

    def _is_time(self, fit: Fit, epoch: int) -> bool:
        return epoch % self._every == 0 or epoch == fit.epochs

    def _check_fields(self, fit: Fit, layers: tuple[str, ...]) -> None:
        has_layer = "{layer}" in self._path
        if has_layer and fit.layer is None:
            raise OptionError(
                "CheckpointListener: path_or_url must have {layer} in pretraining "
                f"alone, got {self._path!r} where the network is trained."
            )
        if len(layers) > 1 and "{epoch}" in self._path and not has_layer:
            raise OptionError(
                "CheckpointListener: path_or_url must have {layer} beside {epoch} as "
                f"{len(layers)} layers are pretrained, got {self._path!r}: each would "
                "write in the place of the one before."
            )

    def _path_of(self, epoch: int, layer: str | None) -> str:
        of_layer = self._path.replace("{layer}", layer or "")
        return of_layer.replace("{epoch}", str(epoch))


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

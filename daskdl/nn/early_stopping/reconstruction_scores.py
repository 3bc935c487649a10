"""What pretraining of a layer is worth: how well it restores data without labels."""

from typing import TYPE_CHECKING, Any

import numpy as np

from daskdl.checks import check_count, check_type
from daskdl.errors import OptionError
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.batches import Batch
from daskdl.nn.early_stopping.score_calculators import ScoreCalculator, known_metric
from daskdl.nn.fitting.evaluated_data import check_evaluated
from daskdl.nn.layers.auto_encoder import AutoEncoder
from daskdl.nn.layers.variational_autoencoder import VariationalAutoencoder
from daskdl.nn.reconstructions import has_loss
from daskdl.nn.tallies import Tally

if TYPE_CHECKING:
    from daskdl.nn.fitting.fit import Fit
    from daskdl.nn.network import Network

__all__ = [
    "AutoencoderScoreCalculator",
    "VAEReconErrorScoreCalculator",
    "VAEReconProbScoreCalculator",
]

# Of batches of examples, if nothing is said; in one process and on a cluster alike.
_BATCH_SIZE = 64


class ReconstructionTally(Tally):
    """How far off the reconstructions of a layer are.

    Parameters
    ----------
    layer : str
        Its name.

    Attributes
    ----------
    evaluation : RegressionEvaluation
        What reached the layer stands for the labels.
    """

    needs_labels = False

    def __init__(self, layer: str) -> None:
        self._layer = layer
        self.evaluation = RegressionEvaluation()

    def add(self, network: "Network[Any]", batch: Batch) -> None:
        """Count a minibatch."""
        layer = network.pretraining.layer(type(network).__name__, self._layer)
        self.evaluation.eval(*layer.reconstruct(batch))

    def merge(self, other: "ReconstructionTally") -> None:
        """Add what another one has counted."""
        self.evaluation.merge(other.evaluation)


class ProbabilityTally(Tally):
    """How probable examples are, as a layer restores them.

    Parameters
    ----------
    layer : str
        Its name.
    num_samples : int
        How often hidden causes are drawn.
    is_logarithmic : bool
        Whether logarithms are added up.

    Attributes
    ----------
    total : float
        Sum over examples.
    examples : int
    """

    needs_labels = False

    def __init__(self, layer: str, num_samples: int, *, is_logarithmic: bool) -> None:
        self._layer = layer
        self._num_samples = num_samples
        self._is_logarithmic = is_logarithmic
        self.total = 0.0
        self.examples = 0

    def add(self, network: "Network[Any]", batch: Batch) -> None:
        """Count a minibatch, unless it has no probability, as in training."""
        layer = network.pretraining.layer(type(network).__name__, self._layer)
        logarithms = layer.log_probabilities(
            batch, self._num_samples, restorable=True
        ).astype(float)
        each = logarithms if self._is_logarithmic else np.exp(logarithms)
        self.total += float(each.sum())
        self.examples += len(each)

    def merge(self, other: "ProbabilityTally") -> None:
        """Add what another one has counted."""
        self.total += other.total
        self.examples += other.examples


class _OfALayer:
    """Scores of one layer that restores its input.

    Parameters
    ----------
    data, **how
        As ``evaluate`` of what ``pretrain`` is called on takes them; no labels are
        needed, and none are looked at.
    layer : int or str, optional
        Index in a sequence, or name; the first one of the kind if not given.
    """

    _kind: type[AutoEncoder | VariationalAutoencoder]
    # Whether what the layer cannot restore has no score.
    _needs_restorable = False

    def __init__(
        self, data: Any, *, layer: int | str | None = None, **how: Any
    ) -> None:
        super().__init__()
        if layer is not None:
            check_type(type(self).__name__, "layer", layer, int, str)
        self._data = data
        self._layer = layer
        self._how = {"batch_size": _BATCH_SIZE, **how}

    def in_words(self) -> str:
        """Return what score it is, with the layer that was asked for."""
        of = "" if self._layer is None else f" of layer {self._layer!r}"
        return f"{type(self).__name__}({self._what()}){of}"

    def _what(self) -> str:
        raise NotImplementedError

    def check(self, network: "Network[Any]") -> None:
        """Refuse a network that has no such layer."""
        self._name(network)

    def check_data(self, name: str, fit: "Fit") -> None:
        """Refuse data that do not fit the network; labels are not looked at."""
        network = fit.network
        layer = network.pretraining.layer(type(self).__name__, self._name(network))
        check_evaluated(
            name,
            fit,
            self._data,
            trained=layer,
            restorable=self._needs_restorable,
            **self._how,
        )

    def _name(self, network: "Network[Any]") -> str:
        """Return the name of the layer, which is held against its kind."""
        who, pretraining = type(self).__name__, network.pretraining
        if self._layer is not None:
            found = [pretraining.layer(who, self._layer)]
        else:
            found = [pretraining.layer(who, name) for name in pretraining.names]
        kinds = [one for one in found if isinstance(one.layer_conf, self._kind)]
        if not kinds:
            came = [type(one.layer_conf).__name__ for one in found]
            raise OptionError(
                f"{who}: the layer must be of kind {self._kind.__name__}, got "
                f"{' and '.join(came) or 'no layer that can be pretrained'}."
            )
        self._check_layer(kinds[0].layer_conf)
        return kinds[0].name

    def _check_layer(self, conf: Any) -> None:
        """Refuse a layer whose options do not go with the score."""


class _OfErrors(_OfALayer, ScoreCalculator):
    """A metric between what reaches a layer and what it restores.

    Parameters
    ----------
    metric : str
        As of :class:`RegressionScoreCalculator`.
    """

    def __init__(
        self, metric: str, data: Any, *, layer: int | str | None = None, **how: Any
    ) -> None:
        super().__init__(data, layer=layer, **how)
        known = RegressionEvaluation.METRICS
        self._metric = known_metric(type(self).__name__, metric, known)
        self.minimize_score = self._metric not in ("PC", "R2")

    def _what(self) -> str:
        return repr(self._metric)

    def calculate_score(self, fit: "Fit") -> float:
        """Return the metric, the mean over columns, after one pass over the data."""
        empty = ReconstructionTally(self._name(fit.network))
        filled = fit.tally(self._data, empty, **self._how)
        score = filled.evaluation.score_for_metric(self._metric)
        self.figures = {self._metric.lower(): score}
        return score


class AutoencoderScoreCalculator(_OfErrors):
    """A metric of what an :class:`~daskdl.AutoEncoder` restores; nothing is corrupted.

    Parameters
    ----------
    metric : str
        ``"MSE"``, ``"MAE"``, ``"RMSE"``, ``"RSE"``: the lower the better; ``"PC"`` or
        ``"R2"``: the higher. The mean over columns.
    data, **how
        As ``evaluate`` of what ``pretrain`` is called on takes them; no labels are
        needed, and none are looked at.
    layer : int or str, optional
        Index in a sequence, or name; the first autoencoder if not given.

    References
    ----------
    DL4J, ``AutoencoderScoreCalculator``, which takes the first layer of all only.
    """

    _kind = AutoEncoder


class VAEReconErrorScoreCalculator(_OfErrors):
    """A metric of what a :class:`~daskdl.VariationalAutoencoder` restores.

    At the mean of the hidden causes: nothing is drawn.

    Parameters
    ----------
    metric, data, **how
        As of :class:`AutoencoderScoreCalculator`.
    layer : int or str, optional
        Index in a sequence, or name; the first variational autoencoder if not given.

    References
    ----------
    DL4J, ``VAEReconErrorScoreCalculator``, which takes the first layer of all only.
    """

    _kind = VariationalAutoencoder


class VAEReconProbScoreCalculator(_OfALayer, ScoreCalculator):
    """How probable a variational autoencoder finds the data; the higher the better.

    Parameters
    ----------
    data, **how
        As of :class:`AutoencoderScoreCalculator`.
    num_samples : int
        How often hidden causes are drawn for an example; DL4J's
        ``reconstructionProbNumSamples``.
    log_prob : bool
        The logarithm of the probability, which does not become 0.
    average : bool
        The mean of an example in place of the sum of all.
    layer : int or str, optional
        As of :class:`VAEReconErrorScoreCalculator`.

    Notes
    -----
    All examples see the same draws, in each pass: scores of two epochs can be compared,
    and it does not matter who counts which examples.

    References
    ----------
    DL4J, ``VAEReconProbScoreCalculator``; An and Cho, *Variational Autoencoder based
    Anomaly Detection using Reconstruction Probability*, 2015.
    """

    _kind = VariationalAutoencoder
    _needs_restorable = True
    minimize_score = False

    def __init__(
        self,
        data: Any,
        num_samples: int = 10,
        log_prob: bool = True,
        average: bool = True,
        *,
        layer: int | str | None = None,
        **how: Any,
    ) -> None:
        super().__init__(data, layer=layer, **how)
        who = type(self).__name__
        self._num_samples = check_count(who, "num_samples", num_samples)
        check_type(who, "log_prob", log_prob, bool)
        check_type(who, "average", average, bool)
        self._is_logarithmic, self._average = log_prob, average

    def _what(self) -> str:
        return (
            f"num_samples={self._num_samples}, log_prob={self._is_logarithmic}, "
            f"average={self._average}"
        )

    def _check_layer(self, conf: VariationalAutoencoder) -> None:
        if has_loss(conf.reconstruction_distribution):
            raise OptionError(
                f"{type(self).__name__}: reconstruction_distribution must be a "
                "distribution, got a loss, which has no probabilities. Use "
                "VAEReconErrorScoreCalculator."
            )

    def calculate_score(self, fit: "Fit") -> float:
        """Return the probability, after one pass over the data."""
        empty = ProbabilityTally(
            self._name(fit.network),
            self._num_samples,
            is_logarithmic=self._is_logarithmic,
        )
        filled = fit.tally(self._data, empty, **self._how)
        score = filled.total / filled.examples if self._average else filled.total
        name = "log_probability" if self._is_logarithmic else "probability"
        self.figures = {name: score}
        return score

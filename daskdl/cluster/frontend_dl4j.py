"""Methods that DL4J's front ends have, beside those that train and evaluate."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from daskdl.cluster.frontend_evaluation import ClusterEvaluation
from daskdl.cluster.frontend_inference import N
from daskdl.cluster.masters.options import TrainingMaster
from daskdl.cluster.member_states import KeptStates
from daskdl.cluster.results import are_masked, dataset_of_masked
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.fitting.listener import Listener, listeners_of
from daskdl.nn.given_in_one import data_in_one


class Dl4jMethods(ClusterEvaluation[N]):
    """What a front end holds, by DL4J's methods.

    Parameters and attributes are those of
    :class:`~daskdl.cluster.frontend.ClusterNetwork`.
    """

    # What hears of fits that are given no listeners of their own.
    _listeners: Listener | Iterable[Listener] | None = None

    def get_network(self) -> N:
        """Return the network, :attr:`network`."""
        return self.network

    def set_network(
        self, network: N | MultiLayerConfiguration | ComputationGraphConfiguration
    ) -> None:
        """Train, evaluate and predict with another network from now on.

        What fits of the other one left, as the threshold of gradient sharing, is
        forgotten; its normalizer comes with it.

        Parameters
        ----------
        network : network or configuration
            As in the constructor.
        """
        self.network = self._built(network)
        self.last_fit = None
        self._threshold, self._kept = math.nan, KeptStates()

    def get_training_master(self) -> TrainingMaster:
        """Return the training master, which never changes: make another front end."""
        return self._master

    def get_score(self) -> float:
        """Return the score of the last epoch of the last fit; NaN before the first."""
        epochs = () if self.last_fit is None else self.last_fit.epochs
        return epochs[-1].score if epochs else math.nan

    def set_listeners(self, *listeners: Listener | Iterable[Listener] | None) -> None:
        """Say what hears of every fit that is given no listeners of its own.

        Parameters
        ----------
        *listeners : Listener, several, or None
            They are called in this process. None, or nothing, takes them away.
        """
        if listeners in ((), (None,)):
            self._listeners = None
            return
        who = type(self).__name__
        each = [one for given in listeners for one in listeners_of(who, given or ())]
        # Names that two of them share are told, too.
        self._listeners = listeners_of(who, each)

    def set_collect_training_stats(self, collect_training_stats: bool) -> None:
        """Say whether :meth:`get_spark_training_stats` tells what fits did.

        Parameters
        ----------
        collect_training_stats : bool
        """
        self._master = replace(
            self._master, collect_training_stats=collect_training_stats
        )

    def get_spark_training_stats(self) -> FitReport | None:
        """Return what the last fit did, :attr:`last_fit`.

        None before the first, and with a training master that is told not to collect
        it.
        """
        return self.last_fit if self._master.collect_training_stats else None

    @data_in_one
    def feed_forward_with_mask_and_key(self, data: Any, **how: Any) -> Any:
        """Predict time series with masks, and give each the key of its example.

        Parameters
        ----------
        data
            ``(key, features, mask)`` for each example, with a mask of shape (time,) or
            None; or what :meth:`feed_forward_with_key` takes.
        **how
            See :meth:`feed_forward_with_key`.
        """
        given = dataset_of_masked(data) if are_masked(data) else data
        return self.feed_forward_with_key(given, **how)

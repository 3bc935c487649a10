"""Checks of a fit's options before there is a cluster, or any data is read."""

from typing import Any

from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    TrainingMaster,
)
from daskdl.errors import OptionError
from daskdl.nn.network import Network


def check_master(who: str, network: Network[Any], master: TrainingMaster) -> None:
    """Refuse a training master that cannot train this network.

    Raises
    ------
    OptionError
        If gradients are to be shared or averaged of a network that has none, or whose
        training is more than updates by gradients; if momentum would carry on what is
        set otherwise.
    """
    if isinstance(master, BlockMomentumTrainingMaster):
        if network.sets_parameters:
            raise OptionError(
                f"{who}: the output layer must learn by updates alone for an outer "
                "momentum, got OCNNOutput, which sets r to a percentile of scores. Use "
                "ParameterAveragingTrainingMaster."
            )
        return
    if isinstance(master, ParameterAveragingTrainingMaster):
        if master.overlap and network.sets_parameters:
            raise OptionError(
                f"{who}: the output layer must learn by updates alone for overlap, got "
                "OCNNOutput, which sets r to a percentile of scores. Use overlap=False."
            )
        return
    if not network.n_params:
        raise OptionError(
            f"{who}: the network must have parameters to share gradients, got none. "
            "Use ParameterAveragingTrainingMaster."
        )
    if network.searches_lines:
        raise OptionError(
            f"{who}: optimization_algo must be 'stochastic_gradient_descent' to share "
            f"gradients, got {network.conf.optimization_algo!r}. Use "
            "ParameterAveragingTrainingMaster."
        )
    if network.sets_parameters:
        raise OptionError(
            f"{who}: the output layer must learn by updates alone to share gradients, "
            "got OCNNOutput, which sets r to a percentile of the scores that a worker "
            "has seen: each would have another. Use ParameterAveragingTrainingMaster."
        )

"""Search for the parameters of networks, with the workers of one cluster.

It takes the place of DL4J's Arbiter: trials of a :class:`RandomSearch` are trained
whole, or with :class:`SuccessiveHalving` as long as they do well.
"""

from daskdl.tuning.distributions import Choice, IntegerUniform, LogUniform, Uniform
from daskdl.tuning.search import RandomSearch
from daskdl.tuning.successive_halving import SuccessiveHalving
from daskdl.tuning.trial import Trial, TrialState

__all__ = [
    "Choice",
    "IntegerUniform",
    "LogUniform",
    "RandomSearch",
    "SuccessiveHalving",
    "Trial",
    "TrialState",
    "Uniform",
]

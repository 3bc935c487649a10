"""What searches along lines, if that is how a network is trained."""

from typing import Any, TypeAlias

from daskdl.nn.solvers import LineSearchSolver
from daskdl.nn.updater_searches import UpdaterSearches

Solver: TypeAlias = LineSearchSolver | UpdaterSearches


def solver_of(conf: Any) -> Solver | None:
    """Return the solver of a network's configuration; None for none."""
    if conf.optimization_algo == "stochastic_gradient_descent":
        return None
    goes_along_updates = "searches_along_updates" in conf.quirks_of_dialect
    solver = UpdaterSearches if goes_along_updates else LineSearchSolver
    return solver(
        conf.optimization_algo, max_iterations=conf.max_num_line_search_iterations
    )

"""Recordings of trainings with line searches, replayed with the NumPy network."""

import numpy as np

from daskdl.nn.updater_searches import UpdaterSearches
from tests.unit.networks.numpy_mlp import NumpyMlp
from tests.unit.networks.update_cases import rates

RECORDINGS = {
    "line_gradient_descent": "algo_line_gradient_descent",
    "conjugate_gradient": "algo_conjugate_gradient",
    "lbfgs": "algo_lbfgs",
}


class SearchableMlp(NumpyMlp):
    """The network with what a solver asks for."""

    def compute_gradients(self, batch, *, rng_stream=0):
        x, y = batch
        self.score = super().compute_gradients(x, y) / len(x)
        self.plan.average(self.gradients, len(x))
        return self.score

    def compute_update(self):
        self.update(epoch=0)
        return self.gradients

    def finish_iteration(self):
        self.iteration += 1


def replay(kind, folder):
    """Return the recording, and parameters and scores of the replay."""
    with np.load(folder / f"{RECORDINGS[kind]}.npz") as file:
        golden = dict(file)
    network = SearchableMlp(rates(0.1), golden["params_init"].ravel())
    solver = UpdaterSearches(kind)
    params, scores = [], []
    for i in range(len(golden["params"])):
        scores.append(solver.fit(network, (golden[f"x{i}"], golden[f"y{i}"])))
        params.append(network.dl4j_params)
    return golden, params, scores


def check_parameters(kind, folder):
    golden, params, _ = replay(kind, folder)
    np.testing.assert_allclose(params, golden["params"], rtol=0, atol=1e-12)


def check_scores(kind, folder):
    golden, _, scores = replay(kind, folder)
    np.testing.assert_allclose(scores, golden["scores"], rtol=1e-12)

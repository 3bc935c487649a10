"""A network of three dense layers in plain NumPy, trained by an UpdatePlan.

Nothing of the package's layers is in it: what differs from a recording is the plan's.
"""

import numpy as np

from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.param_roles import plan_parameters
from daskdl.nn.update_plan import UpdatePlan

SIZES = (4, 5, 4, 3)
DERIVATIVES = {"tanh": lambda a: 1 - a * a, "sigmoid": lambda a: a * (1 - a)}


class NumpyMlp:
    """The network, with parameters, gradients and updater state in flat vectors."""

    def __init__(self, case, dl4j_params):
        self.case = case
        shapes = {}
        for i in range(3):
            shapes[f"{i}_W"] = SIZES[i : i + 2]
            shapes[f"{i}_b"] = SIZES[i + 1 : i + 2]
        self.layout = ParamLayout.of(shapes)
        self.plan = UpdatePlan(
            self.layout,
            [self.stretch(i, options) for i, options in enumerate(case.layers)],
        )
        self.positions = np.concatenate([dl4j_positions(s) for s in self.layout])
        dtype = dl4j_params.dtype
        self.params = np.empty(self.layout.size, dtype)
        self.params[self.positions] = dl4j_params
        self.gradients = np.zeros(self.layout.size, dtype)
        self.state = np.zeros(self.plan.state_size, dtype)
        self.plan.initialize_state(self.state)
        self.iteration = 0

    def stretch(self, i, options):
        slots = [self.layout[f"{i}_W"], self.layout[f"{i}_b"]]
        parameters = [
            Parameter("W", slots[0].shape, "weight"),
            Parameter("b", slots[1].shape, "bias"),
        ]
        return plan_parameters(options, slots, parameters)

    def fit(self, x, y, *, epoch):
        """Train one minibatch; return the score before the update."""
        score = self.compute_gradients(x, y)
        if self.case.mini_batch:
            self.plan.average(self.gradients, len(x))
            score /= len(x)
        score += self.plan.regularization_score(
            self.params, iteration=self.iteration, epoch=epoch
        )
        self.update(epoch=epoch)
        self.params -= self.gradients
        self.iteration += 1
        self.plan.constrain(self.params)
        return score

    def update(self, *, epoch):
        """Turn the gradients into the update."""
        self.plan.update(
            self.gradients,
            self.params,
            self.state,
            iteration=self.iteration,
            epoch=epoch,
            workspace=Workspace(),
        )

    def compute_gradients(self, x, y):
        p = self.layout.views(self.params)
        g = self.layout.views(self.gradients)
        outputs = [x]
        for i, name in enumerate(self.case.activations):
            z = outputs[-1] @ p[f"{i}_W"] + p[f"{i}_b"]
            outputs.append(np.tanh(z) if name == "tanh" else 1 / (1 + np.exp(-z)))
        z = outputs[-1] @ p["2_W"] + p["2_b"]
        softmax = np.exp(z - z.max(axis=1, keepdims=True))
        softmax /= softmax.sum(axis=1, keepdims=True)
        grad = softmax - y
        for i in (2, 1, 0):
            g[f"{i}_W"][...] = outputs[i].T @ grad
            g[f"{i}_b"][...] = grad.sum(axis=0)
            if i > 0:
                derivative = DERIVATIVES[self.case.activations[i - 1]](outputs[i])
                grad = (grad @ p[f"{i}_W"].T) * derivative
        return -float((y * np.log(softmax)).sum())

    @property
    def dl4j_params(self):
        """The parameters in the order of DL4J's vector."""
        return self.params[self.positions]

    @property
    def dl4j_state(self):
        """The updater state in the order of DL4J's file."""
        names = [slot.name for slot in self.layout]
        return self.state[self.plan.state_order(names, self.positions)]


def dl4j_positions(slot):
    """Return where DL4J's numbers of a parameter lie: it flattens by columns."""
    return slot.offset + np.arange(slot.size).reshape(slot.shape).flatten(order="F")


class Replay:
    """A recording, and what an UpdatePlan makes of the same minibatches."""

    def __init__(self, name, case, folder):
        with np.load(folder / f"{name}.npz") as file:
            self.golden = dict(file)
        network = NumpyMlp(case, self.golden["params_init"].ravel())
        n_given = sum(key.startswith("x") for key in self.golden)
        in_epochs = "epoch_seen_by_listener" in self.golden
        self.params, self.scores = [], []
        for step in range(len(self.golden["params"])):
            i = step % n_given
            score = network.fit(
                self.golden[f"x{i}"],
                self.golden[f"y{i}"],
                epoch=step // n_given if in_epochs else 0,
            )
            self.params.append(network.dl4j_params)
            self.scores.append(score)
        self.state = network.dl4j_state

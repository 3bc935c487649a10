"""What DL4J 1.0.0-M2.1 computed for activations and losses, all in float64.

The name of a file says what was computed: ``activation_elu_0.5``, ``loss_mse_w_tanh``.
"""

import re
from pathlib import Path

import numpy as np

from daskdl.dialects import quirks_of
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import (
    Elu,
    Gelu,
    LeakyRelu,
    Relu,
    RRelu,
    ThresholdedRelu,
)
from daskdl.nn.conf.losses import find_loss
from daskdl.nn.losses.table import loss_function
from tests.dialects import DL4J

FOLDER = Path(__file__).parents[2] / "data" / "nn_math"

WITH_OPTIONS = {
    "elu_0.5": Elu(alpha=0.5),
    "gelu_precise": Gelu(precise=True),
    "leakyrelu_0.3": LeakyRelu(alpha=0.3),
    "relu_max1": Relu(max=1),
    "relu_max2_thr0.5_slope0.1": Relu(max=2, threshold=0.5, negative_slope=0.1),
    "relu_slope0.2": Relu(negative_slope=0.2),
    "relu_thr0.5": Relu(threshold=0.5),
    "rrelu_0.2_0.4": RRelu(l=0.2, u=0.4),
    "thresholdedrelu_0.5": ThresholdedRelu(theta=0.5),
}
SHORT_NAMES = {
    "nll": "negativeloglikelihood",
    "kld": "kl_divergence",
    "cosine": "cosine_proximity",
    "mixturedensity": "mixture_density",
}
# Words of a name that say something about the labels, not about the loss.
LABELS = {"saturated", "soft", "onehot", "onecolumn", "int"}


def names(prefix):
    """Return the cases whose file begins with `prefix`, without it."""
    paths = sorted(FOLDER.glob(f"{prefix}_*.npz"))
    return [path.stem.removeprefix(f"{prefix}_") for path in paths]


def load(prefix, name, folder=FOLDER):
    with np.load(folder / f"{prefix}_{name}.npz") as arrays:
        return dict(arrays)


def activation_of(name):
    """Return the activation function of a case."""
    return activation_function(WITH_OPTIONS.get(name, name), quirks_of(DL4J))


def loss_of(name, case):
    """Return the loss of a case, and the activation before it."""
    options = {}
    beta = re.search(r"_beta(.*)$", name)
    if beta:
        options["beta"] = float(beta[1])
        name = name[: beta.start()]
    *words, activation = [word for word in name.split("_") if word not in LABELS]
    if "w" in words:
        options["weights"] = case["weights"].ravel().tolist()
    if words == ["xent", "clip"]:
        options["clip_eps"] = 0.1
    if words == ["mcxent", "clip"]:
        options["softmax_clip_eps"] = 0.2
    if words == ["mixturedensity"]:
        options.update(mixtures=2, label_width=2)
    loss = "_".join(word for word in words if word not in ("w", "clip"))
    loss = SHORT_NAMES.get(loss, loss)
    conf = find_loss({"type": loss, **options})
    quirks = quirks_of(DL4J)
    return loss_function(conf, quirks), activation_function(activation, quirks)

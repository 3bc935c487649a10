"""The network that tests of live Spark train, and what it learns from."""

import numpy as np

import daskdl

ROWS, WIDTH = 240, 4


def small_arrays():
    """Return features of shape (ROWS, WIDTH), float32, and classes: 0 or 1."""
    features = np.random.default_rng(3).normal(size=(ROWS, WIDTH)).astype(np.float32)
    return features, (features[:, 0] > 0).astype(int)


def small_network(width, **output):
    """Return the configuration of one for `width` features; two classes by default."""
    return daskdl.MultiLayerConfiguration(
        seed=1,
        updater=daskdl.Adam(learning_rate=0.05),
        input=daskdl.FeedForward(size=width),
        layers=[
            daskdl.Dense(n_out=8, activation="tanh"),
            daskdl.Output(**(output or {"n_out": 2, "loss": "mcxent"})),
        ],
    )


def small_recurrent_network(width):
    """Return the configuration of one for series of `width` features, two classes."""
    return daskdl.MultiLayerConfiguration(
        seed=1,
        input=daskdl.Recurrent(size=width),
        layers=[
            daskdl.LastTimeStep(layer=daskdl.SimpleRnn(n_out=4)),
            daskdl.Output(n_out=2, loss="mcxent"),
        ],
    )

"""The network that tests of live Spark train."""

import daskdl


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

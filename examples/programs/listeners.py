"""Watch a network while it learns, and stop when it is good enough."""

import numpy as np

import daskdl


class GoodEnough(daskdl.Listener):
    def on_epoch_end(self, fit: daskdl.Fit) -> None:
        print(f"epoch {fit.epoch}: score {fit.score:.3f}, {fit.values}")
        if fit.values["accuracy"] > 0.97:
            fit.stop()


x = np.random.default_rng(0).normal(size=(2000, 2))
y = (x[:, 0] > x[:, 1]).astype(int)
conf = daskdl.MultiLayerConfiguration(
    input=daskdl.FeedForward(2), layers=[daskdl.Output(2)], updater=daskdl.Adam(0.01)
)
network = daskdl.MultiLayerNetwork(conf)
listeners = [daskdl.EvaluativeListener((x[1500:], y[1500:])), GoodEnough()]
network.fit((x[:1500], y[:1500]), epochs=50, batch_size=32, listeners=listeners)

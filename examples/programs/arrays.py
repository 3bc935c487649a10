"""Train on arrays, in one process."""

import numpy as np

import daskdl

x = np.random.default_rng(0).normal(size=(2000, 2))
classes = (x[:, 0] * x[:, 1] > 0).astype(int)
layers = [daskdl.Dense(32, activation="relu"), daskdl.Output(2)]
conf = daskdl.MultiLayerConfiguration(
    input=daskdl.FeedForward(2), layers=layers, updater=daskdl.Adam(0.01)
)
network = daskdl.MultiLayerNetwork(conf)
network.fit((x, classes), epochs=20, batch_size=32)
print(network.evaluate((x, classes)).stats())
network.save("quadrants.safetensors", overwrite=True)

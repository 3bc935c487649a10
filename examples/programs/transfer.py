"""Give a network that DL4J trained, the first argument, a new output."""

import sys

import numpy as np

import daskdl

old = daskdl.load(sys.argv[1])
x = np.random.default_rng(0).normal(size=(500, daskdl.features_of(old.inputs[0].type)))
classes = (x[:, 0] > 0).astype(int)
change = daskdl.transfer_learning(old).fine_tune(updater=daskdl.Adam(0.01))
new = change.remove_output_layer().add_layer(daskdl.Output(2)).build()
new.fit((x, classes), epochs=10, batch_size=32)
print(new.summary(), new.evaluate((x, classes)).accuracy(), sep="\n")

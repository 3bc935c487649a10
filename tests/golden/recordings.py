"""Trainings as DL4J recorded them: minibatches, and what came of them."""

import numpy as np

from daskdl import DataSet, MultiDataSet

MOST_ARRAYS = 9


class Recording:
    """The arrays of one case of training/, by their names in the file."""

    def __init__(self, folder, name):
        with np.load(folder / f"{name}.npz") as found:
            self._arrays = dict(found)
        self._n_batches = sum(
            1
            for key in self._arrays
            if key.startswith("x") and key[1:].removesuffix(".0").isdecimal()
        )

    def __getitem__(self, key):
        return self._arrays[key]

    def __contains__(self, key):
        return key in self._arrays

    def batches(self):
        """Yield the minibatch of each step, again and again where there are epochs."""
        for step in range(len(self["params"])):
            yield self._batch(step % self._n_batches)

    def ends_epoch(self, step):
        is_one_pass = len(self["params"]) == self._n_batches
        return not is_one_pass and (step + 1) % self._n_batches == 0

    def _batch(self, i):
        if f"x{i}" in self:
            names = (f"x{i}", f"y{i}", f"fm{i}", f"lm{i}")
            return DataSet(*(self._arrays.get(name) for name in names))
        x, y, fm, lm = (self._several(what, i) for what in ("x", "y", "fm", "lm"))
        return MultiDataSet(
            x,
            y,
            fm and [self._arrays.get(f"fm{i}.{k}") for k in range(len(x))],
            lm and [self._arrays.get(f"lm{i}.{k}") for k in range(len(y))],
        )

    def _several(self, what, i):
        names = [f"{what}{i}.{k}" for k in range(MOST_ARRAYS)]
        return [self._arrays[name] for name in names if name in self] or None

"""How often stored data are loaded in one process."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import daskdl as dl
from daskdl_bridge.readers.table_reader import TablePartition


@pytest.fixture
def loads(monkeypatch):
    names, load_rows = [], TablePartition.load_rows

    def counted(self):
        names.append(self.name)
        return load_rows(self)

    monkeypatch.setattr(TablePartition, "load_rows", counted)
    return names


@pytest.fixture
def folder(tmp_path, rng):
    for part in range(3):
        columns = {f"x{i}": rng.standard_normal(10) for i in range(2)}
        columns["label"] = rng.integers(0, 2, 10)
        pq.write_table(pa.table(columns), tmp_path / f"part-0000{part}.parquet")
    (tmp_path / "_SUCCESS").touch()
    return str(tmp_path)


@pytest.mark.parametrize("shuffle", [False, True])
def test_what_fits_is_loaded_once_with_the_look_at_it(folder, loads, shuffle):
    conf = dl.MultiLayerConfiguration(input=dl.FeedForward(2), layers=[dl.Output(2)])
    network = dl.MultiLayerNetwork(conf)
    network.fit(
        folder,
        batch_size=4,
        epochs=3,
        shuffle=shuffle,
        features=["x0", "x1"],
        label="label",
        normalizer=dl.NormalizerStandardize(),
        listeners=[],
    )
    assert len(loads) == len(set(loads)) == 3
    assert np.isfinite(network.score)

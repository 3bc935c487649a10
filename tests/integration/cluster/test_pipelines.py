"""Pipelines on real workers: the results of one process, though workers die."""

import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import daskdl as dl

PARTS, ROWS = 6, 50


@pytest.fixture
def folder(tmp_path):
    """Parts of examples whose feature is their number."""
    (tmp_path / "data").mkdir()
    for part in range(PARTS):
        x = np.arange(part * ROWS, (part + 1) * ROWS, dtype="float32")
        labels = np.eye(3, dtype="float32")[x.astype(int) % 3]
        dl.DataSet(x[:, None], labels).save(f"{tmp_path}/data/part_{part}.bin")
    return tmp_path


def numbers(source):
    loaded = dl.DataSet.merge([one.load() for one in source.partitions])
    return loaded.features[:, 0].astype(int).tolist()


def load_or_die(url, *, marks):
    """Load a part; the second who loads that of number 2 dies."""
    if url.endswith("part_2.bin"):
        called = len(list(Path(marks).iterdir()))
        Path(marks, str(called)).touch()
        if called == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return dl.DataSet.load(url)


def test_two_workers_give_what_one_process_gives(cluster_of, folder):
    client = cluster_of(2)
    data, how = str(folder / "data"), {"seed": 3}
    split = {"fractions": (0.7, 0.3), "stratify": True, **how}
    here, there = dl.split(data, **split), dl.split(data, client=client, **split)
    assert [*map(numbers, there)] == [*map(numbers, here)]
    assert dl.class_counts(data, client=client).counts.tolist() == [100] * 3
    mixed = dl.shuffled(data, folder / "a", bucket_bytes=800, client=client, **how)
    assert numbers(mixed) == numbers(dl.shuffled(data, folder / "b", **how))


def test_a_worker_that_dies_in_the_second_pass_changes_nothing(cluster_of, folder):
    (folder / "marks").mkdir()
    loader = partial(load_or_die, marks=str(folder / "marks"))
    data = str(folder / "data")
    mixed = dl.shuffled(data, folder / "a", seed=3, client=cluster_of(2), loader=loader)
    assert len(list((folder / "marks").iterdir())) == 3
    assert numbers(mixed) == numbers(dl.shuffled(data, folder / "b", seed=3))
    assert len(list((folder / "a").glob("*.bin"))) == PARTS

"""A cluster of separate processes, data that a small network learns, and networks."""

from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from daskdl import BatchNormalization, Dense, Output
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork

N_FEATURES, N_CLASSES = 16, 4


@contextmanager
def clusters():
    """Give a function that starts a cluster of n workers; close all of them after."""
    opened = []

    def start(workers: int, **options: Any) -> Client:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        )
        client = Client(cluster, set_as_default=False)
        opened.append((client, cluster))
        return client

    try:
        yield start
    finally:
        for client, cluster in opened:
            client.close()
            cluster.close()


@pytest.fixture
def cluster_of():
    with clusters() as start:
        yield start


@pytest.fixture(scope="module")
def module_cluster_of():
    with clusters() as start:
        yield start


@pytest.fixture(scope="session")
def blobs():
    """Return a function that draws labelled points around one centre a class."""
    centres = np.random.default_rng(7).normal(0, 2.0, (N_CLASSES, N_FEATURES))

    def draw(examples: int, seed: int = 0) -> DataSet:
        rng = np.random.default_rng(seed)
        classes = rng.integers(0, N_CLASSES, examples)
        features = centres[classes] + rng.normal(0, 1.5, (examples, N_FEATURES))
        labels = np.eye(N_CLASSES, dtype=np.float32)[classes]
        return DataSet(features.astype(np.float32), labels)

    return draw


@pytest.fixture(scope="session")
def network():
    """Return a function that makes a small network, always from the same weights."""

    def make(
        *, updater="adam", dropout=None, batch_norm=False, **defaults
    ) -> MultiLayerNetwork:
        layers = [Dense(n_out=24, activation="relu", keep_probability=dropout)]
        if batch_norm:
            layers.append(BatchNormalization())
        layers.append(Output(n_out=N_CLASSES, loss="mcxent"))
        return MultiLayerNetwork(
            MultiLayerConfiguration(
                layers=layers,
                input=FeedForward(size=N_FEATURES),
                updater=updater,
                seed=3,
                **defaults,
            )
        ).init()

    return make

"""Networks and batches on a real HDFS, through the guarded clients."""

import uuid

import numpy as np
import pytest

import daskdl
from daskdl.data.dataset import DataSet
from daskdl.data.files import write_output
from daskdl.errors import OutputExistsError, SourceNotFoundError
from daskdl.nn.conf.network import configuration_from_dict
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl_bridge.errors import StorageTimeoutError
from daskdl_bridge.storage import filesystem


@pytest.fixture
def url(hdfs):
    """A directory that does not exist yet."""
    return f"{hdfs.uri}/files-{uuid.uuid4().hex}"


@pytest.fixture
def network(rng):
    network = MultiLayerNetwork(
        configuration_from_dict(
            {
                "input": {"type": "feed_forward", "size": 4},
                "layers": [
                    {"type": "dense", "n_out": 5},
                    {"type": "output", "n_out": 2},
                ],
                "updater": "adam",
            }
        )
    )
    batch = DataSet(rng.random((6, 4)), np.eye(2)[[0, 1, 0, 1, 1, 0]])
    network.fit(batch, epochs=3)
    return network


def names(url):
    fs, path = filesystem(url)
    return [name.rpartition("/")[2] for name in fs.ls(path, detail=False)]


def test_a_network_is_saved_and_loaded(url, network):
    network.save(f"{url}/model.safetensors")
    restored = daskdl.load(f"{url}/model.safetensors")
    np.testing.assert_array_equal(restored.params, network.params)
    np.testing.assert_array_equal(restored.updater_state, network.updater_state)
    assert names(url) == ["model.safetensors"]


def test_a_network_replaces_another_only_on_request(url, network):
    network.save(f"{url}/model.safetensors")
    with pytest.raises(OutputExistsError, match=r"hdfs://mini/.*: must not exist yet"):
        network.save(f"{url}/model.safetensors")
    network.params[...] = 1
    network.save(f"{url}/model.safetensors", overwrite=True)
    assert set(daskdl.load(f"{url}/model.safetensors").params) == {1}
    assert names(url) == ["model.safetensors"]


def test_the_old_file_stays_until_the_new_one_is_complete(url):
    fs, path = filesystem(f"{url}/file")
    seen = []

    def fill(stream):
        stream.write(b"new")
        seen.append(fs.cat(path))

    write_output(f"{url}/file", lambda out: out.write(b"old"))
    write_output(f"{url}/file", fill, overwrite=True)
    assert (seen, fs.cat(path)) == ([b"old"], b"new")


def test_the_old_file_is_never_removed(url, monkeypatch):
    """The NameNode replaces it in one operation."""
    from daskdl_bridge.hdfs_client import GuardedClient

    removed = []
    monkeypatch.setattr(GuardedClient, "delete", lambda *_: removed.append(_))
    for _ in range(2):
        write_output(f"{url}/file", lambda out: out.write(b"any"), overwrite=True)
    assert removed == []


def test_a_batch_is_saved_and_loaded(url, rng):
    batch = DataSet(rng.random((5, 3), dtype=np.float32))
    batch.save(f"{url}/batch.bin")
    found = DataSet.load(f"{url}/batch.bin")
    np.testing.assert_array_equal(found.features, batch.features)


def test_a_missing_file_is_named(url):
    with pytest.raises(SourceNotFoundError, match=r"hdfs://mini/files-.*/none"):
        daskdl.load(f"{url}/none")


def test_a_store_that_does_not_answer_is_given_up(hdfs, url):
    """The time limit is that of the guarded clients."""
    hdfs.command("pause")
    try:
        with pytest.raises(StorageTimeoutError, match=r"within 1 s"):
            DataSet.load(f"{url}/x", storage_options={"timeout_s": 1.0})
    finally:
        hdfs.command("resume")

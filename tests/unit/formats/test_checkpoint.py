"""A saved network is the very same network; a damaged file is refused by name."""

import json
import zipfile

import fsspec
import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.errors import FormatError, OutputExistsError, SourceNotFoundError
from daskdl.formats import checkpoint
from daskdl.formats.load import load
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl import (
    LSTM,
    BatchNormalization,
    Dense,
    Output,
    RnnOutput,
)
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork


def mlp(rng):
    conf = MultiLayerConfiguration(
        input=FeedForward(size=4),
        layers=[
            Dense(n_out=5, keep_probability=0.5),
            BatchNormalization(),
            Output(n_out=3),
        ],
        updater="adam",
    )
    labels = np.eye(3)[rng.integers(0, 3, 8)]
    return MultiLayerNetwork(conf), DataSet(rng.standard_normal((8, 4)), labels)


def rnn(rng):
    conf = MultiLayerConfiguration(
        input=Recurrent(size=3, data_format="NWC"),
        layers=[LSTM(n_out=4), RnnOutput(n_out=2, loss="mse")],
        updater={"type": "rmsprop", "learning_rate": 0.01},
        bias_updater="nesterovs",
        dtype="float64",
    )
    series = rng.standard_normal((4, 5, 3)), rng.standard_normal((4, 5, 2))
    return MultiLayerNetwork(conf), DataSet(*series)


def graph(rng):
    conf = ComputationGraphConfiguration(
        inputs={"a": FeedForward(size=4), "b": FeedForward(size=2)},
        vertices={
            "m": {"type": "merge", "inputs": ["a", "b"]},
            "part": {"type": "subset", "from": 1, "to": 4, "inputs": ["m"]},
            "out": Output(n_out=2, loss="mse", inputs=["part"]),
        },
        outputs=["out"],
        updater="ada_grad",
    )
    features = [rng.standard_normal((8, 4)), rng.standard_normal((8, 2))]
    return ComputationGraph(conf), MultiDataSet(features, [rng.standard_normal((8, 2))])


@pytest.fixture
def saved(rng, tmp_path):
    """A trained network in a file, and the data."""
    network, data = mlp(rng)
    network.fit(data, epochs=2)
    path = tmp_path / "model.zip"
    network.save(path)
    return network, data, path


@pytest.mark.parametrize("make", [mlp, rnn, graph])
def test_training_goes_on_bit_for_bit_after_loading(make, rng, tmp_path):
    network, data = make(rng)
    network.fit(data, epochs=3)
    network.save(tmp_path / "model")
    restored = load(tmp_path / "model")
    network.fit(data, epochs=2)
    restored.fit(data, epochs=2)
    assert restored.params.tobytes() == network.params.tobytes()
    assert restored.updater_state.tobytes() == network.updater_state.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "updater", ["sgd", "nesterovs", "adam", "ada_grad", "rms_prop", "no_op"]
)
def test_every_updater_goes_on_after_loading(rng, tmp_path, updater, dtype):
    conf = MultiLayerConfiguration(
        input=FeedForward(size=4),
        layers=[Dense(n_out=5), BatchNormalization(), Output(n_out=3)],
        updater=updater,
        l2=0.01,
        dtype=dtype,
    )
    labels = np.eye(3)[rng.integers(0, 3, 8)]
    data = DataSet(rng.standard_normal((8, 4)), labels)
    network = MultiLayerNetwork(conf).fit(data, epochs=3)
    network.save(tmp_path / "model")
    restored = load(tmp_path / "model")
    assert restored.dtype == dtype
    network.fit(data, epochs=3)
    restored.fit(data, epochs=3)
    assert restored.params.tobytes() == network.params.tobytes()
    assert restored.updater_state.tobytes() == network.updater_state.tobytes()


def test_running_statistics_are_loaded(saved):
    network, data, path = saved
    restored = load(path)
    assert restored.param_table()["1_mean"].any()
    np.testing.assert_array_equal(
        restored.output(data.features), network.output(data.features)
    )


@pytest.mark.parametrize("make", [mlp, rnn, graph])
def test_a_loaded_network_is_what_was_saved(make, rng, tmp_path):
    network, data = make(rng)
    network.fit(data, epochs=3)
    network.save(tmp_path / "model")
    restored = load(tmp_path / "model")
    assert restored.conf == network.conf
    assert type(restored) is type(network)
    assert (restored.iteration_count, restored.epoch_count) == (3, 3)
    assert restored.score == network.score


def test_an_untrained_network_has_no_score(rng, tmp_path):
    network, _ = mlp(rng)
    network.save(tmp_path / "model")
    assert np.isnan(load(tmp_path / "model").score)


def test_a_network_that_diverged_can_be_saved(rng, tmp_path):
    network, _ = mlp(rng)
    network.score = float("inf")
    network.save(tmp_path / "model")
    assert load(tmp_path / "model").score == float("inf")


def test_the_normalizer_goes_with_the_network(rng, tmp_path):
    network, data = mlp(rng)
    normalizer = NormalizerStandardize().fit(data)
    network.save(tmp_path / "model", normalizer=normalizer)
    restored = load(tmp_path / "model").normalizer
    np.testing.assert_array_equal(
        restored.transform(data).features, normalizer.transform(data).features
    )


def test_saving_again_keeps_the_loaded_normalizer(rng, tmp_path):
    network, data = mlp(rng)
    network.save(tmp_path / "a", normalizer=NormalizerStandardize().fit(data))
    load(tmp_path / "a").save(tmp_path / "b")
    assert load(tmp_path / "b").normalizer is not None


def test_without_a_normalizer_there_is_none(saved):
    assert load(saved[2]).normalizer is None


def test_the_same_network_gives_the_same_bytes(saved, tmp_path):
    network, _, path = saved
    network.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_urls_of_fsspec_work(rng):
    network, _ = mlp(rng)
    network.save("memory://models/net.zip")
    assert load("memory://models/net.zip").conf == network.conf
    fsspec.filesystem("memory").rm("/models", recursive=True)


def test_what_exists_is_not_overwritten_by_chance(saved):
    network, _, path = saved
    before = path.read_bytes()
    with pytest.raises(OutputExistsError, match=r"model\.zip: must not exist yet"):
        network.save(path)
    assert path.read_bytes() == before


def test_what_exists_is_overwritten_on_demand(saved):
    network, data, path = saved
    network.fit(data)
    network.save(path, overwrite=True)
    assert load(path).iteration_count == 3


def test_nothing_but_the_file_is_left_behind(saved):
    path = saved[2]
    assert [found.name for found in path.parent.iterdir()] == ["model.zip"]


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(SourceNotFoundError, match="nowhere: must be a file"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(saved, share):
    path = saved[2]
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FormatError, match=r"model\.zip: must be a network .* got"):
        load(path)


def test_a_damaged_number_is_noticed(saved):
    path = saved[2]
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo("params.npy").header_offset + 300
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"model.zip: .*damaged .*CRC"):
        load(path)


def test_any_damaged_byte_is_noticed_or_harmless(saved, rng):
    """Whatever byte is changed: the same network comes back, or a FormatError."""
    network, _, path = saved
    content = path.read_bytes()
    for at in rng.integers(0, len(content), 500):
        damaged = bytearray(content)
        damaged[at] ^= rng.integers(1, 256)
        path.write_bytes(damaged)
        try:
            restored = load(path)
        except FormatError:
            continue
        assert restored.params.tobytes() == network.params.tobytes()


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes").write_text("hello")
    with pytest.raises(FormatError, match=r"notes: must be .*begins with b'he"):
        load(tmp_path / "notes")


def rewritten(path, **changes):
    """Write the file again with other values in network.json, or without an entry."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(entries["network.json"])
    dropped = changes.pop("dropped", None)
    about.update(changes)
    entries["network.json"] = json.dumps(about)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            if name != dropped:
                archive.writestr(name, content)


def test_a_description_that_is_no_mapping_is_refused(saved):
    path = saved[2]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("network.json", "[]")
    with pytest.raises(FormatError, match=r"network\.json must be a mapping, got list"):
        load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version of the file must be at most 1, got 2. Update"),
        ({"kind": "Forest"}, "must describe a MultiLayerNetwork or ComputationGraph"),
        ({"format": "x"}, "must describe .*got format 'x'"),
        ({"layout": [["0_W", [4, 5]]]}, "layout of the parameters must be that of"),
        ({"configuration": {"layers": []}}, "network.input: must be given"),
        ({"dropped": "params.npy"}, "must be a whole network file.*params.npy"),
        ({"dropped": "updater_state.npy"}, "must be a whole network file"),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(saved, changes, message):
    path = saved[2]
    rewritten(path, **changes)
    with pytest.raises(FormatError, match=rf"(?s)model\.zip: .*{message}"):
        load(path)


def test_a_pickle_in_the_file_is_not_run(saved):
    """An object array would run code when it is read."""
    path = saved[2]
    with zipfile.ZipFile(path) as archive:
        about = archive.read("network.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("network.json", about)
        with archive.open("params.npy", "w") as stream:
            np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="allow_pickle"):
        load(path)


def test_recognizes_looks_at_the_content(saved, tmp_path):
    with saved[2].open("rb") as stream:
        assert checkpoint.recognizes(stream)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("configuration.json", "{}")
    with (tmp_path / "other.zip").open("rb") as stream:
        assert not checkpoint.recognizes(stream)

"""A saved network is the very same network; a damaged file is refused by name."""

import contextlib
import json
import zlib

import fsspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daskdl import (
    LSTM,
    BatchNormalization,
    Dense,
    Output,
    RnnOutput,
)
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.errors import (
    FormatError,
    OptionError,
    OutputExistsError,
    SourceNotFoundError,
)
from daskdl.formats import checkpoint
from daskdl.formats.load import load
from daskdl.formats.tensor_file import TensorFile, write_tensors
from daskdl.nn.conf.input_type import FeedForward, Recurrent
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
    path = tmp_path / "model.safetensors"
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


def test_an_unknown_format_is_refused_by_name(saved, tmp_path):
    with pytest.raises(
        OptionError, match=r"format must be one of 'daskdl'.*'dl4'.*Did"
    ):
        saved[0].save(tmp_path / "a", format="dl4")


def test_the_format_of_dl4j_is_one_word_away(saved, tmp_path):
    saved[0].save(tmp_path / "a.zip", format="dl4j")
    restored = load(tmp_path / "a.zip")
    assert restored.params.tobytes() == saved[0].params.tobytes()


def test_a_write_that_breaks_off_leaves_nothing(saved, monkeypatch):
    network, _, path = saved
    before = path.read_bytes()
    monkeypatch.setattr(checkpoint, "write_tensors", broken_off)
    with pytest.raises(OSError, match="disk is full"):
        network.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def broken_off(stream, tensors, texts):
    stream.write(b"half")
    raise OSError("the disk is full")


def test_urls_of_fsspec_work(rng):
    network, _ = mlp(rng)
    network.save("memory://models/net.safetensors")
    assert load("memory://models/net.safetensors").conf == network.conf
    fsspec.filesystem("memory").rm("/models", recursive=True)


def test_what_exists_is_not_overwritten_by_chance(saved):
    network, _, path = saved
    before = path.read_bytes()
    with pytest.raises(
        OutputExistsError, match=r"model\.safetensors: must not exist yet"
    ):
        network.save(path)
    assert path.read_bytes() == before


def test_what_exists_is_overwritten_on_demand(saved):
    network, data, path = saved
    network.fit(data)
    network.save(path, overwrite=True)
    assert load(path).iteration_count == 3


def test_nothing_but_the_file_is_left_behind(saved):
    path = saved[2]
    assert [found.name for found in path.parent.iterdir()] == ["model.safetensors"]


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(SourceNotFoundError, match="nowhere: must be a file"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(saved, share):
    path = saved[2]
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FormatError, match=r"model\.safetensors: .*must .* got"):
        load(path)


def test_an_empty_file_is_refused(saved):
    saved[2].write_bytes(b"")
    with pytest.raises(FormatError, match=r"model\.safetensors: .*got an empty file"):
        load(saved[2])


def test_a_damaged_number_is_noticed(saved):
    path = saved[2]
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match="'updater_state': checksums of the tensors"):
        load(path)


def test_a_damaged_description_is_noticed(saved):
    path = saved[2]
    path.write_bytes(
        path.read_bytes().replace(b'iteration_count\\":2', b'iteration_count\\":3')
    )
    with pytest.raises(FormatError, match=r"must have the checksum .* The file is dam"):
        load(path)


def test_any_damaged_byte_is_noticed_or_harmless(saved, rng):
    """Whatever byte is changed: the same network comes back, or a FormatError."""
    network, _, path = saved
    content = path.read_bytes()
    for at in rng.integers(0, len(content), 200):
        damaged = bytearray(content)
        damaged[at] ^= rng.integers(1, 256)
        path.write_bytes(damaged)
        try:
            restored = load(path)
        except FormatError:
            continue
        assert restored.params.tobytes() == network.params.tobytes()
        assert restored.conf == network.conf


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes").write_text("hello")
    with pytest.raises(FormatError, match=r"notes: must be .*begins with b'he"):
        load(tmp_path / "notes")


def rewritten(path, change):
    """Let `change` work on the description in a file, and put it in its place."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    about = json.loads(header["__metadata__"]["daskdl"])
    about = change(about) or about
    text = about if isinstance(about, str) else json.dumps(about)
    header["__metadata__"] = {
        "daskdl": text,
        "daskdl_crc32": f"{zlib.crc32(text.encode()):08x}",
    }
    new = json.dumps(header).encode()
    path.write_bytes(len(new).to_bytes(8, "little") + new + content[begin:])


def setting(key, value):
    return lambda about: about.update({key: value})


def widened(about):
    about["configuration"]["layers"][0]["n_out"] = 10**9
    about["configuration"]["layers"][0]["n_in"] = None


def nested(about):
    layer = {"type": "dense", "n_out": 1}
    for _ in range(600):
        layer = {"type": "time_distributed", "layer": layer}
    about["configuration"]["layers"][0] = layer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting("version", 3), "version must be 2, got 3. A newer file needs a newer"),
        (setting("version", True), "version must be 2, got True"),
        (setting("kind", "Forest"), "must describe a MultiLayerNetwork or Computation"),
        (setting("kind", []), r"must describe a MultiLayerNetwork .* kind \[\]"),
        (setting("format", "x"), "must describe .*got format 'x'"),
        (setting("params", ["0_W"]), "params must be what follows from the config"),
        (setting("updater_state", []), "updater_state must be what follows from"),
        (setting("crc32", {}), "'params.0_W': checksums of the tensors must be None"),
        (setting("crc32", 5), "must have checksums of the tensors, got 5"),
        (setting("configuration", {"layers": []}), "network.input: must be given"),
        (setting("configuration", None), "network: must be a mapping"),
        (setting("iteration_count", -1), "iteration_count must be a count, got -1"),
        (setting("epoch_count", 1.5), "epoch_count must be a count, got 1.5"),
        (setting("score", None), "score must be a number as text, got None"),
        (setting("score", "high"), "score must be a number as text, got 'high'"),
        (setting("normalizer", {"type": "x"}), "normalizer: type must be one of"),
        (widened, r"'params.0_W': shapes of the parameters must be \(4, 1000000000\)"),
        (nested, "must"),
        (lambda about: [1], "must hold a mapping, got list"),
        (lambda about: "nothing", "must hold JSON, got"),
        (lambda about: "[" * 100_000, "must not be nested that deep"),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(saved, change, message):
    path = saved[2]
    rewritten(path, change)
    with pytest.raises(FormatError, match=rf"(?s)model\.safetensors: .*{message}"):
        load(path)


def texts_of(path):
    with path.open("rb") as stream:
        return TensorFile(stream).texts


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=5,
)


def places(value, path=()):
    """Yield the path of every value inside of lists and mappings."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_change_of_the_description_is_read_or_refused(saved, data):
    """Checksums are made right again: they are no defence against ill will."""
    path = saved[2]
    content = path.read_bytes()

    def change(about):
        *way, last = data.draw(st.sampled_from(list(places(about))))
        inner = about
        for key in way:
            inner = inner[key]
        inner[last] = data.draw(JSON_VALUES)

    try:
        rewritten(path, change)
        with contextlib.suppress(FormatError):
            load(path)
    finally:
        path.write_bytes(content)


def test_numbers_of_another_type_are_refused(saved):
    network, _, path = saved
    tensors = {
        f"params.{name}": view.astype(np.float64)
        for name, view in network.param_table().items()
    }
    tensors["updater_state"] = network.updater_state.astype(np.float64)
    texts = texts_of(path)
    with path.open("wb") as stream:
        write_tensors(stream, tensors, texts)
    with pytest.raises(FormatError, match=r"must be \(\(4, 5\), 'float32'\), got"):
        load(path)


def test_a_file_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    with path.open("wb") as stream:
        write_tensors(stream, {"w": np.ones(3, np.float32)}, {"format": "pt"})
    with pytest.raises(FormatError, match=r"must hold a network of daskdl .*'format'"):
        load(path)


def test_recognizes_looks_at_the_content(saved, tmp_path):
    with saved[2].open("rb") as stream:
        assert checkpoint.recognizes(stream)
    (tmp_path / "other").write_bytes(b"PK\x03\x04 and so on")
    with (tmp_path / "other").open("rb") as stream:
        assert not checkpoint.recognizes(stream)


def test_other_programs_read_the_arrays(saved):
    library = pytest.importorskip("safetensors.numpy", reason="needs safetensors")
    network, _, path = saved
    tensors = library.load_file(path)
    assert tensors.pop("updater_state").tobytes() == network.updater_state.tobytes()
    for name, view in network.param_table().items():
        np.testing.assert_array_equal(tensors.pop(f"params.{name}"), view)
    assert tensors == {}


def test_what_another_program_wrote_again_is_read(saved):
    """It may lay the arrays out in another order."""
    library = pytest.importorskip("safetensors", reason="needs safetensors")
    network, _, path = saved
    with library.safe_open(path, framework="numpy") as file:
        texts = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    library.numpy.save_file(tensors, path, metadata=texts)
    assert load(path).params.tobytes() == network.params.tobytes()


def test_the_parameters_can_be_mapped_as_one_vector(saved):
    network, _, path = saved
    with path.open("rb") as stream:
        first = next(iter(TensorFile(stream).tensors.values()))
    mapped = np.memmap(path, "<f4", "r", first.start, (network.n_params,))
    np.testing.assert_array_equal(mapped, network.params)
    assert first.start % 8 == 0

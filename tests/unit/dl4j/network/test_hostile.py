"""Models and configurations of strangers: read, or refused by name, at little cost."""

import copy
import json
import struct
import tracemalloc
import zlib
from io import BytesIO

import fsspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.dl4j.arrays.nd4j import read_array, write_array
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.json_text import parse_json
from daskdl.dl4j.network.layer_row import _written
from daskdl.errors import CorruptFileError, FormatError
from daskdl.formats.load import load
from tests.unit.dl4j.network.fuzz_targets import (
    URL,
    entries,
    read_or_refuse,
    seeds,
    target,
    trees,
    zipped,
)

SEEDS = seeds()
TREES = trees()
LAYERS = "org.deeplearning4j.nn.conf.layers."


def deep(levels):
    layer = {"@class": f"{LAYERS}DenseLayer", "nin": 1, "nout": 1}
    for _ in range(levels):
        layer = {"@class": f"{LAYERS}misc.FrozenLayer", "layer": layer}
    return layer


HOSTILE = [
    None,
    True,
    0,
    -1,
    7,
    0.5,
    10**12,
    2**63,
    -(2**63),
    1e308,
    "",
    "x",
    "NaN",
    "a" * 5000,
    [],
    {},
    [[]],
    [None],
    [0],
    [10**12],
    [1, 1, 1],
    {"@class": "x"},
    {"@class": []},
    {"type": "x"},
    {"x": {}},
    deep(30),
]


def places(tree):
    """Return (container, key) for each value in a tree."""
    found = []
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            found.append((value, key))
            if isinstance(item, dict | list):
                waiting.append(item)
    return found


@st.composite
def other_trees(draw):
    """Draw a configuration with some values replaced, deleted, repeated or moved."""
    tree = copy.deepcopy(draw(st.sampled_from(TREES)))
    for _ in range(draw(st.integers(1, 3))):
        all_places = places(tree)
        if not all_places:
            break
        container, key = draw(st.sampled_from(all_places))
        act = draw(st.sampled_from(["replace", "replace", "delete", "repeat", "move"]))
        if act == "replace":
            container[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
        elif act == "delete":
            del container[key]
        elif act == "move":
            other, name = draw(st.sampled_from(all_places))
            container[key] = copy.deepcopy(other[name])
        elif isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        else:
            container[f"{key}x"] = copy.deepcopy(container[key])
    return tree


@settings(max_examples=300)
@given(other_trees())
def test_a_changed_configuration_is_read_or_refused(tree):
    read_or_refuse("json", json.dumps(tree).encode())


@settings(max_examples=150)
@given(other_trees(), st.sampled_from(SEEDS["zip"]))
def test_a_model_with_another_configuration_is_read_or_refused(tree, raw):
    changed = {**entries(raw), "configuration.json": json.dumps(tree)}
    read_or_refuse("zip", zipped(changed))


def with_long_names(tree):
    """Yield a tree for each text and key of one, with another without end in place."""
    for at, (container, key) in enumerate(places(tree)):
        if isinstance(container[key], str):
            changed = copy.deepcopy(tree)
            other, name = places(changed)[at]
            other[name] = "a" * 5000
            yield changed
        if isinstance(key, str):
            changed = copy.deepcopy(tree)
            other, name = places(changed)[at]
            other["a" * 5000] = other.pop(name)
            yield changed


def test_no_message_repeats_a_name_without_end():
    graph = min((t for t in TREES if "vertices" in t), key=lambda t: len(str(t)))
    for tree in with_long_names(graph):
        read_or_refuse("json", json.dumps(tree).encode())


NUMBERS = [0, 1, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**63]


@st.composite
def damaged(draw, raw):
    raw = bytearray(raw)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        stop = start + draw(st.integers(0, 8))
        raw[start:stop] = draw(
            st.binary(max_size=8)
            | st.sampled_from([n.to_bytes(8, "big") for n in NUMBERS])
            | st.sampled_from([n.to_bytes(8, "little")[:4] for n in NUMBERS])
        )
    return bytes(raw)


@st.composite
def damaged_files(draw):
    reader = draw(st.sampled_from(sorted(SEEDS)))
    return reader, draw(damaged(draw(st.sampled_from(SEEDS[reader]))))


@st.composite
def damaged_entries(draw):
    """Draw a whole zip file with one entry that is damaged."""
    content = entries(draw(st.sampled_from(SEEDS["zip"])))
    name = draw(st.sampled_from(sorted(content)))
    return zipped({**content, name: draw(damaged(content[name]))})


@settings(max_examples=300)
@given(damaged_files())
def test_a_damaged_file_is_read_or_refused(found):
    read_or_refuse(*found)


@settings(max_examples=200)
@given(damaged_entries())
def test_a_damaged_entry_is_read_or_refused(raw):
    read_or_refuse("zip", raw)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(raw):
    target(raw)


@pytest.mark.parametrize("reader", sorted(SEEDS))
def test_a_file_that_was_cut_off_is_read_or_refused(reader):
    raw = SEEDS[reader][0]
    for n_bytes in range(0, len(raw) - 1, 37):
        found = read_or_refuse(reader, raw[:n_bytes])
        # Half of a YAML text may be one.
        assert found is None or reader == "yaml"


def test_a_bit_in_the_numbers_is_noticed(rng):
    """The checksum of an entry is compared although its array ends before."""
    raw = SEEDS["zip"][0]
    expected = read_or_refuse("zip", raw).params
    at = raw.index(b"coefficients.bin") + len("coefficients.bin")
    for offset in rng.integers(0, 500, 60):
        changed = bytearray(raw)
        changed[at + offset] ^= 1
        found = read_or_refuse("zip", bytes(changed))
        if found is not None:
            np.testing.assert_array_equal(found.params, expected)


def model(**changes):
    """Return the first seed with other entries; None leaves one out."""
    content = entries(SEEDS["zip"][0])
    for name, value in changes.items():
        name = {"json": "configuration.json"}.get(name, f"{name}.bin")
        content[name] = value
    return zipped({name: value for name, value in content.items() if value is not None})


def array(values):
    stream = BytesIO()
    write_array(stream, np.asarray(values))
    return stream.getvalue()


def refused(raw, message):
    with pytest.raises(FormatError, match=message):
        read(raw)


def read(raw):
    fsspec.filesystem("memory").pipe(URL, raw)
    return model_zip.load(URL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"json": None}, "f: must hold configuration.json, got 'coefficients.bin'"),
        ({"json": b"{}"}, "f: configuration.json: must have the key 'confs' or"),
        ({"json": b"[]"}, "configuration.json: must be a JSON object, got list"),
        ({"json": b"\xff\xfe"}, "configuration.json: must be UTF-8, got"),
        ({"coefficients": None}, "f: must hold coefficients.bin, got none"),
        ({"coefficients": b""}, "f: coefficients.bin: .* at offset 0, got 0"),
        ({"coefficients": array([1.0])}, r"must hold \d+ numbers, .* got 1\.$"),
        ({"coefficients": array([[1]])}, "must hold floating point numbers, got int64"),
        ({"coefficients": array(np.ones(9999))}, "bytes, got more"),
        ({"updaterState": array([1.0])}, r"updaterState.bin: must hold \d+ numbers"),
        ({"updaterState": b"\xac\xed\0\5sr\0"}, "f: updaterState.bin: .* offset"),
        ({"normalizer": b"\xac\xed\0\5sr\0"}, "f: normalizer.bin: .* offset"),
    ],
)
def test_a_wrong_entry_is_named(changes, message):
    refused(model(**changes), message)


def test_what_java_serialized_is_neither_read_nor_executed():
    content = entries(SEEDS["zip"][0])
    content["preprocessor.bin"] = b"\xac\xed\0\5" + b"\xff" * 50
    content["objects/evil"] = b"\xac\xed\0\5" + b"\xff" * 50
    with pytest.warns(UserWarning, match=r"preprocessor\.bin\) is a Java object, whi"):
        network = read(zipped(content))
    assert network.normalizer is None


@pytest.mark.parametrize(
    "name",
    ["../configuration.json", "/configuration.json", "configuration.json/", "a/../b"],
)
def test_a_path_is_no_name_of_an_entry(name):
    content = entries(SEEDS["zip"][0])
    content[name] = content.pop("configuration.json")
    refused(zipped(content), "f: must hold configuration.json, got")


def test_two_entries_of_one_name_are_refused():
    raw = SEEDS["zip"][0].replace(b"updaterState.bin", b"coefficients.bin")
    refused(raw, "entries of different names, got 3 with 2 names")


def test_an_encrypted_entry_is_refused():
    raw = bytearray(SEEDS["zip"][0])
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    refused(bytes(raw), "must be stored or deflated and not encrypted")


def test_thousands_of_entries_are_refused():
    content = entries(SEEDS["zip"][0])
    content |= {f"objects/{k}": b"" for k in range(10_000)}
    refused(zipped(content), "at most 10000 entries .* got 10003")


def test_the_general_reader_names_a_damaged_file(tmp_path):
    path = tmp_path / "model.zip"
    path.write_bytes(SEEDS["zip"][0][:-30])
    with pytest.raises(FormatError, match=r"model\.zip: must be a network of a known"):
        load(path)


def peak_bytes(raw):
    """Return what it took to refuse a model."""
    tracemalloc.start()
    try:
        assert read_or_refuse("zip", raw) is None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["configuration.json", "coefficients.bin"])
def test_a_bomb_costs_no_memory(name):
    content = {**entries(SEEDS["zip"][0]), name: bytes(100 << 20)}
    raw = zipped(content)
    assert len(raw) < 200_000
    assert peak_bytes(raw) < len(raw) + (40 << 20)


def test_a_network_of_zeros_that_a_bomb_describes_costs_no_memory():
    """Everything fits together: nine million parameters in 40 kilobytes."""
    layer = {"@class": f"{LAYERS}DenseLayer", "nin": 3000, "nout": 3000}
    confs = {"confs": [{"layer": layer}]}
    raw = zipped(
        {
            "configuration.json": json.dumps(confs),
            "coefficients.bin": bytes(36_000_100),
        }
    )
    assert len(raw) < 100_000
    assert peak_bytes(raw) < 10 << 20
    refused(raw, "coefficients.bin: must hold a number for each parameter .*_inflation")


def test_numbers_that_shrink_much_are_taken_if_asked_for(tmp_path):
    """A small file, of which a network of 200 MB would be made."""
    layer = {"@class": f"{LAYERS}DenseLayer", "nin": 3000, "nout": 3000}
    numbers = np.zeros((1, 9_003_000), "f4")
    # One number in two hundred does not shrink.
    numbers[0, ::200] = np.random.default_rng(0).normal(size=numbers[0, ::200].size)
    raw = zipped(
        {
            "configuration.json": json.dumps({"confs": [{"layer": layer}]}),
            "coefficients.bin": array(numbers),
        }
    )
    refused(raw, "got [0-9]+ bytes, of which each would be [0-9]+ numbers")
    path = tmp_path / "model.zip"
    path.write_bytes(raw)
    network = model_zip.load(str(path), most_inflation=100)
    assert np.count_nonzero(network.params) == numbers[0, ::200].size


def test_zeros_are_allowed_where_they_cost_nothing():
    network = read_or_refuse("zip", SEEDS["zip"][1])
    zeros = np.zeros((1, network.n_params), "f4")
    content = {**entries(SEEDS["zip"][1]), "coefficients.bin": array(zeros)}
    assert not read(zipped(content)).params.any()


@pytest.mark.parametrize("n_in", [10**12, 2**62, 2**63 - 1])
def test_a_huge_layer_is_refused_before_it_is_made(n_in):
    tree = json.loads(entries(SEEDS["zip"][3])["configuration.json"])
    tree["confs"][0]["layer"]["dense"]["nin"] = n_in
    content = entries(SEEDS["zip"][3])
    raw = zipped({**content, "configuration.json": json.dumps(tree)})
    assert peak_bytes(raw) < 10 << 20
    del content["coefficients.bin"]
    raw = zipped({**content, "configuration.json": json.dumps(tree)})
    assert peak_bytes(raw) < 10 << 20


def test_a_zip_within_an_array_is_bounded_too():
    """An array may be compressed once more, to a thousandth of a thousandth."""
    stored = array(np.zeros(8, "f4"))
    head = stored[: stored.index(b"MIXED", 10) - 2]
    compressed = gzipped_buffer(bytes(1 << 20))
    with pytest.raises(CorruptFileError, match="must take at most 1000 bytes"):
        read_array(BytesIO(head + compressed), name="f", most_bytes=1000)


def gzipped_buffer(raw):
    deflate = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    body = deflate.compress(raw) + deflate.flush()
    n_numbers = len(raw) // 4
    return (
        utf("MIXED_DATA_TYPES")
        + struct.pack(">q", len(body))
        + utf("COMPRESSED")
        + utf("GZIP")
        + struct.pack(">qqqi", len(body), len(raw), n_numbers, 1)
        + body
    )


def utf(text):
    return struct.pack(">H", len(text)) + text.encode()


def test_options_that_only_labels_refute_are_refused():
    """The weights of a loss are for as many outputs as there are."""
    raw = SEEDS["zip"][0]
    tree = json.loads(entries(raw)["configuration.json"])
    tree["confs"][-1]["layer"]["lossFn"]["weights"]["data"] = [1.0]
    tree["confs"][-1]["layer"]["lossFn"]["weights"]["shape"] = [1]
    changed = {**entries(raw), "configuration.json": json.dumps(tree)}
    message = r"f: configuration.json.*weights: must hold .* each of 3 outputs, got 1"
    refused(zipped(changed), message)


def test_bytes_and_text_are_read_alike():
    text = SEEDS["json"][0].decode()
    assert parse_json(text, "f") == parse_json(text.encode(), "f")


def test_a_long_value_makes_no_long_message():
    with pytest.raises(FormatError, match="must be what DL4J writes there") as caught:
        _written(float, "a" * 5000, "f")
    assert len(str(caught.value)) < 300

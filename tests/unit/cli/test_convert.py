"""``daskdl convert``."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from daskdl.cli import convert
from daskdl.cli.main import main
from daskdl.errors import OptionError
from daskdl.formats import conversion
from daskdl.formats.load import load

# Four columns, batch normalization, two classes; 35 parameters, Adam, a normalizer.
MODEL = Path(__file__).parents[2] / "data" / "formats" / "trained.safetensors"


@pytest.fixture
def run(runner, tmp_path, monkeypatch):
    """A function that runs the command beside ``in.zip``."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODEL, "in.zip")
    return lambda *words: runner.invoke(main, ["convert", *words])


def lines_of(result):
    """Return what is told, but for what DL4J computes otherwise."""
    lines = result.stdout.splitlines()
    return [line for line in lines if not line.startswith("otherwise in dl4j")]


@pytest.mark.parametrize("name", ["out.safetensors", "out.zip"])
def test_both_formats_of_networks_keep_everything(run, tmp_path, name):
    result = run("in.zip", name)
    assert (result.exit_code, lines_of(result)) == (0, [f"wrote {name}"])
    network, before = load(tmp_path / name), load(MODEL)
    assert network.params.tobytes() == before.params.tobytes()
    assert network.updater_state.tobytes() == before.updater_state.tobytes()
    assert (network.iteration_count, network.epoch_count) == (3, 3)
    assert network.normalizer.is_fitted


def test_the_way_to_dl4j_and_back_changes_nothing(run, tmp_path):
    run("in.zip", "a.safetensors")
    run("a.safetensors", "b.zip")
    run("b.zip", "c.safetensors")
    a, c = load(tmp_path / "a.safetensors"), load(tmp_path / "c.safetensors")
    # DL4J's normalizer has 32 bits.
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(a.output(x), c.output(x))


def test_to_names_the_format(run, tmp_path):
    assert run("in.zip", "model", "--to", "dl4j").exit_code == 0
    assert (tmp_path / "model").read_bytes()[:2] == b"PK"


@pytest.mark.parametrize("name", ["out.json", "out.yaml"])
def test_configurations_say_what_they_lack_first(run, name):
    lines = lines_of(run("in.zip", name))
    to = "dl4j-json" if name.endswith("json") else "dl4j-yaml"
    assert lines == [
        f"not in {to}: parameters (35 numbers)",
        f"not in {to}: updater state (58 numbers)",
        f"not in {to}: normalizer (NormalizerStandardize)",
        f"wrote {name}",
    ]


def test_onnx_says_what_it_lacks(run):
    pytest.importorskip("onnx", reason="needs onnx")
    assert json.loads(run("in.zip", "out.onnx", "--json").stdout) == {
        "output": "out.onnx",
        "to": "onnx",
        "dialect": "exact",
        "changed": [],
        "lost": [
            "updater state (58 numbers)",
            "losses and all other options of training",
            "counters (3 epochs, 3 iterations)",
        ],
        "otherwise": [],
    }


def test_a_network_of_dl4j_becomes_exact(run, tmp_path):
    run("in.zip", "a.zip")
    result = run("a.zip", "b.safetensors", "--dialect", "exact")
    assert load(tmp_path / "b.safetensors").conf.dialect == "exact"
    told = [str(quirk) for quirk in load(tmp_path / "a.zip").with_dialect("exact")[1]]
    assert told
    assert result.stdout.splitlines() == [
        *(f"computed otherwise in exact: {quirk}" for quirk in told),
        "wrote b.safetensors",
    ]


def test_an_exact_network_gets_the_dialect_of_dl4j(run, tmp_path):
    result = run("in.zip", "b.safetensors", "--dialect", "dl4j-1.0.0-M2.1", "--json")
    assert load(tmp_path / "b.safetensors").conf.dialect == "dl4j-1.0.0-M2.1"
    assert len(json.loads(result.stdout)["changed"]) > 0


def test_a_dialect_that_the_file_cannot_hold_is_refused(run, tmp_path):
    result = run("in.zip", "b.zip", "--dialect", "exact")
    assert "--dialect: must be dl4j-1.0.0-M2.1 to write dl4j" in result.stderr
    assert not (tmp_path / "b.zip").exists()


def test_an_unknown_dialect_is_refused(run):
    result = run("in.zip", "b.safetensors", "--dialect", "exct")
    assert "convert: --dialect: dialect must be one of exact" in result.stderr


def test_digits_that_get_lost_are_told():
    network = load(MODEL)
    double = type(network)(network.conf.replaced(dtype="float64"))
    assert "digits beyond float32" in conversion.lost_parts(double, "onnx")


def test_bare_configurations_change_their_form(run, tmp_path):
    run("in.zip", "a.json")
    result = run("a.json", "b.yaml")
    assert result.stdout == "wrote b.yaml\n"
    run("b.yaml", "c.json")
    assert (tmp_path / "c.json").read_text() == (tmp_path / "a.json").read_text()


def test_bare_configurations_become_networks_with_drawn_weights(run, tmp_path):
    run("in.zip", "a.json")
    assert run("a.json", "b.safetensors").exit_code == 0
    network = load(tmp_path / "b.safetensors")
    assert network.params.any()
    assert network.epoch_count == 3


def test_a_run_directory_stands_for_its_model(run, tmp_path):
    run("in.zip", "model.safetensors")
    assert run(str(tmp_path), "out.zip").exit_code == 0


def test_urls_of_fsspec_work(run):
    assert run("in.zip", "memory://models/net.safetensors").exit_code == 0
    assert load("memory://models/net.safetensors").n_params == 35


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["in.zip", "out.txt"], "the output must end in one of .safetensors, .zip, "),
        (["in.zip", "in.zip"], "in.zip: must not exist yet"),
        (["none.zip", "out.zip"], "nothing is there"),
        (["in.zip", "out.zip", "--to", "keras"], "'keras' is not one of"),
    ],
)
def test_what_cannot_be_is_refused(run, words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_what_exists_is_replaced_on_demand(run):
    assert run("in.zip", "in.zip", "--overwrite").exit_code == 0


def test_a_format_that_is_none_is_refused():
    with pytest.raises(OptionError, match=r"convert: to must be one of .* got 'keras'"):
        conversion.convert(load(MODEL), "x", "keras")


def test_the_command_offers_all_formats():
    assert tuple(conversion.FORMATS) == convert.FORMATS

"""What the documentation lists is what there is."""

import re
from typing import Any, get_args

import pytest

import daskdl
from daskdl import tuning
from daskdl.cli import exit_codes, job
from daskdl.cluster import bus
from daskdl.nn.conf import (
    activations,
    constraints,
    distributions,
    dropouts,
    input_type,
    losses,
    reconstructions,
    schedules,
    updaters,
    weight_inits,
    weight_noise,
)
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.names import (
    ActivationLiteral,
    GradientNormalizationLiteral,
    LossLiteral,
    OptimizationAlgoLiteral,
)
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.preprocessors.table import PREPROCESSORS
from daskdl.nn.vertices.table import VERTICES
from tests.unit.house.sources import ROOT

GUIDE = ROOT / "docs" / "guide"


def section(title: str) -> str:
    """Return the text below one heading of the page on the job file, parts included."""
    text = (GUIDE / "job-file.md").read_text(encoding="utf-8")
    front, _, below = text.partition(f"# {title}\n")
    level = len(front) - len(front.rstrip("#")) + 1
    return re.split(rf"^#{{1,{level}}} ", below, flags=re.MULTILINE)[0]


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`([^`\s]+)`", text))


def keys(conf: Any) -> set[str]:
    fields = conf.model_fields.items()
    return {field.alias or name for name, field in fields if name != "type"}


@pytest.mark.parametrize(
    ("title", "conf"),
    [
        ("data", job.Data),
        ("training", job.Training),
        ("cluster", job.Cluster),
        ("For the whole network", NetworkConf),
    ],
)
def test_every_key_of_a_job_is_described(title: str, conf: Any) -> None:
    assert keys(conf) - quoted(section(title)) == set()


@pytest.mark.parametrize("conf", LAYERS, ids=lambda conf: conf.__name__)
def test_every_key_of_a_layer_is_described(conf: Any) -> None:
    described = quoted(section("Layers") + section("For the whole network"))
    wanted = {conf.model_fields["type"].default, *keys(conf)} - {"inputs"}
    assert wanted - described == set()


@pytest.mark.parametrize("conf", VERTICES, ids=lambda conf: conf.__name__)
def test_every_key_of_a_vertex_is_described(conf: Any) -> None:
    wanted = {conf.model_fields["type"].default, *keys(conf)}
    assert wanted - quoted(section("Vertices")) == set()


@pytest.mark.parametrize("conf", PREPROCESSORS, ids=lambda conf: conf.__name__)
def test_every_key_of_a_preprocessor_is_described(conf: Any) -> None:
    wanted = {conf.model_fields["type"].default, *keys(conf)}
    assert wanted - quoted(section("Preprocessors")) == set()


@pytest.mark.parametrize(
    ("title", "module"),
    [
        ("Inputs", input_type),
        ("Activations", activations),
        ("Losses", losses),
        ("Updaters", updaters),
        ("Schedules", schedules),
        ("Constraints", constraints),
        ("Dropout and noise", dropouts),
        ("Dropout and noise", weight_noise),
        ("Initial weights", weight_inits),
        ("Initial weights", distributions),
        ("Autoencoders", reconstructions),
    ],
)
def test_every_key_of_a_value_is_described(title: str, module: Any) -> None:
    confs = [
        value
        for value in vars(module).values()
        if getattr(value, "__module__", None) == module.__name__
        and hasattr(value, "model_fields")
        and isinstance(kind(value), str)
        and kind(value)  # none: the base of kinds of one's own
    ]
    assert confs
    wanted = {name for conf in confs for name in (kind(conf), *keys(conf))}
    assert wanted - quoted(section(title)) == set()


def kind(conf: Any) -> Any:
    """Return what `type` says, or nothing that says a kind."""
    return conf.model_fields["type"].default if "type" in conf.model_fields else None


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Activations", get_args(ActivationLiteral)),
        ("Losses", get_args(LossLiteral)),
        ("Initial weights", get_args(weight_inits.WeightInitLiteral)),
        ("For the whole network", get_args(GradientNormalizationLiteral)),
        ("For the whole network", get_args(OptimizationAlgoLiteral)),
    ],
)
def test_every_name_is_described(title: str, names: tuple[str, ...]) -> None:
    assert set(names) - quoted(section(title)) == set()


def test_every_public_name_has_its_page() -> None:
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([A-Za-z]\w*)$", text, flags=re.MULTILINE))
    names = {*daskdl.__all__, *bus.__all__, *tuning.__all__}
    assert listed == names - {"__version__"}


def test_every_exit_code_is_described() -> None:
    text = (GUIDE / "bad-input.md").read_text(encoding="utf-8")
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    assert listed == [code for code, _ in exit_codes.EXIT_CODES]

"""What the documentation lists is what there is."""

import re
from typing import Any

import pytest

import daskdl
from daskdl.cli import exits, job
from daskdl.cluster import bus
from daskdl.nn.conf import updaters
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.vertices.table import VERTICES
from tests.unit.house.sources import ROOT

GUIDE = ROOT / "docs" / "guide"


def section(title: str) -> str:
    """Return the text below one heading of the page on the job file."""
    text = (GUIDE / "job-file.md").read_text(encoding="utf-8")
    return re.split(r"^#+ ", text.partition(f"# {title}\n")[2], flags=re.MULTILINE)[0]


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


def test_every_updater_is_described() -> None:
    confs = [
        value for value in vars(updaters).values() if hasattr(value, "model_fields")
    ]
    wanted = {
        name
        for conf in confs
        if "type" in conf.model_fields
        for name in (conf.model_fields["type"].default, *keys(conf))
    }
    assert wanted - quoted(section("Updaters")) == set()


def test_every_public_name_has_its_page() -> None:
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([A-Za-z]\w*)$", text, flags=re.MULTILINE))
    assert listed == {*daskdl.__all__, *bus.__all__} - {"__version__"}


def test_every_exit_code_is_described() -> None:
    text = (GUIDE / "bad-input.md").read_text(encoding="utf-8")
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    assert listed == [code for code, _ in exits.EXIT_CODES]

"""The image, units and manifests of examples/deploy stand for what there is."""

import configparser
import fnmatch
import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import dask
import distributed
import jsonschema
import pytest
import yaml
from dask.utils import parse_bytes
from distributed.cli import dask_scheduler, dask_worker

from tests.unit.house.sources import ROOT

tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")

DEPLOY = ROOT / "examples" / "deploy"
GUIDE = ROOT / "docs" / "guide" / "deploy.md"
SCHEMA = ROOT / "tests" / "data" / "kubernetes" / "daskcluster.schema.json.gz"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = set(PYPROJECT["project"]["optional-dependencies"])
UNITS = sorted(DEPLOY.glob("*.service"))
COMMANDS = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}


def dockerfile() -> list[list[str]]:
    """Return the words of each instruction."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [line.split() for line in lines]


def of_kind(kind: str) -> list[list[str]]:
    return [words[1:] for words in dockerfile() if words[0] == kind]


def copied() -> list[str]:
    """Return what the image takes from the checkout."""
    files = [words[:-1] for words in of_kind("COPY") if words[0][:2] != "--"]
    return [name for names in files for name in names]


def arguments() -> dict[str, str]:
    pairs = (words[0].partition("=") for words in of_kind("ARG"))
    return {name: value for name, _, value in pairs if value}


def options(words: list[str]) -> dict[str, Any]:
    """Return what Dask makes of a command, ``dask worker ...``."""
    program, name, *rest = words
    assert Path(program).name == "dask"
    command = COMMANDS[name]
    context: click.Context = command.make_context(name, rest)
    return dict(context.params)


def closed(node: Any) -> Any:
    """Return a schema that takes no fields but those it names."""
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {name: closed(each) for name, each in node.items()}
    if isinstance(node.get("properties"), dict) and "type" in node:
        found["additionalProperties"] = False
    return found


@pytest.fixture(scope="module")
def manifest() -> Any:
    return yaml.safe_load((DEPLOY / "daskcluster.yaml").read_text(encoding="utf-8"))


def container(manifest: Any, role: str) -> Any:
    (found,) = manifest["spec"][role]["spec"]["containers"]
    return found


def test_the_image_has_extras_that_there_are() -> None:
    assert set(arguments()["EXTRAS"].split(",")) <= EXTRAS


def test_the_guide_names_extras_that_there_are() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    named = re.findall(r"daskdl\[([\w,-]+)\]|EXTRAS=([\w,-]+)", text)
    assert named
    assert {name for pair in named for name in "".join(pair).split(",")} <= EXTRAS


def test_the_image_has_a_python_that_daskdl_supports() -> None:
    version = arguments()["PYTHON"]
    of_python = f"Programming Language :: Python :: {version}"
    assert of_python in PYPROJECT["project"]["classifiers"]


def test_the_image_takes_what_a_wheel_is_made_of() -> None:
    project = PYPROJECT["project"]
    packages = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    roots = {package.partition("/")[0] for package in packages}
    needed = {"pyproject.toml", project["readme"], *project["license-files"], *roots}
    assert set(copied()) == needed


def test_what_the_image_takes_is_there_and_not_ignored() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert kept == set(copied())
    assert all((ROOT / name).exists() for name in kept)
    ignored = [line for line in lines if not line.startswith("!")]
    assert any(fnmatch.fnmatch("daskdl/cli/__pycache__", line) for line in ignored)


def test_the_image_starts_daskdl_as_somebody_else_than_root() -> None:
    (entry,) = of_kind("ENTRYPOINT")
    (program,) = json.loads(" ".join(entry))
    assert program in PYPROJECT["project"]["scripts"]
    # A number: Kubernetes does not know the names of an image.
    ((user,),) = of_kind("USER")
    assert int(user) > 0


def test_the_manifest_has_the_fields_of_the_operator(manifest: Any) -> None:
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    # What Kubernetes itself adds to each kind.
    ours = {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}
    schema["properties"].update(ours)
    jsonschema.validate(manifest, closed(schema))
    assert manifest["apiVersion"] == "kubernetes.dask.org/v1"
    assert manifest["kind"] == "DaskCluster"


def test_a_field_that_the_operator_lacks_is_found(manifest: Any) -> None:
    schema = closed(json.loads(gzip.decompress(SCHEMA.read_bytes())))
    with pytest.raises(jsonschema.ValidationError, match="'memori' was unexpected"):
        jsonschema.validate({"spec": {**manifest["spec"], "memori": 1}}, schema)


@pytest.mark.parametrize("role", ["scheduler", "worker"])
def test_containers_run_commands_of_dask(manifest: Any, role: str) -> None:
    found = container(manifest, role)
    assert options([*found["command"], *found.get("args", [])])
    assert found["command"][1] == role


def test_workers_have_less_than_their_containers(manifest: Any) -> None:
    found = container(manifest, "worker")
    told = options([*found["command"], *found["args"]])
    limit = parse_bytes(found["resources"]["limits"]["memory"] + "B")
    assert parse_bytes(told["memory_limit"]) < limit


def test_scheduler_and_service_have_the_same_ports(manifest: Any) -> None:
    ports = container(manifest, "scheduler")["ports"]
    served = manifest["spec"]["scheduler"]["service"]["ports"]
    pairs = [(port["name"], port["containerPort"]) for port in ports]
    assert [(port["targetPort"], port["port"]) for port in served] == pairs
    name = manifest["metadata"]["name"]
    selector = manifest["spec"]["scheduler"]["service"]["selector"]
    assert selector["dask.org/cluster-name"] == name


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_services_run_commands_of_dask(unit: Path) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    started = shlex.split(parser["Service"]["ExecStart"])
    assert unit.stem == f"dask-{started[1]}"
    assert options(started)
    # Workers leave in order when their scheduler ends.
    assert parser["Service"]["Restart"] == "always"


def test_settings_are_settings_of_dask() -> None:
    ours = yaml.safe_load((DEPLOY / "dask.yaml").read_text(encoding="utf-8"))
    defaults = dask.config.collect_yaml([str(Path(distributed.__file__).parent)])
    known = {name for each in defaults for name in names_of(each)}
    assert set(names_of(ours)) - known == set()


def names_of(settings: dict[str, Any], above: str = "") -> list[str]:
    """Return all settings by their names with dots."""
    found = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            found += names_of(value, f"{above}{name}.")
        else:
            found.append(above + name)
    return found

"""The pages on migrating: every name of DL4J is there, and ours exist."""

import ast
import importlib.metadata
import inspect
import re
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

import daskdl
import daskdl.spark
from daskdl.cluster.frontend import ClusterNetwork
from daskdl.cluster.masters.options import MASTERS
from daskdl.nn.fitting.events import FitReport
from daskdl.nn.fitting.fit import Fit
from tests.unit.house.sources import ROOT

PAGE = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
# Of the other page what it has name by name.
PAGE += (
    (ROOT / "docs" / "guide" / "spark-users.md")
    .read_text(encoding="utf-8")
    .partition("## The front ends, name by name")[2]
)
ROWS = re.findall(r"^\| (?!DL4J \|)([^|]+) \| ([^|]+) \|$", PAGE, flags=re.MULTILINE)
DL4J = ROOT / "tests" / "data" / "dl4j_spark" / "members.txt"
MEMBERS = dict(
    line.split(": ") for line in DL4J.read_text(encoding="utf-8").splitlines()
)
LEFT = {word for left, _ in ROWS for word in re.findall(r"\w+", left)}
RIGHT = sorted({span for _, right in ROWS for span in re.findall("`([^`]+)`", right)})
# Names of others (Spark, Dask, Python, DL4J again), of files and of settings.
OF_OTHERS = {
    "DASKDL_EXPORT_DIRECTORY",
    "DASK_SCHEDULER_ADDRESS",
    "Pipeline",
    "Repartition",
    "VectorUDT",
    "client",
    "frame.orderBy(rand())",
    "report.html",
    "setDefaultEvaluationWorkers",
    "spark.daskdl.exportDirectory",
    "spark.daskdl.scheduler",
    "statistics.json",
    "timeline.jsonl",
}
COMMANDS = ("daskdl ", "dask worker", "pip install", "spark-submit", "--")
# Values and keys of ours, which other tests hold against their pages.
VALUES = {"dl4j_batch", "mse", "seed", "training:", "(key, features, mask)", '"none"'}
OURS = [
    span
    for span in RIGHT
    if span not in OF_OTHERS | VALUES and not span.startswith(COMMANDS)
]


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """What the names in the tables stand for; options are their own names."""
    configuration = daskdl.MultiLayerConfiguration(
        input=daskdl.FeedForward(size=2),
        layers=[daskdl.Output(n_out=2, loss="mcxent")],
    )
    client: Any = SimpleNamespace(submit=None)
    network = daskdl.DaskMultiLayer(client, configuration)
    network.last_fit = FitReport()
    options = {
        *(
            name
            for one in MASTERS.values()
            for name in inspect.signature(one).parameters
        ),
        *(entry.name for entry in fields(daskdl.SourceOptions)),
        *(entry.name for entry in fields(FitReport)),
        *inspect.signature(ClusterNetwork.fit).parameters,
        *("memory_limit", "score"),
    }
    return {
        **dict.fromkeys(options),
        **{name: getattr(daskdl, name) for name in daskdl.__all__},
        "daskdl": daskdl,
        "network": network,
        "fit": Fit((), 1, lambda: network.network),
    }


@pytest.mark.parametrize("kind", MEMBERS)
def test_every_name_of_dl4j_has_its_row(kind: str) -> None:
    wanted = {kind.partition("$")[0], *MEMBERS[kind].split()}
    assert wanted - LEFT == set()


@pytest.mark.parametrize("span", OURS)
def test_every_name_of_ours_exists(span: str, known: dict[str, Any]) -> None:
    """With its keywords, and as many arguments as it takes."""
    resolve(ast.parse(span, mode="eval").body, known)


def resolve(node: ast.expr, known: dict[str, Any]) -> Any:
    """Return what an expression names; of a call nothing, once it is one."""
    if isinstance(node, ast.Attribute):
        owner = resolve(node.value, known)
        return (
            of_spark(node.attr) if owner is daskdl.spark else getattr(owner, node.attr)
        )
    if not isinstance(node, ast.Call):
        assert isinstance(node, ast.Name)
        return known[node.id]
    function = resolve(node.func, known)
    for part in (*node.args, *(keyword.value for keyword in node.keywords)):
        for inner in ast.walk(part):
            if isinstance(inner, ast.Call):
                resolve(inner, known)
    if function is not None:
        check_call(function, node)
    return None


def of_spark(name: str) -> None:
    """Look for a name of daskdl.spark, which only pyspark would load."""
    group = importlib.metadata.entry_points(group="daskdl.spark")
    assert name in group.names


def check_call(function: Any, node: ast.Call) -> None:
    keywords = dict.fromkeys(str(keyword.arg) for keyword in node.keywords)
    signature = inspect.signature(function)
    bound = signature.bind_partial(*node.args, **keywords)
    rest = [p.name for p in signature.parameters.values() if p.kind == p.VAR_KEYWORD]
    options = set(inspect.signature(ClusterNetwork.fit).parameters) | {
        entry.name for entry in fields(daskdl.SourceOptions)
    }
    further = {key for name in rest for key in bound.arguments.get(name, ())}
    assert further <= options

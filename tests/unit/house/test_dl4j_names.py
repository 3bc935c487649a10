"""The table of DL4J's names: all are there, and each has its row on the page."""

import re

import pytest

from daskdl.cluster.dl4j_names import (
    NAMES,
    Dl4jName,
    named,
    snake_case,
)
from tests.unit.house.sources import ROOT
from tests.unit.house.test_migrating import MEMBERS

PAGE = (ROOT / "docs" / "guide" / "spark-users.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!DL4J \|)([^|]+) \| ([^|]+) \|$", PAGE, flags=re.MULTILINE)
CLASSES = {
    "SparkDl4jMultiLayer": "SparkDl4jMultiLayer",
    "SparkComputationGraph": "SparkComputationGraph",
    "SharedTrainingMaster": "SharedTrainingMaster$Builder",
    "ParameterAveragingTrainingMaster": "ParameterAveragingTrainingMaster$Builder",
    "VoidConfiguration": "VoidConfiguration$VoidConfigurationBuilder",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_member_of_a_class_is_in_the_table(kind):
    known = {one.name for one in NAMES if kind in one.of}
    assert {*MEMBERS[CLASSES[kind]].split()} <= known


@pytest.mark.parametrize("kind", CLASSES)
def test_a_name_stands_once_in_the_table(kind):
    names = [one.name for one in NAMES if kind in one.of]
    assert len(names) == len({*names})


@pytest.mark.parametrize("one", NAMES, ids=lambda one: one.name)
def test_every_name_has_its_row_with_what_it_is_or_what_takes_its_place(one: Dl4jName):
    right = [
        cell
        for left, cell in ROWS
        if one.name in re.findall(r"\w+", left.replace("VoidConfiguration.", ""))
    ]
    said = {word for cell in right for word in re.findall(r"[\w-]+", cell)}
    wanted = re.findall("`([^`]+)`", one.instead) if one.instead else [one.here]
    words = {word for span in wanted for word in re.findall(r"[\w-]+", span)}
    assert right != []
    assert words - said == set()


@pytest.mark.parametrize(
    ("dl4j", "ours"),
    [
        ("evaluateROCMultiClass", "evaluate_roc_multi_class"),
        ("useHS", "use_hs"),
        ("fitPaths", "fit_paths"),
        ("workerPeriodicGCFrequency", "worker_periodic_gc_frequency"),
    ],
)
def test_names_are_spelled_as_in_python(dl4j, ours):
    assert snake_case(dl4j) == ours


def test_a_name_is_found_in_any_spelling():
    assert named("network_mask", "VoidConfiguration").name == "networkMask"


def test_a_name_of_another_class_is_none():
    assert named("networkMask", "SharedTrainingMaster") is None

"""Exports while an executor is killed amid a task: every row once."""

import json
from pathlib import Path

import pytest

from tests.spark.submitted import submit

PROGRAM = Path(__file__).with_name("killed_export.py")
# A master, two executors and a third one, and a process of Python in each.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    submit(PROGRAM, folder)
    return folder


@pytest.fixture(scope="module")
def told(folder):
    return json.loads((folder / "told.json").read_text())


@pytest.mark.parametrize("kind", ["frame", "rdd"])
def test_no_row_is_lost_or_doubled(folder, told, kind):
    assert (folder / kind).exists(), "no executor was killed"
    assert told[kind] == list(range(600))


def test_nothing_of_the_export_is_left(told):
    assert told["left"] == []

"""Each example runs from a checkout, and learns what it is to learn."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
DIGITS = EXAMPLES / "digits"
OLD_MODEL = "tests/data/dl4j_legacy/080_ModelSerializer_Regression_MLP_1.zip"


@pytest.fixture
def example() -> Callable[[str], ModuleType]:
    """Import a script of the examples by its path."""

    def load(path: str) -> ModuleType:
        file = EXAMPLES / path
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def daskdl(*words: str | Path) -> dict[str, Any]:
    """Run the command in a process of its own and return its figures."""
    program = Path(sys.executable).with_name("daskdl")
    done = subprocess.run(
        [program, *words, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_digits_are_learnt_and_each_key_predicted_once(tmp_path: Path) -> None:
    """By averaging; the other job is what the guides begin with."""
    run, predictions = tmp_path / "run", tmp_path / "predictions"
    trained = daskdl("run", DIGITS / "job-averaging.yaml", "--output", run)
    assert trained["accuracy"] >= 0.97
    test = DIGITS / "data" / "test"
    daskdl("predict", run, test, "--key", "id", "--output", predictions)
    given = pq.read_table(test, columns=["id"])["id"].to_pylist()
    returned = pq.read_table(predictions, columns=["id"])["id"].to_pylist()
    assert sorted(returned) == sorted(given)


def test_a_layer_of_ones_own_is_trained_by_workers(tmp_path: Path) -> None:
    """And answers in a process that knows it by the job of the run alone."""
    run = tmp_path / "run"
    trained = daskdl("run", EXAMPLES / "own_layer" / "job.yaml", "--output", run)
    assert trained["accuracy"] >= 0.96
    test = DIGITS / "data" / "test"
    evaluated = daskdl("evaluate", run, test, "--label", "label")
    assert evaluated["accuracy"] == trained["accuracy"]
    assert trained["workers"] == 2


def test_a_pretrained_layer_helps_a_job(tmp_path: Path) -> None:
    trained = daskdl("run", EXAMPLES / "vae" / "job.yaml", "--output", tmp_path / "run")
    assert trained["accuracy"] >= 0.94
    assert trained["workers"] == 2


@pytest.mark.timeout(240)
def test_two_workers_pretrain_as_one_process_does(
    example: Callable[[str], ModuleType],
) -> None:
    """The error of what is restored falls, of either training master."""
    errors = example("vae/vae.py").main(epochs=6)
    alone = errors.pop("one process")
    for by_epoch in errors.values():
        assert by_epoch[6] < 0.8 * by_epoch[1]
        assert by_epoch[6] < 1.35 * alone[6]


def test_digits_in_python(example: Callable[[str], ModuleType], tmp_path: Path) -> None:
    model = tmp_path / "digits.safetensors"
    evaluation = example("digits/digits.py").main(str(model))
    assert evaluation.accuracy() >= 0.97
    assert model.is_file()


def test_graph_with_two_inputs(example: Callable[[str], ModuleType]) -> None:
    assert example("two_inputs/halves.py").main(epochs=5).accuracy() > 0.9


def test_forecast_is_labelled_by_day(example: Callable[[str], ModuleType]) -> None:
    forecast = example("xarray/forecast.py").main(days=120, epochs=2)
    assert forecast.sizes == {"day": 30}


PROGRAMS = {
    "arrays": "Accuracy:        0.9",
    "cluster": "Accuracy:        0.9",
    "listeners": "'accuracy': 0.9",
    "own_layer": "e-",
    "transfer": "dialect: dl4j-1.0.0-M2.1",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_of_the_guide_run_and_are_short(name: str, tmp_path: Path) -> None:
    program = EXAMPLES / "programs" / f"{name}.py"
    lines = program.read_text().partition('"""\n\n')[2].splitlines()
    assert sum(map(bool, lines)) <= 15
    (tmp_path / "examples").symlink_to(EXAMPLES)
    model = EXAMPLES.parent / OLD_MODEL
    done = subprocess.run(
        [sys.executable, program, model],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert PROGRAMS[name] in done.stdout


def test_every_program_is_tried() -> None:
    files = {path.stem for path in (EXAMPLES / "programs").glob("*.py")}
    assert files == set(PROGRAMS)

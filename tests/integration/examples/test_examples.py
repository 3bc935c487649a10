"""Each example runs from a checkout, made small."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


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


def test_digits_in_python(example: Callable[[str], ModuleType], tmp_path: Path) -> None:
    model = tmp_path / "digits.zip"
    evaluation = example("digits/digits.py").main(str(model))
    assert evaluation.accuracy() >= 0.97
    assert model.is_file()


def test_graph_with_two_inputs(example: Callable[[str], ModuleType]) -> None:
    assert example("two_inputs/halves.py").main(epochs=5).accuracy() > 0.9


def test_forecast_is_labelled_by_day(example: Callable[[str], ModuleType]) -> None:
    forecast = example("xarray/forecast.py").main(days=120, epochs=2)
    assert forecast.sizes == {"day": 30}

"""Every evaluation class against what the real DL4J computed, printed and wrote."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daskdl.dl4j.evaluation.reader import from_json
from tests.golden.evaluation_cases import CASES, metrics_of

# After a merge DL4J's sum of the labels, and so its R², is wrong; its calibration
# keeps the histograms of one half.
WRONG_AFTER_MERGE = {
    "regression": ("r2", "averageR2", "metric_R2"),
    "calibration": ("residual", "probability", "label", "prediction"),
}
# Time series and images were not split.
SPLIT = [name for name in CASES if "time_series" not in name and "cnn" not in name]


@dataclass(frozen=True)
class Case:
    """The files of one case."""

    name: str
    folder: Path

    def text(self, suffix: str = ".json") -> str:
        path = self.folder / f"{self.name}{suffix}"
        # As bytes: reading text would change the line ends of base64.
        return path.read_bytes().decode("utf-8")

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.text("_metrics.json"))
        return facts

    @property
    def tolerance(self) -> float:
        """What the manifest says of sums; everything else is exact to rounding."""
        if self.name.startswith("regression"):
            return 1e-5 if "float" in self.name else 1e-9
        return 1e-12

    def evaluated(self, rows: slice = slice(None)) -> Any:
        evaluation = CASES[self.name]()
        with np.load(self.folder / f"{self.name}.npz") as file:
            mask = file["mask"][rows] if "mask" in file.files else None
            evaluation.eval(file["labels"][rows], file["predictions"][rows], mask)
        return evaluation

    def half(self, number: int) -> Any:
        split = self.facts["split_at_row"]
        return self.evaluated(slice(split, None) if number else slice(split))


@pytest.fixture
def case(golden: Path, request: pytest.FixtureRequest) -> Case:
    return Case(request.param, golden / "eval")


WORDS = ("NaN", "Infinity", "-Infinity")

every_case = pytest.mark.parametrize("case", CASES, indirect=True)
every_split_case = pytest.mark.parametrize("case", SPLIT, indirect=True)


def assert_same(found: Any, expected: Any, tolerance: float, where: str) -> None:
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_same(found[name], value, tolerance, f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, (ours, value) in enumerate(zip(found, expected, strict=True)):
            assert_same(ours, value, tolerance, f"{where}[{i}]")
    elif isinstance(expected, str) and expected not in WORDS:
        assert found == expected, where
    else:
        number = pytest.approx(float(expected), rel=tolerance, nan_ok=True)
        assert float(found) == number, where


def without(metrics: dict[str, Any], heads: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: value for name, value in metrics.items() if not name.startswith(heads)
    }


def known_after_merge(case: Case, metrics: dict[str, Any]) -> dict[str, Any]:
    return without(metrics, WRONG_AFTER_MERGE.get(case.name.split("_")[0], ()))


def comparable(text: str) -> Any:
    """The content of a file, without what depends on the order of the examples."""
    found = json.loads(text)
    if found["@class"].endswith(".Evaluation") and found["confusion"]:
        for actual, row in found["confusion"]["matrix"].items():
            found["confusion"]["matrix"][actual] = sorted(zip(*row, strict=True))
    return found


def test_the_cases_are_those_of_the_manifest(manifest: dict[str, Any]) -> None:
    names = {c["name"] for c in manifest["cases"] if c["kind"] == "eval"}
    assert names == set(CASES)


@every_case
def test_metrics_are_those_of_dl4j(case: Case) -> None:
    found = metrics_of(case.evaluated())
    assert_same(found, case.facts["metrics"], case.tolerance, case.name)


@every_case
def test_report_is_that_of_dl4j(case: Case) -> None:
    text = case.text("_stats.txt")
    # DL4J adds float32 in float32: the last digits of its own sums are printed.
    of_dl4j = case.name.startswith("regression") and "float" in case.name
    evaluation = from_json(case.text()) if of_dl4j else case.evaluated()
    assert evaluation.stats() == text


@every_case
def test_json_is_that_of_dl4j_byte_for_byte(case: Case) -> None:
    text, found = case.text(), case.evaluated().to_json()
    if case.name == "evaluation_23_classes":
        # Beyond 16 classes the order in DL4J's text follows that of the examples.
        assert comparable(found) == comparable(text)
    elif case.name.startswith("regression"):
        # ND4J and NumPy add in another order: the last digits of sums differ.
        assert_same(json.loads(found), json.loads(text), case.tolerance, case.name)
    else:
        assert found == text


@every_case
def test_json_is_read_and_written_unchanged(case: Case) -> None:
    text, found = case.text(), from_json(case.text()).to_json()
    if case.name == "evaluation_23_classes":
        assert comparable(found) == comparable(text)
    else:
        assert found == text


@every_case
def test_yaml_of_dl4j_is_its_json(case: Case) -> None:
    assert from_json(case.text(".yaml")).stats() == case.text("_stats.txt")


@every_case
def test_what_was_read_has_the_same_metrics(case: Case) -> None:
    found = metrics_of(from_json(case.text()))
    assert_same(found, case.facts["metrics"], 1e-12, case.name)


@every_split_case
@pytest.mark.parametrize("number", [0, 1])
def test_json_of_a_half_is_that_of_dl4j(case: Case, number: int) -> None:
    text, found = case.text(f"_half{number}.json"), case.half(number).to_json()
    if case.name.startswith("regression"):
        assert_same(json.loads(found), json.loads(text), case.tolerance, case.name)
    elif case.name == "evaluation_23_classes":
        assert comparable(found) == comparable(text)
    else:
        assert found == text


@every_split_case
def test_merged_halves_are_the_whole(case: Case) -> None:
    """Also in R² and in histograms, which DL4J gets wrong."""
    merged = case.half(0)
    merged.merge(case.half(1))
    # DL4J adds float32 probabilities of a batch in float32.
    tolerance = 1e-6 if "calibration" in case.name else case.tolerance
    assert_same(metrics_of(merged), case.facts["metrics"], tolerance, case.name)
    theirs = known_after_merge(case, case.facts["metrics_merged_halves"])
    assert_same(metrics_of(merged), theirs, case.tolerance, case.name)


@every_split_case
def test_json_of_merged_halves_is_that_of_dl4j(case: Case) -> None:
    merged = case.half(0)
    merged.merge(case.half(1))
    text = case.text("_merged.json")
    found, expected = json.loads(merged.to_json()), json.loads(text)
    if case.name.startswith("calibration"):
        assert found["rDiagBinPosCount"] == expected["rDiagBinPosCount"]
        assert found["rDiagBinTotalCount"] == expected["rDiagBinTotalCount"]
        assert found["rDiagBinSumPredictions"] == expected["rDiagBinSumPredictions"]
    elif case.name.startswith("regression"):
        del expected["sumLabels"]
        assert_same(found, expected, case.tolerance, case.name)
    elif "23" in case.name:
        assert comparable(merged.to_json()) == comparable(text)
    else:
        assert merged.to_json() == text


@every_split_case
def test_merging_into_an_empty_evaluation_gives_the_other(case: Case) -> None:
    """Where DL4J crashes, counts twice or forgets, too."""
    half = case.half(1)
    empty = half.new_instance()
    empty.merge(half)
    assert empty.to_json() == half.to_json()
    metrics = case.facts.get("metrics_empty_merged_with_half1")
    if metrics is not None:
        theirs = known_after_merge(case, metrics)
        assert_same(metrics_of(empty), theirs, case.tolerance, case.name)


@every_split_case
def test_json_merged_by_dl4j_is_read_with_the_right_numbers(case: Case) -> None:
    found = metrics_of(from_json(case.text("_merged.json")))
    expected = case.facts["metrics"]
    if case.name.startswith("calibration"):
        expected = known_after_merge(case, case.facts["metrics_merged_halves"])
    assert_same(found, expected, case.tolerance, case.name)


def test_reading_needs_no_class(golden: Path) -> None:
    texts = {name: (golden / "eval" / f"{name}.json").read_text() for name in CASES}
    for name, text in texts.items():
        assert type(from_json(text)) is type(CASES[name]()), name


def test_dl4j_fails_where_we_do_not(golden: Path) -> None:
    """What it crashes on is in these cases and no others."""
    crashes = {
        name
        for name in CASES
        for fact in Case(name, golden / "eval").facts
        if fact.endswith("_error")
    }
    assert crashes == {
        "calibration_5_20",
        "calibration_default",
        "calibration_mask",
        "evaluation_cost_array",
        "regression_double",
        "regression_float",
    }

"""Several runs as one: rows of later runs stand for those of earlier ones.

A run of all works takes longer than a machine stays quiet. Runs are written with
``--json``, and joined with ``--join``.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.ratios import Spread
from benchmarks.report import SCHEMA, Failure, Report
from benchmarks.results import Ratio, Row, Share
from benchmarks.rounds import Pace


def joined(reports: Sequence[Report]) -> list[Report]:
    """Return the runs with each row in the last of those that measured it.

    Parameters
    ----------
    reports : sequence of Report
        The oldest first.

    Returns
    -------
    list of Report
        Where there are several, rows have the number of theirs, from 1. Those of which
        a row is left, at least the last. What failed in one and was measured later is
        no failure.
    """
    later: set[tuple[str, str]] = set()
    left: list[Report] = []
    for report in reversed(reports):
        rows = [row for row in report.rows if (row.case, row.what) not in later]
        failures = [
            failure
            for failure in report.failures
            if (failure.case, failure.what) not in later
        ]
        later |= {(row.case, row.what) for row in report.rows}
        if rows or not left:
            left.append(replace(report, rows=rows, failures=failures))
    if len(left) == 1:
        return left
    return [
        replace(report, rows=[replace(row, run=number) for row in report.rows])
        for number, report in enumerate(left[::-1], 1)
    ]


def read_report(text: str) -> Report:
    """Return a run from what :meth:`Report.to_json` wrote, without its turns.

    Raises
    ------
    ValueError
        If another version of these files wrote it.
    """
    values = json.loads(text)
    if values.get("schema") != SCHEMA:
        raise ValueError(
            f"read_report: schema must be {SCHEMA}, got {values.get('schema')!r}. "
            "Measure again."
        )
    return Report(
        values["command"],
        values["peers"],
        values["threads"],
        values["clock"],
        Pace(**values["pace"]),
        date=values["date"],
        machine=values["machine"],
        versions=values["versions"],
        rows=[_row(row) for row in values["rows"]],
        failures=[Failure(**failure) for failure in values["failures"]],
        peaks=values["peaks"],
    )


def _row(values: Mapping[str, Any]) -> Row:
    ratios = tuple(
        Ratio(
            **{
                **ratio,
                "theirs": _spread(ratio["theirs"]),
                "ratio": _spread(ratio["ratio"]),
                "wall": _spread(ratio["wall"]) if ratio["wall"] else None,
            }
        )
        for ratio in values["ratios"]
    )
    share = values["share"]
    if share is not None:
        share = Share(**{**share, "share": _spread(share["share"])})
    ours = _spread(values["ours"])
    return Row(**{**values, "ours": ours, "ratios": ratios, "share": share})


def _spread(values: Mapping[str, float | None]) -> Spread:
    """Return a spread; what is not a number was written as null."""
    figures = {
        name: math.nan if value is None else value for name, value in values.items()
    }
    return Spread(**figures)

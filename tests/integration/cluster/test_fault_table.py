"""One cell of the table of faults for each fault; and kills in a row.

``python -m tests.integration.cluster.faults`` runs all cells.
"""

import pytest

from tests.integration.cluster.faults.cells import MASTERS, Cell, Fault, Moment
from tests.integration.cluster.faults.repeated import main
from tests.integration.cluster.faults.table import results

AMID = {Fault.DISK_FULL: Moment.BORDER}
CELLS = [
    Cell(fault, MASTERS[number % len(MASTERS)], AMID.get(fault, Moment.EPOCH))
    for number, fault in enumerate(Fault)
]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("cell", CELLS, ids=[cell.name for cell in CELLS])
def test_a_fit_ends_well_and_leaves_nothing(cell):
    ((_, result),) = results([cell])
    assert result["ended"] == "well"
    assert result["left"] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("master", MASTERS)
def test_kills_in_a_row_are_survived(tmp_path, master):
    """Tried every two seconds; a worker that is alone is mostly spared."""
    main(master, 15, 2.0, tmp_path)

"""``python -m tests.integration.cluster.faults [WORD ...]``: the table of faults.

Runs the cells whose names hold one of the words, with none all of them, and prints a
line for each. All together take about an hour.
"""

import sys

from tests.integration.cluster.faults.table import main

main(sys.argv[1:])

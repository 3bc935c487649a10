"""The rows of the message coder: time and bits an index."""

from collections.abc import Iterator

from benchmarks.goals import goal
from benchmarks.peers import OURS
from benchmarks.ratios import Clock, Spread, best, milliseconds
from benchmarks.results import Row, Share
from benchmarks.rounds import Measurement
from benchmarks.serve.shapes import CODER, PACK


def coder_rows(measurement: Measurement, clock: Clock) -> Iterator[Row]:
    """Yield what packing or unpacking took, and what came out.

    Parameters
    ----------
    measurement : Measurement
        Of the work "coder"; its facts tell the number of indices.
    clock : {"cpu", "wall"}
        Which time counts.
    """
    own = best(measurement, OURS, clock)
    if own is None:
        return
    facts, what = measurement.turns[own][-1].facts, measurement.what
    turns = [
        milliseconds(turn, clock) / facts["entries"] * 1e6
        for turn in measurement.turns[own]
    ]
    yield Row(CODER, what, "ns an index", Spread.of(turns))
    if what.startswith(PACK):
        bits, entropy = facts["bits"], facts["entropy"]
        share = Spread.of([entropy / bits])
        yield Row(
            CODER,
            what.replace(PACK, "size"),
            "bits an index",
            Spread.of([bits]),
            share=Share("bits", entropy, share, goal(CODER, what, "limit")),
            goal=goal(CODER, what, ""),
        )

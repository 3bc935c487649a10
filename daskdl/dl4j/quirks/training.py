"""What DL4J's training computes otherwise."""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.concerns import kinds

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="poly_grows",
        where="schedule `poly`",
        habit="has `1 + i / max_iter`: the value grows, and then is 0",
        exact="has `1 - i / max_iter`, as the literature has",
        test="unit/conf/test_schedules.py",
        concerns=kinds("poly"),
    ),
)

"""TFRecord files whose records are damaged within checksums that are right."""

import gzip
from collections.abc import Sequence

from tests.unit.bridge.fuzz.seeds import Seed
from tests.unit.bridge.test_tfrecord import SAMPLE, example, record

__all__ = ["tfrecord_seeds"]

_HOW = {"features": "features", "label": "label"}
_OPTIONS = (
    _HOW,
    {**_HOW, "format": "tfrecord"},
    *({**_HOW, "key": key} for key in ("big", "name", "maybe")),
    {"features": "features", "keep": "all", "require_labels": False},
    {"features": "many", "label": "label", "align": "start", "series_features": True},
    {"features": "raw", "label": "name"},
)


def tfrecord_seeds() -> list[Seed]:
    examples = tuple(
        example(
            features=[i / 2, -float(i)],
            label=[i % 3],
            big=[-(i << 40)],
            many=[i, 300 * i, -1],
            raw=[bytes([i, 1])],
            name=[b"k%d" % i],
            maybe=[i] if i % 2 else [],
        )
        for i in range(6)
    )
    return [
        Seed("part-00000", examples, _OPTIONS, _records),
        Seed("x.tfrecord", examples, _OPTIONS, _records),
        Seed(
            "x.tfrecord.gz",
            examples,
            _OPTIONS,
            lambda one: gzip.compress(_records(one)),
        ),
        Seed("y.tfrecord", (SAMPLE.read_bytes(),), _OPTIONS[:-1]),
    ]


def _records(examples: Sequence[bytes]) -> bytes:
    return b"".join(map(record, examples))

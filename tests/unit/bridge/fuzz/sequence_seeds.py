"""SequenceFiles: Hadoop's own, and some whose plain bytes can be damaged."""

import struct
from collections.abc import Callable, Sequence

from tests.unit.bridge.fuzz.seeds import Seed, of_file
from tests.unit.bridge.sequence_files import (
    COMPRESSORS,
    HADOOP,
    MARK,
    block_of_buffers,
    header,
    records,
    text,
    vint,
)

__all__ = ["sequence_seeds"]

_KEY = {"features": "value", "label": "key"}
_UNLABELLED = {"features": "key", "key": "value", "require_labels": False}
_ARRAYS = ({**_KEY, "element_class": "DoubleWritable"},)
_VALUES = {"features": "value", "require_labels": False}
_WITHOUT_KEYS = ("null_long",)


def sequence_seeds() -> list[Seed]:
    """Return Hadoop's files, MapFiles, and files by each codec and kind."""
    stored = [
        of_file(path, how, {**how, "format": "sequence_file"})
        for path in sorted(HADOOP.iterdir())
        for how in [_VALUES if path.name in _WITHOUT_KEYS else _UNLABELLED]
        if path.is_file() and path.suffix != ".java" and path.name != "empty"
    ]
    part = HADOOP / "map" / "part-r-00000"
    beside = {"map/part-r-00000/index": (part / "index").read_bytes()}
    data = ((part / "data").read_bytes(),)
    mapped = Seed("map/part-r-00000/data", data, (_UNLABELLED,), beside=beside)
    made = [_by_record(codec) for codec in (None, *COMPRESSORS)]
    return [*stored, mapped, *made, *map(_by_block, COMPRESSORS), _with_metadata()]


def _values() -> list[bytes]:
    doubles = struct.pack(">i3d", 3, 1.0, 2.0, 3.0)
    return [doubles] * 4


def _by_record(codec: str | None) -> Seed:
    head = header("IntWritable", "ArrayWritable", codec)

    def build(pieces: Sequence[bytes]) -> bytes:
        pairs = [(struct.pack(">i", 7), piece) for piece in pieces[1:]]
        return pieces[0] + records(pairs, codec, sync_every=2)

    return Seed("x.seq", (head, *_values()), _ARRAYS, build)


def _by_block(codec: str) -> Seed:
    """Return a file of two equal blocks of which each buffer is a piece."""
    texts = [text(one) for one in ("a", "bc", "")]
    numbers = [struct.pack(">i", number) for number in range(3)]
    pieces = (
        header("IntWritable", "Text", codec, is_block=True),
        vint(3),
        b"".join(vint(len(one)) for one in numbers),
        b"".join(numbers),
        b"".join(vint(len(one)) for one in texts),
        b"".join(texts),
    )
    return Seed("x.seq", pieces, (_UNLABELLED,), _blocks_by(codec))


def _blocks_by(codec: str) -> Callable[[Sequence[bytes]], bytes]:
    def build(pieces: Sequence[bytes]) -> bytes:
        buffers = [COMPRESSORS[codec](one) for one in pieces[2:]]
        # The number of records may be damaged, and stands behind the mark.
        block = MARK + pieces[1] + block_of_buffers(0, buffers)[len(MARK) + 1 :]
        return pieces[0] + block * 2

    return build


def _with_metadata() -> Seed:
    metadata = b"\0\0\0\1" + text("key") + text("value")
    head = header("org.x.DoubleArrayWritable", "NullWritable", metadata=metadata)
    rows = records([(key, b"") for key in _values()])
    return Seed("part-00000", (head, rows), ({**_VALUES, "features": "key"},))

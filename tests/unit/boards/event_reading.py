"""Events as they lie in a directory, read without TensorBoard."""

import struct
from pathlib import Path

import fsspec
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c


def events_of(content):
    """Return the events of a file; checksums must be right."""
    found, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        check(content[at : at + 8], content[at + 8 : at + 12])
        data = content[at + 12 : at + 12 + length]
        check(data, content[at + 12 + length : at + 16 + length])
        found.append(Event.FromString(data))
        at += 16 + length
    return found


def check(data, checksum):
    assert struct.unpack("<I", checksum) == (masked_crc32c(data),)


def files_in(directory):
    """Return the contents of event files, in the order in which they are read."""
    if "://" in str(directory):
        fs, path = fsspec.core.url_to_fs(str(directory))
        return [fs.cat(name) for name in sorted(fs.glob(f"{path}/events.*"))]
    return [path.read_bytes() for path in sorted(Path(directory).glob("events.*"))]


def curves(directory):
    """Return each tag's value by step, as TensorBoard has them.

    What lies at or behind the step of a start is taken back.
    """
    values = {}
    for event in (one for content in files_in(directory) for one in events_of(content)):
        if event.HasField("session_log"):
            values = {
                tag: {step: one for step, one in points.items() if step < event.step}
                for tag, points in values.items()
            }
        for value in event.summary.value:
            what = value.WhichOneof("value")
            points = values.setdefault(value.tag, {})
            assert event.step not in points, (value.tag, event.step)
            points[event.step] = getattr(value, what)
    return values

"""How much of stored data may be in memory."""

import pytest

from daskdl.data import room
from daskdl.data.room import LEAST_ROOM, Room, room_here, room_of


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ([1 << 30], Room(176 << 20, (704 << 20) // 10)),
        ([8 << 30, 1 << 30], Room(176 << 20, (704 << 20) // 10)),
        ([0, 1 << 30], Room(176 << 20, (704 << 20) // 10)),
        # Of which 320 MiB are taken before there are data.
        ([400 << 20], Room(20 << 20, 8 << 20)),
        ([80 << 20], Room(4 << 20, (16 << 20) // 10)),
        ([0], LEAST_ROOM),
        ([], LEAST_ROOM),
    ],
)
def test_the_smallest_limit_counts(limits, expected):
    assert room_of(limits) == expected


def test_a_container_has_less_than_its_machine(monkeypatch, tmp_path):
    paths = [tmp_path / name for name in ("none", "unlimited", "limited")]
    paths[1].write_text("max\n")
    paths[2].write_text(f"{1 << 29}\n")
    monkeypatch.setattr(room, "_GROUP_LIMITS", tuple(paths))
    assert room_here() == Room(48 << 20, (192 << 20) // 10)

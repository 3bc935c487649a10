"""Zip files of strangers: bounded before they are read, and named when they are bad."""

import errno
import io
import struct
import zipfile

import pytest

from daskdl.dl4j.zip_files import ZipEntries
from daskdl.errors import CorruptFileError, OptionError


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def opened(raw, **bounds):
    return ZipEntries(io.BytesIO(raw), "a.zip", **bounds)


def listed(raw):
    """Return where the list of entries begins, and what stands before and after it."""
    start = raw.index(b"PK\x01\x02")
    return raw[:start], raw[start:]


def test_entries_are_read_by_name():
    entries = opened(zipped([("b", b"2"), ("a", b"1" * 1000)]))
    assert entries.names == ["b", "a"]
    assert entries.read("a") == b"1" * 1000


def test_an_entry_may_be_longer_than_the_list_of_entries(rng):
    content = rng.bytes(200_000)
    raw = zipped([("a", content)], zipfile.ZIP_STORED)
    assert opened(raw, most_entries=1).read("a") == content


def test_an_entry_is_read_forward():
    with opened(zipped([("a", b"12345")])).open("a") as stream:
        assert (stream.read(2), stream.read()) == (b"12", b"345")


def test_what_an_entry_takes_in_the_file_is_no_more_than_the_file():
    before, after = listed(zipped([("zeros", b"\0" * 10_000)]))
    size = opened(before + after).stored_bytes("zeros")
    lie = after.replace(struct.pack("<I", size), struct.pack("<I", 10**9), 1)
    assert size < 100
    assert opened(before + lie).stored_bytes("zeros") == len(before)


def test_what_is_refused_in_an_open_entry_is_not_blamed_on_the_file():
    with (
        pytest.raises(OptionError, match="mine"),
        opened(zipped([("a", b"1")])).open("a"),
    ):
        raise OptionError("mine")


def test_a_missing_entry_is_named():
    with pytest.raises(CorruptFileError, match=r"^a\.zip: must have an entry 'x'"):
        opened(zipped([("b", b"2")])).read("x")


@pytest.mark.parametrize("raw", [b"", b"PK\x03\x04", b"\0" * 100, zipped([])[:-1]])
def test_what_is_no_zip_file_is_refused(raw):
    with pytest.raises(CorruptFileError, match=r"^a\.zip: must be a whole zip file"):
        opened(raw)


def test_a_bomb_is_refused_before_it_is_inflated():
    bomb = zipped([("zeros", b"\0" * 10_000_000)])
    assert len(bomb) < 20_000
    with pytest.raises(CorruptFileError, match=r"1000000 bytes .* got 10000000"):
        opened(bomb, most_bytes=1_000_000)


def test_a_bomb_that_lies_about_its_size_gives_no_more_than_that():
    before, after = listed(zipped([("zeros", b"\0" * 10_000_000)]))
    lie = after.replace(struct.pack("<I", 10_000_000), struct.pack("<I", 10), 1)
    entries = opened(before + lie, most_bytes=100)
    with pytest.raises(CorruptFileError, match=r"entry 'zeros' at offset 0 .*Bad CRC"):
        entries.read("zeros")


def test_many_entries_are_refused():
    raw = zipped([(str(k), b"") for k in range(20)])
    with pytest.raises(CorruptFileError, match=r"at most 19 entries .* got 20 with 20"):
        opened(raw, most_entries=19)


def test_a_list_of_entries_without_end_is_not_read():
    """A million entries of 46 bytes would become objects of half a gigabyte."""
    before, after = listed(zipped([("a", b"1")]))
    n_times = 10_000
    end = after.index(b"PK\x05\x06")
    head, size, rest = after[end : end + 12], 4, after[end + 16 :]
    entry = after[:end]
    raw = before + entry * n_times + head + struct.pack("<I", len(entry) * n_times)
    assert size == 4
    with pytest.raises(CorruptFileError, match="its list of entries is too long"):
        opened(raw + rest, most_entries=10)


def test_two_entries_of_one_name_are_refused():
    raw = zipped([("a", b"1"), ("b", b"2")]).replace(b"b", b"a")
    with pytest.raises(CorruptFileError, match="different names, got 2 with 1 names"):
        opened(raw)


def test_other_compression_is_refused():
    with pytest.raises(CorruptFileError, match="'a' at offset 0 must be stored or"):
        opened(zipped([("a", b"1")], zipfile.ZIP_BZIP2))


def test_an_encrypted_entry_is_refused():
    before, after = listed(zipped([("a", b"1")]))
    with pytest.raises(CorruptFileError, match="not encrypted, got method 8 and flags"):
        opened(before + after[:8] + b"\x01" + after[9:])


def test_a_damaged_entry_is_named_with_its_offset():
    raw = bytearray(zipped([("a", b"1"), ("b", b"22")], zipfile.ZIP_STORED))
    raw[raw.index(b"22")] ^= 1
    with pytest.raises(CorruptFileError, match=r"entry 'b' at offset 32 must be whole"):
        opened(bytes(raw)).read("b")


def test_a_long_name_does_not_fill_the_message():
    raw = zipped([("a", b"1" * 5000)], zipfile.ZIP_STORED)
    # The name in front of the entry goes on through what is stored.
    damaged = raw[:26] + struct.pack("<H", 4000) + raw[28:]
    with pytest.raises(CorruptFileError, match="File name in directory") as caught:
        opened(damaged).read("a")
    assert len(str(caught.value)) < 400
    long = zipped([("a" * 400, b"1")], zipfile.ZIP_BZIP2)
    with pytest.raises(CorruptFileError, match="aaa' at offset 0 must be") as caught:
        opened(long)
    assert len(str(caught.value)) < 400


def test_an_offset_before_the_file_is_damage():
    before, after = listed(zipped([("a", b"1")]))
    # The list begins further on than the file says, so offsets count from before it.
    end = after.index(b"PK\x05\x06") + 16
    moved = after[:end] + struct.pack("<I", len(before) + 9) + after[end + 4 :]
    with pytest.raises(CorruptFileError, match=r"^a\.zip: "):
        opened(before + moved).read("a")


def test_what_a_store_refuses_is_not_blamed_on_the_file():
    class Broken(io.BytesIO):
        def read(self, *size):
            raise OSError(errno.EIO, "no answer")

    with pytest.raises(OSError, match="no answer") as caught:
        ZipEntries(Broken(zipped([])), "a.zip")
    assert not isinstance(caught.value, CorruptFileError)

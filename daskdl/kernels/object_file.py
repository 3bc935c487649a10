"""Object code put in memory without LLVM, whose engines touch 10 MiB of its library.

What LLVM writes for engines, whose parts may lie anywhere, refers to everything by
whole addresses: there is one kind of relocation. Only files of Linux on x86-64 with
that one are taken; all others are LLVM's to load.
"""

import ctypes
import functools
import mmap
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# System V ABI, "ELF-64 object file format", and its supplement for x86-64.
_FILE = struct.Struct("<6s10xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01"
_RELOCATABLE, _X86_64 = 1, 62
_CONTENT, _SYMBOLS, _RELOCATIONS, _ZEROS = 1, 2, 4, 8
_WRITABLE, _IN_MEMORY = 1, 2
_UNDEFINED = 0
_WHOLE_ADDRESS = 1
_PROTECTIONS = mmap.PROT_READ | mmap.PROT_EXEC

# Functions lie in them: they live as long as the process.
_pieces: list[mmap.mmap] = []


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def placed(names: Sequence[str], code: bytes) -> list[int] | None:
    """Put object code in memory, for as long as the process lives.

    Parameters
    ----------
    names : sequence of str
        Of its parts.
    code : bytes
        An object file.

    Returns
    -------
    list of int or None
        Where these parts lie; None if the file, or the system, is of another kind.
    """
    try:
        sections = _sections(code)
        return _put(code, sections, names) if sections else None
    except (_OtherKindError, OSError):
        return None


class _OtherKindError(Exception):
    """A file has what only LLVM knows."""


def _sections(code: bytes) -> list[_Section]:
    """Return the sections of a file; none if it is of another kind."""
    if len(code) < _FILE.size:
        return []
    magic, kind, machine, *_, first, _, _, _, _, size, n, _ = _FILE.unpack_from(code)
    if (magic, kind, machine, size) != (
        *(_MAGIC, _RELOCATABLE, _X86_64),
        _SECTION.size,
    ):
        return []
    table = code[first : first + n * size]
    return [_Section._make(values) for values in _SECTION.iter_unpack(table)]


def _put(code: bytes, sections: list[_Section], names: Sequence[str]) -> list[int]:
    offsets, n_fixed, n_all = _layout(sections)
    piece = mmap.mmap(-1, n_all, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(piece))
    for index, offset in offsets.items():
        section = sections[index]
        if section.type == _CONTENT:
            end = section.offset + section.size
            piece[offset : offset + section.size] = code[section.offset : end]
    symbols = dict(_symbols(code, sections, offsets, start))
    for place, symbol, addend in _references(code, sections, offsets):
        if symbol not in symbols:
            raise _OtherKindError
        struct.pack_into("<Q", piece, place, symbols[symbol][1] + addend)
    found = dict(symbols.values())
    _protect(start, n_fixed)
    _pieces.append(piece)
    return [found[name] for name in names]


def _layout(sections: list[_Section]) -> tuple[dict[int, int], int, int]:
    """Return where sections go, by their index, and how much is fixed, and all.

    What may be written to lies behind the rest, on pages of its own.
    """
    offsets: dict[int, int] = {}
    end = n_fixed = 0
    for is_writable in (False, True):
        for index, section in enumerate(sections):
            is_kept = section.flags & _IN_MEMORY and section.type in (_CONTENT, _ZEROS)
            if is_kept and bool(section.flags & _WRITABLE) == is_writable:
                offsets[index] = _rounded(end, max(1, section.alignment))
                end = offsets[index] + section.size
        end = _rounded(max(end, 1), mmap.PAGESIZE)
        n_fixed = n_fixed or end
    return offsets, n_fixed, end


def _symbols(
    code: bytes, sections: list[_Section], offsets: dict[int, int], start: int
) -> Iterator[tuple[int, tuple[str, int]]]:
    """Yield name and address of what has one, by its number in the file."""
    (table,) = (section for section in sections if section.type == _SYMBOLS)
    texts = sections[table.link].offset
    content = code[table.offset : table.offset + table.size]
    for number, symbol in enumerate(_SYMBOL.iter_unpack(content)):
        text, _, _, index, value, _ = symbol
        first = texts + text
        name = code[first : code.index(b"\0", first)].decode()
        if index in offsets:
            yield number, (name, start + offsets[index] + value)
        elif index == _UNDEFINED and name:
            yield number, (name, _of_process(name))


def _references(
    code: bytes, sections: list[_Section], offsets: dict[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Yield where addresses are to be written, of which symbol, and how far behind."""
    for section in sections:
        if section.type != _RELOCATIONS or section.info not in offsets:
            continue
        content = code[section.offset : section.offset + section.size]
        for offset, info, addend in _RELOCATION.iter_unpack(content):
            if info & 0xFFFFFFFF != _WHOLE_ADDRESS:
                raise _OtherKindError
            yield offsets[section.info] + offset, info >> 32, addend


@functools.cache
def _of_process(name: str) -> int:
    """Return the address of a function of Python or C."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except AttributeError:
        raise _OtherKindError from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        raise _OtherKindError
    return address


def _protect(start: int, size: int) -> None:
    """Let memory be read and run, and no longer be written to."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(ctypes.c_void_p(start), ctypes.c_size_t(size), _PROTECTIONS):
        raise OSError(ctypes.get_errno(), "mprotect")


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step

"""CSV, libsvm, JSON and XML files, plain and compressed."""

import gzip
import json
from collections.abc import Mapping
from typing import Any

from tests.unit.bridge.fuzz.seeds import Seed, joined
from tests.unit.bridge.test_compressed_text import COMPRESS

__all__ = ["csv_seeds", "json_seeds", "libsvm_seeds", "xml_seeds"]

_CSV = b"label,a,b c,kind,text\n" + b"".join(
    b'%d,%.2f,-1e%d,%c,"t %d ""q"" \\" x"\n' % (i % 3, i / 4, i, b"pq"[i % 2], i)
    for i in range(12)
)
_SPANNING = _CSV.replace(b"t 3", b"t\n3").replace(b"t 7", b"t\r\n\r\n7")
_PLAIN = b"1,2,3\n4,5,6\n\n7,8,9\n"
_TRIMMING = {
    "ignore_leading_white_space": True,
    "ignore_trailing_white_space": True,
}
_LIBSVM = b"1 3:0.5 7:-1e-3\n-1 1:2 # why\n2 1:1 2:2 9:3\n"
_JSON = b"".join(
    json.dumps({"label": i, "a": [i, 0.5], "b": {"c": None, "d": "t\u00e4\\"}}).encode()
    + b"\n"
    for i in range(6)
)
_VECTORS = (
    b'{"label":0,"features":{"type":0,"size":3,"indices":[0,2],"values":[1,2.5]}}\n'
    b'{"label":1,"features":{"type":1,"values":[1.5,2,3]}}\n'
)
# Sparse vectors may claim any width; what their dense rows may take is the user's.
_BOUNDED = {"most_part_bytes": 1 << 24}
_XML = b"<?xml version='1.0'?>\n<rows>" + b"".join(
    b"<r k='v%d'><x>%d</x><a>1</a><a>2</a><label>%d</label><!-- c --></r>\n" % (i, i, i)
    for i in range(6)
)


def csv_seeds() -> list[Seed]:
    """Return a file for each dialect, with cells of lines, and by each codec."""
    options = _with({}, {"header": True}, {"escape": '"'}, {"quote": ""})
    options += _with({"null_value": "7", "empty_value": "e"}, {"encoding": "latin1"})
    options += _with({"quote": "'", "comment": "#"}, {"escape": "", "quote": '"'})
    options += _with({"char_to_escape_quote_escaping": "^"}, _TRIMMING)
    spanning = tuple(
        {**one, "multi_line": True} for one in options if one.get("quote", '"') == '"'
    )
    numbers = {"features": ("_c1", "_c2"), "label": "_c0", "format": "csv"}
    plain = (numbers, {**numbers, "handle_invalid": "skip"})
    made = [
        ("", _CSV, options),
        ("", _SPANNING, spanning),
        (".gz", _SPANNING, spanning),
    ]
    made += [(ending, _CSV, options) for ending in COMPRESS]
    made += [
        ("", _PLAIN, plain),
        ("", _CSV.replace(b",", b"||"), _with({"delimiter": "||"})),
        ("", _CSV.replace(b",", b"\t"), _with({"delimiter": "\\t"})),
        ("", _CSV.decode().encode("utf-16"), _with({"encoding": "UTF-16"})),
    ]
    return [_compressed("x.csv", *one) for one in made]


def _with(*dialects: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    named = {"features": ("a", "b c"), "label": "label", "format": "csv"}
    classes = {"features": "a", "label": "kind", "class_names": ("p", "q")}
    return tuple(
        {**one, **how}
        for how in dialects
        for one in (named, {**named, "key": "text"}, {**classes, "format": "csv"})
    )


def libsvm_seeds() -> list[Seed]:
    how = (_BOUNDED, {"n_features": 9, "format": "libsvm"})
    return [
        _compressed("part-00000", ending, _LIBSVM, how) for ending in ("", *COMPRESS)
    ]


def json_seeds() -> list[Seed]:
    columns = {"features": "a", "label": "label"}
    how = (columns, {**columns, "format": "json"}, {**columns, "key": "b"})
    document = b"[" + _JSON.strip().replace(b"\n", b",\n") + b"]"
    several = tuple({**one, "multi_line": True} for one in how)
    made = [_compressed("part-00000", one, _JSON, how) for one in ("", ".gz", ".zst")]
    vectors = Seed("x.json", (_VECTORS,), ({**_BOUNDED, "label": "label"},))
    return [*made, Seed("x.json", (document,), several), vectors]


def xml_seeds() -> list[Seed]:
    how = {"row_tag": "r", "features": ("x", "a"), "label": "label"}
    options = (how, {**how, "key": "_k"})
    return [
        _compressed("x.xml", ending, _XML + b"</rows>", options)
        for ending in ("", ".gz")
    ]


def _compressed(
    name: str, ending: str, data: bytes, options: tuple[Mapping[str, Any], ...]
) -> Seed:
    if not ending:
        return Seed(name, (data,), options)
    compress = gzip.compress if ending == ".gz" else COMPRESS[ending]
    return Seed(name + ending, (data,), options, lambda one: compress(joined(one)))

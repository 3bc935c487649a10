"""Pieces that a worker holds, and the server that takes them, without Spark."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import flight

from daskdl.errors import OutputError
from daskdl_bridge.spark import direct_sending
from daskdl_bridge.spark.direct_pieces import (
    HeldPiece,
    HeldPieces,
    Spill,
    in_one_buffer,
    table_of,
)
from daskdl_bridge.spark.direct_sending import Access
from daskdl_bridge.spark.direct_server import InboxServer

TABLE = pa.table({"key": ["a", "b", "c"], "x": pa.array([1.0, 2.0, 3.0])})
BUFFER = in_one_buffer(TABLE.schema, TABLE.to_batches())
ACCESS = Access("secret")


@pytest.fixture
def pieces():
    return HeldPieces(1000)


@pytest.fixture
def server(pieces):
    with InboxServer("grpc://127.0.0.1:0", pieces, ACCESS.token) as server:
        yield server


def put(server, table=TABLE, **header):
    known = {"key": "0/7/0", "rows": table.num_rows, "bytes": table.nbytes}
    uri = f"grpc://127.0.0.1:{server.port}"
    return direct_sending._put_into(uri, ACCESS, {**known, **header}, table)


def held(pieces):
    return dict(pieces.keep_only(["0/7/0", "0/8/0"])[1])


def test_memory_is_taken_up_to_the_limit_and_given_back(pieces):
    assert pieces.reserve("0/7/0", 600)
    assert not pieces.reserve("0/8/0", 401)
    pieces.release("0/7/0")
    assert pieces.reserve("0/8/0", 1000)


def test_what_the_manifest_does_not_name_is_dropped_with_its_file(tmp_path):
    pieces = HeldPieces(0, Spill(str(tmp_path)))
    for key in ("0/7/0", "0/9/0"):
        pieces.write(key, BUFFER, 3)
    schema, kept = pieces.keep_only(["0/7/0"])
    assert pa.ipc.read_schema(pa.py_buffer(schema)) == TABLE.schema
    assert kept == {"0/7/0": HeldPiece(3, f"{tmp_path}/piece-0-7-0.arrows")}
    assert [file.name for file in tmp_path.iterdir()] == ["piece-0-7-0.arrows"]
    assert table_of((tmp_path / "piece-0-7-0.arrows").read_bytes()) == TABLE


def test_a_store_that_takes_nothing_is_told(tmp_path):
    pieces = HeldPieces(0, Spill(str(tmp_path / "missing")))
    with pytest.raises(OutputError, match="piece-0-7-0"):
        pieces.write("0/7/0", BUFFER, 3)


def test_a_piece_is_kept_as_it_was_sent(server, pieces):
    assert put(server)
    assert held(pieces) == {"0/7/0": HeldPiece(3)}
    kept = table_of(pieces.buffer("0/7/0"))
    assert kept == TABLE
    # Kernels need numbers at whole addresses.
    assert kept["x"].chunk(0).buffers()[1].address % np.dtype(np.float64).itemsize == 0


def test_a_piece_that_lacks_rows_is_refused_and_its_memory_free(server, pieces):
    with pytest.raises(flight.FlightServerError, match="must have 4 rows, got 3"):
        put(server, rows=4)
    assert held(pieces) == {}
    assert pieces.reserve("0/8/0", 1000)


def test_a_piece_that_is_more_than_announced_is_refused(server, pieces):
    with pytest.raises(flight.FlightServerError, match="must have 2 rows"):
        put(server, rows=2)
    assert held(pieces) == {}


def test_a_full_inbox_says_so_and_is_sent_nothing(server, pieces):
    assert not put(server, bytes=1001)
    assert held(pieces) == {}


def test_a_task_that_is_late_is_not_listened_to(server, pieces, tmp_path):
    pieces.keep_only([])
    assert not put(server)
    # What was on its way when it was settled.
    pieces.reserve("0/8/0", 1000)
    pieces.keep("0/8/0", BUFFER, HeldPiece(3))
    assert held(pieces) == {}
    assert pieces.reserve("0/7/0", 1000)
    spilling = HeldPieces(0, Spill(str(tmp_path)))
    spilling.keep_only([])
    spilling.write("0/8/0", BUFFER, 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("most_bytes", [1, 24, 50, 10_000])
def test_batches_are_cut_and_joined_to_pieces_of_some_bytes(most_bytes):
    batches = pa.table({"x": np.arange(20.0)}).to_batches(max_chunksize=7)
    pieces = list(direct_sending._pieces(batches, most_bytes))
    assert pa.concat_tables(pieces)["x"].to_pylist() == list(range(20))
    assert max(piece.nbytes for piece in pieces) <= max(most_bytes, 8)


def test_a_token_is_not_shown():
    assert "secret" not in repr(ACCESS)

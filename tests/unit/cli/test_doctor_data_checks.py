"""What ``daskdl doctor`` says of stores and of data."""

import json
import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.cli import doctor_checks
from daskdl.cli.doctor_data_checks import check_data
from daskdl.cli.doctor_store_checks import check_store
from daskdl.cli.main import main
from daskdl.cluster.calls import Answers


@pytest.fixture
def train(job_path):
    """A directory of Parquet with the columns id, x and y."""
    return os.path.join(os.path.dirname(job_path), "train")


class Workers:
    """A cluster whose only worker is this process."""

    def on_workers(self, function, *given):
        return Answers({"tcp://h:1": function(*given)})


HOW = {"features": ("x",), "label": ("y",)}


def test_data_are_told_and_the_first_part_read(train):
    form, first = check_data(train, HOW, None)
    assert form.found.startswith("1 partitions, 40 rows, columns id int64, x ")
    assert first.found.startswith("40 rows, features (3,), labels (1,)")


def test_columns_that_are_not_named_are_asked_for(train):
    _, first = check_data(train, {}, None)
    assert first.is_failure
    assert "--features" in first.to_do


def test_a_bad_row_is_found(train):
    with open(os.path.join(train, "more.csv"), "w") as file:
        file.write("a,b\n1,2\n3,x\n")
    (_, first) = check_data(f"{train}/more.csv", {"features": ("a", "b")}, None)
    assert first.is_failure
    assert "'x'" in first.found


@pytest.mark.parametrize(
    ("given", "done"),
    [
        ({"label": ("y",), "handle_invalid": "skip"}, "skipped"),
        ({"handle_invalid": "keep"}, "kept without a prediction"),
    ],
)
def test_rows_that_cannot_be_used_are_counted(tmp_path, given, done):
    rows = [{"x": None if i % 2 else float(i), "y": 0} for i in range(8)]
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.Table.from_pylist(rows), path)
    _, first = check_data(path, {"features": ("x",), **given}, None)
    assert first.is_ok
    assert first.found.startswith(f"8 rows, 4 of them {done}, features (1,)")
    assert first.found.endswith("; those that are left can be used")


def test_what_is_not_there_is_an_error(tmp_path):
    (form,) = check_data(str(tmp_path / "none"), {}, None)
    assert form.is_failure
    assert "the path must exist" in form.found


def test_workers_look_at_the_absolute_path(train, monkeypatch):
    monkeypatch.chdir(os.path.dirname(train))
    *_, seen = check_data("train", HOW, Workers())
    monkeypatch.chdir("/")
    assert (seen.what, seen.level) == ("data train on the workers", "ok")


def test_workers_look_at_the_directory_of_a_pattern(train):
    *_, seen = check_data(f"{train}/part-*", HOW, Workers())
    assert seen.level == "ok"


def test_a_store_is_listed(train):
    found, seen = check_store(f"file://{train}", Workers())
    assert found.found == "answers, a directory of 2 entries"
    assert seen.found == "seen by 1 workers"


def test_a_worker_that_sees_nothing_is_an_error(tmp_path):
    *_, seen = check_store(f"file://{tmp_path}/none", Workers())
    assert seen.is_failure
    assert "'tcp://h:1: file:///" in seen.found


@pytest.fixture
def kerberos(tmp_path, monkeypatch):
    """Hadoop's configuration asks for Kerberos; a function sets what klist says."""
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>hadoop.security.authentication</name>"
        "<value>kerberos</value></property></configuration>"
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KRB5_CLIENT_KTNAME", raising=False)

    def klist(script):
        path = tmp_path / "klist"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        _, ticket = check_store(f"file://{tmp_path}", None)
        return ticket

    return klist


TICKET = "01/02/26 10:00:00  01/02/26 20:00:00  krbtgt/A.B@A.B"


def test_the_end_of_a_ticket_is_told(kerberos):
    ticket = kerberos(f"echo '{TICKET}'")
    assert ticket.found == "a ticket, valid until 01/02/26 20:00:00"


def test_no_ticket_is_an_error_where_hadoop_asks_for_one(kerberos):
    assert kerberos("exit 1").is_failure


def test_a_keytab_is_as_good(kerberos, monkeypatch):
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "/etc/ann.keytab")
    assert kerberos("exit 1").found == "keytab /etc/ann.keytab"


def test_the_command_checks_data_as_its_options_say(runner, train, monkeypatch):
    monkeypatch.setattr(doctor_checks, "check_here", list)
    words = ["doctor", "--data", train, "--features", "x", "--label", "y", "--json"]
    result = runner.invoke(main, words)
    checks = json.loads(result.stdout.splitlines()[-1])["checks"]
    assert result.exit_code == 0
    assert checks[f"first part of {train}"]["level"] == "ok"


def test_the_command_ends_with_1_for_bad_data(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_checks, "check_here", list)
    result = runner.invoke(main, ["doctor", "--data", str(tmp_path / "none")])
    assert result.exit_code == 1


def test_columns_without_data_are_refused(runner):
    result = runner.invoke(main, ["doctor", "--features", "x"])
    assert "need --data" in result.stderr

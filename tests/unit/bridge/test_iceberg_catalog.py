"""Iceberg tables by their URLs in a catalog."""

import json
import sys

import pyarrow as pa
import pytest
from click.testing import CliRunner

from daskdl.cli.main import main
from daskdl.errors import (
    MissingExtraError,
    OptionError,
    SourceNotFoundError,
    StorageError,
)
from tests.unit.bridge.table_files import open_path

catalogs = pytest.importorskip("pyiceberg.catalog", reason="needs pyiceberg")

PREDICT = {"features": "x", "require_labels": False}


class AsleepCatalog:
    """A catalog whose server does not answer."""

    def load_table(self, identifier):
        from pyiceberg.exceptions import ServerError

        raise ServerError(f"no {identifier} tonight")

    def close(self):
        """Nothing is open."""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Configure a catalog in a database, with one table of two snapshots."""
    pytest.importorskip("sqlalchemy", reason="pyiceberg's catalog of files needs it")
    from pyiceberg.utils.config import Config

    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__URI", f"sqlite:///{tmp_path}/shop.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__WAREHOUSE", f"file://{tmp_path}/shop")
    monkeypatch.setattr(catalogs, "_ENV_CONFIG", Config())
    catalog = catalogs.load_catalog("shop")
    catalog.create_namespace("db")
    rows = pa.table({"x": pa.array([1.0, 2.0, 3.0])})
    table = catalog.create_table("db.sales", rows.schema)
    table.append(rows)
    table.append(rows)
    table.delete("x = 2.0")
    yield table
    catalog.close()


def features_of(name, **options):
    source = open_path(name, **options, **PREDICT)
    return sorted(
        x for one in source.partitions for x in one.load().features[:, 0].tolist()
    )


def test_rows_are_those_of_the_table(shop):
    assert features_of("iceberg://shop/db.sales") == [1.0, 1.0, 3.0, 3.0]
    first = shop.history()[0].snapshot_id
    assert features_of("iceberg://shop/db.sales", snapshot_id=first) == [1.0, 2.0, 3.0]


def test_table_is_opened_by_the_metadata_file_that_the_catalog_knows(shop):
    path = shop.metadata_location.removeprefix("file://")
    assert features_of(path) == [1.0, 1.0, 3.0, 3.0]


@pytest.mark.usefixtures("shop")
def test_dots_in_names_are_percent_encoded():
    catalog = catalogs.load_catalog("shop")
    rows = pa.table({"x": pa.array([5.0])})
    catalog.create_namespace(("my db",))
    catalog.create_table(("my db", "50% of.x"), rows.schema).append(rows)
    catalog.close()
    for name in ("my db.50% of%2Ex", "my%20db.50%25%20of%2ex"):
        assert features_of(f"iceberg://shop/{name}") == [5.0]
    with pytest.raises(SourceNotFoundError, match="must have the table"):
        open_path("iceberg://shop/my db.50% of.x", **PREDICT)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "iceberg://shop/db.none",
            SourceNotFoundError,
            r"'shop' must have the table 'db\.none'",
        ),
        (
            "iceberg://shop/no.sales",
            SourceNotFoundError,
            r"must have the table 'no\.sales'",
        ),
        (
            "iceberg://cafe/db.sales",
            OptionError,
            r"configured for the catalog 'cafe', it is not",
        ),
        ("iceberg://shop", OptionError, r"must be iceberg://catalog/namespace\.table"),
    ],
)
def test_what_is_not_there_is_named(name, error, message):
    with pytest.raises(error, match=message):
        open_path(name, **PREDICT)


@pytest.mark.usefixtures("shop")
def test_table_is_given_by_itself():
    url = "iceberg://shop/db.sales"
    assert features_of([url]) == features_of(url)
    with pytest.raises(OptionError, match="must be given by itself, got 2 paths"):
        open_path([url, url], **PREDICT)


def test_catalog_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(catalogs, "load_catalog", lambda name: AsleepCatalog())
    with pytest.raises(StorageError, match=r"must give the table, .* tonight"):
        open_path("iceberg://shop/db.sales", **PREDICT)


def test_options_of_other_tables_are_refused():
    with pytest.raises(OptionError, match="version=1"):
        open_path("iceberg://shop/db.sales", version=1, **PREDICT)
    with pytest.raises(OptionError, match="format must be 'iceberg' or None"):
        open_path("iceberg://shop/db.sales", format="parquet", **PREDICT)


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[iceberg\]'"):
        open_path("iceberg://shop/db.sales", **PREDICT)


@pytest.mark.usefixtures("shop")
def test_a_table_of_a_catalog_can_be_inspected():
    result = CliRunner().invoke(main, ["inspect", "iceberg://shop/db.sales", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["columns"] == {"x": "double"}


def test_a_catalog_that_is_not_configured_is_said_by_inspect():
    result = CliRunner().invoke(main, ["inspect", "iceberg://cafe/db.sales"])
    assert result.exit_code == 2
    assert "must be configured for the catalog 'cafe'" in result.stderr

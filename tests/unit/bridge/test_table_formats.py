"""Tables of Delta, Iceberg, Hudi and streams are never read as plain files."""

import fsspec
import pytest

from daskdl.errors import DataError
from daskdl_bridge.listing import list_parts
from daskdl_bridge.storage import url_of

TABLES = {
    "_delta_log/00000000000000000000.json": "a Delta table",
    ".hoodie/hoodie.properties": "a Hudi table",
    "_spark_metadata/0": "what a streaming query of Spark wrote",
    "metadata/v1.metadata.json": "an Iceberg table",
    "metadata/00000-6a3f.gz.metadata.json": "an Iceberg table",
}
PLACES = ["", "/data", "/data/day=3", "/day=3", "/day=3/hour=4", "/data/a1/b2"]


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path):
    if request.param == "local":
        yield fsspec.filesystem("file"), str(tmp_path)
        return
    fs = fsspec.filesystem("memory")
    yield fs, "/tables-of-a-test"
    fs.rm("/tables-of-a-test", recursive=True)


def make(store, *names):
    fs, root = store
    for name in names:
        path = f"{root}/{name}"
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        fs.pipe_file(path, b"x\n")
    return url_of(fs, root)


@pytest.mark.parametrize(
    ("marker", "kind", "place"),
    [
        (marker, kind, place)
        for marker, kind in TABLES.items()
        for place in PLACES
        # There it is read by its log.
        if (marker, place) != ("_spark_metadata/0", "")
    ],
)
def test_directory_of_a_table_is_refused_whatever_the_flags(store, marker, kind, place):
    data = [f"t{place}/part-00000-x.c000.parquet", f"t{place}/_SUCCESS"]
    url = make(store, f"t/{marker}", *data)
    for require_success in (True, False):
        with pytest.raises(DataError, match=f"/t: must hold plain files.*{kind}"):
            list_parts(f"{url}/t{place}", require_success=require_success)


@pytest.mark.parametrize(("marker", "kind"), TABLES.items())
def test_directory_that_holds_tables_is_refused(store, marker, kind):
    url = make(store, f"warehouse/t/{marker}", "warehouse/t/data/a.csv")
    with pytest.raises(DataError, match=f"warehouse/t: must hold .*{kind}"):
        list_parts(f"{url}/warehouse", require_success=False)


@pytest.mark.parametrize(
    "pattern", ["t/data/*.csv", "t/*", "*/data", "t/data/{a,b}.csv"]
)
@pytest.mark.parametrize(("marker", "kind"), TABLES.items())
def test_pattern_inside_a_table_is_refused(store, marker, kind, pattern):
    url = make(store, f"t/{marker}", "t/data/a.csv", "t/data/b.csv")
    is_opened = "Hudi" not in kind
    hint = "Give that path by itself" if is_opened else "as Parquet.*of one snapshot"
    with pytest.raises(DataError, match=f"/t: .*{kind}, .*{hint}"):
        list_parts(f"{url}/{pattern}", require_success=False)


@pytest.mark.parametrize("marker", TABLES)
def test_files_of_a_snapshot_are_taken_by_name(store, marker):
    url = make(store, f"t/{marker}", "t/data/a.csv", "t/data/b.csv")
    parts = list_parts([f"{url}/t/data/b.csv", f"{url}/t/data/a.csv"])
    assert [part.name for part in parts] == ["b.csv", "a.csv"]


@pytest.mark.parametrize("given", ["link", "link/hour=4", "link/*.csv", "day*"])
@pytest.mark.parametrize(("marker", "kind"), TABLES.items())
def test_links_that_lead_into_a_table_are_refused(tmp_path, marker, kind, given):
    fs = fsspec.filesystem("file")
    data = ["t/day=3/a.csv", "t/day=3/hour=4/a.csv", "plain/day=2/a.csv"]
    make((fs, str(tmp_path)), f"t/{marker}", *data)
    (tmp_path / "link").symlink_to("t/day=3")
    (tmp_path / "day=1").symlink_to("plain/day=2")
    (tmp_path / "day=3").symlink_to("t/day=3")
    with pytest.raises(DataError, match=f"/t: must hold plain files.*{kind}"):
        list_parts(f"{tmp_path}/{given}", require_success=False)
    assert len(list_parts(f"{tmp_path}/day=1", require_success=False)) == 1


def test_folder_of_the_name_of_icebergs_is_none_by_itself(store):
    url = make(store, "t/metadata/about.json", "t/data/a.csv")
    assert len(list_parts(f"{url}/t/data")) == 1


def test_table_beside_the_data_does_not_matter(store):
    url = make(store, "t/_delta_log/0.json", "t/a.csv", "plain/a.csv")
    assert len(list_parts(f"{url}/plain")) == 1

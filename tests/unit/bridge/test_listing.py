"""What Spark left at a path, in what order, and what is refused."""

import os
import shutil
from pathlib import Path

import pytest

from daskdl.errors import DataError, SourceNotFoundError, UnfinishedJobError
from daskdl_bridge.listing import list_parts
from tests.unit.bridge.sample_forms import FORMS, path_of

JOB = "11111111-2222-3333-4444-555555555555"
LATER_JOB = "00000000-2222-3333-c447-555555555555"


def make(root: Path, *names: str) -> str:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x\n" if not name.endswith("_SUCCESS") else b"")
    return str(root)


def names_of(parts):
    return [part.name for part in parts]


def test_the_place_of_exported_minibatches_is_told(tmp_path):
    url = make(tmp_path, "data/dataset_0.bin", "paths/part-00000")
    with pytest.raises(UnfinishedJobError, match=r"listed there, give .*/data\.$"):
        list_parts(url)


@pytest.mark.parametrize(
    "form", [form for form in FORMS if os.path.isdir(path_of(form))]
)
def test_every_sample_has_its_number_of_files(form):
    if FORMS[form].get("finished", True):
        assert len(list_parts(path_of(form))) == FORMS[form]["files"]
    else:
        with pytest.raises(UnfinishedJobError, match=r"_temporary and no _SUCCESS"):
            list_parts(path_of(form))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"part-00012-{JOB}-c003.snappy.parquet", (12, JOB, None, 3)),
        (f"part-00012-{JOB}.c003.snappy.parquet", (12, JOB, None, 3)),
        (f"part-00012-{JOB}_00007.c003.snappy.parquet", (12, JOB, 7, 3)),
        (f"part-00001-{LATER_JOB}-c000.csv.gz", (1, LATER_JOB, None, 0)),
        (f"part-123456-{JOB}-c1000.json", (123456, JOB, None, 1000)),
        ("part-00003", (3, None, None, 0)),
        ("part-r-00004.gz", (4, None, None, 0)),
        ("part-m-00005", (5, None, None, 0)),
        ("dataset_0abc_12.bin", (None, None, None, 0)),
        ("partition.csv", (None, None, None, 0)),
    ],
)
def test_numbers_come_from_the_name(tmp_path, name, expected):
    (part,) = list_parts(make(tmp_path, name, "_SUCCESS"))
    assert (part.partition, part.job, part.bucket, part.file_no) == expected


def test_order_is_by_numbers_and_not_by_names(tmp_path):
    in_order = [
        f"part-00009-{LATER_JOB}-c000.parquet",
        f"part-00009-{LATER_JOB}-c001.parquet",
        f"part-00010-{LATER_JOB}-c000.parquet",
        f"part-99999-{LATER_JOB}-c999.parquet",
        f"part-99999-{LATER_JOB}-c1000.parquet",
        f"part-100000-{LATER_JOB}-c000.parquet",
    ]
    url = make(tmp_path, "_SUCCESS", *reversed(in_order))
    assert names_of(list_parts(url)) == in_order


def test_jobs_come_in_order_of_time(tmp_path):
    url = make(
        tmp_path,
        f"part-00000-{JOB}-c000.parquet",
        f"part-00001-{JOB}-c000.parquet",
        f"part-00000-{LATER_JOB}-c000.parquet",
        "_SUCCESS",
    )
    for part in Path(url).glob("part-*"):
        time = 2_000 if LATER_JOB in part.name else 1_000
        os.utime(part, (time, time))
    assert [part.job for part in list_parts(url)] == [JOB, JOB, LATER_JOB]


def test_other_names_come_in_natural_order(tmp_path):
    url = make(tmp_path, "dataset_10.bin", "dataset_9.bin", "dataset_1.bin")
    assert names_of(list_parts(url)) == [
        "dataset_1.bin",
        "dataset_9.bin",
        "dataset_10.bin",
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        "._SUCCESS.crc",
        ".part-00000.crc",
        "_metadata",
        "_common_metadata",
        "part-00001._COPYING_",
        "_metadata_of_mine/00000.json",
        ".staging/part-00000",
        "sub/_started_1",
    ],
)
def test_hidden_names_are_skipped_at_every_level(tmp_path, hidden):
    url = make(tmp_path, "part-00000", "_SUCCESS", hidden)
    assert names_of(list_parts(url)) == ["part-00000"]


def test_partition_column_may_start_with_an_underscore(tmp_path):
    url = make(tmp_path, "_day=3/part-00000", "_SUCCESS")
    assert list_parts(url)[0].values == {"_day": 3}


def test_leftover_temporary_of_a_finished_job_is_skipped(tmp_path):
    url = make(tmp_path, "part-00000", "_SUCCESS", "_temporary/0/part-00001")
    assert names_of(list_parts(url)) == ["part-00000"]


def test_directory_of_part_files_without_success_is_refused(tmp_path):
    url = make(tmp_path, "part-00000")
    with pytest.raises(UnfinishedJobError, match=r"require_success: false"):
        list_parts(url)
    assert len(list_parts(url, require_success=False)) == 1


def test_directory_of_other_names_needs_no_success(tmp_path):
    assert len(list_parts(make(tmp_path, "train.csv"))) == 1


@pytest.mark.parametrize(
    ("directories", "values"),
    [
        (["v=1", "v=20"], [1, 20]),
        (["v=1", "v=2.5"], [1.0, 2.5]),
        (["v=1", "v=x"], ["1", "x"]),
        (["v=1", "v=__HIVE_DEFAULT_PARTITION__"], [1, None]),
        (["v=a%2Fb%3D%25", "v=é ü"], ["a/b=%", "é ü"]),
        (["v=9223372036854775807", "v=-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["v=12345678901234567890", "v=1.5"], ["12345678901234567890", "1.5"]),
        (["v=2024-02-29", "v=x"], ["2024-02-29", "x"]),
    ],
)
def test_partition_values_are_decoded_and_typed(tmp_path, directories, values):
    files = [f"{directory}/part-{i:05d}" for i, directory in enumerate(directories)]
    parts = list_parts(make(tmp_path, "_SUCCESS", *files))
    assert [part.values["v"] for part in parts] == values


def test_nested_partition_columns(tmp_path):
    url = make(tmp_path, "_SUCCESS", "year=2024/kind=a/part-00000")
    assert list_parts(url)[0].values == {"year": 2024, "kind": "a"}


@pytest.mark.parametrize("below", ["year=2024", "year=2024/kind=a", "year=*/kind=a"])
def test_partition_directory_by_itself_keeps_its_values(tmp_path, below):
    url = make(tmp_path, "_SUCCESS", "year=2024/kind=a/part-00000", "year=2025/x/p")
    (part,) = list_parts(f"{url}/{below}")
    assert part.values == {"year": 2024, "kind": "a"}


def test_file_in_a_partition_directory_keeps_its_values(tmp_path):
    url = make(tmp_path, "year=2024/kind=a/part-00000")
    (part,) = list_parts(f"{url}/year=2024/kind=a/part-00000")
    assert part.values == {"year": 2024, "kind": "a"}


def test_files_of_a_partitioned_job_alternate_between_values(tmp_path):
    files = [f"v={v}/part-{p:05d}" for v in (0, 1) for p in (0, 1)]
    parts = list_parts(make(tmp_path, "_SUCCESS", *files))
    assert [part.values["v"] for part in parts] == [0, 1, 0, 1]


def test_different_partition_columns_are_refused(tmp_path):
    url = make(tmp_path, "_SUCCESS", "a=1/part-00000", "b=1/part-00001")
    with pytest.raises(DataError, match=r"same partition columns \['a'\], got \['b'\]"):
        list_parts(url)


def test_missing_path_is_refused_with_the_nearest_name(tmp_path):
    make(tmp_path / "training", "part-00000")
    with pytest.raises(SourceNotFoundError, match=r"Did you mean 'training'\?"):
        list_parts(str(tmp_path / "train1ng"))


def test_missing_parent_is_refused_with_the_nearest_name(tmp_path):
    make(tmp_path / "training", "part-00000")
    with pytest.raises(SourceNotFoundError, match=r"Did you mean 'training'\?"):
        list_parts(str(tmp_path / "train1ng" / "day=1" / "x"))


@pytest.mark.parametrize("content", [[], ["_SUCCESS"], ["sub/_SUCCESS"]])
def test_directory_without_data_files_is_refused(tmp_path, content):
    with pytest.raises(DataError, match=r"must hold data files, it holds none"):
        list_parts(make(tmp_path, *content))


def test_unfinished_job_without_any_file_is_refused_even_when_told_to_go_on():
    with pytest.raises(DataError, match=r"must hold data files"):
        list_parts(path_of("parquet_unfinished"), require_success=False)


def test_file_is_a_part_by_itself(tmp_path):
    url = make(tmp_path, "part-00007")
    (part,) = list_parts(f"{url}/part-00007")
    assert (part.partition, part.size) == (7, 2)


def test_several_paths_keep_the_order_given(tmp_path):
    a, b = make(tmp_path / "a", "x.csv"), make(tmp_path / "b", "y.csv")
    assert names_of(list_parts([b, Path(a)])) == ["y.csv", "x.csv"]


def test_url_of_a_local_part_is_a_plain_path(tmp_path):
    (part,) = list_parts(f"file://{make(tmp_path, 'x.csv')}")
    assert part.url == str(tmp_path / "x.csv")


def test_copy_below_a_name_with_equals_sign_in_a_file(tmp_path):
    url = make(tmp_path, "a=b.csv")
    shutil.copy(f"{url}/a=b.csv", f"{url}/c.csv")
    assert [part.values for part in list_parts(url)] == [{}, {}]


def test_job_that_wrote_right_into_a_partition_directory_is_finished(tmp_path):
    names = [f"day=3/part-00000-{JOB}-c000.csv", "day=3/_SUCCESS"]
    (part,) = list_parts(make(tmp_path, *names) + "/day=3")
    assert part.values == {"day": 3}

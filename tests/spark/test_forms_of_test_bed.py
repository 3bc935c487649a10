"""Every form of the test bed, written by this Spark here and on HDFS, is read."""

from dataclasses import replace

import pytest

from daskdl.data.sources.source import open_source
from daskdl.errors import DataError, UnfinishedJobError
from tests.hdfs.conftest import TESTBED
from tests.spark.places import PLACES, root_at, run
from tests.unit.bridge.form_rows import ALL_READ, batches, check_rows, options_of
from tests.unit.bridge.sample_forms import FORMS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

# The stored samples have as many rows and parts, hence their manifest holds here too.
AS_STORED = ["--rows", "200", "--tiny-parts", "40"]


@pytest.fixture(scope="module", params=PLACES)
def root(request, tmp_path_factory):
    """URL of a directory with all forms."""
    pytest.importorskip("sklearn", reason="scikit-learn, whose digits are written")
    program = TESTBED / "spark" / "write_forms.py"
    if not program.is_file():
        pytest.skip(f"no test bed: {program} is missing (set DASKDL_TESTBED)")
    folder = tmp_path_factory.mktemp("forms")
    url = root_at(request.param, request, folder)
    run(folder, program, url, *AS_STORED, "--manifest", folder / "manifest.json")
    return url


def test_forms_are_those_of_the_manifest():
    assert sorted([*ALL_READ, "parquet_unfinished"]) == sorted(FORMS)


@pytest.mark.parametrize("form", ALL_READ)
def test_examples_have_the_values_that_spark_was_given(root, form):
    check_rows(form, f"{root}/{form}")


def test_an_unfinished_job_is_refused(root):
    with pytest.raises(UnfinishedJobError, match=r"parquet_unfinished.*_temporary"):
        open_source(f"{root}/parquet_unfinished", options_of("parquet_array"))


@pytest.mark.parametrize("form", [form for form in ALL_READ if "nulls" in form])
@pytest.mark.parametrize("column", ["weight", "label"])
def test_rows_that_cannot_be_used_are_refused(root, form, column):
    options = replace(options_of(form), features=column, key="id")
    with pytest.raises(DataError, match=f"'{column}' must hold"):
        list(batches(f"{root}/{form}", options))

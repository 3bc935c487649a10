"""What names stand for, and what the processes of peers do."""

import subprocess
import sys
from typing import get_args

import pytest

from benchmarks.command import main
from benchmarks.serve.layer_shapes import LAYER_CASES
from benchmarks.serve.loop import Work, timed
from benchmarks.works import ALONE, CLUSTERS, cluster_timings, names, timings
from daskdl.nn.layers.table import LAYERS


def test_every_kind_of_layer_is_measured():
    kinds = {get_args(conf.model_fields["type"].annotation)[0] for conf in LAYERS}
    assert set(LAYER_CASES) == kinds


@pytest.mark.parametrize("name", sorted(set(names()) - {*ALONE, *CLUSTERS}))
def test_a_name_stands_for_works(name):
    assert timings(name)


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_name_stands_for_works_on_clusters(name):
    assert all(timing.case == name for timing in cluster_timings(name, 64))


def test_as_many_rows_are_predicted_as_trained_and_ten_times_as_many():
    _, *predicted = cluster_timings("job", 64)
    assert [timing.what for timing in predicted] == ["predict-64", "predict-640"]


def test_a_work_is_called_at_least_once():
    calls = []
    answer = timed(Work(lambda: calls.append(1)), 0.0)
    assert answer.calls == len(calls) == 1


def test_what_prepares_a_call_comes_before_each():
    done = []
    work = Work(lambda: done.append("call"), lambda: done.append("prepare"))
    timed(work, 0.0)
    timed(work, 0.0)
    assert done == ["prepare", "call"] * 2


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["alexnet"])
    assert "got 'alexnet'" in capsys.readouterr().err


def test_no_peer_is_imported_by_the_command():
    program = (
        "import benchmarks.command, sys;"
        "print(sorted({'daskdl', 'torch', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

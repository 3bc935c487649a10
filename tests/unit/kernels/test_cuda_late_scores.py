"""Scores that are read late, with the kernel run on this machine."""

import numpy as np
import pytest

from daskdl.errors import DivergedError
from daskdl.kernels.cuda import late_scores
from daskdl.kernels.cuda.late_scores import LateScores
from daskdl.nn.divergence import check_score
from tests.cuda_on_host import on_device
from tests.pretend_cupy import plain

pytestmark = pytest.mark.usefixtures("cuda_on_host")


@pytest.fixture
def scores():
    def refuse(score, iteration):
        check_score("Network", score, iteration)

    return LateScores(on_device(np.zeros(3, np.float32)), refuse)


def note(scores, *values):
    noted = []
    for value in values:
        score = on_device(np.array(value, np.float32))
        noted.append(scores.note(score, len(noted)))
        # A replayed graph writes its next score there.
        score[...] = 77
    return noted


def test_scores_are_those_of_their_iterations(scores):
    first, second = note(scores, 0.5, 0.25)
    assert float(second) == 0.25
    assert float(first) == 0.5
    assert float(*note(scores, 2)) == 2


def test_a_bad_score_holds_updates_until_it_is_read(scores):
    note(scores, 1)
    assert plain(scores.held)[0] == 0
    *_, last = note(scores, 1, np.nan, 1)
    assert plain(scores.held)[0] == 1
    with pytest.raises(DivergedError, match="got nan in iteration 1"):
        float(last)
    assert plain(scores.held)[0] == 0
    assert float(*note(scores, 3)) == 3


def test_they_are_read_when_there_is_no_room_for_more(scores, monkeypatch):
    monkeypatch.setattr(late_scores, "_MOST_UNREAD", 2)
    first, *_ = note(scores, 1, 2, 3)
    assert first.is_read
    assert first.value == 1

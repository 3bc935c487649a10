"""The sum of an epoch's scores, some of which are waited for."""

from daskdl.nn.fitting import score_sum
from daskdl.nn.fitting.score_sum import ScoreSum


class Late:
    def __init__(self, value):
        self.value, self.reads = value, 0

    def __float__(self):
        self.reads += 1
        return self.value


def test_scores_count_by_their_examples():
    total = ScoreSum(1.0)
    total.add(0.5, 4)
    total.add(Late(0.25), 8)
    assert total.total == 5


def test_nobody_waits_before_there_are_many(monkeypatch):
    monkeypatch.setattr(score_sum, "_MOST_WAITED_FOR", 2)
    total, scores = ScoreSum(), [Late(1.0), Late(2.0), Late(3.0)]
    for score in scores:
        total.add(score, 1)
    assert [score.reads for score in scores] == [1, 1, 0]
    assert total.total == 6

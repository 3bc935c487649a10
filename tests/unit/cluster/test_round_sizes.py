"""How long rounds of averaging are, for members of different speed."""

from daskdl.cluster.masters.round_sizes import RoundSizes


def sizes_after(efforts, rounds, *, is_fixed=False, rank=0, frequency=5):
    sizes = RoundSizes(rank, frequency, is_fixed=is_fixed)
    for _ in range(rounds):
        sizes.take(efforts)
    return sizes.own


def test_members_of_about_the_same_speed_train_as_many_a_round():
    assert sizes_after({0: (5, 1.0), 1: (5, 1.8)}, 20) == 5


def test_who_is_much_faster_trains_more_a_round():
    efforts = {0: (5, 1.0), 1: (5, 4.0)}
    assert [sizes_after(efforts, 20, rank=rank) for rank in (0, 1)] == [8, 2]


def test_the_first_rounds_say_nothing_about_speed():
    assert sizes_after({0: (5, 1.0), 1: (5, 9.0)}, 5) == 5


def test_equal_rounds_go_on_until_somebody_waited_for_long():
    efforts = {0: (5, 0.1), 1: (5, 0.4)}
    assert [sizes_after(efforts, rounds) for rounds in (8, 10)] == [5, 8]


def test_what_was_waited_is_forgotten_when_members_are_equal_again():
    sizes = RoundSizes(0, 5, is_fixed=False)
    for number in range(40):
        sizes.take({0: (5, 0.1), 1: (5, 0.3 if number % 8 < 4 else 0.1)})
    assert not sizes.are_uneven


def test_fixed_rounds_stay_what_they_are():
    assert sizes_after({0: (5, 1.0), 1: (5, 4.0)}, 20, is_fixed=True) == 5


def test_everybody_trains_at_least_one_a_round():
    assert sizes_after({0: (1, 90.0), 1: (1, 1.0)}, 20, frequency=1) == 1


def test_who_has_nothing_left_to_train_does_not_count():
    assert sizes_after({0: (5, 1.0), 1: (0, 4.0)}, 20) == 5

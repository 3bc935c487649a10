"""What parameters are drawn from."""

import math

import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.tuning import Choice, IntegerUniform, LogUniform, Uniform
from daskdl.tuning.distributions import check_distributions, draw_parameters, in_words


@pytest.fixture
def stats():
    return pytest.importorskip("scipy.stats", reason="scipy is not installed")


def drawn(distribution, count=2000):
    generator = np.random.default_rng(0)
    return [distribution.rvs(random_state=generator) for _ in range(count)]


def test_uniform_fills_its_interval_evenly():
    values = drawn(Uniform(-1.0, 3.0))
    assert -1.0 <= min(values) < -0.98
    assert 2.98 < max(values) <= 3.0
    assert np.mean(values) == pytest.approx(1.0, abs=0.1)


def test_log_uniform_has_as_many_in_each_power_of_ten():
    powers = np.floor(np.log10(drawn(LogUniform(1e-4, 1e-1))))
    counts = [np.mean(powers == power) for power in (-4, -3, -2)]
    assert counts == pytest.approx([1 / 3] * 3, abs=0.04)


def test_integer_uniform_includes_both_ends():
    assert set(drawn(IntegerUniform(-1, 2))) == {-1, 0, 1, 2}
    assert all(type(value) is int for value in drawn(IntegerUniform(1, 9), 5))


@pytest.mark.parametrize(
    "distribution",
    [Uniform(0, 1), LogUniform(1, 2), IntegerUniform(1, 9), Choice(["a", "b"])],
)
def test_a_seed_draws_what_its_generator_draws(distribution):
    generator = np.random.default_rng(7)
    value = distribution.rvs(random_state=generator)
    assert distribution.rvs(random_state=7) == value


def test_choice_takes_numbers_of_numpy():
    assert Choice([np.int64(3), np.float32(0.5)]).values == (3, 0.5)


def test_what_is_drawn_must_be_finite(stats):
    with pytest.raises(OptionError, match="must draw finite numbers, got inf"):
        draw_parameters("test", {"rate": stats.uniform(math.inf, 1)}, 0, 1)


def test_choice_gives_its_values_as_they_are():
    assert set(drawn(Choice(["relu", None, 3]))) == {"relu", None, 3}


def test_parameters_depend_on_seed_and_number_alone(stats):
    space = {"rate": LogUniform(1e-4, 1), "units": stats.randint(8, 65)}
    first = [draw_parameters("test", space, 7, number) for number in range(1, 5)]
    again = [draw_parameters("test", space, 7, number) for number in (4, 3, 2, 1)]
    assert first == again[::-1]
    assert len({one["rate"] for one in first}) == 4
    assert draw_parameters("test", space, 8, 1) != first[0]


def test_numbers_of_scipy_become_those_of_python(stats):
    space = {"units": stats.randint(8, 65), "rate": stats.loguniform(1e-4, 1)}
    found = draw_parameters("test", space, 0, 1)
    assert (type(found["units"]), type(found["rate"])) == (int, float)


def test_words_are_the_same_in_every_process(stats):
    assert in_words(stats.randint(8, high=65)) == "randint(8,){'high': 65}"
    assert in_words(Uniform(0, 1)) == "Uniform(low=0, high=1)"

    class Own:
        def rvs(self, *, random_state):
            return 1

    assert in_words(Own()) == "Own"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(1, 1), "Uniform: low must be < high, got 1 and 1"),
        (lambda: Uniform(0, math.inf), "Uniform: high must be finite, got inf"),
        (lambda: Uniform("0", 1), "Uniform: low must be a int or float"),
        (lambda: LogUniform(0, 1), "LogUniform: low must be > 0, got 0"),
        (lambda: IntegerUniform(1, 2.5), "IntegerUniform: high must be a int"),
        (lambda: IntegerUniform(3, 2), "IntegerUniform: low must be < high"),
        (lambda: Uniform(0, 10**400), "Uniform: high must be finite, got 1000"),
        (lambda: Uniform(-1.7e308, 1.7e308), "low and high must be no more than 1.79"),
        (lambda: IntegerUniform(0, 2**70), "high must be from -922.* to 922"),
        (lambda: Choice([0.1, math.nan]), "Choice: values must be finite, got nan"),
        (lambda: Choice([]), "Choice: values must be at least one"),
        (lambda: Choice("relu"), "Choice: values must be a list or tuple"),
        (lambda: Choice([print]), "Choice: values must be texts, numbers"),
    ],
)
def test_what_is_no_distribution_is_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "distributions must be a Mapping, got list"),
        ({}, "of at least one parameter, got none"),
        ({"a": [1, 2]}, r"distributions\['a'\] must draw by rvs.*got \[1, 2\]. Use"),
        ({"a": Uniform}, r"distributions\['a'\] must draw by rvs"),
        ({1: Uniform(0, 1)}, "the name of a parameter must be a str, got int"),
    ],
)
def test_what_are_no_distributions_is_refused(given, message):
    with pytest.raises(OptionError, match=message):
        check_distributions("Search", given)


def test_what_no_file_can_hold_is_refused():
    class Arrays:
        def rvs(self, *, random_state):
            return np.zeros(2)

    with pytest.raises(OptionError, match=r"\['a'\] must draw a text or a number"):
        draw_parameters("Search", {"a": Arrays()}, 0, 1)

"""What a search refuses before there is a worker, and what its directory holds."""

import json
from types import SimpleNamespace

import pytest

import daskdl as dl
from daskdl import tuning
from daskdl.data.texts import read_text, write_text
from daskdl.errors import (
    FormatError,
    OptionError,
    OutputExistsError,
    SourceNotFoundError,
)
from daskdl.nn.fitting.run_state import DataFingerprint
from daskdl.tuning.search_directory import SearchDirectory
from daskdl.tuning.trial_setup import TrialSetup

FOLDER = "memory://search"
CLIENT = SimpleNamespace(submit=None, asynchronous=False)
SPACE = {"units": tuning.IntegerUniform(2, 9)}


def build(parameters):
    return dl.MultiLayerConfiguration(
        input=dl.FeedForward(3),
        layers=[dl.Dense(parameters["units"]), dl.Output(2)],
    )


def search(client=CLIENT, build=build, space=SPACE, score=None, **options):
    score = score or dl.ClassificationScoreCalculator("ACCURACY", None)
    options = {"epochs": 4, "directory": FOLDER, "n_trials": 3, **options}
    return tuning.RandomSearch(client, build, space, score, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"client": 3}, "client must be a distributed.Client, got int"),
        ({"build": SPACE}, "build must be a function of parameters .* got a dict"),
        ({"epochs": 0}, "epochs must be a whole number > 0, got 0"),
        ({"n_trials": 0}, "n_trials must be a whole number > 0, got 0"),
        ({"directory": None}, "directory must be a str or PathLike, got NoneType"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"max_attempts": 0}, "max_attempts must be a whole number > 0"),
        ({"workers_per_trial": 0}, "workers_per_trial must be a whole number > 0"),
        ({"halving": 3}, "halving must be a SuccessiveHalving, got int"),
        ({"halving": tuning.SuccessiveHalving(min_epochs=4)}, "min_epochs must be"),
        ({"training_master": "shared"}, "must be a TrainingMaster or a function of"),
        ({"termination_conditions": [3]}, "termination_conditions must be"),
    ],
)
def test_options_are_refused_at_once(options, message):
    with pytest.raises(OptionError, match=message):
        search(**options)


@pytest.mark.parametrize(
    ("options", "how", "message"),
    [
        ({"build": lambda _: 3}, {}, "build must return a configuration .* got a int"),
        ({"training_master": lambda _: 3}, {}, "what training_master returns must be"),
        ({}, {"batch_size": lambda _: 0}, "what batch_size returns must be a whole"),
        ({}, {"batch_size": 0}, "batch_size must be a whole number > 0, got 0"),
        ({}, {"resume": 1}, "resume must be a bool, got int"),
        ({}, {"epochs": 3}, "got 'epochs'. Give it to RandomSearch itself"),
        ({}, {"listeners": []}, "got 'listeners'. Trials have none: training_hooks"),
        ({}, {"suffle": True}, "got 'suffle'. Did you mean 'shuffle'"),
        ({}, {"workers": 0}, "workers must be a whole number > 0, got 0"),
        ({"workers_per_trial": 2}, {"workers": ["a"]}, "at least .* 2, got 1"),
    ],
)
def test_a_fit_is_refused_before_anything_is_written(options, how, message):
    with pytest.raises(OptionError, match=message):
        search(**options).fit(None, **how)
    with pytest.raises(SourceNotFoundError):
        read_text(f"{FOLDER}/search.json")


def test_a_score_that_no_network_has_is_refused():
    wrong = dl.RegressionScoreCalculator("MAE", None)
    with pytest.raises(OptionError, match="loss must be one of values"):
        search(score=wrong).fit(None)


def test_what_build_raises_for_all_trials_comes_out():
    def nothing(parameters):
        return parameters["unit"]

    with pytest.raises(KeyError, match="unit"):
        search(build=nothing).fit(None)


def test_trials_are_the_same_for_more_of_them():
    few, many = search(n_trials=3), search(n_trials=9)
    assert [one.parameters for one in few.trials] == [
        one.parameters for one in many.trials[:3]
    ]
    assert [one.number for one in few.trials] == [1, 2, 3]


@pytest.mark.parametrize("name", ["best_trial", "best_parameters", "best_score"])
def test_nothing_is_the_best_before_a_score(name):
    with pytest.raises(OptionError, match="must have a score, none of 3 trials has"):
        getattr(search(), name)


def test_a_trial_that_was_not_trained_has_no_network():
    found = search()
    with pytest.raises(OptionError, match="trial 2, which is waiting without one"):
        found.network_of(found.trials[1])


def test_a_frame_has_a_row_for_each_trial():
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = search().to_frame()
    assert list(frame.index) == [1, 2, 3]
    assert {"units", "state", "score", "examples"} <= set(frame.columns)


def test_the_order_of_parameters_is_one_of_the_options():
    """One is drawn after the other: in another order they are others."""
    space = {"units": tuning.IntegerUniform(2, 9), "rate": tuning.Uniform(0, 1)}
    turned = dict(reversed(space.items()))
    setup = TrialSetup("test", build, dl.SharedTrainingMaster(), 4)
    one, other = search(space=space), search(space=turned)
    trial, first, _ = setup.first(one.trials)
    one._begin(setup, trial, first, False, "own", resume=False)
    with pytest.raises(OptionError, match=r"the parameters\[0\] of the search"):
        other._begin(setup, trial, first, False, "own", resume=True)


OPTIONS = {"seed": 0, "distributions": {"a": "Uniform(0, 1)"}, "rungs": (1, 3)}


def directory(options=OPTIONS, *, resume=False):
    opened = SearchDirectory("Search", FOLDER)
    opened.begin(options, resume=resume)
    return opened


def test_another_search_is_not_written_over():
    directory()
    with pytest.raises(OutputExistsError, match="must hold no other search, got one"):
        directory()


def test_a_directory_in_which_a_trial_left_something_is_not_given_up():
    opened, trials = directory(), [tuning.Trial(n, {"a": n}) for n in (1, 2)]
    opened.write_trial(trials[1])
    opened.give_up(trials)
    directory(resume=True)
    opened.give_up(trials[:1])
    directory()


@pytest.mark.parametrize("was_there", [False, True])
def test_a_directory_that_is_given_up_goes_if_it_came_for_the_search(
    tmp_path, was_there
):
    place = tmp_path / "search"
    if was_there:
        place.mkdir()
    opened = SearchDirectory("Search", place)
    opened.begin({}, resume=False)
    opened.give_up([tuning.Trial(1, {"a": 1})])
    assert list(tmp_path.iterdir()) == ([place] if was_there else [])
    assert not was_there or not any(place.iterdir())


def test_nothing_is_there_to_go_on_with():
    with pytest.raises(SourceNotFoundError, match="must have a search to go on with"):
        directory(resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "the seed of the search, 0, got 1"),
        ({"rungs": (1, 9)}, r"the rungs\[1\] of the search, 3, got 9"),
        (
            {"distributions": {"a": "Uniform(0, 2)"}},
            r"the distributions.a of the search, 'Uniform\(0, 1\)'",
        ),
    ],
)
def test_a_search_goes_on_with_the_same_options_only(change, message):
    directory()
    directory(resume=True)
    with pytest.raises(OptionError, match=message):
        directory({**OPTIONS, **change}, resume=True)


def test_a_search_goes_on_with_the_same_data_only():
    data = DataFingerprint(examples=9, minibatches=3, partitions=(("part", 9),))
    directory().check_data(data)
    directory(resume=True).check_data(data)
    other = DataFingerprint(examples=8, minibatches=3)
    with pytest.raises(OptionError, match="data of the search, 9 examples, got 8"):
        directory(resume=True).check_data(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "must be JSON"), ("[]", "version 1"), ('{"version": 2}', "version 1")],
)
def test_a_damaged_file_is_refused(text, message):
    write_text(f"{FOLDER}/search.json", text)
    with pytest.raises(FormatError, match=message):
        directory(resume=True)


def test_trials_come_back_as_they_were_left():
    opened, drawn = directory(), [tuning.Trial(n, {"a": n}) for n in (1, 2)]
    begun = tuning.Trial(1, {"a": 1}, score=0.5, scores={1: 0.5}, epochs=1)
    opened.write_trial(begun)
    assert opened.read_trials(drawn) == [begun, drawn[1]]
    with pytest.raises(OptionError, match=r"the parameters\.a of trial 1 again, 1"):
        opened.read_trials([tuning.Trial(1, {"a": 3})])
    url = f"{FOLDER}/trial-0001/trial.json"
    write_text(url, json.dumps({"version": 9}), overwrite=True)
    with pytest.raises(FormatError, match=r"trial-0001/trial.json: version must be"):
        opened.read_trials(drawn)

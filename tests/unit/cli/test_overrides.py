"""``key=value`` on the command line."""

import pytest

from daskdl.cli.overrides import apply_overrides
from daskdl.errors import OptionError


def changed(values, *overrides):
    apply_overrides(values, overrides)
    return values


def test_a_value_is_read_as_yaml():
    assert changed({}, "training.shuffle=false") == {"training": {"shuffle": False}}


def test_mappings_that_are_missing_are_made():
    assert changed({}, "a.b.c=3") == {"a": {"b": {"c": 3}}}


def test_a_mapping_that_is_empty_in_the_file_is_made():
    assert changed({"cluster": None}, "cluster.workers=2") == {
        "cluster": {"workers": 2}
    }


def test_other_keys_stay():
    values = {"training": {"epochs": 1, "shuffle": True}}
    assert changed(values, "training.epochs=3")["training"] == {
        "epochs": 3,
        "shuffle": True,
    }


@pytest.mark.parametrize("key", ["network.layers.1.n_out", "network.layers[1].n_out"])
def test_a_number_leads_into_a_list(key):
    values = {"network": {"layers": [{"n_out": 8}, {"n_out": 9}]}}
    assert changed(values, f"{key}=5")["network"]["layers"][1] == {"n_out": 5}


def test_a_key_below_a_bare_name_keeps_the_name_as_type():
    values = {"network": {"updater": "adam"}}
    assert changed(values, "network.updater.learning_rate=0.5")["network"] == {
        "updater": {"type": "adam", "learning_rate": 0.5}
    }


def test_a_key_below_a_bare_model_keeps_its_path():
    assert changed({"model": "old.zip"}, "model.dialect=exact")["model"] == {
        "path": "old.zip",
        "dialect": "exact",
    }


def test_the_last_of_two_overrides_holds():
    assert changed({}, "output=a", "output=b") == {"output": "b"}


def test_a_value_may_hold_an_equals_sign():
    assert changed({}, "output=a=b") == {"output": "a=b"}


@pytest.mark.parametrize("override", ["training.epochs", "=3"])
def test_an_override_without_key_or_value_is_refused(override):
    with pytest.raises(OptionError, match=f"must be key=value, got '{override}'"):
        changed({}, override)


def test_an_item_beyond_the_end_is_refused():
    with pytest.raises(OptionError, match=r"with item 2 there, got \[1, 2\]"):
        changed({"a": [1, 2]}, "a.2=5")


def test_a_key_below_a_number_is_refused():
    with pytest.raises(OptionError, match=r"a\.b: .* with key 'b' there, got 3"):
        changed({"a": 3}, "a.b=5")


def test_broken_yaml_is_refused_with_the_override():
    with pytest.raises(OptionError, match=r"a=\[1, 2: must be valid YAML"):
        changed({}, "a=[1, 2")


def test_a_number_may_be_a_name():
    values = {"vertices": {"1": {"n_out": 2}}}
    apply_overrides(values, ["vertices.1.n_out=3"])
    assert values == {"vertices": {"1": {"n_out": 3}}}

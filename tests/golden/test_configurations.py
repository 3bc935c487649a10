"""Every configuration that DL4J wrote: read, and written again byte for byte."""

import json
import zipfile

import pytest

from daskdl.dl4j.java.jackson import dumps
from daskdl.dl4j.network.configuration import read_configuration, write_configuration
from daskdl.dl4j.network.yaml_text import dump_dl4j_yaml, load_dl4j_yaml
from daskdl.errors import FormatError
from tests.golden.case_names import case_files, case_names

# DL4J writes nothing of a ramp schedule but its name, and cannot read that either.
RAMP = "sched_ramp"
# The same objects, in another order: DL4J lists what it inserted itself first.
REORDERED = {"g_merge_implicit"}
# Counters of layers, which pretraining leaves there and nothing reads.
COUNTED_BY_LAYER = {"pretrain_autoencoder_"}

# One AdaGrad has a schedule, and the copy of it for biases has none.
LOST = "updaters"

ZIPS = [*case_files("models", ".zip"), *case_files("training", ".zip")]
TEXTS = [name for name in case_names("configs") if name != "ramp_schedule"]


def rewritten(data):
    return write_configuration(*read_configuration(data, "case"))


@pytest.mark.parametrize("name", ZIPS)
def test_the_json_of_a_model_comes_back(golden, name):
    with zipfile.ZipFile(golden / name) as archive:
        text = archive.read("configuration.json").decode()
    data = json.loads(text)
    case = name.partition("/")[2].removesuffix(".zip").removesuffix("_double")
    if case == RAMP:
        with pytest.raises(
            FormatError, match="got a RampSchedule, of which DL4J writes"
        ):
            rewritten(data)
    elif case in REORDERED:
        assert rewritten(data) == data
    elif case.startswith(tuple(COUNTED_BY_LAYER)):
        for conf in data["confs"]:
            conf["iterationCount"] = 0
        assert dumps(rewritten(data)) == dumps(data)
    else:
        assert dumps(rewritten(data)) == text


@pytest.mark.parametrize("name", TEXTS)
def test_a_configuration_comes_back_in_both_texts(golden, name):
    text = (golden / "configs" / f"{name}.json").read_text("utf-8")
    data = json.loads(text)
    yaml = (golden / "configs" / f"{name}.yaml").read_text("utf-8")
    of_yaml = load_dl4j_yaml(yaml, name)
    if name == LOST:
        with_schedules(data)
        with_schedules(of_yaml)
        assert dumps(data) != text
        text, yaml = dumps(data), dump_dl4j_yaml(of_yaml)
    assert dumps(rewritten(json.loads(text))) == text
    assert dump_dl4j_yaml(rewritten(of_yaml)) == yaml


def test_what_dl4j_loses_of_a_schedule_comes_back(golden):
    data = json.loads((golden / "configs" / f"{LOST}.json").read_text("utf-8"))
    found = rewritten(data)
    with_schedules(data)
    assert found == data


def with_schedules(data):
    """Give each bias updater the schedule that DL4J's copy of AdaGrad has lost."""
    for conf in data["confs"]:
        layer = conf["layer"]
        if (layer.get("biasUpdater") or {}).get("learningRate") == "NaN":
            layer["biasUpdater"] = layer["iupdater"]


@pytest.mark.parametrize("name", case_files("models", ".yaml"))
def test_the_yaml_of_a_model_comes_back(golden, name):
    text = (golden / name).read_text("utf-8")
    data = load_dl4j_yaml(text, name)
    assert dump_dl4j_yaml(data) == text
    if name.partition("/")[2].removesuffix(".yaml") in REORDERED:
        assert rewritten(data) == data
    else:
        assert dump_dl4j_yaml(rewritten(data)) == text


@pytest.mark.parametrize("end", ["json", "yaml"])
def test_a_ramp_is_refused_as_dl4j_refuses_it(golden, end):
    text = (golden / "configs" / f"ramp_schedule.{end}").read_text("utf-8")
    data = json.loads(text) if end == "json" else load_dl4j_yaml(text, "ramp")
    with pytest.raises(FormatError, match="got a RampSchedule, of which DL4J writes"):
        rewritten(data)

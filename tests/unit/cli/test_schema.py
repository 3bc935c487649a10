"""The JSON schema that `daskdl run --print-schema` prints."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from daskdl.cli.job import Job
from daskdl.nn.conf.schema import json_schema_of
from daskdl.nn.conf.yaml import load_yaml

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
JOBS = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in sorted((ROOT / "examples").rglob("*.yaml"))
    # What is there is for Dask and for Kubernetes.
    if path.parent.name != "deploy"
} | {
    f"{page.relative_to(ROOT)}, block {number}": text
    for page in PAGES
    for number, text in enumerate(BLOCK.findall(page.read_text()))
}


@pytest.fixture(scope="module")
def schema():
    return json_schema_of(Job)


@pytest.fixture(scope="module")
def validator(schema):
    return jsonschema.Draft202012Validator(schema)


def refusals(validator, values):
    """Return what an editor would say; keys of mappings are text to it."""
    return list(validator.iter_errors(json.loads(json.dumps(values))))


def job_of(input_type, layers):
    network = {"input": input_type, "layers": layers}
    return {"network": network, "data": {"train": "x"}}


def job_with(**layer):
    """Return a job whose first layer has these keys."""
    layers = [layer, {"type": "output", "n_out": 2}]
    return job_of({"type": "feed_forward", "size": 4}, layers)


def output_with(**keys):
    layers = [{"type": "output", "n_out": 2, **keys}]
    return job_of({"type": "feed_forward", "size": 4}, layers)


def series_with(**layer):
    layers = [layer, {"type": "rnn_output", "n_out": 2}]
    return job_of({"type": "recurrent", "size": 4}, layers)


def images_with(**layer):
    image = {"type": "Convolutional", "height": 9, "width": 9, "channels": 1}
    return job_of(image, [layer, {"type": "output", "n_out": 2}])


def graph_with(vertex, **more):
    vertices = {
        "b": {"type": "dense", "n_out": 3, "inputs": "a"},
        "v": vertex,
        "d": {"type": "output", "n_out": 2, "inputs": ["v"]},
        **more,
    }
    network = {"inputs": {"a": {"type": "feed_forward", "size": 3}}}
    network |= {"vertices": vertices, "outputs": "d"}
    return {"network": network, "data": {"train": "x"}}


def training_with(**training):
    return {**job_with(type="dense", n_out=3), "training": training}


DENSE = {"type": "dense", "n_out": 3}
SPELLINGS = {
    "a class name of DL4J": job_with(type="DenseLayer", n_out=3),
    "capitals and dashes": job_with(type="Dense", n_out=3, activation="Leaky-ReLU"),
    "an activation with options": job_with(
        **DENSE, activation={"type": "LeakyReLU", "alpha": 0.3}
    ),
    "an activation of that type alone": job_with(
        **DENSE, activation={"type": "Hard_Sigmoid"}
    ),
    "the name of an updater": job_with(**DENSE, updater="Adam"),
    "an updater with a schedule": job_with(
        **DENSE,
        updater={
            "type": "ADAM",
            "learning_rate": {"type": "MapSchedule", "values": {0: 0.1, 500: 0.01}},
        },
    ),
    "a weight init": job_with(**DENSE, weight_init="XAVIER_UNIFORM"),
    "a distribution": job_with(
        **DENSE,
        weight_init={
            "type": "distribution",
            "distribution": {"type": "NormalDistribution", "std": 0.1},
        },
    ),
    "one constraint": job_with(
        **DENSE,
        constraints={"type": "MaxNormConstraint", "max_norm": 2, "dimensions": 1},
    ),
    "a constraint by its name": job_with(**DENSE, constraints="NonNegative"),
    "constraints of some parameters": job_with(
        **DENSE, constraints=[{"type": "unit_norm", "dimensions": [1], "apply_to": "b"}]
    ),
    "a schedule for l2": job_with(**DENSE, l2={"type": "fixed", "value": 0.1}),
    "weight decay with options": job_with(
        **DENSE, weight_decay=[{"coefficient": 0.01, "apply_learning_rate": "yes"}, 0.1]
    ),
    "dropout with a schedule": job_with(
        **DENSE, dropout={"type": "Gaussian_Noise", "stddev": 0.1}
    ),
    "weight noise": job_with(
        **DENSE, weight_noise={"type": "DropConnect", "weight_retain_probability": 0.5}
    ),
    "a truth in words": job_with(**DENSE, has_bias="off"),
    "a layer within a layer": series_with(
        type="Bidirectional", layer={"type": "LSTM", "n_out": 3}
    ),
    "an alias of a loss": output_with(loss="Squared-Loss"),
    "an alias of a loss with options": output_with(
        loss={"type": "squared_loss", "weights": [1, 2]}
    ),
    "one number for both axes": images_with(
        type="convolution2d", n_out=2, kernel_size=3, padding=1, stride=[1, 1]
    ),
    "sides of both axes": images_with(type="ZeroPaddingLayer", padding=[1, 2]),
    "one number for all sides": images_with(type="zero_padding", padding=1),
    "all sides": images_with(type="zero_padding", padding=[1, 1, 2, 2]),
    "the name of a layer without options": job_of(
        {"type": "feed_forward", "size": 3},
        ["BatchNormalization", {"type": "output", "n_out": 2}],
    ),
    "a vertex and its op": graph_with(
        {"type": "ElementWiseVertex", "op": "Add", "inputs": ["a", "b"]}
    ),
    "a subset": graph_with({"type": "subset", "from": 0, "to": 1, "inputs": "b"}),
    "a subset by its Python name": graph_with(
        {"type": "subset", "from_": 0, "to": 1, "inputs": "b"}
    ),
    "bytes of memory": {
        **job_with(**DENSE),
        "cluster": {"memory_limit": 2_000_000_000, "workers": 2},
    },
    "devices by number": {
        **job_with(**DENSE),
        "cluster": {"type": "CUDA", "cuda_visible_devices": [0, 1]},
    },
    "one device": {
        **job_with(**DENSE),
        "cluster": {
            "type": "cuda",
            "cuda_visible_devices": 0,
            "rmm_pool_size": "8 GiB",
        },
    },
    "a threshold algorithm": training_with(
        threshold_algorithm={"type": "fixed", "threshold": 0.001}
    ),
    "columns of a graph": {
        **job_with(**DENSE),
        "data": {"train": ["x", "y"], "features": {"a": ["b", "c"]}, "label": ["d"]},
    },
}


@pytest.mark.slow
def test_the_schema_is_one(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_schema_refuses_unknown_keys(schema):
    assert schema["additionalProperties"] is False


def test_every_key_says_what_it_is(schema):
    undescribed = [
        f"{name}.{key}"
        for name, model in {"Job": schema, **schema["$defs"]}.items()
        for key, value in model.get("properties", {}).items()
        if not value.get("description")
    ]
    assert undescribed == []


def test_no_key_hides_where_no_name_is(schema):
    """All the keys of all kinds are in definitions of their own, or of the job."""
    inline = [
        key
        for model in [schema, *schema["$defs"].values()]
        for value in model.get("properties", {}).values()
        for key in keys_below(value)
    ]
    assert set(inline) <= {"type"}


def keys_below(schema):
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from keys_below(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys_below(part)


def test_each_kind_is_described_once(schema):
    titles = [
        model["title"]
        for model in schema["$defs"].values()
        if "type" in model.get("properties", {})
    ]
    assert len(titles) > 100
    assert sorted(set(titles)) == sorted(titles)


@pytest.mark.parametrize("name", JOBS)
def test_jobs_of_docs_and_examples_are_valid(validator, name):
    values = load_yaml(JOBS[name])
    if "data" not in values:
        values["data"] = {"train": "somewhere"}
    if "imports" in values:
        # It knows the kinds that are registered where the schema is printed.
        values["network"]["layers"].remove("learned_swish")
    assert refusals(validator, values) == []


def test_docs_and_examples_have_jobs():
    assert len(JOBS) > 4


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_the_loader_takes_is_valid(validator, name):
    Job.model_validate(SPELLINGS[name])
    assert refusals(validator, SPELLINGS[name]) == []


@pytest.mark.parametrize(
    "values",
    [
        job_with(type="dens", n_out=3),
        job_with(type="dense"),
        job_with(type="dense", n_out=0),
        job_with(type="dense", n_out="3"),
        job_with(type="dense", n_out=3, activation="rellu"),
        job_with(type="dense", n_ot=3),
        job_with(type="dense", n_out=3, updater={"type": "adam", "rate": 1}),
        job_with(type="dense", n_out=3, updater={"type": "adam", "beta1": 1}),
        job_with(type="dense", n_out=3, l2="much"),
        {"network": job_with(**DENSE)["network"]},
    ],
)
def test_what_the_loader_refuses_is_not_valid(validator, values):
    with pytest.raises(ValueError, match="validation error"):
        Job.model_validate(values)
    assert refusals(validator, values)

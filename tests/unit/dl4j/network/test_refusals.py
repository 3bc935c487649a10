"""Configurations that cannot be: each is refused with the place in it."""

import json

import pytest

from daskdl.dl4j.network.text import configuration_from_text
from daskdl.errors import FormatError

LAYERS = "org.deeplearning4j.nn.conf.layers."
VERTICES = "org.deeplearning4j.nn.conf.graph."
SCHEDULES = "org.nd4j.linalg.schedule."


def deep(levels):
    layer = {"@class": f"{LAYERS}DenseLayer", "nin": 1, "nout": 1}
    for _ in range(levels):
        layer = {"@class": f"{LAYERS}misc.FrozenLayer", "layer": layer}
    return layer


def conf_of(**layer):
    layer = {"@class": f"{LAYERS}DenseLayer", "nin": 2, "nout": 2, **layer}
    end = {"@class": f"{LAYERS}OutputLayer", "nin": 2, "nout": 2}
    end["lossFn"] = {"@class": "org.nd4j.linalg.lossfunctions.impl.LossMSE"}
    return {"confs": [{"layer": layer}, {"layer": end}]}


def text_refused(value, message):
    text = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(FormatError, match=message):
        configuration_from_text(text, "f")


def nested(levels):
    return '{"confs":' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: must be a mapping, got NoneType"),
        ("{", "f: must be JSON, got"),
        (nested(99), r"f: confs\[0\]: must be an object, got"),
        (nested(100), "f: must be at most 100 levels deep"),
        (nested(100_000), "f: must not be nested that deep"),
        ('{"a":' * 100_000, "f: must not be nested that deep"),
        ("{" + " " * (16 << 20), "f: must have at most 16777216 bytes, got 16777217"),
        ('{"a":[' + "0," * 600_000 + "0]}", "f: must have at most 524288 values, got"),
        ('{"a":"' + "x" * 10_001 + '"}', "texts of at most 10000 characters.*'xxx"),
        ('{"' + "x" * 10_001 + '":1}', "texts of at most 10000 characters.*'xxx"),
        ('{"a":"\\ud800"}', r"texts of at most .* got '\\ud800'"),
        ('{"a":NaN}', "f: must be JSON, got NaN, for which JSON has no word"),
        ('{"a":-Infinity}', "f: must be JSON, got -Infinity, for which JSON has"),
        ('{"a":1e999}', "finite numbers of at most 64 bits.* got inf"),
        ('{"a":9223372036854775808}', "at most 64 bits.* got one of 64 bits"),
        ('{"a":' + "9" * 5000 + "}", "f: must be JSON, got a number of 5000 digits"),
        ("a: [" + "1," * 263_000 + "1]", "f: must have at most 262144 parts"),
        ("a: " + "[" * 101, "f: must be at most 100 levels deep"),
        ("a: &x [1]\nb: *x", "f: must have no aliases, got one"),
        ("a: 1" + ":59" * 4000, "texts of at most 10000 characters, got one of 12001"),
        ("a: 1" + ":59" * 3000, "at most 64 bits.* got one of 17722 bits"),
        ("a: .inf", "finite numbers of at most 64 bits.* got inf"),
        ("a: 2020-01-01", r"true, false and null, got datetime\.date"),
        ("a: !!binary aGVsbG8=", "true, false and null, got b'hello'"),
        ("? [a, b]\n: 1", "f: must be YAML, got a key must be a name"),
        ("a: !x 1", "f: must be YAML, got the tag 'x' must be that of a mapping"),
        (
            'a: !!python/object/apply:os.system ["exit 1"]',
            "f: must be YAML, got the tag .* must be that of a mapping",
        ),
        ("a: !!python/name:os.system", "f: must be YAML, got the tag .* of a mapping"),
        ("- 1", "f: must be a mapping, got list"),
        ("a: [", "f: must be YAML, got"),
    ],
)
def test_a_text_that_is_none_is_refused(text, message):
    text_refused(text, message)


def test_python_objects_in_yaml_stay_names():
    """A tag becomes the text of a class, of which nothing is made."""
    text = "confs:\n- layer: !!python/object/new:os.system\n    a: 1\n"
    text_refused(text, "a layer that is known here, got 'tag:yaml.org,2002:python/obje")


def vertex(name, **others):
    return {"@class": VERTICES + name, **others}


END = conf_of()["confs"][1]
BOTH = {"layerConf": END}


def graph_of(vertices, reads, **others):
    return {
        "vertices": {**vertices, "out": vertex("LayerVertex", **BOTH)},
        "vertexInputs": reads,
        "networkInputs": ["in"],
        "networkOutputs": ["out"],
        "defaultConfiguration": {},
        **others,
    }


SCALE = {"v": vertex("ScaleVertex", scaleFactor=2.0)}
READS = {"v": ["in"], "out": ["v"]}
NAN = {"@class": f"{SCHEDULES}FixedSchedule", "value": "NaN"}
LOCAL = {"@class": f"{LAYERS}LocallyConnected2D", "nin": 1, "nout": 1}
UPDATER = "org.nd4j.linalg.learning.config."
COMPOSABLE = {"@class": "ComposableInputPreProcessor", "inputPreProcessors": []}
UNEVEN = {"@class": "FeedForwardToCnnPreProcessor", "inputHeight": {}}
VAE = f"{LAYERS}variational.VariationalAutoencoder"
OWN_DISTRIBUTION = {"@class": "org.x.Own", "activationFn": {"@class": "ActivationTanH"}}
WEIGHTS = {"@class": "LossMSE", "weights": {"shape": [1] * 40, "data": [1.0]}}
UNFIT = {"@class": "LossMSE", "weights": {"shape": [2, 3], "data": [1.0]}}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"confs": []}, "f: must begin with a layer, got none"),
        ({"confs": [None]}, r"f: confs\[0\]: must be an object, got None"),
        ({"confs": [{"layer": None}]}, r"confs\[0\]\.layer: must be an object, got No"),
        ({"confs": [{"layer": []}]}, r"confs\[0\]\.layer: must be an object, got \[\]"),
        ({"confs": [{}] * 10_001}, "f: confs: must be at most 10000 layers or vertice"),
        (conf_of(nin=-3), r"f\.layers\[0\]\.n_in: must be greater than 0, got -3"),
        (conf_of(nin="x"), r"f\.layers\[0\]\.n_in: must be a whole number, got 'x'"),
        (conf_of(nin=1.5), r"f\.layers\[0\]\.n_in: must be a whole number, got 1\.5"),
        (conf_of(activationFn=[]), r"layer\.activationFn: must be an object, got \[\]"),
        (conf_of(activationFn={"@class": 1}), "must name its class as '@class', got 1"),
        (conf_of(activationFn={"@class": "org.x.Own"}), "an activation .*'org.x.Own'"),
        (conf_of(iupdater={"@class": "org.x.Own"}), "an updater .* got 'org.x.Own'"),
        (conf_of(gradientNormalization=["None"]), "must be one of None, .*ot .'None'"),
        (conf_of(gradientNormalization="x"), "must be one of None, .* got 'x'"),
        (conf_of(regularization={}), r"layer\.regularization: must be a list, got \{"),
        (conf_of(regularization=[1]), r"regularization\[0\]: must be an object, got 1"),
        (
            conf_of(regularization=[{"@class": "org.x.Own"}]),
            "must be L1Regularization, .* got 'org.x.Own'",
        ),
        (
            conf_of(regularization=[{"@class": "WeightDecay", "coeff": NAN}]),
            r"regularization\[0\]|weight_decay",
        ),
        (
            conf_of(
                regularization=[
                    {"@class": "WeightDecay", "coeff": NAN, "applyLR": "false"}
                ]
            ),
            "applyLR: must be true or false, got 'false'",
        ),
        (
            conf_of(weightNoise={"@class": "DropConnect", "applyToBiases": 1}),
            "applyToBiases: must be true or false, got 1",
        ),
        (
            conf_of(weightNoise={"@class": "Own"}),
            "DropConnect or WeightNoise, got 'Own",
        ),
        (
            conf_of(
                weightInitFn={"@class": "WeightInitDistribution", "distribution": 1}
            ),
            "distribution: must be an object, got 1",
        ),
        (
            conf_of(**{"@class": f"{LAYERS}ConvolutionLayer"}, convolutionMode="Full"),
            "convolutionMode: must be one of Strict, .* got 'Full'",
        ),
        (
            conf_of(**{"@class": f"{LAYERS}Convolution1DLayer"}, kernelSize=[]),
            "kernelSize: must hold a number, got an empty list",
        ),
        (
            conf_of(**{"@class": f"{LAYERS}AutoEncoder"}, lossFunction=[]),
            r"lossFunction: must be a name, got \[\]",
        ),
        (
            conf_of(
                iupdater={
                    "@class": f"{UPDATER}Sgd",
                    "learningRateSchedule": {"@class": f"{SCHEDULES}RampSchedule"},
                }
            ),
            "got a RampSchedule, of which DL4J writes nothing but the name",
        ),
        (
            conf_of(**{"@class": VAE}, outputDistribution={"@class": "org.x.Own"}),
            "outputDistribution",
        ),
        (
            conf_of(**{"@class": VAE}, outputDistribution=OWN_DISTRIBUTION),
            "must be a reconstruction distribution of DL4J, got 'org.x.Own'",
        ),
        (
            {
                **conf_of(**{"@class": f"{LAYERS}ConvolutionLayer"}),
                "inputPreProcessors": {"0": {"@class": "FeedForwardToCnnPreProcessor"}},
            },
            r"f\.layers\[0\]\.preprocessor\.height: must be given",
        ),
        ({}, r"f: must have the key 'confs' or 'vertices', got \[\]"),
        (conf_of(constraints={}), "constraints: must be a list, got {}"),
        (
            conf_of(
                iupdater={
                    "@class": f"{UPDATER}Sgd",
                    "learningRateSchedule": {
                        "@class": f"{SCHEDULES}MapSchedule",
                        "values": {"9" * 11: 1.0},
                    },
                }
            ),
            "values: must have whole numbers as keys, got '99999999999'",
        ),
        (
            conf_of(
                iupdater={
                    "@class": f"{UPDATER}Sgd",
                    "learningRateSchedule": {
                        "@class": f"{SCHEDULES}StepSchedule",
                        "scheduleType": [],
                    },
                }
            ),
            r"scheduleType: must be one of ITERATION, EPOCH, got \[\]",
        ),
        (
            conf_of(lossFn=WEIGHTS, **{"@class": f"{LAYERS}OutputLayer"}),
            "at most 32 ax",
        ),
        (
            conf_of(lossFn=UNFIT, **{"@class": f"{LAYERS}OutputLayer"}),
            r"as many numbers as its shape \[2, 3\] says, got 1",
        ),
        ({"confs": [{"layer": {"@class": f"{LAYERS}misc.FrozenLayer"}}]}, r"f[.:]"),
        ({"confs": [{"layer": {**LOCAL, "inputSize": [1]}}]}, "must be height and wid"),
        (
            {**conf_of(), "inputPreProcessors": {"2": {}}},
            "one of the 2 layers, got '2'",
        ),
        ({**conf_of(), "inputPreProcessors": []}, "inputPreProcessors: must be an obj"),
        (
            {**conf_of(), "inputPreProcessors": {"0": COMPOSABLE}},
            "f: must begin with a preprocessor, got none",
        ),
        (
            {**conf_of(), "inputPreProcessors": {"0": UNEVEN}},
            "its first preprocessor must name whole sizes, got {'height': {}}",
        ),
        (
            {**conf_of(), "inputPreProcessors": {"0": {"@class": "org.x.Own"}}},
            "must be an input preprocessor that DL4J has, got 'org.x.Own'",
        ),
        ({**conf_of(), "iterationCount": -1}, "iterationCount must be a count, got -1"),
        ({**conf_of(), "epochCount": "1"}, "epochCount must be a count, got '1'"),
        ({**conf_of(), "dataType": []}, r"f: dataType: must be one of FLOAT, .*\[\]"),
        ({**conf_of(), "backpropType": {}}, "f: backpropType: must be one of Standard"),
        (
            {"confs": [{**conf_of()["confs"][0], "miniBatch": "no"}]},
            "f: miniBatch: must be true or false, got 'no'",
        ),
        (
            {"confs": [{**conf_of()["confs"][0], "variables": [1]}]},
            r"confs\[0\]\.variables: must be a list of names, got 1",
        ),
        (graph_of({"v": vertex("Own")}, READS), r"vertices\['v'\]: .* known here, got"),
        (
            graph_of({"v": {"@class": []}}, READS),
            r"a vertex that is known here, got \[",
        ),
        (graph_of({"v": vertex("LayerVertex")}, READS), "layerConf: must be an object"),
        (
            graph_of({"v": vertex("FrozenVertex", underlying=1)}, READS),
            "underlying: mu",
        ),
        (graph_of(SCALE, []), r"f: vertexInputs: must be an object, got \[\]"),
        (graph_of(SCALE, {"v": ["in"]}), r"vertexInputs\['out'\]: must be a list, got"),
        (graph_of(SCALE, {**READS, "v": "in"}), r"vertexInputs\['v'\]: must be a list"),
        (
            graph_of(SCALE, {**READS, "v": [["in"]]}),
            r"must be a list of names, got \['",
        ),
        (
            graph_of(SCALE, {**READS, "v": ["no"]}),
            "f: networkInputs: 'in' must be read by some",
        ),
        (
            graph_of(SCALE, {**READS, "out": ["v", "no"]}),
            "must name inputs or vertices, got 'no'",
        ),
        (graph_of(SCALE, {**READS, "v": ["v"]}), "f.*must"),
        (
            graph_of(
                {"v": vertex("MergeVertex"), "w": SCALE["v"]},
                {"v": ["in", "w"], "w": ["v"], "out": ["v"]},
            ),
            "must not form a cycle, got v -> w -> v|must not form a cycle, got w",
        ),
        (graph_of(SCALE, READS, networkInputs=[]), "f.inputs: must have at least 1"),
        (graph_of(SCALE, READS, networkInputs=None), "networkInputs: must be a list"),
        (
            graph_of(SCALE, READS, networkInputs=["x"] * 1001),
            "must be at most 1000, go",
        ),
        (
            graph_of(SCALE, READS, networkOutputs=[1]),
            "networkOutputs: must be a list o",
        ),
        (graph_of(SCALE, READS, networkOutputs=["x"]), "must name a vertex, got 'x'"),
        (
            graph_of(SCALE, READS, topologicalOrderStr=["x"]),
            "name every input and vert",
        ),
        (graph_of(SCALE, READS, topologicalOrderStr=[{}]), "must be a list of names"),
        (
            graph_of(SCALE, READS, defaultConfiguration=1),
            "defaultConfiguration: must b",
        ),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(tree, message):
    text_refused(tree, message)


def test_a_long_cycle_is_named_in_part():
    vertices = {f"v{i}": SCALE["v"] for i in range(50)}
    reads = {f"v{i}": [f"v{i - 1}"] for i in range(1, 50)}
    reads |= {"v0": ["v49", "in"], "out": ["v49"]}
    vertices["v0"] = vertex("MergeVertex")
    text_refused(graph_of(vertices, reads), r"v0 -> v1 -> .* -> \.\.\. -> v0\.$")


def test_a_layer_that_reads_several_gets_a_vertex_before_it():
    """DL4J writes that vertex itself; somebody else may not."""
    tree = graph_of(SCALE, {"v": ["in"], "out": ["v", "in"]})
    tree["vertices"]["out"]["layerConf"]["layer"]["nin"] = 4
    tree["vertices"]["v"] = vertex("LayerVertex", layerConf=conf_of()["confs"][0])
    conf = configuration_from_text(json.dumps(tree))
    assert list(conf.vertices) == ["v", "out", "out-merge"]


def test_both_ways_of_a_layer_must_be_the_same():
    lstm = {"@class": f"{LAYERS}LSTM", "nin": 2, "nout": 2}
    both = {"@class": f"{LAYERS}recurrent.Bidirectional", "fwd": lstm}
    tree = {"confs": [{"layer": {**both, "bwd": {**lstm, "nout": 3}}}, END]}
    text_refused(tree, "must have the same in 'bwd' and 'fwd', got two that differ")


def test_layers_within_layers_take_no_longer_at_each_level():
    """What once was read and written again at each level was so 2 ** levels times."""
    conf = configuration_from_text(json.dumps({"confs": [{"layer": deep(60)}]}))
    assert conf.layers[0].type == "frozen"


def test_sizes_do_not_multiply_without_end():
    layer = {"@class": f"{LAYERS}Upsampling2D", "size": [2**62, 2**62]}
    images = {"@class": "FeedForwardToCnnPreProcessor", "inputHeight": 2}
    images |= {"inputWidth": 2, "numChannels": 2}
    end = {**END["layer"], "@class": f"{LAYERS}CnnLossLayer"}
    confs = [*[{"layer": layer}] * 50, {"layer": end}]
    tree = {"confs": confs, "inputPreProcessors": {"0": images}}
    text_refused(tree, "must be less than or equal to 9223372036854775807")


def test_thousands_of_vertices_in_any_order_are_read():
    n = 5000
    names = [f"v{i}" for i in range(n)]
    vertices = dict.fromkeys(reversed(names), SCALE["v"])
    reads = {"v0": ["in"], "out": [names[-1]]}
    reads |= {names[i]: [names[i - 1]] for i in range(1, n)}
    conf = configuration_from_text(json.dumps(graph_of(vertices, reads)))
    assert [node.name for node in conf.nodes()][:3] == names[:3]

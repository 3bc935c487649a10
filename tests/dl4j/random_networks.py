"""Whole networks drawn at random, as descriptions that java/ builds with DL4J.

A description is plain JSON. Besides `network`, which Built.java reads, it says what
goes in (`features`: shapes and kinds of numbers), what the labels are, and how the
network is trained.
"""

from tests.dl4j import random_layers as kinds
from tests.dl4j.random_parts import LOSSES, Draw, build, learning, new

STEPS = 6
# How often each kind of network is drawn.
_FAMILIES = ["rows"] * 4 + ["series"] * 5 + ["images"] * 4 + ["volumes"] + ["graph"] * 6
_INPUTS = {
    "rows": ("feedForward", [4], [4]),
    "series": ("recurrent", [3, STEPS], [3, STEPS]),
    "images": ("convolutional", [6, 5, 2], [2, 6, 5]),
    "volumes": ("convolutional3D", ["NCDHW", 4, 5, 4, 2], [2, 4, 5, 4]),
}
# Element-wise weights have another shape in DL4J when they are built than when they are
# loaded; the shapes of the others are asked for before they are known.
_UNCONSTRAINED = ("ElementWiseMultiplication", "Attention", "LocallyConnected")
_LAYERS = {
    "rows": kinds.ROWS,
    "series": kinds.SERIES,
    "images": kinds.IMAGES,
    "volumes": kinds.VOLUMES,
}


def random_network(seed):
    """Return the description of the network with a number."""
    draw = Draw(seed)
    family = draw.choice(_FAMILIES)
    described = _graph(draw) if family == "graph" else _sequence(draw, family)
    network = described["network"]
    network["global"] = _global(draw)
    if any(name in str(network) for name in _UNCONSTRAINED):
        network["global"] = [
            call for call in network["global"] if not call[0].startswith("constrain")
        ]
    described.setdefault("n_batches", draw.randint(1, 3))
    described["batch_size"] = draw.randint(2, 5)
    if described.pop("may_pretrain", False) and draw.chance(0.5):
        # DL4J's graphs make one pass, whatever they are asked for.
        described["pretrain"] = draw.randint(1, 2) if "layers" in network else 1
    return described


def _global(draw):
    calls = [["seed", 1]]
    calls += learning(draw, probability=0.15)
    if not any(name == "updater" for name, *_ in calls):
        calls.append(["updater", new("Adam", 0.02)])
    if draw.chance(0.15):
        calls.append(["miniBatch", False])
    if draw.chance(0.3):
        calls.append(["activation", draw.choice(["TANH", "SIGMOID", "SOFTPLUS"])])
    return [list(call) for call in calls]


def _sequence(draw, family):
    is_cut = family == "series" and draw.chance(0.3)
    # DL4J cuts series whose features come last along their features.
    data_format = "NCW" if is_cut else _data_format(draw, family)
    is_masked = family == "series" and draw.chance(0.5)
    table = kinds.ONE_WAY if is_cut else _LAYERS[family]
    if data_format == "NWC":
        table = kinds.LAST
    elif family == "series" and not (is_masked or is_cut):
        table = [*table, *kinds.RESIZING]
    draw.size = 4 if family == "rows" else None
    if data_format != "NHWC":
        # DL4J's softmax runs along the width there, in one of both directions.
        draw.activations = [*draw.activations, "SOFTMAX"]
    layers = []
    for _ in range(draw.randint(1, 3)):
        is_first = all(layer.get("new") == "FrozenLayer" for layer in layers)
        # Of volumes only a layer with weights tells, in a file, that they are such.
        is_told = layers or family != "volumes"
        drawn = draw.choice(table if is_told else table[:1])(draw, data_format)
        while not layers and _lends(drawn):
            drawn = draw.choice(table)(draw, data_format)
        layers.append(kinds.frozen(draw, drawn, hears_nothing=is_first))
        draw.size = draw.size and _width(layers[-1], draw.size)
    ends, labels, has_steps = _end(draw, family, data_format, needs_steps=is_cut)
    while "nOut" not in str([*layers, *ends]):
        # DL4J trains no network without parameters.
        ends, labels, has_steps = _end(draw, family, data_format, needs_steps=is_cut)
    layers += ends
    described = {
        "network": {
            "layers": layers,
            "input_types": [_input_type(family, data_format)],
            "then": _cut(draw) if is_cut else [],
        },
        "features": [_features(family, data_format)],
        "labels": [labels],
        "features_masks": is_masked,
        "labels_masks": is_masked and has_steps,
        "may_pretrain": _may_pretrain(layers),
    }
    if draw.chance(0.75):
        return described
    if is_cut and any("new" in layer for layer in layers):
        # DL4J's graphs do not forget the state of wrapped layers between minibatches.
        described["n_batches"] = 1
    return _as_graph(draw, described)


def _lends(layer):
    """Return whether DL4J's layer may answer with its input: not two in a row."""
    return layer.get("build") in ("ActivationLayer", "Cropping2D", "PReLULayer")


def _may_pretrain(layers):
    if "AutoEncoder'" in str(layers[1:]):
        # DL4J's sequences pretrain a layer on the features, whatever is in front of it.
        return False
    text = str(layers)
    # These overwrite the features, and what is trained afterwards sees that.
    overwrites = "ActivationLayer" in text or "PReLU" in text
    is_drawn = "VariationalAutoencoder" in text
    return "AutoEncoder'" in text and not (overwrites or is_drawn)


def _data_format(draw, family):
    formats = {"series": ["NCW", "NCW", "NWC"], "images": ["NCHW", "NCHW", "NHWC"]}
    return draw.choice(formats.get(family, [""]))


def _input_type(family, data_format):
    call, args, _ = _INPUTS[family]
    last = [data_format] if data_format in ("NWC", "NHWC") else []
    return {"static": "InputType", "call": call, "args": [*args, *last]}


def _features(family, data_format):
    shape = list(_INPUTS[family][2])
    if data_format in ("NWC", "NHWC"):
        shape = [*shape[1:], shape[0]]
    return {"shape": shape, "kind": family, "format": data_format}


def _cut(draw):
    return [
        ["backpropType", "TruncatedBPTT"],
        ["tBPTTLength", draw.randint(2, STEPS)],
    ]


def _end(draw, family, data_format, *, needs_steps):
    """Return the last layers, what the labels are, and whether they have steps."""
    loss, activation, labels = draw.choice(LOSSES)
    if data_format == "NHWC":
        # DL4J's score takes the height for the channels, which only sums do not show.
        loss, activation, labels = "L2", "TANH", "numbers"
    out = (("lossFunction", loss), ("activation", activation), ("nOut", 3))
    has_bias = draw.some(0.15, [("hasBias", False)])
    extra = learning(draw, probability=0.15) if draw.chance(0.4) else []
    bare = (("lossFunction", loss), ("activation", activation))
    if family == "rows":
        tail = draw.choice(["output", "output", "loss", "center"])
        if tail == "center":
            return [_center_loss(draw, extra)], "one of all", False
        if tail == "loss":
            return [build("LossLayer", *bare)], labels, False
        return [build("OutputLayer", *out, *has_bias, *extra)], labels, False
    if family == "series":
        return _series_end(
            draw, data_format, out, [*has_bias, *extra], bare, labels, needs_steps
        )
    if draw.chance(0.25):
        name = "CnnLossLayer" if family == "images" else "Cnn3DLossLayer"
        args = [] if family == "images" else ["NCDHW"]
        is_last = data_format == "NHWC"
        form = [("format", "NHWC")] if is_last else []
        return [build(name, *bare, *form, args=args)], labels, False
    # DL4J infers other sizes of volumes than it computes.
    is_pooled = family == "volumes" or draw.chance(0.5)
    middle = [_global_pooling(draw)] if is_pooled else []
    return [*middle, build("OutputLayer", *out, *has_bias, *extra)], labels, False


def _series_end(draw, data_format, out, more, bare, labels, needs_steps):
    choices = ["output", "output", "loss"]
    if not needs_steps:
        choices += ["last"] if data_format == "NWC" else ["pool", "last"]
    tail = draw.choice(choices)
    if data_format == "NWC" and tail == "loss":
        # DL4J compares with the input in place of the labels.
        tail = "output"
    last = [("dataFormat", data_format)] if data_format == "NWC" else []
    if tail == "output":
        # DL4J adds the bias even where there is none.
        more = [call for call in more if call[0] != "hasBias"]
        return [build("RnnOutputLayer", *out, *more, *last)], labels, True
    if tail == "loss":
        return [build("RnnLossLayer", *bare, *last)], labels, True
    if tail == "last":
        inside = draw.choice([kinds.one_way, kinds.both_ways])(draw, data_format)
        first = new("LastTimeStep", inside)
    else:
        first = _global_pooling(draw)
    return [first, build("OutputLayer", *out, *more)], labels, False


def _global_pooling(draw):
    kind = draw.choice(["MAX", "AVG", "SUM", "PNORM"])
    return build("GlobalPoolingLayer", ("poolingType", kind), ("pnorm", 2))


def _center_loss(draw, extra):
    return build(
        "CenterLossOutputLayer",
        ("lossFunction", "MCXENT"),
        *(("activation", "SOFTMAX"), ("nOut", 3), ("alpha", 0.1), ("lambda", 0.05)),
        *extra,
    )


def _as_graph(draw, described):
    """Return a sequence as a graph, with vertices between its layers."""
    network = described["network"]
    vertices, before = [], "in"
    for index, layer in enumerate(network["layers"]):
        is_inside = index > 0
        if draw.chance(0.2) and (is_inside or draw.chance(0.3)):
            name = f"v{index}"
            # DL4J normalizes no volumes.
            is_volume = described["features"][0]["kind"] == "volumes"
            vertices.append([name, _plain_vertex(draw, norms=not is_volume), [before]])
            before = name
        name = f"l{index}"
        vertices.append([name, layer, [before]])
        before = name
    del network["layers"]
    network.update(inputs=["in"], vertices=vertices, outputs=[before])
    return described


def _plain_vertex(draw, *, norms=True):
    """Return a vertex that changes no shape."""
    kinds_of_vertices = [
        new("ScaleVertex", draw.number(0.5, 2.0)),
        new("ShiftVertex", draw.number(-0.5, 0.5)),
        new("L2NormalizeVertex"),
    ]
    return draw.choice(kinds_of_vertices[: 3 if norms else 2])


def _graph(draw):
    """Return a graph on rows, with vertices at odd places."""
    inputs = ["a", "b"][: draw.randint(1, 2)]
    sizes = dict.fromkeys(inputs, 4)
    vertices = []
    for index in range(draw.randint(2, 5)):
        _add(draw, f"n{index}", vertices, sizes)
    unread = set(sizes) - {name for _, _, reads in vertices for name in reads}
    last = sorted(unread)
    if len(last) > 1:
        vertices.append(["all", new("MergeVertex"), last])
        last = ["all"]
    outputs, labels = [], []
    n_outputs = draw.choice([1, 1, 1, 2])
    for index in range(n_outputs):
        ends, kind, _ = _end(draw, "rows", "", needs_steps=False)
        while n_outputs > 1 and ends[0]["build"] == "LossLayer":
            # DL4J's overwrites what the other output reads.
            ends, kind, _ = _end(draw, "rows", "", needs_steps=False)
        vertices.append([f"out{index}", ends[0], last])
        outputs.append(f"out{index}")
        labels.append(kind)
    described = {"inputs": inputs, "vertices": vertices, "outputs": outputs}
    types = [_input_type("rows", "") for _ in inputs]
    return {
        "network": {**described, "input_types": types, "then": []},
        "features": [_features("rows", "") for _ in inputs],
        "labels": labels,
        "features_masks": False,
        "labels_masks": False,
        "may_pretrain": False,
    }


def _add(draw, name, vertices, sizes):
    """Add a layer or vertex that reads something that is there."""
    names = list(sizes)
    one = draw.choice(names[-3:])
    size = draw.size = sizes[one]
    same = [other for other in names if sizes[other] == size]
    kind = draw.choice(
        ["layer"] * 4
        + ["plain", "merge", "element", "subset", "reshape", "stack", "frozen", "l2"]
    )
    if kind == "layer":
        layer = draw.choice(kinds.SHARING)(draw, None)
        layer = kinds.frozen(draw, layer, hears_nothing=one in "ab")
        vertices.append([name, layer, [one]])
        sizes[name] = _width(layer, size)
    elif kind == "merge":
        reads = draw.sample(names, min(len(names), 2))
        vertices.append([name, new("MergeVertex"), reads])
        sizes[name] = sum(sizes[each] for each in reads)
    elif kind == "element" and len(same) > 1:
        op = draw.choice(["Add", "Subtract", "Product", "Average", "Max"])
        vertices.append([name, new("ElementWiseVertex", op), draw.sample(same, 2)])
        sizes[name] = size
    elif kind == "subset" and size > 2:
        vertices.append([name, new("SubsetVertex", 1, size - 1), [one]])
        sizes[name] = size - 1
    elif kind == "stack" and len(same) > 1:
        vertices.append([f"{name}s", new("StackVertex"), draw.sample(same, 2)])
        vertices.append(
            [name, new("UnstackVertex", draw.randint(0, 1), 2), [f"{name}s"]]
        )
        sizes[name] = size
    elif kind == "l2" and len(same) > 1:
        vertices.append([name, new("L2Vertex"), draw.sample(same, 2)])
        sizes[name] = 1
    elif kind == "reshape":
        vertices.append([name, new("ReshapeVertex", [-1, size]), [one]])
        sizes[name] = size
    elif kind == "frozen":
        kind = "FrozenLayer" if one in "ab" else "FrozenLayerWithBackprop"
        vertices.append([name, new(kind, kinds.dense(draw)), [one]])
        sizes[name] = _width(vertices[-1][1], size)
    else:
        vertices.append([name, _plain_vertex(draw), [one]])
        sizes[name] = size


def _width(layer, size):
    """Return how many numbers come out of a layer."""
    while "new" in layer:
        layer = (
            layer["args"][-1]
            if isinstance(layer["args"][-1], dict)
            else layer["args"][0]
        )
    found = {name: first for name, first, *_ in layer["with"]}
    return found.get("nOut", size)

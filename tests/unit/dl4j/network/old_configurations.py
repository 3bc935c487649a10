"""Configurations as DL4J 0.5 to 1.0.0-alpha wrote them, by hand."""

from daskdl.dl4j.network.import_network import import_configuration


def dense(**options):
    return {"dense": {"nin": 3, "nout": 2, "weightInit": "XAVIER", **options}}


def output(**options):
    options = {"nin": 2, "nout": 2, "weightInit": "XAVIER", **options}
    return {"output": {"lossFunction": "MSE", "activationFunction": "tanh", **options}}


def configuration(*layers, **others):
    confs = [{"layer": layer, **others} for layer in layers]
    return {"confs": confs, "backprop": True, "pretrain": False}


def imported(*layers, **others):
    conf, _ = import_configuration(configuration(*layers, **others), "file")
    return conf


def first(**options):
    return imported(dense(**options), output()).layers[0]

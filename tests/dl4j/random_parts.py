"""What layers have in common, drawn at random: updaters, penalties, constraints.

Everything here is a description as java/ understands it, see Described.java: plain
mappings, lists, numbers and texts, in the words of DL4J's builders.
"""

import random


class Draw(random.Random):
    """Draws what networks are made of.

    Attributes
    ----------
    size : int or None
        How many numbers arrive at the next layer, where that is known.
    activations : list of str
        Those to choose from.
    """

    size = None
    activations = ("TANH", "SIGMOID", "IDENTITY", "SOFTPLUS", "ELU", "SWISH", "CUBE")

    def chance(self, probability):
        return self.random() < probability

    def some(self, probability, calls):
        """Return each call with a probability; calls that say None are left out."""
        return [call for call in calls if call is not None and self.chance(probability)]

    def number(self, low, high):
        return round(self.uniform(low, high), 3)


def new(name, *args):
    return {"new": name, "args": list(args)}


def build(name, *calls, args=()):
    return {"build": name, "args": list(args), "with": [list(call) for call in calls]}


def updater(draw):
    rate = draw.number(0.005, 0.1)
    kinds = [
        lambda: new("Sgd", _rate(draw, rate)),
        lambda: new("Adam", _rate(draw, rate)),
        lambda: new("Nesterovs", rate, draw.number(0.5, 0.95)),
        lambda: new("RmsProp", rate),
        lambda: new("AdaGrad", rate),
        lambda: new("AdaDelta"),
        lambda: new("AMSGrad", rate),
        lambda: new("AdaMax", rate),
        lambda: new("Nadam", rate),
        lambda: new("NoOp"),
    ]
    return draw.choice(kinds)()


def _rate(draw, rate):
    counted = draw.choice(["ITERATION", "EPOCH"])
    return draw.choice(
        [
            rate,
            rate,
            new("ExponentialSchedule", counted, rate, 0.8),
            new("StepSchedule", counted, rate, 0.5, 2.0),
            new("InverseSchedule", counted, rate, 0.5, 0.7),
            new("PolySchedule", counted, rate, 2.0, 20),
        ]
    )


def constraint(draw):
    return draw.choice(
        [
            new("NonNegativeConstraint"),
            new("MaxNormConstraint", draw.number(0.2, 1.0), [0]),
            new("MinMaxNormConstraint", 0.2, draw.number(0.4, 1.0), [0]),
            new("MinMaxNormConstraint", 0.2, 0.7, draw.number(0.2, 0.9), [0]),
            new("UnitNormConstraint", [0]),
        ]
    )


def learning(draw, *, probability):
    """Return calls that say how parameters learn; for a layer or the whole network."""
    calls = [
        ("updater", updater(draw)),
        ("biasUpdater", updater(draw)),
        ("l1", draw.number(0.001, 0.1)),
        ("l2", draw.number(0.001, 0.1)),
        ("l1Bias", draw.number(0.001, 0.1)),
        ("l2Bias", draw.number(0.001, 0.1)),
        ("weightDecay", draw.number(0.001, 0.1), draw.chance(0.5)),
        ("weightDecayBias", draw.number(0.001, 0.1), draw.chance(0.5)),
        (
            draw.choice(["constrainAllParameters", "constrainWeights"]),
            constraint(draw),
        ),
        ("constrainBias", constraint(draw)),
    ]
    return draw.some(probability, calls) + _normalization(draw, probability / 2)


def _normalization(draw, probability):
    if not draw.chance(probability):
        return []
    kind = draw.choice(
        [
            "RenormalizeL2PerLayer",
            "RenormalizeL2PerParamType",
            "ClipElementWiseAbsoluteValue",
            "ClipL2PerLayer",
            "ClipL2PerParamType",
        ]
    )
    return [
        ("gradientNormalization", kind),
        ("gradientNormalizationThreshold", draw.number(0.01, 1.0)),
    ]


def activation(draw):
    return draw.choice(draw.activations)


# Loss, the activation in front of it, and what its labels are.
LOSSES = [
    ("MCXENT", "SOFTMAX", "one of all"),
    ("MSE", "IDENTITY", "numbers"),
    ("MSE", "TANH", "numbers"),
    ("XENT", "SIGMOID", "bits"),
    ("L1", "IDENTITY", "numbers"),
    ("L2", "SIGMOID", "numbers"),
    ("NEGATIVELOGLIKELIHOOD", "SOFTMAX", "one of all"),
    ("POISSON", "SOFTPLUS", "counts"),
    ("HINGE", "TANH", "signs"),
]

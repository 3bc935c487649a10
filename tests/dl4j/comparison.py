"""One network that DL4J built, in DL4J and here: what it computes and how it learns."""

import copy
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.network import model_zip
from daskdl.errors import DaskdlError, ShapeError
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.batches import as_arrays
from tests.dl4j.real_dl4j import RefusedError
from tests.dl4j.trials import close, outputs

OUTPUTS, TRAINED = 1e-10, 1e-9
# DL4J's parameters are changed by so much where it is run a second time.
SHAKEN_BY = 1e-14
LAST_DIGIT = np.finfo(np.float64).eps
# Of our difference: where that little change makes as much, rounding decides.
DECIDES = 0.01

EQUAL, UNEQUAL = "equal", "unequal"
# DL4J does not build such a network, or cannot compute or train it.
REFUSED, FAILING = "refused", "failing"
# DL4J itself does not get there twice.
UNSTABLE = "unstable"


@dataclass(frozen=True)
class Result:
    """What came of a comparison.

    Parameters
    ----------
    verdict : str
        One of the names above.
    where : str
        At what, if not equal.
    what : str
        What was said there.
    """

    verdict: str
    where: str = ""
    what: str = ""


def _read(model):
    """Return the parameters of a saved network, nothing if it cannot be loaded."""
    try:
        return [model_zip.load(model).params]
    except DaskdlError:
        return []


class _DifferenceError(Exception):
    """Something that differs, by which stage."""


def compare(dl4j, described, seed):
    """Return how a described network fares in DL4J and here."""
    try:
        model, n_params = dl4j.build(described["network"], seed=seed)
    except RefusedError as error:
        return Result(REFUSED, "build", str(error))
    if not n_params:
        return Result(FAILING, "fit", "DL4J trains no network without parameters")
    rng = np.random.default_rng(seed)
    features = [_features(described, one, rng) for one in described["features"]]
    masks = [_mask(described, one) for one in described["features"]]
    try:
        seen = _unlabeled(features, masks)
        theirs = dl4j.output(model, seen, dtype="float64")
        batches = _batches(described, features, masks, theirs, rng)
        pretrain = described.get("pretrain", 0)
        scores, trained = dl4j.fit(model, batches, dtype="float64", pretrain=pretrain)
    except RefusedError as error:
        return Result(FAILING, "fit", str(error))
    except ShapeError as error:
        return Result(FAILING, "output", f"not one row an example: {error}")
    if not _are_finite([*theirs, scores, *_read(trained)]):
        return Result(UNSTABLE, "fit", "what DL4J computes is not finite")
    try:
        _check(dl4j, described, model, batches, (seen, theirs), scores, trained)
    except _DifferenceError as error:
        where, difference = error.args
        if where.startswith("further"):
            batches = batches * 2
            scores, trained = dl4j.fit(
                model, batches, dtype="float64", pretrain=pretrain
            )
            if not _are_finite([scores, *_read(trained)]):
                return Result(UNSTABLE, where, "what DL4J computes is not finite")
        if _is_unstable(dl4j, model, batches, pretrain, scores, trained, difference):
            return Result(UNSTABLE, error.args[0], "rounding decides")
        return Result(UNEQUAL, error.args[0], str(error.__cause__))
    return Result(EQUAL)


def smallest(dl4j, described, seed, *, n_tries=60):
    """Return the description with all left out that the difference does not need."""
    where = compare(dl4j, described, seed).where
    left = n_tries
    is_smaller = True
    while is_smaller and left > 0:
        is_smaller = False
        for smaller in _smaller(described):
            left -= 1
            found = compare(dl4j, smaller, seed)
            if (found.verdict, found.where) == (UNEQUAL, where):
                described, is_smaller = smaller, True
                break
            if left <= 0:
                break
    return described


def as_text(described):
    """Return a description as JSON on one line."""
    return json.dumps(described)


def _are_finite(arrays):
    # DL4J's scores can be numbers although its parameters are none.
    return all(np.isfinite(array).all() for array in arrays)


def _check(dl4j, described, model, batches, computed, scores, trained):
    """Compare, stage by stage, and the way back: what is saved here goes on there."""
    network = _stage("load", lambda: model_zip.load(model))
    _stage("output", lambda: _same_outputs(network, *computed))
    pretrain = described.get("pretrain", 0)
    if pretrain:
        _stage("pretrain", lambda: network.pretrain(batches, epochs=pretrain))
    ours = _stage("fit", lambda: [network.fit_minibatch(batch) for batch in batches])
    again = _stage("load again", lambda: model_zip.load(trained))
    _stage("scores", lambda: _same_scores(dl4j, model, batches, pretrain, ours, scores))
    _stage("params", lambda: close(network.params, again.params, TRAINED))
    _stage("state", lambda: close(network.updater_state, again.updater_state, TRAINED))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ours.zip"
        _stage("save", lambda: model_zip.save(network, path))
        further, goes_on = _stage(
            "back in DL4J", lambda: dl4j.fit(path, batches, dtype="float64")
        )
        ours = _stage(
            "further", lambda: [network.fit_minibatch(batch) for batch in batches]
        )
        _stage(
            "further scores",
            lambda: _same_scores(dl4j, path, batches, 0, ours, further),
        )
    again = _stage("load back", lambda: model_zip.load(goes_on))
    _stage("further params", lambda: close(network.params, again.params, TRAINED))


def _stage(name, run):
    try:
        # What overflows does so in DL4J, too.
        with np.errstate(all="ignore"):
            return run()
    except (AssertionError, DaskdlError, RefusedError) as error:
        raise _DifferenceError(name, _difference(error)) from error


def _difference(error):
    """Return by how much arrays differ, infinity for other errors."""
    text = str(error)
    mark = "Max absolute difference among violations:"
    for line in text.splitlines():
        if line.startswith((mark, "Max absolute difference:")):
            return float(line.rpartition(":")[2])
    return float("inf")


def _same_outputs(network, seen, theirs):
    for our, their in zip(outputs(network, seen), theirs, strict=True):
        close(our, their, OUTPUTS)


def _same_scores(dl4j, model, batches, pretrain, ours, theirs):
    """Compare with the scores of training, or else with those of scoring alone.

    In training some of DL4J's layers have overwritten with the gradient what they
    score.
    """
    try:
        close(ours, theirs, TRAINED)
    except AssertionError as error:
        alone, _ = dl4j.fit(
            model, batches, dtype="float64", pretrain=pretrain, scores_first=True
        )
        try:
            close(ours, alone, TRAINED)
        except AssertionError:
            raise error from None


def _is_unstable(dl4j, model, batches, pretrain, scores, trained, difference):
    """Whether DL4J or daskdl, from almost the same parameters, goes elsewhere."""
    if not np.isfinite(difference):
        return False
    found, again = dl4j.fit(
        model, batches, dtype="float64", pretrain=pretrain, shaken_by=SHAKEN_BY
    )
    first, second = model_zip.load(trained), model_zip.load(again)
    own = max(_apart(found, scores), _trained_apart(first, second))
    if not own < DECIDES * difference:
        return True
    # Where two numbers of DL4J cancel to the last digit, ours need not.
    plain, *shaken = [_trained(model, batches, pretrain, seed) for seed in range(4)]
    own = max(_trained_apart(plain, each) for each in shaken)
    return not own < DECIDES * difference


def _trained(model, batches, pretrain, seed):
    """Return the network trained here, from changed parameters unless `seed` is 0."""
    network = model_zip.load(model)
    seeded = np.random.default_rng(seed)
    noise = seeded.standard_normal(network.params.shape)
    network.params[...] *= 1 + (SHAKEN_BY * noise if seed else 0)
    activate = ActivationFunction.forward

    def last_digit_changed(function, preout, **keywords):
        output = activate(function, preout, **keywords)
        shaken = output * (1 + LAST_DIGIT * seeded.choice([-1, 0, 1], output.shape))
        np.copyto(output, shaken, where=output != np.rint(output))
        return output

    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        if seed:
            # Behind 1 - tanh(x)^2 near 1 is nothing but the last digit of a tanh,
            # which two libraries round differently; no change of parameters shows it.
            patch.setattr(ActivationFunction, "forward", last_digit_changed)
        if pretrain:
            network.pretrain(batches, epochs=pretrain)
        for batch in batches:
            network.fit_minibatch(batch)
    return network


def _trained_apart(first, second):
    return max(
        _apart(second.params, first.params),
        _apart(second.updater_state, first.updater_state),
    )


def _apart(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    scale = np.abs(expected).max(initial=0) or 1
    return float(np.abs(found - expected).max(initial=0) / scale)


def _features(described, one, rng):
    shape = (described["n_batches"], described["batch_size"], *one["shape"])
    if one["kind"] == "numbers":
        return rng.integers(0, 5, shape).astype(float)
    return rng.standard_normal(shape)


def _mask(described, one):
    """Return series of several lengths, for each minibatch the same; or None."""
    if not described["features_masks"]:
        return None
    steps = one["shape"][1 if one["format"] == "NCW" else 0]
    return _lengths(described["batch_size"], steps)


def _lengths(size, steps):
    lengths = steps - np.arange(size) % (steps - 1)
    return (np.arange(steps) < lengths[:, None]).astype(float)


def _unlabeled(features, masks):
    first = [array[0] for array in features]
    return as_arrays("test", MultiDataSet(first, [], masks, []))


def _batches(described, features, masks, outputs_of_dl4j, rng):
    batches = []
    for index in range(described["n_batches"]):
        x = [array[index] for array in features]
        y = [
            _labels(kind, output, _channels(described), rng)
            for kind, output in zip(described["labels"], outputs_of_dl4j, strict=True)
        ]
        label_masks = [_labels_mask(described, array) for array in y]
        if len(x) == len(y) == 1:
            batches.append(DataSet(x[0], y[0], masks[0], label_masks[0]))
        else:
            batches.append(MultiDataSet(x, y, masks, label_masks))
    return batches


def _channels(described):
    return -1 if described["features"][0]["format"].endswith("C") else 1


def _labels_mask(described, labels):
    if not described["labels_masks"]:
        return None
    steps = labels.shape[1 if _channels(described) == -1 else 2]
    return _lengths(len(labels), steps)


def _labels(kind, output, axis, rng):
    shape = output.shape
    if kind == "one of all":
        axis = axis if len(shape) > 2 else 1
        others = [n for i, n in enumerate(shape) if i != axis % len(shape)]
        n_classes = shape[axis]
        classes = rng.integers(0, n_classes, others)
        return np.moveaxis(np.eye(n_classes)[classes], -1, axis)
    if kind == "bits":
        return rng.integers(0, 2, shape).astype(float)
    if kind == "signs":
        return rng.choice([-1.0, 1.0], shape)
    if kind == "counts":
        return rng.uniform(0.1, 2, shape)
    return rng.standard_normal(shape)


def _smaller(described):
    """Yield descriptions with one thing less."""
    network = described["network"]
    for option in ("pretrain", "n_batches"):
        if described.get(option, 0) > 1 or (
            option == "pretrain" and option in described
        ):
            yield {**described, option: described[option] - 1}
    for flag in ("labels_masks", "features_masks"):
        if described[flag]:
            yield {**described, flag: False}
    if "layers" in network:
        for index in range(len(network["layers"]) - 1):
            smaller = copy.deepcopy(described)
            del smaller["network"]["layers"][index]
            yield smaller
    yield from _without_calls(described)


def _without_calls(described):
    """Yield descriptions without one call of a builder."""
    for place in _lists_of_calls(described["network"], ()):
        calls = _at(described["network"], place)
        for index in range(len(calls)):
            smaller = copy.deepcopy(described)
            del _at(smaller["network"], place)[index]
            yield smaller


def _lists_of_calls(value, place):
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("with", "global", "then"):
                yield (*place, key)
            yield from _lists_of_calls(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _lists_of_calls(item, (*place, index))


def _at(value, place):
    for key in place:
        value = value[key]
    return value

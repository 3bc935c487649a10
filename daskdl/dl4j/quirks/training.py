"""What DL4J's training computes otherwise."""

from collections.abc import Mapping
from typing import Any

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.concerns import both, given, kinds, said

_IN_SEGMENTS = said("backprop_type", "truncated_bptt")
_CARRYING = ("lstm", "graves_lstm", "simple_rnn")


def _looks_back_less(network: Mapping[str, Any]) -> bool:
    length = network["tbptt_back_length"]
    return length is not None and length < network["tbptt_fwd_length"]


def _forgets(network: Mapping[str, Any]) -> bool:
    """Return whether a recurrent layer lies in two wrappers, or the old one in one."""
    inside = [node["layer"] for node in network["nodes"] if "layer" in node]
    return any(
        kinds("graves_lstm")(layer) or ("layer" in layer and kinds(*_CARRYING)(layer))
        for layer in inside
    )


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="poly_grows",
        where="schedule `poly`",
        habit="has `1 + i / max_iter`: the value grows, and then is 0",
        exact="has `1 - i / max_iter`, as the literature has",
        test="unit/conf/test_schedules.py",
        concerns=kinds("poly"),
    ),
    Quirk(
        name="gradients_begin_with_zeros",
        where="recurrent layers in truncated backpropagation",
        habit="compute their gradients from a forward pass that begins with zeros, "
        "while the layers above used the state that was carried over",
        exact="compute them from the state that was carried over",
        test="unit/networks/test_truncated_gradients.py",
        concerns=both(_IN_SEGMENTS, kinds(*_CARRYING)),
    ),
    Quirk(
        name="back_length_changes_nothing",
        where="`tbptt_back_length`",
        habit="has no effect",
        exact="is how many time steps gradients flow back at most",
        test="unit/networks/test_truncated_gradients.py",
        concerns=both(_IN_SEGMENTS, _looks_back_less),
    ),
    Quirk(
        name="wrapped_layers_forget",
        where="`graves_lstm` in a wrapper, recurrent layers in two",
        habit="begin each segment of truncated backpropagation with zeros",
        exact="begin it with the state that was carried over",
        test="unit/networks/test_truncated_backpropagation.py",
        concerns=both(_IN_SEGMENTS, _forgets),
    ),
    Quirk(
        name="constraints_twice",
        where="constraints",
        habit="are applied twice in a row, which shows where the second time changes "
        "something",
        exact="are applied once",
        test="unit/networks/test_constraints.py",
        concerns=kinds("max_norm", "min_max_norm"),
    ),
    Quirk(
        name="constraints_shrink",
        where="`max_norm` and `min_max_norm`",
        habit="divide by `norm + epsilon` where the norm is within its bounds, too, so "
        "that weights shrink a little with every iteration",
        exact="leave alone what satisfies them",
        test="unit/networks/test_constraints.py",
        concerns=kinds("max_norm", "min_max_norm"),
    ),
    Quirk(
        name="min_max_norm_mixes_quotient",
        where="`min_max_norm` with a rate",
        habit="mixes a quotient of norms with a norm",
        exact="goes that share of the way to the bound",
        test="unit/networks/test_constraints.py",
        concerns=both(kinds("min_max_norm"), given("rate")),
    ),
    Quirk(
        name="searches_along_updates",
        where="searches along lines",
        habit="run the updater twice an iteration and go along the update; what they "
        "keep ignores constraints. Conjugate gradients begin anew with every minibatch, "
        "so that they are gradient descent along lines; LBFGS takes the real difference "
        "of gradients in its first iteration only, and values for rho and gamma, in "
        "reversed order",
        exact="go along the derivative of the score; conjugate gradients are those of "
        "Polak and Ribière, LBFGS is that of Nocedal and Wright",
        test="unit/networks/test_solvers.py",
        concerns=said(
            "optimization_algo", "line_gradient_descent", "conjugate_gradient", "lbfgs"
        ),
    ),
)

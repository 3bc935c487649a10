"""Quirks of DL4J's training."""

from collections.abc import Mapping
from typing import Any

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import (
    all_of,
    any_of,
    has_option,
    has_type,
    option_holds,
    sets_option,
)

_IN_SEGMENTS = has_option("backprop_type", "truncated_bptt")
_CARRYING = ("lstm", "graves_lstm", "simple_rnn")
_PENALTIES = (
    *("l1", "l2", "weight_decay"),
    *("l1_bias", "l2_bias", "weight_decay_bias"),
)
_CORRECTED = ("adam", "amsgrad", "adamax", "adabelief")
_OF_WEIGHTS_OR_BIASES = (*_PENALTIES, "bias_updater")
_LOSSES_ALONE = ("loss", "rnn_loss", "cnn_loss", "cnn3d_loss")
_SCALED = (
    "lecun_uniform",
    *(f"var_scaling_normal_fan_{fan}" for fan in ("in", "out", "avg")),
    *(f"var_scaling_uniform_fan_{fan}" for fan in ("in", "out", "avg")),
)


def _looks_back_less(network: Mapping[str, Any]) -> bool:
    length = network["tbptt_back_length"]
    return length is not None and length < network["tbptt_fwd_length"]


def _may_get_rate_0(updater: Any) -> bool:
    """Return whether a rate that is corrected is 0, or may become it by a schedule."""
    # One that a file keeps as it was has no type of ours.
    if not updater or updater.get("type") not in _CORRECTED:
        return False
    return not updater["learning_rate"] or isinstance(updater["learning_rate"], Mapping)


def _forgets(network: Mapping[str, Any]) -> bool:
    """Return whether a recurrent layer lies in two wrappers, or the old one in one."""
    inside = [node["layer"] for node in network["nodes"] if "layer" in node]
    return any(
        has_type("graves_lstm")(layer)
        or ("layer" in layer and has_type(*_CARRYING)(layer))
        for layer in inside
    )


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="poly_grows",
        where="schedule `poly`",
        habit="has `1 + i / max_iter`: the value grows, and then is 0",
        exact="has `1 - i / max_iter`, as the literature has",
        test="unit/conf/test_schedules.py",
        concerns=has_type("poly"),
    ),
    Quirk(
        name="gradients_begin_with_zeros",
        where="recurrent layers in truncated backpropagation",
        habit="compute their gradients from a forward pass that begins with zeros, "
        "while the layers above used the state that was carried over",
        exact="compute them from the state that was carried over",
        test="unit/networks/test_truncated_gradients.py",
        concerns=all_of(_IN_SEGMENTS, has_type(*_CARRYING)),
    ),
    Quirk(
        name="back_length_changes_nothing",
        where="`tbptt_back_length`",
        habit="has no effect",
        exact="is how many time steps gradients flow back at most",
        test="unit/networks/test_truncated_gradients.py",
        concerns=all_of(_IN_SEGMENTS, _looks_back_less),
    ),
    Quirk(
        name="wrapped_layers_forget",
        where="`graves_lstm` in a wrapper, recurrent layers in two",
        habit="begin each segment of truncated backpropagation with zeros",
        exact="begin it with the state that was carried over",
        test="unit/networks/test_truncated_backpropagation.py",
        concerns=all_of(_IN_SEGMENTS, _forgets),
    ),
    Quirk(
        name="constraints_twice",
        where="constraints",
        habit="are applied twice in a row, which shows where the second time changes "
        "something",
        exact="are applied once",
        test="unit/networks/test_constraints.py",
        concerns=has_type("max_norm", "min_max_norm"),
    ),
    Quirk(
        name="constraints_shrink",
        where="`max_norm` and `min_max_norm`",
        habit="divide by `norm + epsilon` where the norm is within its bounds, too, so "
        "that weights shrink a little with every iteration",
        exact="leave alone what satisfies them",
        test="unit/networks/test_constraints.py",
        concerns=has_type("max_norm", "min_max_norm"),
    ),
    Quirk(
        name="min_max_norm_mixes_quotient",
        where="`min_max_norm` with a rate",
        habit="mixes a quotient of norms with a norm",
        exact="goes that share of the way to the bound",
        test="unit/networks/test_constraints.py",
        concerns=option_holds("rate", lambda rate: rate != 1, of=("min_max_norm",)),
    ),
    Quirk(
        name="searches_along_updates",
        where="searches along lines",
        habit="run the updater twice an iteration and go along the update; what they "
        "keep ignores constraints. Conjugate gradients begin anew with every "
        "minibatch, so that they are gradient descent along lines; LBFGS takes the "
        "real difference of gradients in its first iteration only, and values for rho "
        "and gamma, in reversed order",
        exact="go along the derivative of the score; conjugate gradients are those of "
        "Polak and Ribière, LBFGS is that of Nocedal and Wright",
        test="unit/networks/test_solvers.py",
        concerns=has_option(
            "optimization_algo", "line_gradient_descent", "conjugate_gradient", "lbfgs"
        ),
    ),
    Quirk(
        name="weight_decay_in_score",
        where="weight decay in the score",
        habit="counts like L2",
        exact="is left out: it is subtracted behind the updater, and is the "
        "derivative of no score",
        test="unit/networks/test_param_roles.py",
        concerns=any_of(sets_option("weight_decay"), sets_option("weight_decay_bias")),
    ),
    Quirk(
        name="updaters_by_table",
        where="separable and depthwise convolutions",
        habit="updaters and penalties are dealt along the vector in the order of a "
        "table in which the bias is last, while it lies first; the score sees the "
        "real parameters",
        exact="each parameter has its own",
        test="unit/networks/test_update_plan.py",
        concerns=all_of(
            has_type("separable_convolution2d", "depthwise_convolution2d"),
            any_of(*map(sets_option, _OF_WEIGHTS_OR_BIASES)),
        ),
    ),
    Quirk(
        name="visible_bias_is_no_bias",
        where="`vb` of `auto_encoder`",
        habit="the updater of the weights brings it forward, penalties and groups of "
        "constraints do not touch it",
        exact="is a bias",
        test="unit/networks/test_param_roles.py",
        concerns=all_of(
            has_type("auto_encoder"),
            any_of(
                sets_option("constraints"), *map(sets_option, _OF_WEIGHTS_OR_BIASES)
            ),
        ),
    ),
    Quirk(
        name="still_parameters_constrained",
        where="constraints of what only pretraining learns",
        habit="hold while others learn, too",
        exact="hold when it learns",
        test="unit/networks/test_param_roles.py",
        concerns=all_of(
            sets_option("constraints"),
            has_type("auto_encoder", "variational_autoencoder"),
        ),
    ),
    Quirk(
        name="mean_scores_of_sums",
        where="scores with `mini_batch` false",
        habit="those of losses without weights, of centers and of `yolo2_output` are "
        "divided by the examples all the same",
        exact="are sums, whose derivatives the gradients are",
        test="unit/networks/test_network.py",
        concerns=all_of(
            has_option("mini_batch", False),
            has_type(*_LOSSES_ALONE, "center_loss_output", "yolo2_output"),
        ),
    ),
    Quirk(
        name="running_statistics_normalized",
        where="running statistics",
        habit="count in the norm of the gradient, and are rescaled and clipped with "
        "it, so that they lag behind the data",
        exact="are no gradient: normalization leaves them out",
        test="unit/networks/test_param_roles.py",
        concerns=all_of(
            sets_option("gradient_normalization"), has_type("batch_normalization")
        ),
    ),
    Quirk(
        name="epsilon_for_rate",
        where="`adam`, `amsgrad`, `adamax`, `adabelief`",
        habit="take epsilon for a corrected rate of 0, infinity or NaN",
        exact="take the rate as it is: 0 changes nothing",
        test="unit/networks/test_updater_formulas.py",
        concerns=any_of(
            option_holds("updater", _may_get_rate_0),
            option_holds("bias_updater", _may_get_rate_0),
        ),
    ),
    Quirk(
        name="squares_begin_above_zero",
        where="state of `adagrad` and `rmsprop`",
        habit="begins with 1e-6 whatever epsilon is, or with epsilon",
        exact="begins with 0",
        test="unit/networks/test_updater_formulas.py",
        concerns=has_type("adagrad", "rmsprop"),
    ),
    Quirk(
        name="var_scaling_of_bounds",
        where="`var_scaling_...`, `lecun_uniform`",
        habit="uniform bounds are `3 * scale / sqrt(fan)`; what a normal distribution "
        "loses of its variance where it is cut off is not made up for",
        exact="the variance is `scale / fan`",
        test="unit/networks/test_initializers.py",
        concerns=has_option("weight_init", *_SCALED),
    ),
    Quirk(
        name="noise_not_in_gradient",
        where="weight noise",
        habit="the gradient in the noisy weights is taken for that in the true ones",
        exact="is the derivative in the true ones: 0 for weights that were dropped",
        test="unit/layers/test_noisy_params.py",
        concerns=sets_option("weight_noise"),
    ),
    Quirk(
        name="frozen_layers_decay",
        where="`frozen_with_backprop`",
        habit="has updater state; penalties and weight decay change its parameters, "
        "and are not in the score",
        exact="never changes its parameters",
        test="unit/networks/test_frozen.py",
        concerns=all_of(
            has_type("frozen_with_backprop"),
            any_of(*map(sets_option, _PENALTIES)),
        ),
    ),
    Quirk(
        name="gains_are_weights",
        where="gains of layer normalization",
        habit="are weights to penalties and constraints",
        exact="are treated like the scale of batch normalization",
        test="unit/layers/test_recurrent_layers.py",
        concerns=all_of(
            has_option("has_layer_norm", True),
            any_of(sets_option("constraints"), *map(sets_option, _PENALTIES)),
        ),
    ),
)

"""Quirks of DL4J's layers of rows, normalization and autoencoders.

Dropout and weight noise of all layers, too.
"""

from daskdl.dialects import Quirk
from daskdl.dl4j.quirks.conditions import (
    all_of,
    any_of,
    has_dropout,
    has_option,
    has_type,
    option_holds,
    sets_option,
)

WRAPPERS = (
    "bidirectional",
    "frozen",
    "frozen_with_backprop",
    "last_time_step_layer",
    "mask_zero",
    "time_distributed",
)
ATTENTION = ("learned_self_attention", "recurrent_attention", "self_attention")
LOCALLY_CONNECTED = ("locally_connected1d", "locally_connected2d")
CAPSULES = ("capsule", "primary_capsules")
EMBEDDINGS = ("embedding", "embedding_sequence")

WITHOUT_DROPOUT = (
    *WRAPPERS,
    *ATTENTION,
    *LOCALLY_CONNECTED,
    *CAPSULES,
    *EMBEDDINGS,
    "activation",
    "batch_normalization",
    "capsule_strength",
    "cnn3d_loss",
    "cnn_loss",
    "cropping1d",
    "cropping2d",
    "cropping3d",
    "global_pooling",
    "graves_bidirectional_lstm",
    "local_response_normalization",
    "loss",
    "mask",
    "rnn_loss",
    "subsampling",
    "subsampling1d",
    "variational_autoencoder",
    "yolo2_output",
    "zero_padding",
    "zero_padding1d",
    "zero_padding3d",
)
WITHOUT_NOISE = (
    *ATTENTION,
    *LOCALLY_CONNECTED,
    *EMBEDDINGS,
    "convolution1d",
    "element_wise_multiplication",
    "graves_bidirectional_lstm",
)
SAME_DIFF = (*ATTENTION, *LOCALLY_CONNECTED, *CAPSULES, "attention")
ONE_CLASS = ("ocnn_output",)
PENALTIES = (
    "l1",
    "l2",
    "l1_bias",
    "l2_bias",
    "weight_decay",
    "weight_decay_bias",
)

QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="layers_ignore_dropout",
        where="dropout of wrappers, poolings, normalizations, embeddings, attention, "
        "capsules, locally connected layers, losses without weights and others",
        habit="is in the file and never applied; `keep_probability` is refused",
        exact="is applied where the layer itself asks for it",
        test="unit/layers/test_own_dropout.py",
        concerns=has_dropout(of=WITHOUT_DROPOUT),
    ),
    Quirk(
        name="layers_ignore_weight_noise",
        where="weight noise of `convolution1d`, `element_wise_multiplication`, "
        "`graves_bidirectional_lstm`, embeddings, attention and locally connected "
        "layers",
        habit="is never applied",
        exact="is applied",
        test="unit/layers/test_own_dropout.py",
        concerns=sets_option("weight_noise", of=WITHOUT_NOISE),
    ),
    Quirk(
        name="some_penalties_not_scored",
        where="L1 and L2 of attention, locally connected layers and capsules",
        habit="change parameters, and are not in the score",
        exact="are in the score",
        test="unit/networks/test_scored_penalties.py",
        concerns=all_of(
            has_type(*SAME_DIFF),
            any_of(*(option_holds(option, bool) for option in PENALTIES)),
        ),
    ),
    Quirk(
        name="one_class_output_ignores_penalties",
        where="L1, L2 and weight decay of `ocnn_output`",
        habit="are in the file and never applied",
        exact="are applied to weights; those of biases to `r`",
        test="unit/networks/test_scored_penalties.py",
        concerns=any_of(
            *(option_holds(option, bool, of=ONE_CLASS) for option in PENALTIES)
        ),
    ),
    Quirk(
        name="one_class_loss_of_means",
        where="score and gradients of `ocnn_output`",
        habit="are means, and divided by the examples all the same; masks do not "
        "count; the gradient in the input is 1 for an example that scores less than "
        "`r`, and 0 else; an epoch's first score has the new `r`, its gradients have "
        "the old one, and `r` has the updater of the weights",
        exact="are those of the paper's loss; `r` is new before an epoch begins, and "
        "has the updater of biases",
        test="unit/layers/test_ocnn_output.py",
        concerns=has_type(*ONE_CLASS),
    ),
    Quirk(
        name="scores_overwrite_the_first",
        where="window of `ocnn_output`",
        habit="room that no score was put into counts as zeros; behind the first "
        "epoch each minibatch overwrites the first places",
        exact="holds the last scores of an epoch",
        test="unit/layers/test_ocnn_output.py",
        concerns=has_type(*ONE_CLASS),
    ),
    Quirk(
        name="small_percentiles_are_minima",
        where="percentile of `ocnn_output` where `nu` is less than 0.01",
        habit="is the smallest score",
        exact="is the percentile",
        test="unit/layers/test_ocnn_output.py",
        concerns=option_holds("nu", lambda nu: nu < 0.01, of=ONE_CLASS),
    ),
    Quirk(
        name="biases_begin_at_zero",
        where="biases of `variational_autoencoder`, `recurrent_attention`, locally "
        "connected layers and capsules",
        habit="begin at 0 whatever the network's `bias_init` says",
        exact="begin at `bias_init`",
        test="unit/layers/test_initial_biases.py",
        concerns=all_of(
            has_type(
                "variational_autoencoder",
                "recurrent_attention",
                *LOCALLY_CONNECTED,
                *CAPSULES,
            ),
            option_holds("bias_init", bool),
        ),
    ),
    Quirk(
        name="locked_gamma_beta_left_out",
        where="locked `gamma` and `beta` of `batch_normalization`",
        habit="are left out of the output where one of them changes nothing; the "
        "gradient has `gamma` all the same",
        exact="count in output and gradient",
        test="unit/layers/test_batch_normalization.py",
        concerns=has_option("lock_gamma_beta", True),
    ),
    Quirk(
        name="normalization_ignores_masks",
        where="`batch_normalization` of series with a mask",
        habit="mean and variance are those of masked steps, too",
        exact="of the steps that the mask keeps; the others come out as 0 in training",
        test="unit/layers/test_batch_normalization.py",
        concerns=has_type("batch_normalization"),
        data="masks",
    ),
    Quirk(
        name="auto_encoder_ascends",
        where="pretraining of `auto_encoder`",
        habit="goes up the slope of a cross entropy behind a sigmoid, whatever `loss` "
        "and `activation` are; `sparsity` takes the place of the slope of the "
        "activation; `loss` is `kl_divergence` if none is given",
        exact="goes down the slope of its score: of `loss`, and of `sparsity` times "
        "the hidden units",
        test="unit/layers/test_autoencoders.py",
        concerns=has_type("auto_encoder"),
    ),
    Quirk(
        name="distances_ignore_masks",
        where="distances to the centers of `center_loss_output`, with a mask",
        habit="stay in the score, and move features and centers",
        exact="are masked like the loss",
        test="unit/layers/test_center_loss.py",
        concerns=has_type("center_loss_output"),
    ),
    Quirk(
        name="centers_move_by_means",
        where="centers of `center_loss_output`",
        habit="move by `alpha` of what is between, divided by the examples once more",
        exact="move by `alpha * sum(center - x) / (1 + count)`",
        test="unit/layers/test_center_loss.py",
        concerns=has_type("center_loss_output"),
    ),
    Quirk(
        name="alpha_stays_in_gradient_checks",
        where="`gradient_check` of `center_loss_output`",
        habit="`alpha` stays a factor of the gradient in the centers",
        exact="they have the gradient of the score",
        test="unit/layers/test_center_loss.py",
        concerns=has_option("gradient_check", True),
    ),
    Quirk(
        name="center_loss_updates_biases_as_weights",
        where="the bias of `center_loss_output`",
        habit="has the updater of the weights",
        exact="has that of biases",
        test="unit/layers/test_center_loss.py",
        concerns=all_of(has_type("center_loss_output"), sets_option("bias_updater")),
    ),
)

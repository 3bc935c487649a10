"""Networks whose training was recorded with DL4J 1.0.0-M2.1, as it was configured."""

from daskdl import (
    LSTM,
    Activation,
    BatchNormalization,
    CenterLossOutput,
    Convolution2D,
    Dense,
    Frozen,
    FrozenWithBackprop,
    MergeVertex,
    Output,
    RnnOutput,
    Subsampling,
)
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.conf.updaters import AdaGrad, Adam, Nesterovs, NoOp, RmsProp, Sgd

ADAM = Adam(learning_rate=0.02)
# With one number DL4J's constructor of Nesterovs takes it for the momentum.
MOMENTUM = Nesterovs(learning_rate=0.1, momentum=0.05)


def sequence(input_type, layers, **options):
    options = {"dtype": "float64", "activation": "tanh", **options}
    return MultiLayerConfiguration(input=input_type, layers=layers, **options)


def mlp(**options):
    layers = [Dense(n_out=5), Dense(n_out=4, activation="sigmoid"), Output(n_out=3)]
    return sequence(FeedForward(size=4), layers, **options)


def rows(*layers, **options):
    return sequence(FeedForward(size=4), [*layers, Output(n_out=3)], **options)


def images(*layers, **options):
    input_type = Convolutional(height=6, width=6, channels=2)
    return sequence(input_type, [*layers, Output(n_out=3)], **options)


def lstm(**options):
    layers = [LSTM(n_out=4), RnnOutput(n_out=2)]
    return sequence(Recurrent(size=3), layers, **options)


def normalized(kind, threshold=0.05, learning_rate=0.1, **options):
    return mlp(
        updater=Sgd(learning_rate=learning_rate),
        gradient_normalization=kind,
        gradient_normalization_threshold=threshold,
        **options,
    )


def graph_two_io():
    return ComputationGraphConfiguration(
        inputs={"a": FeedForward(size=4), "b": FeedForward(size=3)},
        vertices={
            "d1": Dense(n_out=4, inputs=["a"]),
            "d2": Dense(n_out=3, inputs=["b"], updater=MOMENTUM),
            "m": MergeVertex(inputs=["d1", "d2"]),
            "o1": Output(n_out=3, inputs=["m"]),
            "o2": Output(n_out=2, loss="mse", inputs=["d1"]),
        },
        outputs=["o1", "o2"],
        updater=ADAM,
        l2=0.02,
        activation="tanh",
        dtype="float64",
    )


SGD = Sgd(learning_rate=0.1)

CASES = {
    "sgd": mlp(updater=SGD),
    "nesterovs": mlp(updater=Nesterovs(learning_rate=0.05, momentum=0.85)),
    "adam": mlp(updater=Adam(learning_rate=0.02, beta1=0.85, beta2=0.99, epsilon=1e-7)),
    "adam_epochs": mlp(updater=ADAM),
    "adagrad": mlp(updater=AdaGrad(learning_rate=0.05)),
    "adagrad_eps": mlp(updater=AdaGrad(learning_rate=0.05, epsilon=1e-3)),
    "rmsprop": mlp(updater=RmsProp(learning_rate=0.01, decay=0.9, epsilon=1e-6)),
    "noop": mlp(updater=NoOp()),
    "default_updater": mlp(),
    "l2_sgd": mlp(updater=SGD, l2=0.05),
    "l1_sgd": mlp(updater=SGD, l1=0.03),
    "l1_l2_adam": mlp(updater=ADAM, l1=0.02, l2=0.03),
    "l1l2_bias_adam": mlp(updater=ADAM, l1=0.02, l2=0.03, l1_bias=0.01, l2_bias=0.04),
    # DL4J's builder adds weight decay to its list twice: 0.05 counts double.
    "weightdecay_sgd": mlp(updater=SGD, weight_decay=0.1),
    "l2_minibatch_false": mlp(
        updater=Sgd(learning_rate=0.02), l2=0.05, mini_batch=False
    ),
    "minibatch_false": mlp(updater=Sgd(learning_rate=0.02), mini_batch=False),
    "gradnorm_renormalizel2perlayer": normalized("renormalize_l2_per_layer"),
    "gradnorm_renormalizel2perparamtype": normalized("renormalize_l2_per_param_type"),
    "gradnorm_clipelementwiseabsolutevalue": normalized(
        "clip_elementwise_absolute_value"
    ),
    "gradnorm_clipl2perlayer": normalized("clip_l2_per_layer"),
    "gradnorm_clipl2perparamtype": normalized("clip_l2_per_param_type"),
    "gradnorm_clip_not_reached": normalized("clip_l2_per_param_type", 100),
    "gradnorm_minibatch_false": normalized(
        "clip_l2_per_layer", 0.5, 0.02, mini_batch=False
    ),
    "gradnorm_clipl2_l2reg": mlp(
        updater=ADAM,
        l2=0.02,
        gradient_normalization="clip_l2_per_layer",
        gradient_normalization_threshold=0.1,
    ),
    "bias_updater": mlp(updater=ADAM, bias_updater=Sgd(learning_rate=0.2)),
    "two_updaters": rows(
        Dense(n_out=5, updater=Nesterovs(learning_rate=0.05, momentum=0.8)),
        Dense(
            n_out=4,
            updater=RmsProp(learning_rate=0.01),
            bias_updater=AdaGrad(learning_rate=0.1),
        ),
        updater=ADAM,
    ),
    "batchnorm": rows(
        Dense(n_out=5),
        BatchNormalization(),
        Dense(n_out=4),
        BatchNormalization(decay=0.7, use_log_std=False),
        updater=ADAM,
    ),
    "batchnorm_l2": rows(
        Dense(n_out=5),
        BatchNormalization(),
        updater=Sgd(learning_rate=0.05),
        l2=0.1,
    ),
    "batchnorm_locked": rows(
        Dense(n_out=5),
        BatchNormalization(lock_gamma_beta=True),
        updater=ADAM,
    ),
    "batchnorm_gradnorm": rows(
        Dense(n_out=5),
        BatchNormalization(),
        updater=Sgd(learning_rate=0.05),
        gradient_normalization="clip_l2_per_layer",
        gradient_normalization_threshold=0.05,
    ),
    "layernorm": rows(Dense(n_out=5, has_layer_norm=True), updater=ADAM, l2=0.05),
    "frozen": rows(Frozen(layer=Dense(n_out=5)), Dense(n_out=4), updater=ADAM, l2=0.05),
    "frozen_with_backprop": rows(
        Dense(n_out=5), FrozenWithBackprop(layer=Dense(n_out=5)), updater=ADAM
    ),
    "centerloss": sequence(
        FeedForward(size=4),
        [Dense(n_out=4), CenterLossOutput(n_out=3, alpha=0.1, lambda_=0.05)],
        updater=ADAM,
    ),
    "cnn_adam": images(
        Convolution2D(n_out=3, kernel_size=3), Subsampling(), updater=ADAM, l2=0.01
    ),
    "conv_bias_updater": images(
        Convolution2D(n_out=3, kernel_size=3),
        updater=ADAM,
        bias_updater=Nesterovs(learning_rate=0.1, momentum=0.1),
    ),
    "conv_gradnorm_paramtype": images(
        Convolution2D(n_out=3, kernel_size=3),
        updater=SGD,
        gradient_normalization="renormalize_l2_per_param_type",
    ),
    "lstm": lstm(updater=ADAM, l2=0.01),
    "lstm_masks": lstm(updater=ADAM),
    "graph_two_io": graph_two_io(),
    "float_adam": mlp(updater=ADAM, dtype="float32"),
    "float_nesterovs_l2": mlp(updater=MOMENTUM, l2=0.01, dtype="float32"),
    "float_batchnorm_cnn": images(
        Convolution2D(n_out=3, kernel_size=3, activation="identity"),
        BatchNormalization(),
        Activation(activation="relu"),
        updater=ADAM,
        dtype="float32",
    ),
}

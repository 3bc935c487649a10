"""Networks of feed-forward layers, as the generator of the golden files built them."""

import daskdl as dl
from daskdl.nn.conf.input_type import Convolutional, FeedForward

ROWS = FeedForward(size=4)
IMAGES = Convolutional(height=6, width=7, channels=2)


def sequence(*layers, input=ROWS, **options):
    options = {"updater": {"type": "adam", "learning_rate": 0.01}, **options}
    return dl.MultiLayerConfiguration(
        input=input, layers=layers, activation="tanh", **options
    )


def out(**options):
    return dl.Output(n_out=3, activation="softmax", **options)


def rnn_out():
    return dl.RnnOutput(n_out=2, activation="softmax")


def conv(**options):
    return dl.Convolution2D(n_out=3, kernel_size=3, **options)


def norm(**options):
    return dl.BatchNormalization(**options)


def center_loss(**options):
    return dl.CenterLossOutput(
        n_out=3, activation="softmax", alpha=0.1, lambda_=0.05, **options
    )


def vae(distribution, **options):
    sizes = {"encoder_layer_sizes": (6,), "decoder_layer_sizes": (4,)}
    return dl.VariationalAutoencoder(
        n_out=3, reconstruction_distribution=distribution, **{**sizes, **options}
    )


dense = dl.Dense

MODELS = {
    "dense_output": sequence(dense(n_out=5, activation="relu"), out()),
    "dense_nobias": sequence(dense(n_out=5, has_bias=False), out(has_bias=False)),
    "dense_layernorm": sequence(
        dense(n_out=5, has_layer_norm=True, gain_init=1.5),
        dense(n_out=4, has_layer_norm=True, has_bias=False),
        out(),
    ),
    "dense_output_example_mask": sequence(dense(n_out=5), out()),
    "dense_xent_output_mask": sequence(
        dense(n_out=5), dl.Output(n_out=3, loss="xent", activation="sigmoid")
    ),
    "output_mse_identity": sequence(
        dense(n_out=5),
        dl.Output(n_out=2, loss="mse", activation="identity"),
        l2=0.01,
        l1=0.005,
    ),
    "output_weighted_loss": sequence(
        dense(n_out=5), out(loss={"type": "mcxent", "weights": [0.5, 1.0, 2.0]})
    ),
    "losslayer": sequence(dense(n_out=3), dl.LossLayer(activation="softmax")),
    "losslayer_mse": sequence(
        dense(n_out=3), dl.LossLayer(loss="mse", activation="sigmoid")
    ),
    "centerloss": sequence(dense(n_out=4), center_loss()),
    "centerloss_gradcheck": sequence(dense(n_out=4), center_loss(gradient_check=True)),
    "embedding": sequence(
        dl.Embedding(n_in=7, n_out=4, has_bias=True, activation="tanh"),
        out(),
        input=FeedForward(size=1),
    ),
    "embedding_nobias": sequence(
        dl.Embedding(n_in=7, n_out=4), out(), input=FeedForward(size=1)
    ),
    "embedding_sequence": sequence(
        dl.EmbeddingSequence(n_in=7, n_out=4, has_bias=True, activation="tanh"),
        rnn_out(),
        input=FeedForward(size=5),
    ),
    "embedding_sequence_pool_mask": sequence(
        dl.EmbeddingSequence(n_in=7, n_out=4),
        dl.GlobalPooling(pooling_type="avg"),
        out(),
        input=FeedForward(size=None),
    ),
    "embedding_sequence_nwc": sequence(
        dl.EmbeddingSequence(n_in=7, n_out=4, output_format="NWC"),
        dl.LSTM(n_out=3, activation="tanh"),
        rnn_out(),
        input=FeedForward(size=5),
    ),
    "prelu": sequence(
        dense(n_out=5, activation="identity"), dl.PReLU(input_shape=5), out()
    ),
    "prelu_shared": sequence(
        conv(activation="identity"),
        dl.PReLU(input_shape=(3, 4, 5), shared_axes=(2, 3)),
        out(),
        input=IMAGES,
    ),
    "prelu_4d": sequence(
        dl.Convolution2D(n_out=2, kernel_size=3, activation="identity"),
        dl.PReLU(),
        out(),
        input=IMAGES,
    ),
    "elementwise_mult": sequence(
        dense(n_out=5),
        dl.ElementWiseMultiplication(activation="sigmoid"),
        out(),
    ),
    "repeat_vector": sequence(dense(n_out=4), dl.RepeatVector(n=5), rnn_out()),
    "autoencoder": sequence(
        dl.AutoEncoder(n_out=5, activation="sigmoid", corruption_level=0), out()
    ),
    "vae": sequence(
        vae(
            {"type": "gaussian", "activation": "identity"},
            encoder_layer_sizes=(6, 5),
            decoder_layer_sizes=(4, 6),
            activation="softsign",
            pzx_activation="tanh",
        ),
        out(),
    ),
    "vae_bernoulli": sequence(vae({"type": "bernoulli"}, num_samples=2), out()),
    "vae_composite": sequence(
        vae(
            {
                "type": "composite",
                "sizes": [2, 2],
                "distributions": [
                    {"type": "exponential", "activation": "tanh"},
                    {"type": "gaussian", "activation": "tanh"},
                ],
            }
        ),
        out(),
    ),
    "vae_losswrapper": sequence(vae({"type": "loss_wrapper", "loss": "mse"}), out()),
    "frozen": sequence(dl.Frozen(layer=dense(n_out=5)), dense(n_out=4), out()),
    "frozen_with_backprop": sequence(
        dense(n_out=5), dl.FrozenWithBackprop(layer=dense(n_out=5)), out()
    ),
    "two_updaters": sequence(
        dense(
            n_out=5,
            updater={"type": "nesterovs", "learning_rate": 0.05, "momentum": 0.8},
        ),
        dense(
            n_out=4,
            updater={"type": "rms_prop", "learning_rate": 0.01},
            bias_updater={"type": "sgd", "learning_rate": 0.1},
        ),
        out(),
    ),
    "bias_updater_global": sequence(
        dense(n_out=5), out(), bias_updater={"type": "ada_grad", "learning_rate": 0.05}
    ),
    "amsgrad_bn_blocks": sequence(
        dense(n_out=5), norm(), dense(n_out=4), out(), updater="ams_grad"
    ),
    "sgd_no_state": sequence(
        dense(n_out=5), out(), updater={"type": "sgd", "learning_rate": 0.1}
    ),
    "seed_negative_names": sequence(
        dense(n_out=5, name="hidden layer/1"), out(name="out"), seed=-9876543210
    ),
    "no_params": sequence(
        dl.LossLayer(loss="mse", activation="tanh"), input=FeedForward(size=3)
    ),
    "activation_layer": sequence(
        dense(n_out=5, activation="identity"),
        dl.Activation(activation="elu"),
        dl.Activation(activation={"type": "leakyrelu", "alpha": 0.2}),
        out(),
    ),
    "batchnorm_dense": sequence(
        dense(n_out=5, activation="identity"),
        norm(),
        dl.Activation(activation="relu"),
        out(),
    ),
    "batchnorm_var": sequence(
        dense(n_out=5, activation="identity"),
        norm(use_log_std=False, decay=0.8, eps=1e-3),
        out(),
    ),
    "batchnorm_locked": sequence(
        dense(n_out=5), norm(lock_gamma_beta=True, gamma=1.5, beta=0.25), out()
    ),
    "batchnorm_cnn": sequence(conv(), norm(), out(), input=IMAGES),
    "batchnorm_cnn_nhwc": sequence(
        conv(), norm(), out(), input=IMAGES.replaced(data_format="NHWC")
    ),
    "batchnorm_activation": sequence(dense(n_out=5), norm(), out()),
    **{
        f"dropout_{name}": sequence(
            dense(n_out=5, dropout=dropout), dl.Dropout(dropout=dropout), out()
        )
        for name, dropout in {
            "dropout": {"type": "dropout", "keep_probability": 0.6},
            "alphadropout": {"type": "alpha_dropout", "keep_probability": 0.7},
            "gaussiandropout": {"type": "gaussian_dropout", "rate": 0.4},
            "gaussiannoise": {"type": "gaussian_noise", "stddev": 0.3},
            "dropout_schedule": {
                "type": "dropout",
                "keep_probability": {"type": "map", "values": {0: 0.9, 5: 0.5}},
            },
        }.items()
    },
    "dropout_spatial": sequence(
        conv(),
        dl.Dropout(dropout={"type": "spatial_dropout", "keep_probability": 0.5}),
        out(),
        input=IMAGES,
    ),
    "weightnoise_dropconnect": sequence(
        dense(n_out=5),
        out(),
        weight_noise={"type": "drop_connect", "weight_retain_probability": 0.7},
    ),
    "weightnoise_noise": sequence(
        dense(n_out=5),
        out(),
        weight_noise={
            "type": "weight_noise",
            "distribution": {"type": "normal", "std": 0.1},
        },
    ),
}


def trained(*layers, input=ROWS, **options):
    """Return a network of the replays, whose learning rate is 0.02."""
    updater = {"type": "adam", "learning_rate": 0.02}
    return sequence(*layers, input=input, **{"updater": updater, **options})


SMALL_IMAGES = Convolutional(height=6, width=6, channels=2)
SGD = {"type": "sgd", "learning_rate": 0.05}

REPLAYS = {
    "batchnorm": trained(
        dense(n_out=5),
        norm(),
        dense(n_out=4),
        norm(use_log_std=False, decay=0.7),
        out(),
    ),
    "batchnorm_l2": trained(dense(n_out=5), norm(), out(), updater=SGD, l2=0.1),
    "batchnorm_locked": trained(dense(n_out=5), norm(lock_gamma_beta=True), out()),
    "batchnorm_gradnorm": trained(
        dense(n_out=5),
        norm(),
        out(),
        updater=SGD,
        gradient_normalization="clip_l2_per_layer",
        gradient_normalization_threshold=0.05,
    ),
    "layernorm": trained(dense(n_out=5, has_layer_norm=True), out(), l2=0.05),
    "centerloss": trained(dense(n_out=4), center_loss()),
    "frozen": trained(dl.Frozen(layer=dense(n_out=5)), dense(n_out=4), out(), l2=0.05),
    "frozen_with_backprop": trained(
        dense(n_out=5), dl.FrozenWithBackprop(layer=dense(n_out=5)), out()
    ),
    "float_batchnorm_cnn": trained(
        conv(activation="identity"),
        norm(),
        dl.Activation(activation="relu"),
        out(),
        input=SMALL_IMAGES,
    ),
}

PRETRAINED = {
    f"pretrain_autoencoder_{name}": sequence(
        dl.AutoEncoder(n_out=3, activation="sigmoid", corruption_level=0, loss=loss),
        out(),
        updater={"type": "sgd", "learning_rate": 0.1},
    )
    for name, loss in {
        "mse": "mse",
        "reconstruction_crossentropy": "kl_divergence",
    }.items()
}

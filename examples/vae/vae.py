"""Pretrain a variational autoencoder on the digits, in one process and on two workers.

    python examples/vae/vae.py

prints how far off what it restores of the test digits is, epoch by epoch. The Parquet
that Spark wrote has labels; nothing here reads them.
"""

from pathlib import Path

from distributed import Client, LocalCluster

from daskdl import (
    Adam,
    DaskMultiLayer,
    EarlyStopping,
    FeedForward,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    NormalizerMinMaxScaler,
    Output,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
    VAEReconErrorScoreCalculator,
    VariationalAutoencoder,
)

DATA = Path(__file__).parents[1] / "digits" / "data"
MASTERS = {
    "gradient sharing": SharedTrainingMaster(),
    "averaging": ParameterAveragingTrainingMaster(averaging_frequency=5),
}


def main(epochs: int = 15, workers: int = 2) -> dict[str, dict[int, float]]:
    """Return the error by epoch, of one process and of each training master."""
    errors = {"one process": pretrained(digits_network(), epochs)}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        for name, master in MASTERS.items():
            front = DaskMultiLayer(client, digits_network(), master)
            errors[name] = pretrained(front, epochs)
    return errors


def digits_network() -> MultiLayerNetwork:
    encoder = VariationalAutoencoder(
        n_out=16,
        encoder_layer_sizes=[64],
        decoder_layer_sizes=[64],
        reconstruction_distribution="bernoulli",
    )
    conf = MultiLayerConfiguration(
        seed=12345,
        updater=Adam(learning_rate=0.003),
        weight_init="xavier",
        activation="tanh",
        input=FeedForward(size=64),
        layers=[encoder, Output(n_out=10, loss="mcxent")],
    )
    return MultiLayerNetwork(conf)


def pretrained(
    network: MultiLayerNetwork | DaskMultiLayer, epochs: int
) -> dict[int, float]:
    """Pretrain a network, and return the error that it has after each epoch."""
    error = VAEReconErrorScoreCalculator("MSE", str(DATA / "test"), features="features")
    network.pretrain(
        str(DATA / "train"),
        features="features",
        epochs=epochs,
        batch_size=32,
        shuffle=True,
        normalizer=NormalizerMinMaxScaler(),
        listeners=EarlyStopping(error),
    )
    each = network.last_fit.epochs
    return {epoch.epoch: epoch.values["validation_mse"] for epoch in each}


if __name__ == "__main__":
    for name, by_epoch in main().items():
        print(name, *(f"{error:.4f}" for error in by_epoch.values()))

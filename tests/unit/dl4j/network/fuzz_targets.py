"""What reads models and configurations of strangers, for Hypothesis and for Atheris.

``python -m tests.unit.dl4j.network.fuzz_targets [folder of seeds]`` fuzzes with
Atheris. What it finds becomes a test of its own.
"""

import json
import sys
import warnings
import zipfile
from io import BytesIO
from pathlib import Path

import fsspec

import daskdl as dl
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.text import configuration_from_text, configuration_to_text
from daskdl.errors import FormatError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent

URL = "memory://f"
OLD = Path(__file__).parents[3] / "data" / "dl4j_legacy"


def perceptron():
    rate = {"type": "step", "initial_value": 0.1, "decay_rate": 0.5, "step": 10}
    loss = {"type": "mcxent", "weights": [1.0, 2.0, 3.0]}
    return dl.MultiLayerConfiguration(
        input=FeedForward(size=4),
        layers=[
            dl.Frozen(layer=dl.Dense(n_out=5, activation={"type": "elu", "alpha": 2})),
            dl.BatchNormalization(),
            dl.Dense(
                n_out=4,
                dropout={"type": "gaussian_noise", "stddev": 0.1},
                constraints=[{"type": "max_norm", "max_norm": 1, "dimensions": [1]}],
                weight_noise={
                    "type": "weight_noise",
                    "distribution": {"type": "normal", "mean": 0, "std": 1},
                },
            ),
            dl.AutoEncoder(n_out=3),
            dl.VariationalAutoencoder(
                n_out=3,
                encoder_layer_sizes=(4,),
                decoder_layer_sizes=(4,),
                reconstruction_distribution={
                    "type": "composite",
                    "sizes": [1, 2],
                    "distributions": [{"type": "gaussian"}, {"type": "bernoulli"}],
                },
            ),
            dl.Output(n_out=3, loss=loss, l1=0.1, weight_decay=0.2),
        ],
        updater={"type": "adam", "learning_rate": {**rate, "schedule_type": "epoch"}},
    )


def images():
    return dl.MultiLayerConfiguration(
        input=Convolutional(height=5, width=6, channels=2, data_format="NHWC"),
        layers=[
            dl.Convolution2D(n_out=3, kernel_size=2, dilation=(1, 2)),
            dl.Subsampling(kernel_size=2, stride=1, pooling_type="pnorm", pnorm=2),
            dl.LocallyConnected2D(n_out=2, kernel_size=2),
            dl.Upsampling2D(size=2),
            dl.Dense(n_out=3),
            dl.Output(n_out=2),
        ],
        updater={"type": "nesterovs", "momentum": 0.5},
    )


def graph():
    return dl.ComputationGraphConfiguration(
        inputs={"a": Recurrent(size=3), "b": FeedForward(size=2)},
        vertices={
            "lstm": dl.Bidirectional(layer=dl.LSTM(n_out=3), inputs="a"),
            "last": dl.LastTimeStepVertex(inputs="lstm", mask_input="a"),
            "dense": dl.Dense(n_out=6, inputs="b"),
            "sum": dl.ElementWiseVertex(op="add", inputs=("last", "dense")),
            "part": dl.SubsetVertex(from_=0, to=2, inputs="sum"),
            "heads": dl.SelfAttention(
                n_out=4, n_heads=2, project_input=True, inputs="lstm"
            ),
            "pool": dl.GlobalPooling(pooling_type="avg", inputs="heads"),
            "out": dl.Output(n_out=2, inputs=("part", "pool")),
        },
        outputs="out",
    )


def networks():
    """Return small networks, each with parameters and the state of its updaters."""
    return [
        dl.MultiLayerNetwork(perceptron()),
        dl.MultiLayerNetwork(images()),
        dl.ComputationGraph(graph()),
    ]


def zipped(entries):
    """Return a zip file of entries as bytes."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def entries(raw):
    """Return the entries of a zip file, by name."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def saved(network):
    """Return the bytes of a model that DL4J reads."""
    model_zip.save(network, URL, overwrite=True)
    return fsspec.filesystem("memory").cat(URL)


def seeds():
    """Return whole files for each reader."""
    made = networks()
    old = [(OLD / name).read_bytes() for name in sorted(_few_old())]
    return {
        "zip": [*(saved(network) for network in made), *old],
        "json": [
            *(configuration_to_text(network).encode() for network in made),
            *(entries(raw)["configuration.json"] for raw in old),
        ],
        "yaml": [configuration_to_text(network, "yaml").encode() for network in made],
    }


def _few_old():
    prefix = "ModelSerializer_Regression"
    return {f"050_{prefix}_MLP_1.zip", f"080_{prefix}_CG_LSTM_1.zip"}


def trees():
    """Return the JSON objects among the seeds."""
    return [json.loads(text) for text in seeds()["json"]]


def _read_text(raw):
    return configuration_from_text(raw.decode(errors="replace"), "f")


def _read_zip(raw):
    fsspec.filesystem("memory").pipe(URL, raw)
    return model_zip.load(URL)


READERS = {"json": _read_text, "yaml": _read_text, "zip": _read_zip}


def read_or_refuse(reader, raw):
    """Return what was read, or None after the error that says what is wrong and where.

    Any other error is a finding.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return READERS[reader](raw)
        except FormatError as error:
            message = str(error)
    assert message.startswith(("f", URL)), message
    assert len(message) < 3000, message
    return None


def target(raw):
    """Hand all but the first byte to the reader that the first byte chooses."""
    if raw:
        read_or_refuse(sorted(READERS)[raw[0] % len(READERS)], raw[1:])


if __name__ == "__main__":
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()

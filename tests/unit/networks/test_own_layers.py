"""Layers of one's own: registered, built, trained, kept, and wrong ones refused."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import FormatError, OptionError, ShapeError
from daskdl.nn.conf.kinds import LAYER_KINDS
from daskdl.nn.conf.schema import json_schema_of
from daskdl.testing import check_gradients
from tests.unit.networks.own_layer import Scaled

ROWS = dl.FeedForward(size=4)


def network(*layers, **options):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=ROWS, layers=[*layers, dl.Output(n_out=2)], updater="adam", **options
        )
    )


def batch(rng):
    return dl.DataSet(rng.standard_normal((6, 4)), np.eye(2)[rng.integers(0, 2, 6)])


@pytest.fixture
def forget():
    """Take what a test registers out again."""
    before = dict(LAYER_KINDS._models)
    yield
    for name in set(LAYER_KINDS._models) - set(before):
        del LAYER_KINDS._models[name]


@pytest.mark.parametrize(
    "layer", [Scaled(), "scaled_by_test", {"type": "ScaledByTest", "factor": 2}]
)
def test_it_is_known_by_class_and_by_name(layer):
    assert type(network(layer).conf.layers[0]) is Scaled


def test_options_are_checked():
    with pytest.raises(OptionError, match=r"Scaled\.factr: .*Did you mean 'factor'"):
        Scaled(factr=2)


def test_its_parameters_begin_as_their_role_says():
    assert network(Scaled()).param_table()["0_scale"].tolist() == [1, 1, 1, 1]


def test_it_learns(rng):
    trained = network(Scaled())
    trained.fit(batch(rng))
    assert (trained.param_table()["0_scale"] != 1).all()


@pytest.mark.parametrize(
    "input_type",
    [ROWS, dl.Recurrent(size=3), dl.Convolutional(height=4, width=3, channels=2)],
)
def test_its_gradients(input_type):
    assert check_gradients(Scaled(factor=0.5), input_type) < 1e-6


def test_a_wrong_gradient_is_found(forget):
    @dl.layer("wrong_by_test")
    class Wrong(dl.LayerDefinition):
        def forward(self, run, x):
            return 3 * x, lambda grad: 2 * grad

    with pytest.raises(AssertionError, match=r"Wrong: .* of the input\[\d, \d\]: "):
        check_gradients(Wrong(), ROWS)


def test_it_works_in_a_wrapper(rng):
    wrapped = network(dl.Frozen(layer=Scaled()))
    wrapped.fit(batch(rng))
    assert wrapped.param_table()["0_scale"].tolist() == [1, 1, 1, 1]


def test_a_checkpoint_brings_it_back(tmp_path, rng):
    trained = network(Scaled(factor=2)).fit(batch(rng))
    path = str(tmp_path / "own.safetensors")
    trained.save(path)
    x = batch(rng).features
    np.testing.assert_array_equal(dl.load(path).output(x), trained.output(x))


def test_dl4j_has_no_word_for_it(tmp_path):
    with pytest.raises(FormatError, match="scaled_by_test"):
        network(Scaled()).save(str(tmp_path / "own.zip"))


def test_the_schema_has_it():
    schema = json_schema_of(dl.MultiLayerConfiguration)
    assert "Scaled" in "".join(schema["$defs"])


def test_it_is_drawn():
    assert "Scaled" in dl.network_svg(network(Scaled()).conf)


def test_a_name_of_another_kind_is_refused():
    with pytest.raises(OptionError, match=r"layer 'dense': the name must not be taken"):

        @dl.layer("dense")
        class Mine(dl.LayerDefinition):
            pass


def test_what_is_no_definition_is_refused():
    with pytest.raises(OptionError, match=r"derives from daskdl\.LayerDefinition"):
        dl.layer("plain_by_test")(int)


def test_the_same_class_may_be_defined_again(forget):
    for _ in range(2):

        @dl.layer("again_by_test")
        class Again(dl.LayerDefinition):
            def forward(self, run, x):
                return x, lambda grad: grad

    assert type(network("again_by_test").conf.layers[0]) is Again


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda x: x[:, :2],
            r"must return an output of shape \(batch, 4\), got \(6, 2\)",
        ),
        (lambda x: x.astype("f8"), "of dtype float32, got float64"),
        (lambda x: None, "got NoneType"),
    ],
    ids=["shape", "dtype", "nothing"],
)
def test_what_comes_out_is_checked(forget, rng, made, message):
    @dl.layer("odd_by_test")
    class Odd(dl.LayerDefinition):
        def forward(self, run, x):
            return made(x), lambda grad: grad

    with pytest.raises(ShapeError, match=message):
        network(Odd()).fit(batch(rng))


def test_an_unknown_kind_says_how_it_becomes_known():
    with pytest.raises(OptionError, match="once the module that registers it"):
        network("unheard_of")

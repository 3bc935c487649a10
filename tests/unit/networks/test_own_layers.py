"""Layers and updaters of one's own: registered, trained, kept; wrong ones refused."""

import subprocess
import sys

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import DaskdlError, FormatError, OptionError, ShapeError
from daskdl.nn.conf.schema import json_schema_of
from daskdl.nn.registration import registered
from daskdl.testing import check_gradients
from daskdl.training.registered_kinds import packed_kinds
from tests.unit.networks.own_layer import Scaled

ROWS = dl.FeedForward(size=4)


def network(*layers, updater="adam"):
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=ROWS, layers=[*layers, dl.Output(n_out=2)], updater=updater
        )
    )


def batch(rng):
    return dl.DataSet(rng.standard_normal((6, 4)), np.eye(2)[rng.integers(0, 2, 6)])


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


def test_a_wrong_gradient_is_found(forget_kinds):
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


@dl.activation("sine_by_test")
class Sine(dl.ActivationDefinition):
    """The sine.

    Parameters
    ----------
    factor : float
        Of the argument.
    """

    factor: float = 1.0

    def forward(self, x):
        return np.sin(self.factor * x)

    def derivative(self, x):
        return self.factor * np.cos(self.factor * x)


@pytest.mark.parametrize(
    ("layer", "input_type"),
    [
        (dl.Dense(4, activation=Sine(factor=2)), ROWS),
        (dl.LSTM(4, activation="sine_by_test"), dl.Recurrent(3)),
        (dl.Activation({"type": "sine_by_test", "factor": 0.5}), dl.Recurrent(3)),
    ],
    ids=["dense", "lstm", "activation"],
)
def test_gradients_through_an_activation_of_ones_own(layer, input_type):
    assert check_gradients(layer, input_type) < 1e-6


def test_its_options_are_kept(tmp_path):
    trained = network(dl.Dense(3, activation=Sine(factor=2)))
    path = str(tmp_path / "own.safetensors")
    trained.save(path)
    assert dl.load(path).conf == trained.conf


def test_a_misspelt_one_is_refused_like_any_other():
    with pytest.raises(OptionError, match="Did you mean 'sigmoid'"):
        dl.Dense(3, activation="sigmod")


def test_an_activation_of_the_package_keeps_its_name():
    with pytest.raises(OptionError, match="activation 'relu': the name must not be"):

        @dl.activation("relu")
        class Mine(dl.ActivationDefinition):
            pass


@pytest.mark.parametrize("ending", ["zip", "onnx"])
def test_other_formats_have_no_word_for_it(tmp_path, ending):
    pytest.importorskip("onnx")
    trained = network(dl.Dense(3, activation="sine_by_test"))
    with pytest.raises(FormatError, match=r"activation.* 'sine_by_test'"):
        trained.save(str(tmp_path / f"own.{ending}"))


@dl.updater("signs_by_test")
class Signs(dl.UpdaterDefinition):
    """Steps of one size, along the signs of a moving mean.

    Parameters
    ----------
    share : float
        Of the mean that goes on.
    """

    state = ("m",)
    share: float = 0.9

    def update(self, gradient, state, step):
        state["m"][...] = self.share * state["m"] + (1 - self.share) * gradient
        return step.learning_rate * np.sign(state["m"])


def test_an_updater_of_ones_own_brings_parameters_forward(rng):
    trained = network(dl.Dense(3), updater=Signs(0.5))
    before = trained.params.copy()
    trained.fit(batch(rng))
    steps = np.abs(trained.params - before)
    assert steps[steps > 0] == pytest.approx(0.5)
    assert trained.updater_state.any()


def test_its_rate_may_be_a_schedule(rng):
    rate = {"type": "step", "initial_value": 0.5, "decay_rate": 0.1, "step": 1}
    trained = network(updater={"type": "signs_by_test", "learning_rate": rate})
    trained.fit(batch(rng))
    before = trained.params.copy()
    trained.fit(batch(rng))
    assert np.abs(trained.params - before).max() == pytest.approx(0.05)


def test_its_state_is_kept(tmp_path, rng):
    trained = network(updater=Signs(0.5)).fit(batch(rng))
    path = str(tmp_path / "own.safetensors")
    trained.save(path)
    np.testing.assert_array_equal(dl.load(path).updater_state, trained.updater_state)


def test_an_update_of_another_shape_is_refused(forget_kinds, rng):
    @dl.updater("short_by_test")
    class Short(dl.UpdaterDefinition):
        def update(self, gradient, state, step):
            return gradient[:1]

    with pytest.raises(ShapeError, match=r"Short: update must return an array of sha"):
        network(updater=Short()).fit(batch(rng))


def test_a_network_takes_along_the_kinds_that_it_is_made_of(forget_kinds, tmp_path):
    """Another process can use them, also those that nobody has used here yet."""

    @dl.layer("unused_by_test")
    class Unused(dl.LayerDefinition):
        def forward(self, run, x):
            return x, lambda grad: grad

    made_of = {"layers": [{"type": "unused_by_test"}], "updater": {"type": "adam"}}
    file = tmp_path / "kinds"
    file.write_bytes(packed_kinds(made_of))
    told = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout == "Unused() [('layer', 'unused_by_test')]\n", told.stderr


OTHER_PROCESS = """
import sys
import daskdl
from daskdl.nn.registration import registered
from daskdl.training.registered_kinds import unpack_kinds

unpack_kinds(open(sys.argv[1], "rb").read())
conf = daskdl.MultiLayerConfiguration(
    input=daskdl.FeedForward(2), layers=["unused_by_test", daskdl.Output(2)]
)
print(repr(conf.layers[0]), list(registered()))
"""


def test_a_class_in_a_function_leaves_the_variables_of_that_behind(forget_kinds):
    """Such as a client, which cannot travel, and arrays, which need not."""
    squares, large = (i * i for i in range(3)), np.zeros(1_000_000)

    @dl.layer("surrounded_by_test")
    class Surrounded(dl.LayerDefinition):
        def forward(self, run, x):
            return x, lambda grad: grad

    packed = packed_kinds({"layers": [{"type": "surrounded_by_test"}]})
    assert len(packed) < 200_000
    assert next(squares) == large.sum() == 0


def test_a_spawned_process_has_the_kinds_of_its_script_already(forget_kinds):
    """It imports the script as ``__mp_main__``, and is sent the class of __main__."""
    for module in ("__mp_main__", "__main__"):

        @dl.layer("spawned_by_test")
        class Spawned(dl.LayerDefinition):
            __module__ = module

    assert registered()["layer", "spawned_by_test"].__module__ == "__main__"


def test_a_network_without_such_kinds_takes_none_along():
    assert packed_kinds(network(dl.Dense(3)).conf.to_dict()) == b""


def test_a_name_of_another_kind_is_refused():
    with pytest.raises(OptionError, match=r"layer 'dense': the name must not be taken"):

        @dl.layer("dense")
        class Mine(dl.LayerDefinition):
            pass


def test_the_name_of_a_class_gives_way_to_a_name(forget_kinds):
    @dl.activation("sine")
    class Other(dl.ActivationDefinition):
        pass

    assert type(dl.Dense(2, activation="sine").activation) is Other
    assert type(dl.Dense(2, activation="sine_by_test").activation) is Sine


def test_what_is_no_definition_is_refused():
    with pytest.raises(OptionError, match=r"derives from daskdl\.LayerDefinition"):
        dl.layer("plain_by_test")(int)


def test_the_same_class_may_be_defined_again(forget_kinds):
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
def test_what_comes_out_is_checked(forget_kinds, rng, made, message):
    @dl.layer("odd_by_test")
    class Odd(dl.LayerDefinition):
        def forward(self, run, x):
            return made(x), lambda grad: grad

    with pytest.raises(ShapeError, match=message):
        network(Odd()).fit(batch(rng))


def test_an_unknown_kind_says_how_it_becomes_known():
    with pytest.raises(OptionError, match="once the module that registers it"):
        network("unheard_of")


def test_it_may_end_a_mask(forget_kinds, rng):
    @dl.layer("ends_mask_by_test")
    class EndsMask(dl.LayerDefinition):
        def forward(self, run, x):
            self.seen.append((run.mask is not None, run.input_type.size, run.who))
            return x, lambda grad: grad

        def feed_forward_mask(self, run, mask):
            return None

    EndsMask.seen = []
    layers = [EndsMask(), dl.LSTM(3), dl.RnnOutput(2)]
    conf = dl.MultiLayerConfiguration(input=dl.Recurrent(size=2), layers=layers)
    x, mask = rng.normal(size=(4, 2, 5)), np.ones((4, 5))
    mask[:, 3:] = 0
    net = dl.MultiLayerNetwork(conf)
    masked = net.output(x, features_mask=mask)
    np.testing.assert_array_equal(masked, net.output(x))
    assert EndsMask.seen[0] == (True, 2, "EndsMask 'layer0'")


def test_it_may_learn_from_features_alone(forget_kinds, rng):
    @dl.layer("mean_by_test")
    class Mean(dl.LayerDefinition):
        def parameters(self, input_type):
            return (dl.Parameter("b", input_type.shape, "bias"),)

        def forward(self, run, x):
            return x + run.params["b"], lambda grad: grad

        def pretrain(self, run, x, rng):
            away = run.params["b"] - x
            run.gradients["b"][...] = away.sum(axis=0)
            return float((away**2).sum()) / 2

    x = rng.standard_normal((6, 4)).astype(np.float32)
    net = network(Mean(), updater=dl.Sgd(learning_rate=1.0))
    net.pretrain(x)
    np.testing.assert_allclose(net.param_table()["0_b"], x.mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            lambda: (dl.Parameter("g", 4, "gain"),),
            r"shape must be a tuple of int, got 4",
        ),
        (lambda: (dl.Parameter("g", (4,), "scale"),), "role must be one of"),
        (lambda: dl.Parameter("g", (4,)), "parameters that are a tuple of Parameter"),
        (lambda: (dl.Parameter("g", (4,)),) * 2, "parameters of different names"),
    ],
)
def test_what_it_learns_is_checked(forget_kinds, parameters, message):
    @dl.layer("misdescribed_by_test")
    class Misdescribed(dl.LayerDefinition):
        def parameters(self, input_type):
            return parameters()

        def forward(self, run, x):
            return x, lambda grad: grad

    conf = dl.MultiLayerConfiguration
    with pytest.raises(OptionError, match=message):
        conf(input=dl.FeedForward(4), layers=[Misdescribed(), dl.Output(2)]).nodes()


def test_an_output_without_a_way_back_is_refused(forget_kinds, rng):
    @dl.layer("one_way_by_test")
    class OneWay(dl.LayerDefinition):
        def forward(self, run, x):
            return x

    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(4), layers=[OneWay(), dl.Output(2)]
    )
    with pytest.raises(ShapeError, match="forward must return the output and the func"):
        dl.MultiLayerNetwork(conf).output(rng.normal(size=(3, 4)))


def _writing_forward(x):
    x *= 2
    return x, lambda grad: 2 * grad


def _writing_backward(x):
    def backward(grad):
        grad *= 2
        return grad

    return 2 * x, backward


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (_writing_forward, "'layer': forward must not write to x, which others read"),
        (_writing_backward, "'layer': backward must not write to grad, which others"),
        (lambda x: (x, None), "'layer': forward must return the output and the func"),
    ],
    ids=["input", "gradient", "no way back"],
)
def test_what_would_harm_others_is_refused(forget_kinds, made, message):
    @dl.layer("harmful_by_test")
    class Harmful(dl.LayerDefinition):
        def forward(self, run, x):
            return made(x)

    with pytest.raises(DaskdlError, match=message):
        check_gradients(Harmful(), dl.FeedForward(3))


def test_an_output_type_that_is_none_is_refused(forget_kinds):
    @dl.layer("shapeless_by_test")
    class Shapeless(dl.LayerDefinition):
        def output_type(self, input_type):
            return (3,)

        def forward(self, run, x):
            return x, lambda grad: grad

    with pytest.raises(OptionError, match=r"layers\[0\]: must have an output_type"):
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(4), layers=[Shapeless(), dl.Output(2)]
        )


@pytest.mark.parametrize("names", ["mean", ("m", "m"), ["m"]])
def test_the_state_of_an_updater_has_different_names(forget_kinds, names):
    with pytest.raises(OptionError, match="'odd_by_test': state must be a tuple of"):

        @dl.updater("odd_by_test")
        class Odd(dl.UpdaterDefinition):
            state = names


def test_what_is_frozen_has_no_gradients_to_check():
    for wrapper in (dl.Frozen, dl.FrozenWithBackprop):
        assert check_gradients(wrapper(dl.Dense(3)), dl.FeedForward(4)) < 1e-6


def test_only_layers_have_gradients_to_check():
    with pytest.raises(OptionError, match="check_gradients: layer must be a LayerConf"):
        check_gradients("dense", dl.FeedForward(4))


@pytest.mark.parametrize("layer", [dl.PReLU(weight_init="identity"), dl.Dense(3)])
def test_an_identity_that_cannot_be_names_the_layer(layer):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(4), layers=[layer, dl.Output(2)], weight_init="identity"
    )
    with pytest.raises(OptionError, match=r"'layer0', W: weight_init: 'identity' must"):
        dl.MultiLayerNetwork(conf)


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[:, ::-1], lambda x: x + 0])
def test_what_it_hands_on_goes_through_compiled_layers(forget_kinds, rng, part):
    """Also a view of what it was given, which it may not write to itself."""

    @dl.layer("passing_by_test")
    class Passing(dl.LayerDefinition):
        def forward(self, run, x):
            return part(x), part

    dense = dl.Dense(4, activation="tanh")
    net = network(dense, Passing(), dense, Passing())
    net.fit(batch(rng), epochs=2)
    assert np.isfinite(net.score)


@dl.activation("scribbling_activation_by_test")
class ScribblingActivation(dl.ActivationDefinition):
    """Writes to what it is lent.

    Parameters
    ----------
    method : str
        Which method does.
    """

    method: str = "forward"

    def forward(self, x):
        if self.method == "forward":
            x *= 2
        return np.sin(x)

    def derivative(self, x):
        if self.method == "derivative":
            np.negative(x, out=x)
        return np.cos(x)


@pytest.mark.parametrize("kind", [dl.Dense, dl.LSTM])
@pytest.mark.parametrize("method", ["forward", "derivative"])
def test_an_activation_that_writes_to_its_input_is_refused(rng, method, kind):
    is_series = kind is dl.LSTM
    conf = dl.MultiLayerConfiguration(
        input=dl.Recurrent(4) if is_series else dl.FeedForward(4),
        layers=[
            kind(3, activation=ScribblingActivation(method=method)),
            dl.RnnOutput(2) if is_series else dl.Output(2),
        ],
    )
    series = (5,) if is_series else ()
    data = dl.DataSet(rng.normal(size=(3, 4, *series)), np.ones((3, 2, *series)))
    with pytest.raises(OptionError, match=f"Activation: {method} must not write to x"):
        dl.MultiLayerNetwork(conf).fit(data)


@dl.activation("same_by_test")
class Same(dl.ActivationDefinition):
    """Returns what it is lent."""

    def forward(self, x):
        return x

    def derivative(self, x):
        return x


def test_an_activation_may_return_what_it_is_lent(rng):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(4),
        layers=[dl.Dense(3, activation=Same()), dl.Output(2)],
    )
    net = dl.MultiLayerNetwork(conf).fit(
        dl.DataSet(rng.normal(size=(3, 4)), np.eye(2)[[0, 1, 0]])
    )
    assert np.isfinite(net.params).all()


@dl.layer("scribbling_pretraining_by_test")
class ScribblingPretraining(dl.LayerDefinition):
    """Writes to the features that it is pretrained on."""

    def forward(self, run, x):
        return x, lambda grad: grad

    def pretrain(self, run, x, rng):
        x *= 2
        return 0.0


def test_a_layer_that_writes_to_what_it_is_pretrained_on_is_refused(rng):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(4), layers=[ScribblingPretraining(), dl.Output(2)]
    )
    with pytest.raises(OptionError, match="pretrain must not write to x, which others"):
        dl.MultiLayerNetwork(conf).pretrain(rng.normal(size=(3, 4)))


@dl.updater("overwriting_by_test")
class Overwriting(dl.UpdaterDefinition):
    """Writes to gradient and state, as it may."""

    state = ("m",)

    def update(self, gradient, state, step):
        state["m"] += gradient
        gradient *= step.learning_rate
        return gradient


def test_an_updater_may_write_to_its_gradient_and_state(rng):
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(4), layers=[dl.Output(2)], updater=Overwriting(0.1)
    )
    net = dl.MultiLayerNetwork(conf)
    data = dl.DataSet(rng.normal(size=(3, 4)), np.eye(2)[[0, 1, 0]])
    net.compute_gradients(data)
    expected = net.params - np.float32(0.1) * net.gradients
    np.testing.assert_array_equal(net.fit(data).params, expected)
    assert net.updater_state.any()

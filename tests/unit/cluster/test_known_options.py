"""Every option of DL4J's masters is taken, or refused by name; none is a TypeError."""

import re

import pytest

from daskdl import (
    AdaptiveThresholdAlgorithm,
    DaskMultiLayer,
    FixedThresholdAlgorithm,
    ParameterAveragingTrainingMaster,
    ResidualClippingPostProcessor,
    SharedTrainingMaster,
    TrainingHook,
)
from daskdl.cluster.dl4j_names import (
    AVERAGING,
    INTERFACE,
    NAMES,
    SHARED,
    VOID,
    snake_case,
)
from daskdl.data.room import Room
from daskdl.errors import OptionError
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp

# As a program that comes from DL4J would give them.
VALUES = {
    "averaging_frequency": 5,
    "batch_size_per_worker": 16,
    "collect_training_stats": True,
    "encoding_debug_mode": False,
    "export_directory": "hdfs://nameservice/export",
    "mesh_build_mode": "mesh",
    "rdd_training_approach": "Export",
    "repartition": "Never",
    "residual_post_processor": ResidualClippingPostProcessor(),
    "rng_seed": 12345,
    "save_updater": True,
    "storage_level": "MEMORY_ONLY",
    "threshold_algorithm": AdaptiveThresholdAlgorithm(),
    "training_hooks": [TrainingHook()],
    "updates_threshold": 1e-3,
    "worker_prefetch_num_batches": 2,
    "workers_per_node": 1,
}
MASTERS = {SHARED: SharedTrainingMaster, AVERAGING: ParameterAveragingTrainingMaster}
OPTIONS = [
    (kind, one)
    for kind in MASTERS
    for one in NAMES
    if {*one.of} & {kind, VOID if kind == SHARED else kind}
]
TAKEN = [(kind, one) for kind, one in OPTIONS if one.here]
GONE = [(kind, one) for kind, one in OPTIONS if not one.here]


def both(pairs):
    return [pytest.param(*pair, id=f"{pair[0]}-{pair[1].name}") for pair in pairs]


@pytest.mark.parametrize(("kind", "one"), both(TAKEN))
def test_an_option_that_is_here_is_taken(kind, one):
    MASTERS[kind](**{one.here: VALUES[one.here]})


@pytest.mark.parametrize(("kind", "one"), both(TAKEN))
def test_an_option_in_the_spelling_of_dl4j_is_told_ours(kind, one):
    with pytest.raises(OptionError, match=f"{kind}: {one.here} must be written so"):
        MASTERS[kind](**{one.name: VALUES[one.here]})


@pytest.mark.parametrize("spell", [str, snake_case])
@pytest.mark.parametrize(("kind", "one"), both(GONE))
def test_an_option_that_is_not_is_refused_with_what_takes_its_place(kind, one, spell):
    with pytest.raises(OptionError, match=f"{kind}: options must be its own") as told:
        MASTERS[kind](**{spell(one.name): 1})
    assert one.instead.replace("`", "") in str(told.value)


@pytest.mark.parametrize("kind", MASTERS)
def test_an_option_of_the_other_master_is_said_to_be_that(kind):
    (other,) = {*MASTERS} - {kind}
    name = "averaging_frequency" if kind == SHARED else "threshold_algorithm"
    with pytest.raises(OptionError, match=f"got '{name}', which is one of {other}"):
        MASTERS[kind](**{name: VALUES[name]})


def test_an_option_of_nobody_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match=r"got 'fan_aut'\. Did you mean 'fan_out'"):
        SharedTrainingMaster(fan_aut=3)


def test_options_have_names():
    """DL4J's builder begins with how many examples a data set has."""
    with pytest.raises(OptionError, match="must be called with options by name, got 1"):
        SharedTrainingMaster(32)


@pytest.mark.parametrize("value", [2, 0])
def test_a_worker_process_trains_one_network(value):
    with pytest.raises(OptionError, match=r"workers_per_node must be 1, .* --nworkers"):
        SharedTrainingMaster(workers_per_node=value)


def test_the_older_option_of_thresholds_is_where_they_begin():
    master = SharedTrainingMaster(updates_threshold=1e-3)
    assert master.threshold_algorithm.initial_threshold == 1e-3


def test_the_older_option_of_thresholds_goes_alone():
    with pytest.raises(OptionError, match="must come without threshold_algorithm, got"):
        SharedTrainingMaster(
            updates_threshold=1e-3,
            threshold_algorithm=FixedThresholdAlgorithm(threshold=1e-3),
        )


@pytest.mark.parametrize("option", ["batch_size_per_worker", "rng_seed"])
def test_no_number_is_refused(option):
    with pytest.raises(OptionError, match=f"{option} must be a whole number"):
        ParameterAveragingTrainingMaster(**{option: "many"})


def test_what_the_call_says_counts():
    master = SharedTrainingMaster(batch_size_per_worker=16, rng_seed=3)
    assert master.batch_size(32) == 32
    assert master.batch_size(None) == 16
    assert master.seed(of_network=7) == 3
    assert SharedTrainingMaster().seed(of_network=7) == 7


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("averaging_frequency", "options must be its own, got 'averaging_frequency', "),
        (
            "network_mask",
            "got 'network_mask' of DL4J's VoidConfiguration. Say it",
        ),
        ("normaliser", "got 'normaliser'. Did you mean 'normalizer'?"),
    ],
)
def test_a_front_end_has_no_options_of_masters(option, said):
    with pytest.raises(OptionError, match=re.escape(said)):
        DaskMultiLayer(InlineClient(), mlp(), **{option: 1})


def test_a_front_end_takes_three_without_a_name():
    with pytest.raises(OptionError, match="client, network, training_master, and opti"):
        DaskMultiLayer(InlineClient(), mlp(), SharedTrainingMaster(), None)


@pytest.mark.parametrize(
    ("given", "level"),
    [("MEMORY_ONLY", "memory_only"), ("none", "none"), (None, "none")],
)
def test_a_storage_level_may_be_spelt_as_spark_does(given, level):
    assert SharedTrainingMaster(storage_level=given).storage_level == level


@pytest.mark.parametrize("level", ["MEMORY_AND_DISK", "DISK_ONLY", 3])
def test_a_storage_level_that_means_nothing_is_refused(level):
    with pytest.raises(OptionError, match="storage_level must be one of memory_only"):
        SharedTrainingMaster(storage_level=level)


def test_a_worker_that_keeps_nothing_has_room_for_a_window():
    room = Room(cache_bytes=100, window_bytes=40)
    assert SharedTrainingMaster().room(room) == room
    assert SharedTrainingMaster(storage_level="none").room(room) == Room(0, 40)


def test_one_hook_may_stand_alone():
    hook = TrainingHook()
    assert SharedTrainingMaster(training_hooks=hook).training_hooks == (hook,)


@pytest.mark.parametrize("hooks", [[print], 3, [TrainingHook]])
def test_what_is_no_hook_is_refused(hooks):
    with pytest.raises(OptionError, match=r"training_hooks must be objects of classes"):
        SharedTrainingMaster(training_hooks=hooks)


def test_a_run_goes_on_with_other_hooks():
    """They change nothing that is said to be learnt."""
    hooked = SharedTrainingMaster(training_hooks=[TrainingHook()])
    assert hooked.in_words() == SharedTrainingMaster().in_words()


@pytest.mark.parametrize(
    "one", [one for one in NAMES if INTERFACE in one.of], ids=lambda one: one.name
)
@pytest.mark.parametrize("spell", [str, snake_case])
def test_a_method_of_masters_is_refused_with_what_takes_its_place(one, spell):
    method = getattr(SharedTrainingMaster(), spell(one.name))
    with pytest.raises(OptionError, match=f"Shared.*: {one.name} must not be called"):
        method()

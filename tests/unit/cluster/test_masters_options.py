"""Training masters refuse nonsense at once, and come from a job file's plain values."""

import math

import pytest

from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    DiLoCoTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
    training_master,
)
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.errors import OptionError


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("averaging_frequency", 0),
        ("peer_timeout_s", 0),
        ("start_timeout_s", -1),
        ("idle_timeout_s", 0),
        ("worker_prefetch_num_batches", -1),
        ("worker_prefetch_num_batches", 1.5),
    ],
)
def test_an_illegal_value_is_refused_by_name(option, value):
    with pytest.raises(OptionError, match=f"{option} must be"):
        ParameterAveragingTrainingMaster(**{option: value})


@pytest.mark.parametrize("value", [-1, 2.5, True, "3"])
@pytest.mark.parametrize("option", ["warm_up", "max_staleness"])
def test_an_illegal_value_of_sharing_is_refused_by_name(option, value):
    with pytest.raises(OptionError, match=f"{option} must be a whole number >= 0, got"):
        SharedTrainingMaster(**{option: value})


@pytest.mark.parametrize(
    ("master", "option"),
    [
        (AllReduceTrainingMaster, "elastic"),
        (ParameterAveragingTrainingMaster, "save_updater"),
        (SharedTrainingMaster, "staleness_aware"),
        (SharedTrainingMaster, "encoding_debug_mode"),
    ],
)
def test_what_is_no_bool_is_refused(master, option):
    with pytest.raises(OptionError, match=f"{option} must be a bool, got str"):
        master(**{option: "no"})


def test_an_averaged_updater_is_nobodys_own():
    with pytest.raises(OptionError, match="own_updater must go with save_updater=Fal"):
        ParameterAveragingTrainingMaster(own_updater=True)


@pytest.mark.parametrize("option", ["threshold_algorithm", "residual_post_processor"])
def test_what_is_no_object_of_the_encoding_is_refused(option):
    with pytest.raises(OptionError, match=f"{option} must be a .*, got str"):
        SharedTrainingMaster(**{option: "fixed"})


@pytest.mark.parametrize("master", [BlockMomentumTrainingMaster, DiLoCoTrainingMaster])
@pytest.mark.parametrize(
    ("option", "value", "must"),
    [
        ("outer_momentum", 1, "from 0 to below 1, got 1"),
        ("outer_momentum", -0.1, "from 0 to below 1, got -0.1"),
        ("outer_momentum", "much", "from 0 to below 1, got 'much'"),
        ("outer_learning_rate", 0, "> 0, got 0"),
        ("outer_learning_rate", math.inf, "finite, got inf"),
        ("outer_alignment", "no", "a bool, got str"),
        ("outer_nesterov", "no", "a bool, got str"),
        ("averaging_frequency", 0, "a whole number > 0, got 0"),
    ],
)
def test_an_illegal_value_of_an_outer_momentum_is_refused(master, option, value, must):
    with pytest.raises(
        OptionError, match=f"{master.__name__}: {option} must be {must}"
    ):
        master(**{option: value})


def test_plain_values_make_a_master_with_an_outer_momentum():
    master = training_master("block_momentum", {"outer_momentum": 0.3})
    assert master == BlockMomentumTrainingMaster(outer_momentum=0.3)


def test_plain_values_make_a_master_that_averages_rarely():
    assert training_master("diloco", {}).averaging_frequency == 500


def test_the_words_of_a_master_tell_its_outer_momentum():
    """A run is not gone on with another."""
    assert "outer_momentum=0.3" in DiLoCoTrainingMaster(outer_momentum=0.3).in_words()


@pytest.mark.parametrize(
    ("option", "value", "must"),
    [
        ("rdd_training_approach", "file", "one of 'direct', 'export', got 'file'"),
        ("rdd_training_approach", None, "one of 'direct', 'export', got None"),
        ("export_directory", 3, "a str, got int"),
    ],
)
def test_an_illegal_way_of_rows_is_refused(option, value, must):
    with pytest.raises(
        OptionError, match=f"SharedTrainingMaster: {option} must be {must}"
    ):
        SharedTrainingMaster(**{option: value})


def test_an_approach_may_be_spelt_as_dl4j_does():
    master = ParameterAveragingTrainingMaster(rdd_training_approach="Direct")
    assert master.rdd_training_approach == "direct"


def test_how_rows_come_changes_nothing_that_is_learnt():
    """A run may go on from a checkpoint another way."""
    direct = SharedTrainingMaster(
        rdd_training_approach="direct", export_directory="/elsewhere"
    )
    assert direct.in_words() == SharedTrainingMaster().in_words()


def test_plain_values_make_a_master():
    master = training_master("averaging", {"averaging_frequency": 3})
    assert master == ParameterAveragingTrainingMaster(averaging_frequency=3)


def test_plain_values_make_a_master_that_adds_up_gradients():
    master = training_master("allreduce", {"elastic": False})
    assert master == AllReduceTrainingMaster(elastic=False)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("matrix_rank", 0),
        ("start_compress_iteration", -1),
        ("min_compression_rate", 0),
    ],
)
def test_an_illegal_value_of_low_rank_is_refused_by_name(option, value):
    with pytest.raises(OptionError, match=f"PowerSGDTrainingMaster: {option} must be"):
        PowerSGDTrainingMaster(**{option: value})


def test_plain_values_make_a_master_of_low_rank():
    master = training_master("powersgd", {"matrix_rank": 4})
    assert master == PowerSGDTrainingMaster(matrix_rank=4)


def test_who_only_looks_on_goes_on_with_the_same_run():
    watched = SharedTrainingMaster(encoding_debug_mode=True)
    assert watched.in_words() == SharedTrainingMaster().in_words()


def test_plain_values_make_a_threshold_algorithm():
    master = training_master(
        "shared", {"threshold_algorithm": {"type": "fixed", "threshold": 0.01}}
    )
    assert master == SharedTrainingMaster(
        threshold_algorithm=FixedThresholdAlgorithm(threshold=0.01)
    )


def test_an_unknown_master_is_refused_with_the_known_ones():
    with pytest.raises(OptionError, match="must be one of 'allreduce', 'averaging'"):
        training_master("sharde", {})


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(OptionError, match="Did you mean 'averaging_frequency'"):
        training_master("averaging", {"averaging_frequncy": 3})


def test_an_unknown_threshold_type_is_refused():
    with pytest.raises(OptionError, match="threshold_algorithm: type must be one of"):
        training_master("shared", {"threshold_algorithm": {"type": "magic"}})

"""Options of a ParallelWrapper, by the training master that they make."""

import pytest

from daskdl import (
    AllReduceTrainingMaster,
    FixedThresholdAlgorithm,
    NoOpResidualPostProcessor,
    OptionError,
    ParallelWrapper,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from tests.unit.networks.small import mlp

FIXED = FixedThresholdAlgorithm(threshold=1e-3)
MASTERS = [
    ({}, ParameterAveragingTrainingMaster(averaging_frequency=1)),
    (
        {"averaging_frequency": 3, "average_updaters": False, "prefetch_buffer": 16},
        ParameterAveragingTrainingMaster(
            averaging_frequency=3,
            save_updater=False,
            own_updater=True,
            worker_prefetch_num_batches=16,
        ),
    ),
    ({"training_mode": "SHARED_GRADIENTS"}, SharedTrainingMaster()),
    (
        {
            "training_mode": "shared_gradients",
            "threshold_algorithm": FIXED,
            "residual_post_processor": NoOpResidualPostProcessor(),
        },
        SharedTrainingMaster(
            threshold_algorithm=FIXED,
            residual_post_processor=NoOpResidualPostProcessor(),
        ),
    ),
    ({"training_mode": AllReduceTrainingMaster()}, AllReduceTrainingMaster()),
]


@pytest.mark.parametrize(("options", "master"), MASTERS)
def test_a_mode_is_a_training_master(options, master):
    wrapper = ParallelWrapper(mlp(), **options)
    assert wrapper.training_master.in_words() == master.in_words()
    ahead = master.worker_prefetch_num_batches
    assert wrapper.training_master.worker_prefetch_num_batches == ahead


def test_a_busy_machine_is_waited_for_but_not_what_a_master_says():
    own = SharedTrainingMaster(start_timeout_s=7.0)
    assert ParallelWrapper(mlp()).training_master.start_timeout_s == 300.0
    assert ParallelWrapper(mlp(), training_mode=own).training_master is own


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be a whole number > 0, got 0"),
        ({"training_mode": "custom"}, "training_mode must be one of 'averaging', 'sha"),
        (
            {"training_mode": AllReduceTrainingMaster},
            r"Write AllReduceTrainingMaster\(\)",
        ),
        ({"averaging_frequency": 0}, "averaging_frequency must be a whole number > 0"),
        ({"threshold_algorithm": FIXED}, "must go with training_mode 'shared_gradi"),
        (
            {"training_mode": "shared_gradients", "average_updaters": True},
            "average_updaters must go with training_mode 'averaging', got 'shared_gra",
        ),
        (
            {"training_mode": AllReduceTrainingMaster(), "averaging_frequency": 2},
            "with training_mode 'averaging', got AllReduceTrainingMaster",
        ),
        (
            {"training_mode": AllReduceTrainingMaster(), "prefetch_buffer": 2},
            "Give it worker_prefetch_num_batches",
        ),
        ({"reportScoreAfterAveraging": True}, "Scores come to listeners"),
        ({"gradients_accumulator": None}, "Give a training master as training_mode"),
        ({"workspace_mode": "ENABLED"}, "Memory is given back by itself"),
        ({"averagingFrequency": 2}, "It is written 'averaging_frequency'"),
        ({"worker": 2}, "Did you mean 'workers'"),
        ({"average_updaters": "yes"}, "Wrapper: average_updaters must be a bool"),
        ({"averaging_frequency": 0}, "Wrapper: averaging_frequency must be a whole"),
        ({"prefetch_buffer": -1}, "Wrapper: prefetch_buffer must be a whole"),
    ],
)
def test_options_are_refused_by_name(options, message):
    with pytest.raises(OptionError, match=f"{message}"):
        ParallelWrapper(mlp(), **options)


def test_what_is_no_network_is_refused():
    with pytest.raises(OptionError, match="network must be a Network, got str"):
        ParallelWrapper("model.zip")


def test_more_workers_than_there_are_cannot_train():
    """Nobody else could start one."""
    with pytest.raises(OptionError, match=r"workers must be at most 2, got 3. Give"):
        ParallelWrapper(mlp(), workers=2).fit(([[0.0]], [[1.0]]), workers=3)


def test_what_was_never_started_can_be_closed():
    ParallelWrapper(mlp()).close()

"""What a job file may hold."""

import re
from dataclasses import fields

import pytest
from pydantic import ValidationError

from daskdl.cli.job import Job
from daskdl.cli.job_cluster import Cluster
from daskdl.cli.job_data import Data
from daskdl.cli.job_run import cluster_options
from daskdl.cli.job_training import Training
from daskdl.cluster.connect import ClusterOptions
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    DiLoCoTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.data.normalizers.min_max import NormalizerMinMaxScaler
from daskdl.data.sources.source import SourceOptions
from daskdl.encoding.algorithms import TargetSparsityThresholdAlgorithm
from daskdl.nn.conf.errors import option_error


def refusal(values):
    """Return what the command line would say of the values."""
    with pytest.raises(ValidationError) as caught:
        Job.model_validate(values)
    return str(option_error("", caught.value, Job))


def test_a_job_is_read(job_values):
    assert Job.model_validate(job_values).training.epochs == 2


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("training", "epoch", 3, "training.epoch: is not a known key. .*'epochs'"),
        ("training", "epochs", 0, "training.epochs: must be at least 1 without"),
        ("training", "epochs", 1.5, "training.epochs: must be a whole number, got 1.5"),
        ("training", "master", "avg", "training.master: must be one of 'shared'"),
        ("data", "lable", "y", "data.lable: is not a known key. .*'label'"),
        ("data", "features", 3, "data.features: must be text or a list of texts"),
        ("data", "features", {"a": 3}, "data.features.a: must be text or a list"),
        ("data", "train", [], "data.train: must be text or a list of texts"),
        ("data", "train", "", "data.train: must not be empty"),
        ("data", "train", [""], "data.train: must be text or a list of texts"),
        (
            "training",
            "residual_post_processor",
            7,
            r"^training.residual_post_processor: must be text or a mapping .*, got 7.$",
        ),
        (
            "data",
            "normalize",
            "min_mx",
            "data.normalize: .* must be one of 'standardize', .* Did you mean 'min_max",
        ),
        (
            "data",
            "normalize",
            {"type": "min_max", "target_max": -1},
            "data.normalize: .* must be at least min_range",
        ),
        ("data", "pre_processor", 7, "data.pre_processor: must be text or a mapping"),
        (
            "data",
            "pre_processor",
            ["image_flattening", {"type": "permut"}],
            r"^data.pre_processor: .*pre_processor\[1\]: .*type must be one of",
        ),
        (
            "data",
            "pre_processor",
            "standardize",
            "data.pre_processor: .* must know all that it needs",
        ),
        ("cluster", "workers", 0, "cluster.workers: must be greater than 0"),
        ("network", "layer", [], "network.layer: is not a known key. .*'layers'"),
    ],
)
def test_a_wrong_key_is_refused_with_its_path(job_values, section, key, value, message):
    job_values[section][key] = value
    assert re.search(message, refusal(job_values))


def test_an_unknown_section_is_refused_with_the_nearest(job_values):
    job_values["trainig"] = {}
    assert "trainig: is not a known key. Did you mean 'training'?" in refusal(
        job_values
    )


def test_a_wrong_key_of_a_layer_is_refused_with_its_path(job_values):
    job_values["network"]["layers"][0]["n_uot"] = 3
    assert "network.layers[0].n_uot: is not a known key." in refusal(job_values)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("network", "network: must be given, or `model` in its place."),
        ("data", "data: must be given."),
    ],
)
def test_a_missing_section_is_refused(job_values, section, message):
    del job_values[section]
    assert message in refusal(job_values)


def test_a_network_and_a_saved_one_do_not_go_together(job_values):
    job_values["model"] = "old.zip"
    assert "model: must be left out where `network` is given." in refusal(job_values)


def test_an_option_of_the_other_master_is_refused(job_values):
    job_values["training"]["averaging_frequency"] = 3
    assert "training.averaging_frequency: does not go with master 'shared'." in refusal(
        job_values
    )


def test_a_wrong_threshold_algorithm_is_refused(job_values):
    job_values["training"]["threshold_algorithm"] = {"type": "fixd"}
    assert "Did you mean 'fixed'?" in refusal(job_values)


def test_the_training_master_has_the_options_given(job_values):
    job_values["training"].update(master="averaging", averaging_frequency=3)
    master = Job.model_validate(job_values).training.training_master()
    assert master == ParameterAveragingTrainingMaster(averaging_frequency=3)


@pytest.mark.parametrize(
    ("name", "master"),
    [("block_momentum", BlockMomentumTrainingMaster), ("diloco", DiLoCoTrainingMaster)],
)
def test_averaging_may_have_an_outer_momentum(job_values, name, master):
    options = {"averaging_frequency": 7, "outer_learning_rate": 0.5}
    job_values["training"].update(master=name, **options)
    made = Job.model_validate(job_values).training.training_master()
    assert made == master(**options)


@pytest.mark.parametrize(
    ("name", "master"),
    [("averaging", ParameterAveragingTrainingMaster), ("diloco", DiLoCoTrainingMaster)],
)
def test_averaging_may_overlap_training(job_values, name, master):
    job_values["training"].update(master=name, overlap=True)
    made = Job.model_validate(job_values).training.training_master()
    assert made == master(overlap=True)


def test_plain_averaging_has_no_outer_momentum(job_values):
    job_values["training"].update(master="averaging", outer_momentum=0.5)
    told = "training.outer_momentum: does not go with master 'averaging'."
    assert told in refusal(job_values)


def test_an_outer_momentum_of_1_is_refused(job_values):
    job_values["training"].update(master="diloco", outer_momentum=1)
    assert "outer_momentum must be from 0 to below 1, got 1" in refusal(job_values)


def test_gradients_may_be_averaged_before_the_updater(job_values):
    job_values["training"].update(master="allreduce", peer_timeout_s=3.0)
    master = Job.model_validate(job_values).training.training_master()
    assert master == AllReduceTrainingMaster(peer_timeout_s=3.0)


def test_gradients_may_be_of_low_rank(job_values):
    job_values["training"].update(master="powersgd", matrix_rank=4)
    master = Job.model_validate(job_values).training.training_master()
    assert master == PowerSGDTrainingMaster(matrix_rank=4)


@pytest.mark.parametrize("name", ["all_reduce", "AllReduce", "all-reduce"])
def test_masters_are_taken_in_any_spelling(job_values, name):
    job_values["training"].update(master=name, dealing="Fixed")
    training = Job.model_validate(job_values).training
    assert training.training_master() == AllReduceTrainingMaster(dealing="fixed")


@pytest.mark.parametrize(
    "algorithm", ["TargetSparsity", {"type": "targetsparsity"}, "target-sparsity"]
)
def test_so_are_types_of_its_options(job_values, algorithm):
    job_values["training"].update(threshold_algorithm=algorithm)
    master = Job.model_validate(job_values).training.training_master()
    assert isinstance(master.threshold_algorithm, TargetSparsityThresholdAlgorithm)


@pytest.mark.parametrize("name", ["MinMax", {"type": "min-max"}])
def test_so_are_normalizers(job_values, name):
    job_values["data"].update(normalize=name)
    normalizer = Job.model_validate(job_values).data.normalizer()
    assert isinstance(normalizer, NormalizerMinMaxScaler)


def test_so_are_preprocessors(job_values):
    job_values["data"].update(pre_processor="RgbToGrayscale")
    assert Job.model_validate(job_values).data.source_options().pre_processor


def test_the_training_master_keeps_its_own_defaults(job_values):
    master = Job.model_validate(job_values).training.training_master()
    assert master == SharedTrainingMaster()


@pytest.mark.parametrize(
    "master",
    [
        SharedTrainingMaster,
        ParameterAveragingTrainingMaster,
        BlockMomentumTrainingMaster,
        DiLoCoTrainingMaster,
        AllReduceTrainingMaster,
        PowerSGDTrainingMaster,
    ],
)
def test_every_option_of_a_master_can_stand_in_a_job(master):
    # A job has `batch_size` and the network's `seed`, and starts its own workers.
    elsewhere = {"batch_size_per_worker", "collect_training_stats", "rng_seed"}
    elsewhere |= {"workers_per_node", "storage_level", "training_hooks"}
    # The files of a job lie where all workers read them.
    elsewhere |= {"repartition"}
    options = {field.name for field in fields(master)}
    assert options - set(Training.model_fields) == elsewhere


def test_every_option_of_a_source_can_stand_in_a_job():
    decided_elsewhere = {"n_classes", "n_features", "dtype", "require_labels"}
    # A job holds no functions, and nothing of Spark's.
    decided_elsewhere |= {"export_directory", "loader", "rdd_training_approach"}
    # Networks know which arrays are series, and predictions what is kept beside them.
    decided_elsewhere |= {"keep", "series_features", "series_labels"}
    options = {field.name for field in fields(SourceOptions)}
    assert options - set(Data.model_fields) == decided_elsewhere


def test_the_cluster_has_the_options_of_connect():
    options = {field.name for field in fields(ClusterOptions)}
    keys = {field.alias or name for name, field in Cluster.model_fields.items()}
    assert keys - {"resources"} == options


def test_resources_go_with_a_scheduler_only(job_values):
    job_values["cluster"] = {"resources": {"GPU": 1}}
    with pytest.raises(ValidationError, match="goes with a scheduler only"):
        Job.model_validate(job_values)
    job_values["cluster"]["scheduler"] = "tcp://h:8786"
    job = Job.model_validate(job_values)
    assert job.cluster.resources == {"GPU": 1}
    assert cluster_options(job.cluster).scheduler == "tcp://h:8786"


def test_a_graph_may_name_its_columns(job_values):
    job_values["data"]["features"] = {"left": "a", "right": ["b", "c"]}
    options = Job.model_validate(job_values).data.source_options()
    assert options.features == {"left": "a", "right": ("b", "c")}


def test_a_memory_limit_may_be_a_number_of_bytes(job_values):
    job_values["cluster"]["memory_limit"] = 2_000_000_000
    assert Job.model_validate(job_values).cluster.memory_limit == "2000000000"


@pytest.mark.parametrize(
    ("said", "kept"),
    [([0, 2], "0,2"), ("0,2", "0,2"), (1, "1"), (["MIG-a"], "MIG-a")],
)
def test_devices_may_be_numbers_or_uuids(job_values, said, kept):
    job_values["cluster"] = {"type": "CUDA", "cuda_visible_devices": said}
    options = cluster_options(Job.model_validate(job_values).cluster)
    assert options.type == "cuda"
    assert options.cuda_visible_devices == kept


@pytest.mark.parametrize("size", [0.8, 8_000_000_000, "8 GiB"])
def test_a_pool_has_a_size_or_a_part_of_the_memory(job_values, size):
    job_values["cluster"] = {"type": "cuda", "rmm_pool_size": size}
    options = cluster_options(Job.model_validate(job_values).cluster)
    assert options.rmm_pool_size == size


@pytest.mark.parametrize("model", ["old.zip", {"path": "old.zip"}])
def test_a_model_is_a_path_or_a_mapping_with_it(job_values, model):
    del job_values["network"]
    job = Job.model_validate({**job_values, "model": model})
    assert (job.model.path, job.model.dialect) == ("old.zip", None)


def test_an_unknown_dialect_of_a_model_is_refused(job_values):
    del job_values["network"]
    job_values["model"] = {"path": "old.zip", "dialect": "exct"}
    assert "model.dialect: must be one of 'exact'" in refusal(job_values)


@pytest.mark.parametrize("model", ["", 3, ["old.zip"]])
def test_what_is_no_path_of_a_model_is_refused(job_values, model):
    job_values["model"] = model
    assert "model: must be a path or a mapping with `path`" in refusal(job_values)

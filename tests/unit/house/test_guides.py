"""What the guides say to type can be typed; tests/integration/guides runs it."""

import contextlib
import re
import shlex
import shutil
import sys

import click
import pytest

from daskdl.cli.job_file import load_job
from daskdl.cli.main import main
from daskdl.nn.build import build_network
from tests.guide_blocks import PAGES, ROOT, blocks, commands

# Rows of tables and running text, too.
SPANS = [
    (path.name, span)
    for path in PAGES
    for span in re.findall(r"`(daskdl [a-z][^`]*)`", path.read_text(encoding="utf-8"))
]
COMMANDS = [
    *((str(block), line) for block in blocks("sh") for line in commands(block)),
    *SPANS,
]
OURS = [(place, line) for place, line in COMMANDS if line.startswith("daskdl ")]


@pytest.mark.parametrize(("place", "line"), OURS, ids=[f"{p} {c}" for p, c in OURS])
def test_every_command_is_one(place, line):
    """Its name, its options and the number of its arguments."""
    _, name, *words = shlex.split(line.replace("--import learned_swish.py ", ""))
    command = main.get_command(click.Context(main), name)
    assert command is not None
    if words or name == "doctor":
        with contextlib.suppress(click.exceptions.Exit):
            command.make_context(name, words)


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_is_python(block):
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_every_job_can_be_run(block, tmp_path, forget_kinds):
    """What is but a part of a job gets data; the network is built."""
    text = block.text.replace("hdfs://", "/")
    if "data:" not in text:
        text += "\ndata: {train: /train, features: {image: a, facts: b}, label: c}\n"
    (tmp_path / "job.yaml").write_text(text)
    shutil.copy(ROOT / "examples" / "own_layer" / "learned_swish.py", tmp_path)
    job = load_job(str(tmp_path / "job.yaml"))
    assert build_network(job.network).n_params > 0
    sys.modules.pop("learned_swish", None)


def test_the_job_of_the_front_page_is_that_of_the_example(tmp_path):
    (block,) = blocks("yaml", page="README.md")
    (tmp_path / "job.yaml").write_text(block.text)
    shown = load_job(str(tmp_path / "job.yaml"))
    job = load_job(str(ROOT / "examples" / "digits" / "job.yaml"))
    # Defaults that the example says, and the front page does not.
    network = shown.network.replaced(seed=12345, weight_init="xavier")
    assert network == job.network
    assert (shown.training, shown.cluster) == (job.training, job.cluster)

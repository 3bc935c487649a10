"""``daskdl run``: train the network of a job file, evaluate it, keep the results."""

import time

import click

from daskdl.cli.exit_codes import debug_option, json_option, keep_for_json

__all__ = ["command"]


def _print_schema(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    import json

    from daskdl.cli.job import Job
    from daskdl.nn.conf.schema import json_schema_of

    click.echo(json.dumps(json_schema_of(Job), indent=2))
    ctx.exit()


@click.command("run")
@click.argument("job_path", metavar="[JOB.yaml]", required=False)
@click.argument("overrides", metavar="[KEY=VALUE]...", nargs=-1)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Train on the cluster of this scheduler (tcp://host:8786) instead of on this "
    "machine.",
)
@click.option(
    "--output",
    metavar="DIR",
    help="Directory or URL for the results, if not the job's.",
)
@click.option(
    "--overwrite", is_flag=True, help="Replace the results of an earlier run."
)
@click.option(
    "--resume",
    metavar="DIR",
    help="Go on with the run that was to be in DIR, from its last checkpoint; without "
    "JOB.yaml with the job as it ran.",
)
@click.option(
    "--print-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON schema of a job file, and exit.",
)
@json_option
@debug_option
def command(
    job_path: str | None,
    overrides: tuple[str, ...],
    scheduler: str | None,
    output: str | None,
    overwrite: bool,
    resume: str | None,
    as_json: bool,
) -> None:
    """Train the network that JOB.yaml describes.

    KEY=VALUE sets a key of the job for this run: training.epochs=3,
    network.layers[0].n_out=64. Paths in the job start at its folder.

    The output directory gets model.safetensors, evaluation.json, statistics.json,
    report.html and the job as it ran, all at once when the run is good. Until then it
    is DIR.unfinished-ID, with checkpoints of the run, from which --resume DIR goes on.
    """
    start_s = time.monotonic()
    if resume is not None and job_path is not None and "=" in job_path:
        overrides = (job_path, *overrides)
        job_path = None
    if resume is None and job_path is None:
        raise click.UsageError("Missing argument 'JOB.yaml', or --resume DIR.")
    if resume is not None and output is not None:
        raise click.UsageError("--output must be left out with --resume DIR.")
    from rich.console import Console

    from daskdl.cli.progress import open_view

    # In front of what takes most of a second to import.
    with open_view(Console(stderr=True)) as view:
        view.begin(f"reading {job_path or resume}")
        from daskdl.cli.job_file import load_job
        from daskdl.cli.resumed_job import job_of_run, place_of_run
        from daskdl.cluster.ready_processes import processes_ready

        if resume is not None:
            output = place_of_run(resume)
            job_path = job_path or job_of_run(output)
        job = load_job(str(job_path), overrides, scheduler=scheduler, output=output)
        # Dask-CUDA knows how many there will be, and prepares each for its device.
        n_ready = 0 if job.cluster.kind == "cuda" else job.cluster.workers
        with processes_ready(job.cluster.scheduler, n_ready):
            from daskdl.cli.job_run import run_job

            metrics = run_job(
                job,
                view,
                overwrite=overwrite,
                resume=resume is not None,
                start_s=start_s,
                keep_results=keep_for_json,
            )
    metrics.print_table(Console(stderr=as_json))
    if as_json:
        click.echo(metrics.to_line())

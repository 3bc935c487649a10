"""``daskdl convert``: a network in another format."""

import click

from daskdl.cli.exit_codes import debug_option, json_option

__all__ = ["command"]

# As daskdl.formats.conversion.FORMATS, whose import takes too long for --help.
FORMATS = ("daskdl", "dl4j", "onnx", "dl4j-json", "dl4j-yaml")


@click.command("convert")
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option(
    "--to",
    type=click.Choice(FORMATS),
    help="Format of OUT; if not given, its ending says it: .safetensors, .zip (DL4J), "
    ".onnx, .json and .yaml (DL4J's configuration without numbers).",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="In which OUT computes, exact or dl4j-1.0.0-M2.1, if not as IN does; what "
    "that changes is said.",
)
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@json_option
@debug_option
def command(
    source: str,
    output: str,
    to: str | None,
    dialect: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write the network IN as OUT, in another format.

    IN is a saved network of daskdl or of DL4J, the directory of a run, or a
    configuration of DL4J in JSON or YAML, whose weights are drawn. What OUT cannot hold
    is said before it is written.
    """
    import json
    import warnings

    from rich.console import Console

    from daskdl.cli.chosen_dialect import in_dialect
    from daskdl.cli.convert_input import open_convert_input
    from daskdl.errors import DialectWarning
    from daskdl.formats.conversion import (
        check_dialect,
        convert,
        format_of,
        lost_parts,
        quirks_of_readers,
    )

    to = to or format_of(output)
    network, is_saved = open_convert_input(source)
    changed: list[str] = []
    if dialect is not None:
        check_dialect("convert: --dialect", dialect, to)
        network, changed = in_dialect("convert: --dialect", network, dialect)
    missing = lost_parts(network, to, is_saved=is_saved)
    otherwise = quirks_of_readers(network, to)
    told = [
        *changed,
        *(f"not in {to}: {item}" for item in missing),
        *(f"otherwise in {to}: {item}" for item in otherwise),
    ]
    console = Console(stderr=as_json)
    for line in told:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    with warnings.catch_warnings():
        # It has been said.
        warnings.simplefilter("ignore", DialectWarning)
        convert(network, output, to, overwrite=overwrite)
    console.print(f"wrote {output}", highlight=False, markup=False, soft_wrap=True)
    if as_json:
        facts = {
            "output": output,
            "to": to,
            "dialect": network.conf.dialect,
            "changed": changed,
            "lost": missing,
            "otherwise": otherwise,
        }
        click.echo(json.dumps(facts))

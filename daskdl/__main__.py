"""``python -m daskdl``: the command, where its folder is not on the path."""

from daskdl.cli.main import main

if __name__ == "__main__":
    main(prog_name="daskdl")

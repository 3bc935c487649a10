"""The digits and their job on the mini HDFS."""

from pathlib import Path

from daskdl.data.filesystems import filesystem

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def put_digits(url):
    """Copy data and job into a directory, and return its URL."""
    fs, path = filesystem(url)
    for name in ("train", "test"):
        fs.makedirs(f"{path}/data/{name}", exist_ok=True)
        for file in (DIGITS / "data" / name).iterdir():
            fs.pipe_file(f"{path}/data/{name}/{file.name}", file.read_bytes())
    fs.pipe_file(f"{path}/job.yaml", (DIGITS / "job.yaml").read_bytes())
    return url

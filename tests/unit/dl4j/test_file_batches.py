"""Directories of small files in zips: every file once, from and to any store."""

import pytest

from daskdl import FileBatch, create_file_batches
from daskdl.data.filesystems import filesystem
from daskdl.errors import OptionError, OutputExistsError, SourceNotFoundError


@pytest.fixture
def images(tmp_path):
    """Five files of two classes, and what is no image."""
    for name in ("cat/1.png", "cat/2.png", "cat/3.png", "dog/1.png", "dog/2.jpg"):
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    for name in ("notes.txt", ".hidden.png", "_SUCCESS", "dog/.x.png.crc"):
        (tmp_path / "images" / name).write_bytes(b"?")
    return str(tmp_path / "images")


def bundled(urls):
    """Return the contents of all zips, which are the names of the images."""
    return [
        content.decode()
        for url in urls
        for content in FileBatch.read_from_zip(url).file_bytes
    ]


def test_every_file_is_in_one_zip(images, tmp_path):
    urls = create_file_batches(
        images, tmp_path / "out", batch_size=2, seed=3, extensions=[".png", ".jpg"]
    )
    assert [len(FileBatch.read_from_zip(url)) for url in urls] == [2, 2, 1]
    assert sorted(bundled(urls)) == [
        "cat/1.png",
        "cat/2.png",
        "cat/3.png",
        "dog/1.png",
        "dog/2.jpg",
    ]


def test_uris_tell_the_class(images, tmp_path):
    (url,) = create_file_batches(
        images, tmp_path / "out", batch_size=9, seed=3, extensions=[".jpg"]
    )
    batch = FileBatch.read_from_zip(url)
    assert batch.original_uris == (f"file:{images}/dog/2.jpg",)


def test_hidden_files_are_skipped(images, tmp_path):
    urls = create_file_batches(images, tmp_path / "out", batch_size=9, seed=3)
    assert sorted(bundled(urls)) == [
        "?",  # notes.txt
        "cat/1.png",
        "cat/2.png",
        "cat/3.png",
        "dog/1.png",
        "dog/2.jpg",
    ]


def test_directories_below_can_be_left_out(images, tmp_path):
    urls = create_file_batches(
        images, tmp_path / "out", batch_size=9, seed=3, recursive=False
    )
    assert bundled(urls) == ["?"]


def test_the_seed_decides_the_order(images, tmp_path):
    first, again, other = (
        bundled(create_file_batches(images, tmp_path / out, batch_size=9, seed=seed))
        for out, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == again
    assert first != other


def test_stores_are_read_and_written():
    fs, path = filesystem("memory://images")
    fs.pipe({f"{path}/cat/{number}.png": b"image" for number in range(3)})
    urls = create_file_batches("memory://images", "memory://zips", batch_size=2, seed=3)
    assert urls == ["memory:///zips/batch_00000.zip", "memory:///zips/batch_00001.zip"]
    uris = {u for url in urls for u in FileBatch.read_from_zip(url).original_uris}
    assert uris == {f"memory:///images/cat/{number}.png" for number in range(3)}


def test_only_zips_are_beside_zips(images, tmp_path):
    """DL4J takes every file of a directory for one."""
    create_file_batches(images, tmp_path / "out", batch_size=9, seed=3)
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["batch_00000.zip"]


def test_nothing_is_written_over(images):
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        create_file_batches(images, images, batch_size=2, seed=3)


def test_a_directory_without_such_files_is_refused(images, tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"a file that ends with \['.gif'\]"):
        create_file_batches(
            images, tmp_path / "out", batch_size=2, seed=3, extensions=[".gif"]
        )
    assert not (tmp_path / "out").exists()


def test_one_ending_is_a_list_of_one(images, tmp_path):
    with pytest.raises(
        OptionError, match=r"extensions must be several strs.* got '\.gif'"
    ):
        create_file_batches(
            images, tmp_path / "out", batch_size=2, seed=3, extensions=".gif"
        )


def test_a_zip_that_fails_leaves_nothing(images, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise SourceNotFoundError("gone")

    monkeypatch.setattr(FileBatch, "for_files", fails)
    with pytest.raises(SourceNotFoundError):
        create_file_batches(images, tmp_path / "out", batch_size=2, seed=3)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["nowhere", "notes.txt"])
def test_what_is_no_directory_is_refused(images, tmp_path, name):
    with pytest.raises(SourceNotFoundError, match="must be a directory with a file"):
        create_file_batches(f"{images}/{name}", tmp_path / "out", batch_size=2, seed=3)

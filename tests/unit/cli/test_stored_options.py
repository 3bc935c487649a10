"""``--option KEY=VALUE``, and texts among the overrides of a job."""

from datetime import datetime, timezone

import pytest

from daskdl.cli.overrides import apply_overrides
from daskdl.cli.stored_options import TEXTS, stored_options
from daskdl.errors import OptionError

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
TEXT_VALUES = [
    (";", ";"),
    ("|", "|"),
    ("#", "#"),
    (",", ","),
    ("'", "'"),
    ('"', '"'),
    ("", ""),
    ("''", ""),
    ("\t", "\t"),
    (r"\t", r"\t"),
    (r'"\t"', "\t"),
    ("';'", ";"),
    ("\\", "\\"),
    ("null", "null"),
    ("NA", "NA"),
    ("-", "-"),
    ("0", "0"),
    ("no", "no"),
    ("a: b", "a: b"),
    ("[", "["),
    ("&", "&"),
    ("~", "~"),
    (">", ">"),
    ("%", "%"),
    ("!", "!"),
]


@pytest.mark.parametrize(("written", "text"), TEXT_VALUES)
def test_texts_are_taken_as_they_stand(written, text):
    assert stored_options([f"null_value={written}"]) == {"null_value": text}
    values = {"data": {}}
    apply_overrides(values, [f"data.null_value={written}"])
    assert values["data"] == {"null_value": text}


@pytest.mark.parametrize(
    ("pair", "key", "value"),
    [
        ("header=false", "header", False),
        ("multi_line=true", "multi_line", True),
        ("feature_shape=[1, 28, 28]", "feature_shape", (1, 28, 28)),
        ("storage_options={timeout_s: 3}", "storage_options", {"timeout_s": 3}),
        ("sample_dim=time", "sample_dim", "time"),
        ("align=end", "align", "end"),
        ("handle_invalid=skip", "handle_invalid", "skip"),
        ("element_class=Text", "element_class", "Text"),
        ("allow=[shapes.Point]", "allow", ("shapes.Point",)),
        ("merge_schema=true", "merge_schema", True),
        ("version=0", "version", 0),
        ("snapshot_id=8333017788700497002", "snapshot_id", 8333017788700497002),
        ("timestamp=2026-01-31T12:00:00Z", "timestamp", NOON),
        ("timestamp='2026-01-31 13:00:00+01:00'", "timestamp", NOON),
    ],
)
def test_other_values_are_yaml(pair, key, value):
    assert stored_options([pair]) == {key: value}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("delimiter", r"--option: must be KEY=VALUE, got 'delimiter'"),
        ("delimeter=;", r"Did you mean 'delimiter'\?"),
        ("features=x", r"features must be given as --features"),
        ("lineSep=;", r"got 'lineSep'\. Lines end at a line feed"),
        ("train=x", r"--option: KEY must be one of"),
        ("timestamp=2026-01-31T12:00:00", r"--option: timestamp: must be a time with"),
        ("header=maybe", r"--option: header: must be true or false, got 'maybe'"),
        ("feature_shape=x", r"--option: feature_shape: must be a list"),
    ],
)
def test_what_cannot_be_is_refused(pair, message):
    with pytest.raises(OptionError, match=message):
        stored_options([pair])


def test_every_text_is_an_option_of_sources():
    assert stored_options([f"{key}=x" for key in sorted(TEXTS)]) == dict.fromkeys(
        TEXTS, "x"
    )

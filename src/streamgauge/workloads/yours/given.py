"""What ``--data`` says: ``STREAM=FILE[,OPTION=VALUE]…`` or ``STREAM=FILE.py:FUNCTION``, one stream or several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from streamgauge.errors import UsageError, nearest

FORMATS = ("jsonl", "csv", "parquet", "avro", "text")
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".avro": "avro",
    ".txt": "text",
    ".log": "text",
}
BETWEEN = ";"
"""Separates several streams."""
OPTIONS = ("format", "key", "time", "loop", "as", "share", "schema", "schema_id")
SHARE_MAX = 1000

EXPECTED = (
    "STREAM=FILE[,format=jsonl|csv|parquet|avro|text][,key=FIELD][,time=FIELD][,loop=true][,as=json][,share=N]"
    "[,schema=FILE][,schema_id=N], or STREAM=FILE.py:FUNCTION[,share=N]"
)
_STREAM = re.compile(r"[A-Za-z0-9._-]{1,100}")
_WHOLE_NUMBER = re.compile(r"[0-9]{1,10}")
_FUNCTION = re.compile(r"(.+\.py):([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Given:
    """One stream of your data."""

    stream: str
    file: str
    """The path of the file, absolute."""
    function: str = ""
    """The function of the file that makes the records; empty if the file holds them."""
    format: str = ""
    key: str = ""
    """The field that becomes the record's key; empty: records have no key."""
    time: str = ""
    """The field with the event time; empty: event time is append time."""
    loop: bool = False
    """Begin again at the end of the file."""
    as_json: bool = False
    """For CSV: each row as a JSON object, by the names in the first line."""
    share: int = 1
    """How many of the load's records this stream gets, beside those of the other streams."""
    schema: str = ""
    """For Avro: the file of a schema other than the file's own."""
    schema_id: int | None = None
    """For Avro: the number of the schema in a registry, which Confluent's wire format puts before each record."""

    @property
    def typed(self) -> str:
        """As ``--data`` takes it."""
        where = f"{self.file}:{self.function}" if self.function else self.file
        settings = {
            "format": "" if self.function else self.format,
            "key": self.key,
            "time": self.time,
            "loop": "true" if self.loop else "",
            "as": "json" if self.as_json else "",
            "share": str(self.share) if self.share != 1 else "",
            "schema": self.schema,
            "schema_id": "" if self.schema_id is None else str(self.schema_id),
        }
        return ",".join([f"{self.stream}={where}", *(f"{name}={value}" for name, value in settings.items() if value)])


def parse(text: str) -> tuple[Given, ...]:
    """The streams. Raises UsageError. Does not look at the files."""
    streams = tuple(_parse_one(one.strip()) for one in text.split(BETWEEN) if one.strip())
    names = [one.stream for one in streams]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"--data names the stream {twice[0]} twice", expected="another name for each stream")
    return streams


def _parse_one(text: str) -> Given:
    first, *settings = text.split(",")
    stream, equals, where = first.partition("=")
    if not equals or not _STREAM.fullmatch(stream) or not where.strip():
        raise UsageError("invalid --data", got=text, expected=EXPECTED)
    values: dict[str, str] = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if name not in OPTIONS or not equals or not value or name in values:
            near = nearest(name, OPTIONS)
            raise UsageError(
                f"invalid --data: {setting!r}" + (f"; did you mean {near[0]}?" if near and near[0] != name else ""),
                where=text,
                expected=f"each of {', '.join(OPTIONS)} at most once, as NAME=VALUE",
            )
        values[name] = value
    made = _FUNCTION.fullmatch(where)
    file = made[1] if made else where
    format_ = "" if made else values.get("format") or ENDINGS.get(Path(file).suffix.lower(), "")
    _check(text, values, format_, made=made is not None)
    return Given(
        stream=stream,
        file=_absolute(file),
        function=made[2] if made else "",
        format=format_,
        key=values.get("key", ""),
        time=values.get("time", ""),
        loop=values.get("loop") == "true",
        as_json="as" in values,
        share=int(values.get("share", "1")),
        schema=_absolute(values["schema"]) if "schema" in values else "",
        schema_id=int(values["schema_id"]) if "schema_id" in values else None,
    )


def _absolute(path: str) -> str:
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:
        raise UsageError("invalid --data: unknown home directory", got=path, expected="a path") from None


def _check(text: str, values: dict[str, str], format_: str, *, made: bool) -> None:
    """Raises UsageError for values that are wrong, and for those that would silently be ignored."""

    def wrong(name: str, expected: str) -> UsageError:
        return UsageError(f"invalid --data: {name}={values[name]}", where=text, expected=expected)

    if not made and format_ not in FORMATS:
        raise UsageError(
            "the format of the data is not known",
            where=text,
            got=values.get("format") or "a file name without a known ending",
            expected=f"format= one of {', '.join(FORMATS)}",
        )
    unused = [name for name in ("format", "key", "time", "loop") if made and name in values]
    if unused:
        raise wrong(unused[0], "a function decides itself about keys and values, and has no end")
    if "key" in values and format_ == "text":
        raise wrong("key", "a format with fields, not text")
    if "time" in values and format_ == "text":
        raise wrong("time", "a format with fields, not text")
    if values.get("loop", "true") not in ("true", "false"):
        raise wrong("loop", "true or false")
    if "as" in values and format_ != "csv":
        raise UsageError(
            f"invalid --data: as={values['as']} is only for CSV",
            where=text,
            got="a function" if made else f"format={format_}",
            expected="as=json with a CSV file, and no as= otherwise",
        )
    if values.get("as", "json") != "json":
        raise wrong("as", "as=json, or no as= to send the lines of the CSV file as they are")
    for name, low, high in (("share", 1, SHARE_MAX), ("schema_id", 0, 2**31 - 1)):
        if name in values and not (_WHOLE_NUMBER.fullmatch(values[name]) and low <= int(values[name]) <= high):
            raise wrong(name, f"a whole number from {low} to {high:,}")
    for name in ("schema", "schema_id"):
        if name in values and format_ != "avro":
            raise wrong(name, "format=avro")

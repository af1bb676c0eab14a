"""What the script reads."""

from __future__ import annotations

import json
import re

from streamgauge_shim import SHIM
from streamgauge_shim.wrapping import give_security, kafka_option, settings_of, with_options, wrap

BY_TIME = {
    "startingoffsetsbytimestamp": "startingOffsets",
    "startingtimestamp": "startingOffsets",
    "endingoffsetsbytimestamp": "endingOffsets",
    "endingtimestamp": "endingOffsets",
}
"""Options that name a moment, and those that take their place.

All records of the run are later than a moment of the script's, and Spark fails where a topic has no record yet.
"""


def read_option(settings, key, value):
    """The value to set instead, or the key and the value."""
    settings[key] = value
    if key == "subscribe":
        return ",".join(SHIM.source_topic(topic) for topic in str(value).split(","))
    if key == "assign":
        return json.dumps({SHIM.source_topic(topic): places for topic, places in json.loads(value).items()})
    if key == "subscribepattern":
        return "|".join(re.escape(SHIM.source_topic(topic)) for topic in topics_like(str(value)))
    if key in ("startingoffsets", "endingoffsets") and str(value).strip().startswith("{"):
        return in_this_run(key, value)
    if key in BY_TIME:
        return BY_TIME[key], in_this_run(BY_TIME[key], value)
    if key in ("kafka.group.id", "groupidprefix"):
        return SHIM.config["sink_prefix"] + str(value)
    if key == "path":
        return SHIM.input_path(value)
    return kafka_option(settings, key, value)


def in_this_run(key, value):
    """Offsets of another broker mean nothing here."""
    start = key.lower() == "startingoffsets"
    new = "earliest" if start else "latest"
    SHIM.redirected("starting offsets" if start else "ending offsets", str(value), new)
    return new


def topics_like(pattern):
    """The topics of the run, by the script's names, that the pattern matches. Raises Refused if there are none."""
    try:
        topics = [topic for topic in SHIM.config["topics"] if re.fullmatch(pattern, topic)]
    except re.error as problem:
        SHIM.refuse(
            f"the pattern {pattern!r} of the script cannot be compared with the topics of the run: {problem}",
            "it has syntax that only Java knows; write it without, or use subscribe",
        )
    if not topics:
        SHIM.refuse(
            f"the pattern {pattern!r} of the script matches no topic of the run",
            "--map STREAM=TOPIC with a topic that it matches",
        )
    return topics


def patch_reader(cls):
    plain_option = cls.option
    with_options(cls, read_option)

    @wrap(cls, "load")
    def load(original, self, path=None, format=None, schema=None, **options):
        self.options(**options)
        settings = settings_of(self)
        if str(format or settings.get("format", "")).lower() == "kafka":
            SHIM.brokers.add(settings.get("bootstrap", ""))
            SHIM.tell("reads", bootstrap=settings.get("bootstrap"))
            give_security(plain_option, self)
        return original(self, SHIM.input_path(path), format, schema)

    for name in ("parquet", "json", "csv", "orc", "text", "xml"):

        @wrap(cls, name)
        def of_files(original, self, *args, **kwargs):
            args = tuple(SHIM.input_path(one) for one in args)
            if "path" in kwargs:
                kwargs["path"] = SHIM.input_path(kwargs["path"])
            return original(self, *args, **kwargs)

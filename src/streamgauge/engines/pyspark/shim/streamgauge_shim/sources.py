"""What the script reads."""

from __future__ import annotations

import json
import re

from streamgauge_shim import SHIM
from streamgauge_shim.wrapping import give_security, kafka_option, settings_of, with_options, wrap


def read_option(settings, key, value):
    settings[key] = value
    if key == "subscribe":
        return ",".join(SHIM.source_topic(topic) for topic in str(value).split(","))
    if key == "assign":
        return json.dumps({SHIM.source_topic(topic): places for topic, places in json.loads(value).items()})
    if key == "subscribepattern":
        topics = [topic for topic in SHIM.config["topics"] if re.fullmatch(str(value), topic)]
        if not topics:
            SHIM.refuse(
                f"the pattern {value!r} of the script matches no topic of the run",
                "--map STREAM=TOPIC with a topic that it matches",
            )
        return "|".join(re.escape(SHIM.source_topic(topic)) for topic in topics)
    if key in ("startingoffsets", "endingoffsets") and str(value).strip().startswith("{"):
        # Offsets of another broker mean nothing here.
        SHIM.redirected("starting offsets", str(value), "earliest")
        return "earliest" if key == "startingoffsets" else "latest"
    if key in ("kafka.group.id", "groupidprefix"):
        return SHIM.config["sink_prefix"] + str(value)
    if key == "path":
        return SHIM.input_path(value)
    return kafka_option(settings, key, value)


def patch_reader(cls):
    plain_option = cls.option
    with_options(cls, read_option)

    @wrap(cls, "load")
    def load(original, self, *args, **kwargs):
        settings = settings_of(self)
        format_ = kwargs.get("format") or (args[1] if len(args) > 1 else None) or settings.get("format", "")
        fixed = ("path", "format", "schema")
        kwargs = {
            key: value if key in fixed else read_option(settings, key.lower(), value) for key, value in kwargs.items()
        }
        if args and args[0] is not None:
            args = (SHIM.input_path(args[0]), *args[1:])
        if str(format_).lower() == "kafka":
            SHIM.brokers.add(settings.get("bootstrap", ""))
            SHIM.tell("reads", bootstrap=settings.get("bootstrap"))
            give_security(plain_option, self, settings)
        return original(self, *args, **kwargs)

    for name in ("parquet", "json", "csv", "orc", "text"):

        @wrap(cls, name)
        def of_files(original, self, *args, **kwargs):
            args = tuple(SHIM.input_path(one) for one in args)
            if "path" in kwargs:
                kwargs["path"] = SHIM.input_path(kwargs["path"])
            return original(self, *args, **kwargs)

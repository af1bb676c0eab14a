"""What the script writes, by a streaming query or inside one."""

from __future__ import annotations

import json
import os
import re

from streamgauge_shim import SHIM
from streamgauge_shim.queries import started
from streamgauge_shim.wrapping import give_security, kafka_option, settings_of, with_options, wrap

FILE_FORMATS = ("parquet", "json", "csv", "orc", "text", "avro", "delta", "iceberg", "hudi", "binaryfile", "xml")
HARMLESS = ("console", "memory", "noop")


def write_option(settings, key, value):
    settings[key] = value
    if key == "checkpointlocation":
        return SHIM.checkpoint(value)
    if key == "path":
        redirected = SHIM.output_path(value) if not SHIM.is_allowed(str(value)) else None
        return value if redirected is None else redirected
    if key == "topic":
        return SHIM.sink_topic(str(value))
    return kafka_option(settings, key, value)


def check_sink(self, format_, settings, path, has_topic_column):
    """Raises Refused for a sink that is not in the run and that the user has not allowed."""
    format_ = str(format_ or "parquet").lower()
    if format_ == "kafka":
        bootstrap = settings.get("bootstrap", "")
        known = SHIM.brokers | set(SHIM.config["brokers"]) | others_read()
        if bootstrap not in known:
            SHIM.refuse(
                f"the script writes to Kafka at {bootstrap}, from which it reads none of the run's data",
                f"--map kafka://{bootstrap} redirects it to the broker of the run",
            )
        if "topic" not in settings and has_topic_column and not SHIM.config["own_broker"]:
            SHIM.refuse("the script writes to topics named in a column, which cannot be redirected", "option topic")
        return
    if format_ in HARMLESS:
        return
    if format_ in FILE_FORMATS:
        if path is None or SHIM.output_path(path) is not None or SHIM.is_allowed(str(path)):
            return
        SHIM.refuse(f"the script writes to the path {path}", f"--allow-sink {path} if that is intended")
    where = str(settings.get("url") or path or "")
    if SHIM.is_allowed(where or format_) or SHIM.is_allowed(format_):
        return
    SHIM.refuse(
        "the script writes to a sink of format {}{}".format(format_, " at " + bare(where) if where else ""),
        f"--allow-sink {bare(where) or format_} if that is intended",
    )


def bare(url):
    """Without what may hold a password."""
    return re.sub(r"[?;].*", "", re.sub(r"//[^/@]*@", "//", url))


def others_read():
    """Addresses that another process of the script has read from."""
    found = set()
    try:
        with open(os.path.join(SHIM.directory, "events.jsonl"), encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                if event.get("event") == "reads":
                    found.add(event.get("bootstrap"))
    except (OSError, ValueError):
        pass
    return found


def check_table(name):
    if not SHIM.is_allowed(str(name)):
        SHIM.refuse(f"the script writes to the table {name}", f"--allow-sink {name} if that is intended")


def columns_of(self):
    frame = getattr(self, "_df", None)
    try:
        return list(frame.columns) if frame is not None else []
    except Exception:
        return []


def patch_stream_writer(cls):
    plain_option = cls.option
    with_options(cls, write_option)

    @wrap(cls, "foreachBatch")
    def foreach_batch(original, self, function):
        settings_of(self)["format"] = "foreachbatch"
        return original(self, function)

    @wrap(cls, "foreach")
    def foreach(original, self, function):
        settings_of(self)["format"] = "foreach"
        return original(self, function)

    @wrap(cls, "trigger")
    def trigger(original, self, *args, **kwargs):
        settings_of(self)["trigger"] = {key: value for key, value in kwargs.items() if value is not None}
        return original(self, *args, **kwargs)

    @wrap(cls, "outputMode")
    def output_mode(original, self, mode):
        settings_of(self)["outputmode"] = mode
        return original(self, mode)

    @wrap(cls, "queryName")
    def query_name(original, self, name):
        settings_of(self)["queryname"] = name
        return original(self, name)

    @wrap(cls, "start")
    def start(original, self, path=None, format=None, outputMode=None, partitionBy=None, queryName=None, **options):
        settings = settings_of(self)
        options = {key: write_option(settings, key.lower(), value) for key, value in options.items()}
        kind = format or settings.get("format")
        if kind not in ("foreachbatch", "foreach"):
            target = path if path is not None else settings.get("path")
            check_sink(self, kind, settings, target, "topic" in columns_of(self))
            if path is not None and str(kind or "parquet").lower() in FILE_FORMATS and not SHIM.is_allowed(str(path)):
                path = SHIM.output_path(path)
        if str(kind).lower() == "kafka":
            give_security(plain_option, self, settings)
        if "checkpointlocation" not in settings:
            name = queryName or settings.get("queryname") or f"query-{len(SHIM.queries) + 1}"
            plain_option(self, "checkpointLocation", SHIM.checkpoint("(none) " + name))
            settings["checkpointlocation"] = "(none) " + name
        query = original(self, path, format, outputMode, partitionBy, queryName, **options)
        started(query, settings, kind, outputMode)
        return query

    @wrap(cls, "toTable")
    def to_table(original, self, tableName, *args, **kwargs):
        check_table(tableName)
        settings = settings_of(self)
        if "checkpointlocation" not in settings:
            plain_option(self, "checkpointLocation", SHIM.checkpoint("(none) " + tableName))
            settings["checkpointlocation"] = "(none) " + tableName
        query = original(self, tableName, *args, **kwargs)
        started(query, settings, "table", None)
        return query


def patch_writer(cls):
    plain_option = cls.option
    with_options(cls, write_option)

    @wrap(cls, "save")
    def save(original, self, path=None, format=None, mode=None, partitionBy=None, **options):
        settings = settings_of(self)
        options = {key: write_option(settings, key.lower(), value) for key, value in options.items()}
        kind = str(format or settings.get("format") or "parquet").lower()
        target = path if path is not None else settings.get("path")
        check_sink(self, kind, settings, target, "topic" in columns_of(self))
        if kind == "kafka":
            give_security(plain_option, self, settings)
        if path is not None and kind in FILE_FORMATS and not SHIM.is_allowed(str(path)):
            path = SHIM.output_path(path)
        return original(self, path, format, mode, partitionBy, **options)

    for name in ("parquet", "json", "csv", "orc", "text", "xml"):
        patch_file_method(cls, name)

    @wrap(cls, "jdbc")
    def jdbc(original, self, url, *args, **kwargs):
        check_sink(self, "jdbc", {"url": url}, None, False)
        return original(self, url, *args, **kwargs)

    @wrap(cls, "saveAsTable")
    def save_as_table(original, self, name, *args, **kwargs):
        check_table(name)
        return original(self, name, *args, **kwargs)

    @wrap(cls, "insertInto")
    def insert_into(original, self, tableName, *args, **kwargs):
        check_table(tableName)
        return original(self, tableName, *args, **kwargs)


def patch_file_method(cls, name):
    @wrap(cls, name)
    def to_files(original, self, path, *args, **kwargs):
        check_sink(self, name, settings_of(self), path, False)
        return original(self, path if SHIM.is_allowed(str(path)) else SHIM.output_path(path), *args, **kwargs)


def patch_writer_v2(cls):
    @wrap(cls, "__init__")
    def init(original, self, df, table, *args, **kwargs):
        original(self, df, table, *args, **kwargs)
        self.__dict__["_streamgauge_table"] = table

    for name in ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"):

        @wrap(cls, name)
        def write(original, self, *args, **kwargs):
            check_table(self.__dict__.get("_streamgauge_table", "?"))
            return original(self, *args, **kwargs)

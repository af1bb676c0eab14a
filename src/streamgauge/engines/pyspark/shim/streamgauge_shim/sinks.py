"""What the script writes, by a streaming query or inside one."""

from __future__ import annotations

from streamgauge_shim import LOCAL, SHIM
from streamgauge_shim.queries import started
from streamgauge_shim.targets import FILE_FORMATS, check_sink, check_table, written_path
from streamgauge_shim.wrapping import (
    bind,
    give_security,
    kafka_option,
    session_setting,
    settings_of,
    with_options,
    wrap,
)


def write_option(settings, key, value):
    settings[key] = value
    if key == "checkpointlocation":
        return LOCAL + SHIM.checkpoint(value)
    if key == "path":
        redirected = SHIM.output_path(value) if not SHIM.is_allowed(value) else None
        return value if redirected is None else redirected
    if key == "topic":
        return SHIM.sink_topic(str(value))
    return kafka_option(settings, key, value)


def format_of(self, given):
    """The format that a writer has, in lower case: without one of its own, that of its session."""
    kind = given or settings_of(self).get("format")
    return str(kind or session_setting(self, "spark.sql.sources.default", "parquet")).lower()


def columns_of(self):
    frame = getattr(self, "_df", None)
    try:
        return list(frame.columns) if frame is not None else []
    except Exception:
        return []


def redirected_path(self, kind, path):
    """The path to write instead, if one is given. Raises Refused for a sink outside the run."""
    settings = settings_of(self)
    check_sink(kind, settings, path if path is not None else settings.get("path"), "topic" in columns_of(self))
    return written_path(path) if path is not None and kind in FILE_FORMATS else path


def checkpoint_of(plain_option, self, *names):
    """Where the checkpoint of a query is, as a plain path. Without one, it gets one as lasting as Spark's would be."""
    settings = settings_of(self)
    if "checkpointlocation" in settings:
        return SHIM.checkpoint(settings["checkpointlocation"])
    name = names[0] or settings.get("queryname")
    root = session_setting(self, "spark.sql.streaming.checkpointLocation", "")
    if root and name:
        place = SHIM.checkpoint(f"{root}/{name}")
    else:
        place = SHIM.temporary_checkpoint(next(filter(None, [name, *names[1:]]), f"query {len(SHIM.queries) + 1}"))
    # Not among the settings: the script may start this writer again.
    plain_option(self, "checkpointLocation", LOCAL + place)
    return place


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
        self.options(**options)
        kind = format_of(self, format)
        # What these two write, they write in Python: there it is fenced.
        if kind not in ("foreachbatch", "foreach"):
            path = redirected_path(self, kind, path)
        if kind == "kafka":
            give_security(plain_option, self)
        checkpoint = checkpoint_of(plain_option, self, queryName)
        query = original(self, path, format, outputMode, partitionBy, queryName)
        started(query, settings_of(self), checkpoint, kind, outputMode)
        return query

    @wrap(cls, "toTable")
    def to_table(original, self, tableName, format=None, outputMode=None, partitionBy=None, queryName=None, **options):
        self.options(**options)
        check_table_at(self, tableName)
        checkpoint = checkpoint_of(plain_option, self, queryName, tableName)
        query = original(self, tableName, format, outputMode, partitionBy, queryName)
        started(query, settings_of(self), checkpoint, "table", outputMode)
        return query


def patch_writer(cls):
    plain_option = cls.option
    with_options(cls, write_option)

    @wrap(cls, "save")
    def save(original, self, path=None, format=None, mode=None, partitionBy=None, **options):
        self.options(**options)
        kind = format_of(self, format)
        path = redirected_path(self, kind, path)
        if kind == "kafka":
            give_security(plain_option, self)
        return original(self, path, format, mode, partitionBy)

    for name in ("parquet", "json", "csv", "orc", "text", "xml"):
        patch_file_method(cls, name)

    @wrap(cls, "jdbc")
    def jdbc(original, self, url, *args, **kwargs):
        check_sink("jdbc", {"url": url}, None, False)
        return original(self, url, *args, **kwargs)

    @wrap(cls, "saveAsTable")
    def save_as_table(original, self, name, format=None, mode=None, partitionBy=None, **options):
        self.options(**options)
        check_table_at(self, name)
        return original(self, name, format, mode, partitionBy)

    @wrap(cls, "insertInto")
    def insert_into(original, self, tableName, *args, **kwargs):
        check_table(tableName)
        return original(self, tableName, *args, **kwargs)


def check_table_at(self, name):
    """Raises Refused for a table, and for the path that is given for its files."""
    check_table(name)
    if settings_of(self).get("path") is not None:
        written_path(settings_of(self)["path"])


def patch_file_method(cls, name):
    @wrap(cls, name)
    def to_files(original, self, path, *args, **kwargs):
        return original(self, written_path(path), *args, **kwargs)


def patch_writer_v2(cls):
    with_options(cls, write_option)

    @wrap(cls, "__init__")
    def init(original, self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.__dict__["_streamgauge_table"] = bind(original, self, *args, **kwargs).arguments["table"]

    for name in ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"):

        @wrap(cls, name)
        def write(original, self, *args, **kwargs):
            check_table_at(self, self.__dict__.get("_streamgauge_table", "?"))
            return original(self, *args, **kwargs)

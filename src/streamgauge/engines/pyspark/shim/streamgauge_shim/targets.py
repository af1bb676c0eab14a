"""What the script may write to: a place in the run, or one that the user has allowed."""

from __future__ import annotations

from streamgauge_shim import SHIM
from streamgauge_shim.urls import bare, common_prefix

FILE_FORMATS = ("parquet", "json", "csv", "orc", "text", "avro", "delta", "iceberg", "hudi", "binaryfile", "xml")
HARMLESS = ("console", "memory", "noop")


def refuse_write(where, prefix=None):
    SHIM.refuse(f"refused: the script writes to {where}", f"--allow-sink {prefix or where} if that is intended")


def written_path(path):
    """Where to write instead of a path: in the run, or there if that is allowed. Raises Refused."""
    if SHIM.is_allowed(path):
        return path
    redirected = SHIM.output_path(path)
    if redirected is None:
        refuse_write(bare(path), common_prefix(path))
    return redirected


def check_table(name):
    if not SHIM.is_allowed(name):
        SHIM.refuse(
            f"refused: the script writes to the table {bare(name)}", f"--allow-sink {bare(name)} if that is intended"
        )


def check_sink(format_, settings, path, has_topic_column):
    """Raises Refused for a sink that is not in the run and that the user has not allowed."""
    format_ = str(format_).lower()
    if format_ == "kafka":
        check_kafka(settings, has_topic_column)
    elif format_ in FILE_FORMATS:
        if path is not None:
            written_path(path)
    elif format_ not in HARMLESS:
        where = str(settings.get("url") or path or "")
        if not SHIM.is_allowed(where or format_) and not SHIM.is_allowed(format_):
            at = " at " + bare(where) if where else ""
            refuse_write(f"a sink of format {format_}{at}", bare(where) or format_)


def check_kafka(settings, has_topic_column):
    bootstrap = settings.get("bootstrap", "")
    if bootstrap not in SHIM.brokers | set(SHIM.config["brokers"]) | others_read():
        SHIM.refuse(
            f"refused: the script writes to Kafka at {bootstrap}, from which it reads none of the run's data",
            f"--map kafka://{bootstrap} redirects it to the broker of the run",
        )
    if "topic" not in settings and has_topic_column and not SHIM.config["own_broker"]:
        SHIM.refuse(
            "refused: the script writes to topics named in a column, which cannot be redirected", "option topic"
        )


def others_read():
    """Addresses that another process of the script has read from."""
    return {event.get("bootstrap") for event in SHIM.events("reads")}

"""Patches the modules of PySpark when the script imports them, and fences Python's own connections."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import ipaddress
import socket
import sys
import traceback

from streamgauge_shim import SHIM


def patch_streaming(module):
    from streamgauge_shim.sinks import patch_stream_writer
    from streamgauge_shim.sources import patch_reader

    patch_reader(module.DataStreamReader)
    patch_stream_writer(module.DataStreamWriter)


def patch_batch(module):
    from streamgauge_shim.sinks import patch_writer, patch_writer_v2
    from streamgauge_shim.sources import patch_reader

    patch_reader(module.DataFrameReader)
    patch_writer(module.DataFrameWriter)
    if hasattr(module, "DataFrameWriterV2"):
        patch_writer_v2(module.DataFrameWriterV2)


def patch_sessions(module):
    from streamgauge_shim.sessions import patch_session

    patch_session(module.SparkSession)


def patch_remote_sessions(module):
    from streamgauge_shim.sessions import patch_remote_session

    patch_remote_session(module.SparkSession)


def patch_contexts(module):
    from streamgauge_shim.rdds import READERS, patch_context_reader
    from streamgauge_shim.sessions import patch_context

    patch_context(module)
    for name in READERS:
        patch_context_reader(module.SparkContext, name)


def patch_gateways(module):
    from streamgauge_shim.sessions import patch_gateway

    patch_gateway(module)


def patch_rdds(module):
    from streamgauge_shim.rdds import patch_rdd

    patch_rdd(module.RDD)


def patch_merges(module):
    from streamgauge_shim.tables import patch_merge

    patch_merge(module.MergeIntoWriter)


def patch_catalogs(module):
    from streamgauge_shim.tables import patch_catalog

    patch_catalog(module.Catalog)


def patch_delta_tables(module):
    from streamgauge_shim.tables import patch_delta

    patch_delta(module)


def patch_queries(module):
    from streamgauge_shim.queries import patch_query

    patch_query(module.StreamingQuery)


def patch_functions(module):
    from streamgauge_shim.queries import patch_windows

    if not hasattr(module, "__path__"):
        patch_windows(module)


PATCHES = {
    "pyspark.sql.streaming.readwriter": patch_streaming,
    "pyspark.sql.connect.streaming.readwriter": patch_streaming,
    "pyspark.sql.readwriter": patch_batch,
    "pyspark.sql.connect.readwriter": patch_batch,
    "pyspark.sql.session": patch_sessions,
    "pyspark.sql.connect.session": patch_remote_sessions,
    "pyspark.sql.catalog": patch_catalogs,
    "pyspark.sql.connect.catalog": patch_catalogs,
    "pyspark.sql.merge": patch_merges,
    "pyspark.sql.connect.merge": patch_merges,
    "pyspark.sql.streaming.query": patch_queries,
    "pyspark.sql.connect.streaming.query": patch_queries,
    "pyspark.java_gateway": patch_gateways,
    # In a package of their own since 4.0.
    "pyspark.context": patch_contexts,
    "pyspark.core.context": patch_contexts,
    "pyspark.rdd": patch_rdds,
    "pyspark.core.rdd": patch_rdds,
    "delta.tables": patch_delta_tables,
    "delta.connect.tables": patch_delta_tables,
    # A module until 3.5, a package with all functions in one of its modules since.
    "pyspark.sql.functions": patch_functions,
    "pyspark.sql.functions.builtin": patch_functions,
}


ALLOWED = set()


class Loader(importlib.abc.Loader):
    """A new one for each module: under spark-submit one importer serves several modules."""

    def __init__(self, inner, name):
        self.inner, self.name = inner, name

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        PATCHES[self.name](module)
        SHIM.tell("patched", module=self.name)

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader, name)
        return spec


def fence(event, args):
    """Refuses what Python's own sockets send to other machines."""
    if event not in ("socket.connect", "socket.sendto", "socket.sendmsg") or not isinstance(args[1], tuple):
        return
    host = str(args[1][0])
    if is_this_machine(host) or host in allowed():
        return
    SHIM.refuse(f"refused: the script connects to {host}:{args[1][1]}", f"--set allow_hosts={host} if that is intended")


def is_this_machine(host):
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        # A name may begin like an address: 127.evil.example.
        return host == "localhost"
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def allowed():
    """The names of the machines that may be reached, and their addresses: sockets connect to those."""
    if not ALLOWED:
        ALLOWED.update(SHIM.config["hosts"])
        for host in SHIM.config["hosts"]:
            try:
                ALLOWED.update(str(found[4][0]) for found in socket.getaddrinfo(host, None))
            except OSError:
                pass
    return ALLOWED


def report_failure(kind, problem, trace):
    """What ended the script, with its last line in the script itself."""
    frames = [one for one in traceback.extract_tb(trace) if one.filename == SHIM.config["script"]]
    where = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else SHIM.config["script"]
    text = (str(problem).strip().splitlines() or [""])[0]
    SHIM.tell("failed", where=where, message=f"{kind.__name__}: {text}"[:1000])
    sys.__excepthook__(kind, problem, trace)


def install_fence():
    sys.addaudithook(fence)


def install():
    sys.meta_path.insert(0, Finder())
    sys.excepthook = report_failure
    install_fence()
    SHIM.tell("loaded", python=sys.version.split()[0])

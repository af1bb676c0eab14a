"""Tables that the script changes otherwise than by a writer or by SQL: MERGE, the catalog, Delta's own classes."""

from __future__ import annotations

from streamgauge_shim.targets import check_table, written_path
from streamgauge_shim.wrapping import bind, wrap

OF_CATALOG = (
    *("createTable", "createExternalTable", "dropTable", "truncateTable", "analyzeTable", "recoverPartitions"),
    *("createDatabase", "dropDatabase", "dropView"),
)


def patch_merge(cls):
    @wrap(cls, "__init__")
    def init(original, self, *args, **kwargs):
        check_table(bind(original, self, *args, **kwargs).arguments["table"])
        return original(self, *args, **kwargs)


def patch_catalog(cls):
    for name in OF_CATALOG:
        patch_catalog_method(cls, name)


def patch_catalog_method(cls, name):
    @wrap(cls, name)
    def change(original, self, *args, **kwargs):
        call = bind(original, self, *args, **kwargs)
        check_table(call.args[1])
        if call.arguments.get("path") is not None:
            call.arguments["path"] = written_path(call.arguments["path"])
        return original(*call.args, **call.kwargs)


def patch_delta(module):
    for name in ("forPath", "isDeltaTable"):
        patch_class_method(module.DeltaTable, name, written_path)
    for name in ("forName", "convertToDelta"):
        patch_class_method(module.DeltaTable, name, checked_table)

    # create(), createOrReplace() and the like return this one.
    @wrap(module.DeltaTableBuilder, "location")
    def location(original, self, location):
        return original(self, written_path(location))

    @wrap(module.DeltaTableBuilder, "tableName")
    def table_name(original, self, identifier):
        return original(self, checked_table(identifier))


def checked_table(name):
    check_table(name)
    return name


def patch_class_method(cls, name, rewrite):
    """Of a class method whose first arguments are a session and what it is about."""
    method = getattr(cls, name, None)
    if method is None:
        return

    def wrapped(cls, *args, **kwargs):
        call = bind(method.__func__, cls, *args, **kwargs)
        about = list(call.arguments)[2]
        call.arguments[about] = rewrite(call.arguments[about])
        return method.__func__(*call.args, **call.kwargs)

    wrapped.__name__, wrapped.__doc__ = name, method.__doc__
    setattr(cls, name, classmethod(wrapped))

"""Spark sessions and contexts: their settings, and what they write by SQL."""

from __future__ import annotations

import os

from streamgauge_shim import LOCAL, SHIM
from streamgauge_shim.packages import resolve, take_packages
from streamgauge_shim.statements import Statement
from streamgauge_shim.urls import bare, common_prefix
from streamgauge_shim.wrapping import bind, wrap

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVENT_LOG = "spark.eventLog.dir"
WORKERS_PATH = "spark.executorEnv.PYTHONPATH"
WAREHOUSE = "spark.sql.warehouse.dir"


def patch_session(cls):
    @wrap(cls, "sql")
    def sql(original, self, sqlQuery, *args, **kwargs):
        check_statement(str(sqlQuery))
        return original(self, sqlQuery, *args, **kwargs)

    builder = cls.__dict__.get("Builder")
    if builder is None:
        return
    for name in ("getOrCreate", "create"):
        patch_builder_method(builder, name)


def patch_builder_method(builder, name):
    @wrap(builder, name)
    def make(original, self):
        configure(self._options)
        session = original(self)
        SHIM.tell("session", version=session.version)
        return session


def check_statement(text):
    """Raises Refused for a statement that writes, unless all of its targets are allowed."""
    statement = Statement(text)
    if statement.only_reads():
        return
    targets = statement.targets()
    refused = [name for name in targets if name is None or not SHIM.is_allowed(name)]
    if targets and not refused:
        return
    name = refused[0] if refused else None
    what = statement.kind() if name is None else f"{statement.kind()} {bare(name)}"
    SHIM.refuse(
        f"refused: the script writes by SQL: {what}",
        "a statement that does not name its target cannot be allowed"
        if name is None
        else f"--allow-sink {common_prefix(name)} if that is intended",
    )


def patch_remote_session(cls):
    """A server that was not started by the script runs outside of the fence."""
    patch_session(cls)

    @wrap(cls, "__init__")
    def init(original, self, connection, *args, **kwargs):
        # PySpark's own mark of a server that it has started for this script.
        if "SPARK_LOCAL_REMOTE" not in os.environ:
            address = bare(getattr(connection, "endpoint", None) or connection)
            if not SHIM.is_allowed(address):
                SHIM.refuse(
                    f"refused: the script uses the Spark Connect server {address}, which cannot be fenced",
                    f"leave spark.remote and SPARK_REMOTE out, or --allow-sink {address} if that is intended",
                )
        return original(self, connection, *args, **kwargs)


def patch_context(module):
    @wrap(module.SparkContext, "__init__")
    def init(original, self, *args, **kwargs):
        call = bind(original, self, *args, **kwargs)
        if call.arguments.get("jsc") is None:
            given = call.arguments.get("conf") or module.SparkConf()
            options = dict(given.getAll())
            if call.arguments.get("master"):
                options["spark.master"] = call.arguments.pop("master")
            configure(options)
            # A copy: packages are to be left out. What the JVM has loaded already is in the given one.
            conf = module.SparkConf(loadDefaults=given._jconf is None)
            for key, value in options.items():
                conf.set(key, str(value))
            call.arguments["conf"] = conf
            if "PYTHONPATH" in (call.arguments.get("environment") or {}):
                environment = call.arguments["environment"]
                call.arguments["environment"] = {**environment, "PYTHONPATH": with_shim(environment["PYTHONPATH"])}
        call.apply_defaults()
        return original(*call.args, **call.kwargs)

    @wrap(module.SparkContext, "setCheckpointDir")
    def set_checkpoint_dir(original, self, dirName):
        return original(self, LOCAL + SHIM.checkpoint(dirName))


def patch_gateway(module):
    original = module.launch_gateway

    def launch_gateway(*args, **kwargs):
        # The JVM passes its environment on to the Python workers, which are fenced by it.
        os.environ["PYTHONPATH"] = with_shim(os.environ.get("PYTHONPATH", ""))
        os.environ["STREAMGAUGE_SHIM"] = SHIM.directory
        return original(*args, **kwargs)

    module.launch_gateway = launch_gateway


def with_shim(paths):
    """PYTHONPATH with this shim in front."""
    others = [one for one in paths.split(os.pathsep) if one and one != HERE]
    return os.pathsep.join([HERE, *others])


def configure(options):
    """The settings of a session or context: the script's own, with those of the run. Twice is the same as once."""
    remote = "spark.remote" in options or "SPARK_REMOTE" in os.environ
    if not remote and SHIM.config["master"] and not SHIM.config["submit"]:
        if options.get("spark.master") not in (None, SHIM.config["master"]):
            SHIM.redirected("master", options["spark.master"], SHIM.config["master"])
        options["spark.master"] = SHIM.config["master"]
    if not remote and not SHIM.config["submit"]:
        packages = take_packages(options)
        found = resolve(packages, options) if packages else []
        jars = [one for one in str(options.get("spark.jars", "")).split(",") if one]
        if found or SHIM.config["jars"]:
            options["spark.jars"] = ",".join(dict.fromkeys([*jars, *SHIM.config["jars"], *found]))
    if WORKERS_PATH in options:
        options[WORKERS_PATH] = with_shim(str(options[WORKERS_PATH]))
    if "spark.sql.streaming.checkpointLocation" in options:
        options["spark.sql.streaming.checkpointLocation"] = LOCAL + SHIM.config["checkpoints"]
    if not remote:
        redirect_logs(options)
    options.update(SHIM.config["conf"])
    if str(options.get(WAREHOUSE, "")).startswith(os.sep):
        options[WAREHOUSE] = LOCAL + str(options[WAREHOUSE])


def redirect_logs(options):
    """What Spark writes about itself. The event log also if only the user's defaults name its directory."""
    named = [key for key in options if key.startswith(("spark.eventLog.", "spark.history.", "spark.driver.log."))]
    for key in dict.fromkeys([EVENT_LOG, *(one for one in named if one.lower().endswith(("dir", "directory")))]):
        directory = os.path.join(SHIM.config["output"], key)
        if key in options and options[key] != LOCAL + directory:
            SHIM.redirected("log", str(options[key]), directory)
        # Spark does not create it.
        os.makedirs(directory, exist_ok=True)
        options[key] = LOCAL + directory

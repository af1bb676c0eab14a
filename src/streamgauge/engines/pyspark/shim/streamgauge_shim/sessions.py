"""Spark sessions: their settings, and what they write by SQL."""

from __future__ import annotations

import os
import re

from streamgauge_shim import SHIM
from streamgauge_shim.packages import resolve, take_packages
from streamgauge_shim.wrapping import wrap

SQL_WRITES = re.compile(
    r"\s*(create\s+(or\s+replace\s+)?(external\s+)?table|insert|merge|update|delete|drop|truncate|alter|replace|load)\b"
    # Also behind a WITH or a FROM clause.
    r"|.*\binsert\s+(into|overwrite)\b",
    re.IGNORECASE | re.DOTALL,
)
SQL_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def patch_session(cls):
    @wrap(cls, "sql")
    def sql(original, self, sqlQuery, *args, **kwargs):
        statement = SQL_COMMENTS.sub(" ", str(sqlQuery))
        temporary = re.match(r"\s*create\s+(or\s+replace\s+)?(global\s+)?temp", statement, re.IGNORECASE)
        if SQL_WRITES.match(statement) and not temporary and not re.match(r"\s*drop\s+view", statement, re.IGNORECASE):
            words = re.sub(r"\s+", " ", statement.strip())[:80]
            if not any(prefix in statement for prefix in SHIM.config["allow"]):
                SHIM.refuse(f"the script writes by SQL: {words}", "--allow-sink TABLE if that is intended")
        return original(self, sqlQuery, *args, **kwargs)

    builder = cls.__dict__.get("Builder")
    if builder is None:
        return

    @wrap(builder, "getOrCreate")
    def get_or_create(original, self):
        configure(self._options)
        session = original(self)
        SHIM.tell("session", version=session.version)
        return session


def configure(options):
    """The settings of a session: the script's own, with those of the run."""
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
            options["spark.jars"] = ",".join([*jars, *SHIM.config["jars"], *found])
    if "spark.sql.streaming.checkpointLocation" in options:
        options["spark.sql.streaming.checkpointLocation"] = SHIM.config["checkpoints"]
    options.update(SHIM.config["conf"])

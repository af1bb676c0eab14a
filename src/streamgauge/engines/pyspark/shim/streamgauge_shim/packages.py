"""The packages of a session, which streamgauge resolves outside the script's network."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time

from streamgauge_shim import SHIM

RESOLVED_S = 600.0
KEYS = ("spark.jars.repositories", "spark.jars.excludes", "spark.jars.ivy", "spark.jars.ivySettings")
ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
RESOLVED = "spark.streamgauge.packages.resolved"


def take_packages(options):
    """The packages of the builder, of PYSPARK_SUBMIT_ARGS and of the user's defaults; none of them stays there.

    Those of the Kafka connector are left out where the run brings it.
    """
    # A session configures its context, too: those of the defaults are among its jars then.
    defaults = "" if options.get(RESOLVED) else SHIM.config["packages"]
    options[RESOLVED] = "true"
    texts = [options.pop("spark.jars.packages", ""), from_arguments(options), defaults]
    packages = [one.strip() for text in texts for one in str(text).split(",") if one.strip()]
    with_connector = bool(SHIM.config["jars"])
    return [one for one in dict.fromkeys(packages) if not (with_connector and is_connector(one))]


def is_connector(package):
    artifact = package.split(":")[1] if package.count(":") >= 2 else ""
    return artifact.startswith(
        ("spark-sql-kafka", "spark-streaming-kafka", "spark-token-provider-kafka", "kafka-clients")
    )


def from_arguments(options):
    """The value of ``--packages`` in the arguments for the JVM; ``--repositories`` moves to the options."""
    words, kept, packages = shlex.split(os.environ.get(ARGUMENTS, "")), [], ""
    places = iter(words)
    for word in places:
        name, equals, value = word.partition("=")
        if name in ("--packages", "--repositories"):
            value = value if equals else next(places, "")
            if name == "--packages":
                packages = value
            else:
                options.setdefault("spark.jars.repositories", value)
        else:
            kept.append(word)
    if packages:
        os.environ[ARGUMENTS] = shlex.join(kept)
    return packages


def resolve(packages, options):
    """The paths of their jars. Raises Refused when they are not to be had."""
    request = {"spark.jars.packages": ",".join(packages), **{key: options[key] for key in KEYS if key in options}}
    text = json.dumps(request, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    place = os.path.join(SHIM.directory, name)
    with open(place + ".half", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(place + ".half", place + ".packages")
    deadline = time.monotonic() + RESOLVED_S
    while not os.path.exists(place + ".jars") and time.monotonic() < deadline:
        time.sleep(0.05)
    answer = {"jars": [], "problem": "no answer"}
    if os.path.exists(place + ".jars"):
        with open(place + ".jars", encoding="utf-8") as file:
            answer = json.load(file)
    if answer["problem"]:
        SHIM.refuse(
            "the packages of the script could not be resolved: {} ({})".format(", ".join(packages), answer["problem"]),
            "check their names and the network, or put the jars into spark.jars",
        )
    SHIM.redirected("packages", ", ".join(packages), "{} jars, resolved outside the fence".format(len(answer["jars"])))
    return answer["jars"]

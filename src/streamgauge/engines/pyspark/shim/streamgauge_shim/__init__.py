"""Redirects what a user's PySpark script reads and writes to the run, and refuses what it cannot redirect.

It runs in the script's own environment: Python 3.8 or newer, PySpark 3.4 or newer, and nothing of streamgauge.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time

TOPIC_S = 30.0


class Refused(Exception):
    """What the script tried would have left the run."""


class Shim:
    """What to redirect, and where the events go."""

    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "shim.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        self._lock = threading.Lock()
        self._said = set()
        self.brokers = set(self.config["brokers"])
        self.paths = {}
        self.queries = []

    def tell(self, event, **fields):
        line = json.dumps({"event": event, "pid": os.getpid(), **fields}, default=str)
        with self._lock, open(os.path.join(self.directory, "events.jsonl"), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def redirected(self, what, old, new):
        if (what, old, new) not in self._said:
            self._said.add((what, old, new))
            self.tell("redirected", what=what, old=old, new=new)

    def refuse(self, what, hint):
        self.tell("refused", what=what, hint=hint)
        raise Refused(f"streamgauge: {what}; {hint}")

    def is_allowed(self, sink):
        return any(sink.startswith(prefix) for prefix in self.config["allow"])

    # Topics of sources.

    def source_topic(self, topic):
        topic = topic.strip()
        address = self.config["topics"].get(topic)
        if address is None:
            if topic in self.config["topics"].values() or topic.startswith(self.config["sink_prefix"]):
                return topic
            if topic in self.config["sinks"]:
                return self.sink_topic(topic)
            self.refuse(
                f"the script reads the topic {topic}, for which the run has no data",
                f"--data {topic}=FILE, or --map STREAM={topic}",
            )
        self.redirected("topic read", topic, address)
        return address

    def sink_topic(self, topic):
        """The topic of the run that stands for a topic of a sink; it is created at its first use."""
        if topic.startswith(self.config["sink_prefix"]):
            return topic
        address = self.config["sinks"].get(topic) or self.config["sink_prefix"] + topic
        if ("topic written", topic, address) not in self._said:
            self._create(address)
            self.redirected("topic written", topic, address)
        return address

    def _create(self, address):
        name = hashlib.sha256(address.encode()).hexdigest()[:16]
        made = os.path.join(self.directory, name + ".made")
        half = os.path.join(self.directory, name + ".half")
        with open(half, "w", encoding="utf-8") as file:
            file.write(address)
        os.replace(half, os.path.join(self.directory, name + ".wanted"))
        deadline = time.monotonic() + TOPIC_S
        while not os.path.exists(made):
            if time.monotonic() > deadline:
                self.refuse(f"the topic {address} was not created", "see the log of the run")
            time.sleep(0.02)

    # Paths.

    def output_path(self, path):
        """The directory of the run that stands for a local path; None for a path elsewhere."""
        text = str(path)
        if text.startswith(self.config["output"]):
            return text
        scheme = re.match(r"([A-Za-z][\w+.-]*):", text)
        if scheme and scheme.group(1) != "file":
            return None
        absolute = os.path.abspath(re.sub(r"^file:(//)?", "", text))
        name = hashlib.sha256(absolute.encode()).hexdigest()[:8] + "-" + os.path.basename(absolute)
        target = os.path.join(self.config["output"], name)
        self.paths[absolute] = target
        self.redirected("path written", text, target)
        return target

    def input_path(self, path):
        """A path that was redirected when it was written is read where it was written."""
        if not isinstance(path, str):
            return [self.input_path(one) for one in path] if isinstance(path, (list, tuple)) else path
        target = self.paths.get(os.path.abspath(re.sub(r"^file:(//)?", "", path)))
        return target if target is not None and os.path.exists(target) else path

    def checkpoint(self, location):
        if str(location).startswith(self.config["checkpoints"]):
            return str(location)
        name = hashlib.sha256(str(location).encode()).hexdigest()[:12]
        target = os.path.join(self.config["checkpoints"], name)
        self.redirected("checkpoint", str(location), target)
        return target


SHIM = Shim(os.environ["STREAMGAUGE_SHIM"])

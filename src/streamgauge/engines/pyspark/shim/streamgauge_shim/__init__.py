"""Redirects what a user's PySpark script reads and writes to the run, and refuses what it cannot redirect.

It runs in the script's own environment: Python 3.8 or newer, PySpark 3.4 or newer, and nothing of streamgauge.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import threading
import time
import uuid

from streamgauge_shim.urls import bare, without_user

TOPIC_S = 30.0
LOCAL = "file:"
"""Without it, Spark would take a path for one of its default file system, which may be HDFS."""


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
        self._temporary = itertools.count(1)
        self.start = uuid.uuid4().hex[:8]
        """Of this start of the script."""
        self.brokers = set(self.config["brokers"])
        self.queries = []

    def tell(self, event, **fields):
        line = json.dumps({"event": event, "pid": os.getpid(), **fields}, default=str)
        with self._lock, open(os.path.join(self.directory, "events.jsonl"), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def events(self, kind):
        """What was reported so far, also by other processes of the script and before it was started again."""
        found = []
        try:
            with open(os.path.join(self.directory, "events.jsonl"), encoding="utf-8") as file:
                found.extend(json.loads(line) for line in file)
        except (OSError, ValueError):
            # There are none yet, or another process is writing the last one.
            pass
        return [event for event in found if event["event"] == kind]

    def redirected(self, what, old, new):
        if (what, old, new) not in self._said:
            self._said.add((what, old, new))
            self.tell("redirected", what=what, old=bare(old), new=new)

    def refuse(self, what, hint):
        self.tell("refused", what=what, hint=hint)
        raise Refused(f"streamgauge: {what}; {hint}")

    def is_allowed(self, sink):
        """Whether the user allows what begins like that. The user and password in a URL do not count."""
        text = without_user(sink)
        if ".." in re.split(r"[/\\]", text):
            return False
        return any(text.startswith(without_user(prefix)) for prefix in self.config["allow"])

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
        """The directory of the run that stands for a local path, as a URL; None for a path elsewhere."""
        absolute = local_path(path)
        if absolute is None:
            return None
        if is_inside(absolute, self.config["output"]):
            return LOCAL + absolute
        target = self._output_of(absolute)
        self.redirected("path written", str(path), target)
        return LOCAL + target

    def _output_of(self, absolute):
        """Below the output directory there is the same tree, so that parents, children and patterns are found, too."""
        return os.path.join(self.config["output"], absolute.lstrip(os.sep))

    def input_path(self, path):
        """What was redirected when it was written is read where it was written.

        That is a path that was written, one below it, and one above it that does not exist outside the run.
        """
        if not isinstance(path, str):
            return [self.input_path(one) for one in path] if isinstance(path, (list, tuple)) else path
        absolute = local_path(path)
        if absolute is None or is_inside(absolute, self.config["output"]):
            return path
        target = self._output_of(absolute)
        # Up to the first pattern.
        outside, inside = (re.split(r"/[^/]*[*?\[{]", one)[0] for one in (absolute, target))
        if not os.path.exists(inside):
            return path
        written = [event["new"] for event in self.events("redirected") if event["what"] == "path written"]
        below = any(is_inside(inside, root) for root in written)
        return LOCAL + target if below or not os.path.exists(outside) else path

    def checkpoint(self, location):
        """The directory of the run that stands for a checkpoint, as a plain path."""
        absolute = local_path(location)
        if absolute is not None and is_inside(absolute, self.config["checkpoints"]):
            return absolute
        name = hashlib.sha256(str(location).encode()).hexdigest()[:12]
        target = os.path.join(self.config["checkpoints"], name)
        self.redirected("checkpoint", str(location), target)
        return target

    def temporary_checkpoint(self, name):
        """A new directory of the run: Spark does not find the checkpoint of such a query again, either."""
        readable = re.sub(r"[^\w.-]+", "-", name)[:40]
        target = os.path.join(self.config["checkpoints"], f"{readable}-temporary-{self.start}-{next(self._temporary)}")
        self.redirected("checkpoint", f"(none) {name}", target)
        return target


def local_path(path):
    """The absolute path of a local file; None for a URL of another file system."""
    text = str(path)
    scheme = re.match(r"([A-Za-z][\w+.-]*):", text)
    if scheme and scheme.group(1).lower() != "file":
        return None
    return os.path.abspath(re.sub(r"^file:(//)?", "", text, flags=re.IGNORECASE))


def is_inside(path, directory):
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


SHIM = Shim(os.environ["STREAMGAUGE_SHIM"])

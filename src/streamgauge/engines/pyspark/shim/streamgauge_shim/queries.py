"""The queries that the script starts, and what Spark reports about them."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time

from streamgauge_shim import SHIM
from streamgauge_shim.wrapping import wrap

LOOK_S, PROGRESS_LOOKS = 0.5, 10
"""Whether queries are active is asked for often: the load starts when those that are there read."""
NAMING = threading.Lock()
CHECKPOINTS = {}
"""Of the queries that were reported, by the number that Spark gave them."""
WINDOWS = []
"""Length and slide of the windows that the script has asked for."""


def patch_windows(module):
    original = module.window

    def window(timeColumn, windowDuration, slideDuration=None, startTime=None):
        WINDOWS.append([str(windowDuration), str(slideDuration or windowDuration), str(startTime or "0 seconds")])
        return original(timeColumn, windowDuration, slideDuration, startTime)

    module.window = window


def patch_query(cls):
    @wrap(cls, "stop")
    def stop(original, self):
        original(self)
        for query in [one for one in list(SHIM.queries) if one.id == self.id]:
            forget(query)


def started(query, settings, checkpoint, kind, output_mode):
    with NAMING:
        SHIM.queries.append(query)
        CHECKPOINTS[str(query.id)] = checkpoint
        first = len(CHECKPOINTS) == 1
        SHIM.tell(
            "query",
            id=str(query.id),
            name=unique_name(query.name or f"query {len(CHECKPOINTS)}", checkpoint),
            checkpoint=checkpoint,
            sink=kind,
            output_mode=str(output_mode or settings.get("outputmode") or "append"),
            trigger=settings.get("trigger") or {},
            asynchronous=str(settings.get("asyncprogresstrackingenabled", "")).lower() == "true",
            windows=WINDOWS,
        )
    if first:
        threading.Thread(target=follow_progress, daemon=True).start()


def unique_name(name, checkpoint):
    """The name that a checkpoint has in this run already, or one that no other checkpoint has."""
    names = {event["checkpoint"]: event["name"] for event in SHIM.events("query")}
    if checkpoint in names:
        return names[checkpoint]
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], numbered) if one not in names.values())


def follow_progress():
    """Passes on what the queries report. A listener would slow the script down by half."""
    last = {}
    for look in itertools.count(1):
        time.sleep(LOOK_S)
        for query in list(SHIM.queries):
            try:
                ended = not query.isActive
                if ended or look % PROGRESS_LOOKS == 0:
                    pass_on_progress(query, last)
            except Exception:
                # The query has ended, and Spark with it.
                ended = True
            if ended:
                forget(query)


def forget(query):
    """It has ended: by itself, by an exception, or with its session."""
    with NAMING:
        if query in SHIM.queries:
            SHIM.queries.remove(query)
            SHIM.tell("stopped", checkpoint=CHECKPOINTS[str(query.id)])


def pass_on_progress(query, last):
    handle = getattr(query, "_jsq", None)
    recent = handle.recentProgress() if handle is not None else query.recentProgress
    fresh = []
    for place in reversed(range(len(recent))):
        report = json.loads(recent[place].json()) if handle is not None else dict(recent[place])
        if (report["batchId"], report["timestamp"]) <= last.get(str(query.id), (-1, "")):
            break
        fresh.append(report)
    with open(os.path.join(SHIM.directory, "progress.jsonl"), "a", encoding="utf-8") as file:
        for report in reversed(fresh):
            file.write(json.dumps(report, default=str) + "\n")
    if fresh:
        last[str(query.id)] = (fresh[0]["batchId"], fresh[0]["timestamp"])

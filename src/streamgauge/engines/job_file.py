"""The job file of every engine's program."""

from __future__ import annotations

import json
from pathlib import Path

from streamgauge.model import Job


def job_file(job: Job) -> dict[Path, str]:
    """``job.json`` as an entry of ``ProcessSpec.files``."""
    return {job.file: json.dumps(job.as_json(), indent=1) + "\n"}

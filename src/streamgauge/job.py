"""What ``streamgauge.script`` was called before: scripts, also those in earlier run directories, import it."""

from __future__ import annotations

from streamgauge.script import behind as behind
from streamgauge.script import behind_each as behind_each

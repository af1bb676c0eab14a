"""The former name of ``streamgauge.script``, which existing scripts and those in earlier run directories import."""

from __future__ import annotations

from streamgauge.script import behind as behind
from streamgauge.script import behind_each as behind_each

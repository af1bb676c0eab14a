"""streamgauge measures stream-processing systems from outside and checks every answer.

``run``, ``capacity`` and ``compare`` do from Python what the commands do (docs/howto/python.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.api import capacity, compare, run
    from streamgauge.errors import StreamgaugeError

__version__ = "0.1.0"
__all__ = ["StreamgaugeError", "capacity", "compare", "run"]


def __getattr__(name: str) -> Any:
    """Imported when it is used: the command line and the processes of a run need none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from streamgauge import api, errors

    return getattr(errors if name == "StreamgaugeError" else api, name)

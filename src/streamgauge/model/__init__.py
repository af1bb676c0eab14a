"""The values that packages exchange, and the formats of stored files: frozen, printable, without behaviour beyond
arithmetic.

Import the values from here. Import the file formats from their modules, because they need pydantic, which is slow to
load for ``--help``: ``manifest``, ``outcome``, ``samples``, ``summary``, ``capacity``, ``campaign``, ``calibration``.
"""

from __future__ import annotations

from streamgauge.model.job import Job as Job
from streamgauge.model.processes import TRANSPORT_GROUP as TRANSPORT_GROUP
from streamgauge.model.processes import Group as Group
from streamgauge.model.processes import Member as Member
from streamgauge.model.processes import ProcessSpec as ProcessSpec
from streamgauge.model.processes import Ready as Ready
from streamgauge.model.processes import Stop as Stop
from streamgauge.model.results import ResultKind as ResultKind
from streamgauge.model.results import Verdict as Verdict
from streamgauge.model.scenario import QUEUE_BOUND_S as QUEUE_BOUND_S
from streamgauge.model.scenario import QUEUE_RECORDS_MAX as QUEUE_RECORDS_MAX
from streamgauge.model.scenario import QUEUE_S as QUEUE_S
from streamgauge.model.scenario import QUIET_S as QUIET_S
from streamgauge.model.scenario import QUIET_TRIGGERS as QUIET_TRIGGERS
from streamgauge.model.scenario import Fault as Fault
from streamgauge.model.scenario import Scenario as Scenario
from streamgauge.model.scenario import Script as Script
from streamgauge.model.streams import InputStream as InputStream
from streamgauge.model.streams import Positions as Positions
from streamgauge.model.streams import Stream as Stream
from streamgauge.model.streams import numbered_ends as numbered_ends
from streamgauge.model.traits import Delivery as Delivery
from streamgauge.model.traits import Limit as Limit
from streamgauge.model.traits import Traits as Traits
from streamgauge.shapes import NS_PER_MS as NS_PER_MS
from streamgauge.shapes import NS_PER_S as NS_PER_S
from streamgauge.shapes import LoadPlan as LoadPlan

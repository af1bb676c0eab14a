"""Road traffic: flow and speed messages of every lane, processed stage by stage."""

STREAMS = ("flow", "speed")

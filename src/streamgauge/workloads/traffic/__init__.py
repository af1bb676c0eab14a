"""Road traffic: flow and speed messages of every lane, and what the studies of it compute, stage by stage."""

STREAMS = ("flow", "speed")

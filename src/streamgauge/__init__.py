"""streamgauge measures stream-processing systems from outside and checks every answer."""

__version__ = "0.1.0"

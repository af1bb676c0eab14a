"""Clicks on pages, which carry their own event time: some are out of order, some come too late."""

STREAM = "clicks"

"""Clicks on pages, with their own event time: some are out of order, some are late."""

STREAM = "clicks"

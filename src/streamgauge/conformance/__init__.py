"""Checks that every engine must pass, built in or third-party: ``streamgauge check engine NAME``."""

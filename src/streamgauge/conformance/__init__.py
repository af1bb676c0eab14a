"""Checks that every engine must pass, ours and a stranger's: ``streamgauge check engine NAME``."""

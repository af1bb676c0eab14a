"""The published benchmarks: each folder describes one study, its scenarios, tables and figures."""

"""The published benchmarks. Each folder describes one study: its scenarios, tables and figures."""

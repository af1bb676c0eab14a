"""A transport without a broker: queues in the memory of the generators, and a collector of results."""

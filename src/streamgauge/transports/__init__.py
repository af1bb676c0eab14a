"""What carries records to the engine and back, and stamps both."""

"""The systems under test. Each folder holds the engine's contract and the program that runs inside it."""

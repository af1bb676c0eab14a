"""The systems under test. Each folder: the contract, and the program that runs inside the engine."""

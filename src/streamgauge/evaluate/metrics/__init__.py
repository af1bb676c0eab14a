"""One module per family of figures; each definition has its one home here."""

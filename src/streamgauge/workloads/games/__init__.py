"""Purchases of gem packs in an online game, and the ads that proposed them (Karimov et al., ICDE 2018)."""

PURCHASES, ADS = "purchases", "ads"
"""The two streams."""

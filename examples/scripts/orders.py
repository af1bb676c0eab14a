"""Orders for the scripts beside this file: `--data orders=examples/scripts/orders.py:orders`."""

import json
from datetime import UTC, datetime, timedelta

BEGAN = datetime(2024, 5, 1, 12, tzinfo=UTC)
PER_SECOND = 1_000
COUNTRIES = ("DE", "FR", "NL")


def order(n: int) -> tuple[str, str]:
    """The same for the same number: prices and customers look random and are not."""
    scattered = n * 2_654_435_761 % 2**32
    value = {
        "order_id": n,
        "customer": f"c{scattered % 1_000}",
        "price": scattered % 30_000 / 100,
        "country": COUNTRIES[n % len(COUNTRIES)],
        "ordered_at": (BEGAN + timedelta(seconds=n / PER_SECOND)).isoformat(),
    }
    return str(n), json.dumps(value)


def orders(first: int, count: int) -> list[tuple[str, str]]:
    return [order(n) for n in range(first, first + count)]

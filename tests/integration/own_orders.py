"""Orders of a shop, and the runs of scripts that read them."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import streamgauge
from attempts import until_valid

RATE, WARMUP_S, MEASURED_S = 200, 12, 8


def write_orders(file: Path) -> Path:
    chance = random.Random(1)
    began = datetime(2024, 5, 1, 12, tzinfo=UTC)
    with file.open("w") as target:
        for n in range(RATE * 60):
            order = {
                "order_id": n,
                "customer": f"c{chance.randrange(50)}",
                "price": round(chance.uniform(1, 300), 2),
                "country": chance.choice(["DE", "FR"]),
                "ordered_at": (began + timedelta(seconds=n / RATE)).isoformat(),
            }
            target.write(json.dumps(order) + "\n")
    return file


def measure(script: Path, out: Path, *data: str, **options: Any) -> streamgauge.api.RunResult:
    def once(number: int) -> streamgauge.api.RunResult:
        return streamgauge.run(
            str(script),
            data=data,
            rate=RATE,
            warmup=options.pop("warmup", WARMUP_S),
            duration=options.pop("duration", MEASURED_S),
            out=out / str(number),
            **options,
        )

    return until_valid(once, lambda result: result.verdict == "INVALID")

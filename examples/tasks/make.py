"""The data of the five tasks: ordinary events, and incidents that are known because they were planted.

python examples/tasks/make.py                      writes the small CSV files of this folder again
python examples/tasks/make.py FOLDER --size 50     fifty times as many keys, as Parquet

For each task there is a query in NAME.sase. docs/tasks.md explains them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

HERE = Path(__file__).parent
START = datetime(2026, 3, 14, 8, tzinfo=UTC)


@dataclass
class Task:
    """Events as they come, and the keys of the incidents among them."""

    events: list[dict[str, Any]] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)

    def add(self, second: float, kind: str, **values: Any) -> None:
        at = START + timedelta(milliseconds=round(second * 1000))
        self.events.append({"ts": at, "type": kind, **values})

    def table(self) -> pa.Table:
        return pa.Table.from_pylist(self.events).sort_by("ts")


def carts(size: int) -> Task:
    """Users look at items, put some into the cart, and buy them at once, too late, or never."""
    task, random = Task(), Random(1)
    for number in range(40 * size):
        user, item = f"u{number:03}", random.choice(["book", "lamp", "shoes", "tent"])
        at = random.uniform(0, 6 * 3600)
        for _ in range(random.randint(1, 3)):
            task.add(at, "view", user=user, item=item, price=None)
            at += random.uniform(10, 300)
        ending = random.random()
        if ending < 0.4:  # only looked
            continue
        task.add(at, "cart", user=user, item=item, price=random.randint(5, 200))
        if ending < 0.75:
            task.add(at + random.uniform(30, 1700), "purchase", user=user, item=item, price=None)
            continue
        task.incidents.append(user)
        if ending < 0.85:  # bought after all, but more than half an hour later
            task.add(at + random.uniform(1900, 7000), "purchase", user=user, item=item, price=None)
    task.add(12 * 3600 - 600, "cart", user="u-last", item="tent", price=90)  # and what then? The file ends too early
    task.add(12 * 3600, "view", user="u-last", item="book", price=None)
    return task


def cards(size: int) -> Task:
    """Payments by card; a stolen card is tested by small payments abroad, then used for a large one at home."""
    task, random = Task(), Random(2)
    for number in range(30 * size):
        card, home = f"c{number:03}", random.choice(["DE", "FR", "IT"])
        at = random.uniform(0, 3600)
        for _ in range(random.randint(3, 12)):
            task.add(at, "payment", card=card, country=home, amount=random.randint(600, 40_000) / 100)
            at += random.uniform(600, 4000)
        if number % 10 == 3:
            task.incidents.append(card)
            abroad = random.choice(["BR", "US"])
            for _ in range(random.randint(3, 6)):
                at += random.uniform(5, 60)
                task.add(at, "payment", card=card, country=abroad, amount=random.randint(50, 450) / 100)
            task.add(at + random.uniform(5, 90), "payment", card=card, country=home, amount=random.randint(600, 2000))
        if number % 10 == 7:  # two coffees and a television: nothing wrong with that
            for amount in (3.2, 3.2, 899.0):
                at += random.uniform(5, 60)
                task.add(at, "payment", card=card, country=home, amount=amount)
    return task


def sensors(size: int) -> Task:
    """Sixty sensors report their battery every minute; six of them fade, and then fall silent."""
    task, random = Task(), Random(3)
    for number in range(60 * size):
        sensor, dies = f"s{number:03}", number % 10 == 4
        at, volt = random.uniform(0, 60), 3.0 + random.randint(0, 20) / 100
        fades = random.randint(15, 40) if dies else random.choice([0, 0, 20])
        for minute in range(60):
            task.add(at, "reading", sensor=sensor, volt=round(volt + random.choice([0, 0.01]), 2))
            at += random.uniform(50, 70)
            if fades and fades <= minute < fades + 8:
                volt -= 0.1
            elif dies and minute == fades + 8:
                task.incidents.append(sensor)
                break
            elif fades and minute == fades + 8:
                volt += 0.8  # somebody changed the battery
            if random.random() < 0.01:
                at += 240  # a gap in the radio, shorter than what we look for
    return task


def prices(size: int) -> Task:
    """Prices that tremble; now and then one falls by some five per cent and comes back: a V."""
    task, random = Task(), Random(4)
    for number in range(5 * size):
        symbol, price, at = f"S{number:02}", random.randint(50, 150), random.uniform(0, 10)
        planted = sorted(random.sample(range(20, 180, 20), random.randint(0, 2)))
        for step in range(200):
            for start in planted:
                if start <= step < start + 5:
                    price *= 0.988
                elif start + 5 <= step < start + 10:
                    price /= 0.987
            if not any(start <= step < start + 10 for start in planted):
                price *= 1 + random.uniform(-0.001, 0.001)
            at += random.uniform(1, 20)
            task.add(at, "quote", symbol=symbol, price=round(price, 4))
        task.incidents += [symbol] * len(planted)
    return task


def logins(size: int) -> Task:
    """People mistype their password; somebody who guesses one fails many times, from several addresses."""
    task, random = Task(), Random(5)
    for number in range(40 * size):
        user, own = f"u{number:03}", f"10.0.0.{number % 250}"
        at = random.uniform(0, 3600)
        for _ in range(random.randint(1, 4)):
            for _ in range(random.choice([0, 0, 0, 1, 2])):
                task.add(at, "login", user=user, ip=own, ok=False)
                at += random.uniform(3, 30)
            task.add(at, "login", user=user, ip=own, ok=True)
            at += random.uniform(1800, 9000)
        if number % 10 == 6:
            task.incidents.append(user)
            addresses = [f"203.0.113.{random.randint(1, 200)}" for _ in range(4)]
            for index in range(random.randint(8, 14)):
                task.add(at, "login", user=user, ip=addresses[index % 4], ok=False)
                at += random.uniform(2, 20)
            task.add(at, "login", user=user, ip=addresses[0], ok=True)
    return task


TASKS: dict[str, Callable[[int], Task]] = {
    "carts": carts,
    "cards": cards,
    "sensors": sensors,
    "prices": prices,
    "logins": logins,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--size", type=int, default=1)
    given = options.parse_args()
    for name, make in TASKS.items():
        task = make(given.size)
        if given.folder is None:
            pyarrow.csv.write_csv(task.table(), HERE / f"{name}.csv")
        else:
            given.folder.mkdir(parents=True, exist_ok=True)
            pyarrow.parquet.write_table(task.table(), given.folder / f"{name}.parquet")
        print(f"{name}: {len(task.events):,} events, {len(task.incidents):,} incidents")


if __name__ == "__main__":
    main()

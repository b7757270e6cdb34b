"""Ticks at round places."""

from datetime import UTC, datetime

import pytest

from cepheid.pictures.axis import axis
from cepheid.pictures.timeline import Scale

SECOND = 1_000_000_000
AT = int(datetime(2024, 1, 1, 9, 58, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("start", "end", "scale", "texts", "title"),
    [
        (1, 5, Scale(), ["1", "2", "3", "4", "5"], ""),
        (5, 5, Scale(), ["5"], ""),
        (0, 1000, Scale(), ["0", "200", "400", "600", "800", "1,000"], ""),
        (-30, 30, Scale(), ["-30", "-20", "-10", "0", "10", "20", "30"], ""),
        (AT, AT + 60, Scale(SECOND), ["09:58:00", "09:58:10", "09:58:20", "09:58:30", "09:58:40", "09:58:50",
                                      "09:59:00"], "2024-01-01"),
        (AT, AT + 3600, Scale(SECOND), ["10:00", "10:10", "10:20", "10:30", "10:40", "10:50"], "2024-01-01"),
        (AT, AT + 86_400, Scale(SECOND), ["12:00", "15:00", "18:00", "21:00", "01-02", "03:00", "06:00", "09:00"], ""),
        (19_723, 19_728, Scale(86_400 * SECOND), ["01-01", "01-02", "01-03", "01-04", "01-05", "01-06"], ""),
        (0, 8000, Scale(86_400 * SECOND), ["1970", "1975", "1980", "1985", "1990"], ""),
        (0, 400, Scale(86_400 * SECOND), ["1970-01", "1970-04", "1970-07", "1970-10", "1971-01"], ""),
        (-700_000, 2_900_000, Scale(86_400 * SECOND), ["1000", "2000", "3000", "4000", "5000", "6000", "7000", "8000",
                                                       "9000"], ""),
        (AT, AT + 3600, Scale(SECOND, "Asia/Kolkata"), ["15:30", "15:40", "15:50", "16:00", "16:10", "16:20"],
         "2024-01-01 Asia/Kolkata"),
        (AT, AT + 60, Scale(SECOND, "+02:00"), ["11:58:00", "11:58:10", "11:58:20", "11:58:30", "11:58:40", "11:58:50",
                                                "11:59:00"], "2024-01-01 +02:00"),
        (0, 5, Scale(1), ["00.000000000", "00.000000001", "00.000000002", "00.000000003", "00.000000004",
                          "00.000000005"], "1970-01-01"),
        (2**62, 2**62 + 4, Scale(1000), ["4.61169e+18", "4.61169e+18"], ""),
    ],
)  # fmt: skip
def test_ticks(start: int, end: int, scale: Scale, texts: list[str], title: str) -> None:
    found = axis(start, end, scale)
    assert [tick.text for tick in found.ticks] == texts
    assert found.title == title
    assert all(start <= tick.at <= end for tick in found.ticks)

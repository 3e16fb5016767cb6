"""Values that decide about records, where they are neither texts nor numbers of Python itself: times, and what other packages
have for numbers and for nothing."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import Any

_DAY_OF_1970 = date(1970, 1, 1).toordinal()


def ordered(value: Any) -> float | None:
    """The number that stands for a value in an order; None if it is missing."""
    if _is_missing(value):
        return None
    if isinstance(value, date):
        return _nanoseconds(value)
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind == "M":
        seconds = value.astype("datetime64[s]")
        rest = (value - seconds).astype("timedelta64[ns]")
        return int(seconds.astype("int64")) * 10**9 + int(rest.astype("int64"))
    # How long something takes is a number to NumPy, of a unit that only the type knows.
    number = None if kind == "m" else _float(value)
    if number is None:
        raise TypeError(
            f"records cannot be ordered by a value of type {type(value).__name__}; give numbers, texts or times"
        )
    if not math.isfinite(number):
        return None
    # Whole numbers may be larger than a float can tell apart.
    whole = int(value)
    return whole if whole == value else number


def _float(value: Any) -> float | None:
    """A number as a float; None for what is no number. Bytes could be read as one too."""
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        return None
    try:
        return float(value)
    except TypeError:
        return None


def shared(value: Any) -> str | None:
    """What two values have in common that are the same; None if the value is missing."""
    if _is_missing(value):
        return None
    # A column of whole numbers becomes one of floats in pandas, where one is missing.
    is_integer = getattr(value, "is_integer", None)
    return str(int(value)) if is_integer is not None and is_integer() else str(value)


def _is_missing(value: Any) -> bool:
    """Whether it is what packages put where there is nothing: NaN, NaT, NA."""
    if type(value).__name__ == "NAType":
        return True
    try:
        # Nothing else differs from itself.
        return bool(value != value)
    except ValueError:
        # An array: it has no one answer.
        return False


def _nanoseconds(moment: date) -> int:
    """Since 1970. What has no time zone is taken for UTC, so that the answer is the same on every machine."""
    seconds = (moment.toordinal() - _DAY_OF_1970) * 86_400
    if not isinstance(moment, datetime):
        return seconds * 10**9
    seconds += moment.hour * 3600 + moment.minute * 60 + moment.second
    microseconds = seconds * 10**6 + moment.microsecond
    if (offset := moment.utcoffset()) is not None:
        microseconds -= offset // timedelta(microseconds=1)
    # The times of pandas are finer than Python's.
    return microseconds * 1000 + int(getattr(moment, "nanosecond", 0))

"""Records out of whatever people keep them in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any

from lookalike import _native
from lookalike._errors import ColumnError


class Records:
    """Records, and the other columns of the table that they came from, if they came from one.

    A table is a data frame (polars, pandas), an Arrow table, a data set (datasets), a mapping of columns, or a list of
    mappings; anything else is taken for a column of texts or sets.
    """

    def __init__(self, data: Any, text: str | None) -> None:
        self._rows: Sequence[Mapping[str, Any]] | None = None
        self._table: Any = None
        if isinstance(data, _native.Index) or isinstance(getattr(data, "_index", None), _native.Index):
            raise TypeError(
                "an index holds sketches, not records; ask it with query(), or compare files with it by "
                "dedup_files(…, against=PATH)"
            )
        if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
            first = list(islice(data, 1))
            # Rows that come one by one are a table all the same.
            data = [*first, *data] if not first or isinstance(first[0], Mapping) else chain(first, data)
        if hasattr(data, "collect_schema") and hasattr(data, "collect"):
            raise TypeError("a lazy frame has no records yet; call collect() on it first")
        if type(data).__module__.split(".")[0] == "datasets" and hasattr(data, "with_format"):
            # All at once as Arrow, in the order that the data set shows: its own columns are made row by row.
            data = data.with_format("arrow")[:]
        if isinstance(data, Mapping) or (_names(data) is not None and hasattr(data, "__getitem__")):
            self._table = data
        elif isinstance(data, Sequence) and not isinstance(data, str) and (not data or isinstance(data[0], Mapping)):
            self._rows = data
        elif text is not None and hasattr(data, "__arrow_c_stream__") and find_spec("pyarrow") is not None:
            import pyarrow  # type: ignore[import-untyped]

            self._table = pyarrow.table(data)
        elif text is not None:
            raise TypeError(f"text={text!r} names a column, but the records are no table")
        else:
            self.column = _plain(data)
            return
        self.column = _plain(self.field("text" if text is None else text, of="text"))

    def field(self, name: str, of: str) -> Iterable[Any]:
        """The column of this name, which the setting ``of`` asks for."""
        if self._table is not None:
            names = list(self._table) if isinstance(self._table, Mapping) else _names(self._table)
            if names is not None and name not in names:
                shown = ", ".join(map(str, names))
                raise ColumnError(f"there is no column {name!r}; {of}= can name one of: {shown}")
            column: Iterable[Any] = self._table[name]
            # What decides is looked at value by value, as values of Python.
            return column.to_pylist() if of != "text" and hasattr(column, "to_pylist") else column
        if self._rows is not None:
            if of == "keep" and self._rows and not any(name in row for row in self._rows if isinstance(row, Mapping)):
                shown = ", ".join(map(str, self._rows[0]))
                raise ColumnError(f"no record has {name!r}; {of}= can name one of: {shown}")
            return [_member(row, name, of, at) for at, row in enumerate(self._rows)]
        raise TypeError(f"{of} reads the field {name!r}; give a table, or a list of dictionaries")


def _names(data: Any) -> list[str] | None:
    """The names of the columns of a table."""
    for attribute in ("column_names", "columns"):
        names = getattr(data, attribute, None)
        if names is not None and not callable(names):
            names = list(names)
            # The columns of a frame of pandas may be called by numbers.
            if all(isinstance(name, str) for name in names) or hasattr(data, "iloc"):
                return names
    return None


def _member(row: Mapping[str, Any], name: str, of: str, at: int) -> Any:
    if not isinstance(row, Mapping):
        raise TypeError(f"record {at} is of type {type(row).__name__}, and the first one is a dictionary; give one kind")
    if name in row or of == "keep":
        return row.get(name)
    raise ColumnError(f"record {at} has no {name!r}; {of}= can name one of: {', '.join(map(str, row))}")


def _plain(column: Any) -> Any:
    """A column as Arrow, or as something that yields its records."""
    if hasattr(column, "__len__") and len(column) == 0:
        # Without a row, nobody knows its type.
        return []
    is_arrow = hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__")
    # The series of pandas need pyarrow for that, which pandas does not ask for.
    if is_arrow and (type(column).__module__.split(".")[0] != "pandas" or find_spec("pyarrow") is not None):
        return column
    # NumPy's arrays, and the series of pandas: their own strings are copies, one at a time.
    return column.tolist() if hasattr(column, "tolist") else column

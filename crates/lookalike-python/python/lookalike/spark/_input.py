"""What is read of a DataFrame: which columns, and in which order its records are preferred."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from lookalike._errors import ColumnError, InputError, SettingError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from lookalike._native import Plan

_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


@dataclass(frozen=True)
class Input:
    """A DataFrame, and what its columns mean."""

    frame: DataFrame
    text: str
    id: str
    order_by: tuple[str, ...]
    keep: str
    within: str | None
    #: What the columns that are named hold.
    kinds: dict[str, T.DataType]

    @classmethod
    def of(
        cls,
        frame: DataFrame,
        plan: Plan,
        *,
        text: str,
        id: str,
        order_by: str | Sequence[str] | None,
        within: str | None,
    ) -> Input:
        """The input, once its columns are known to be there and of use."""
        if order_by is None:
            order: tuple[str, ...] = ()
        else:
            order = (order_by,) if isinstance(order_by, str) or not isinstance(order_by, Sequence) else tuple(order_by)
        keep, of, keep_column = json.loads(plan.settings)["keep"].partition(":")
        plain = _plain_columns(frame)
        kinds: dict[str, T.DataType] = {}

        def named(setting: str, name: str) -> str:
            kind = _type_of(frame, plain, name, setting)
            name = _to_the_letter(plain, name)
            kinds[name] = kind
            return name

        id, text = named("id", id), named("text", text)
        _check_id(kinds[id], id)
        _check_text(kinds[text], text)
        order = tuple(named("order_by", name) for name in order)
        keep_column = named("keep", keep_column) if keep_column else ""
        within = None if within is None else named("within", within)
        for setting, columns in (("order_by", order), ("keep", (keep_column,)), ("within", (within,))):
            for column in filter(None, columns):
                _check_orderable(kinds[column], column, setting)
        return cls(frame, text, id, order, f"{keep}{of}{keep_column}", within, kinds)

    @property
    def keep_column(self) -> str:
        """The column that ``keep="max:…"`` or ``"min:…"`` reads, or nothing."""
        return self.keep.partition(":")[2]

    def records(self) -> DataFrame:
        """The columns that the stages read: id, text, within if there is one, and what decides the order."""
        columns = [self._as(self.id, "id"), self._text()]
        if self.within is not None:
            columns.append(F.col(self.within).cast("string").alias("within"))
        columns += [self._as(name, f"order_{at}") for at, name in enumerate(self.order_by)]
        if self.keep_column:
            columns.append(self._keep().alias("keep"))
        return self.frame.select(*columns)

    def input_order(self) -> list[Column]:
        """Sorts by order_by, nulls last, then by id."""
        return [column.asc_nulls_last() for column in self._order()] + [F.col("id").asc()]

    def keep_order(self) -> list[Column]:
        """Sorts the most preferred record first."""
        order, forwards = self._order(), self.input_order()
        if self.keep == "last":
            return [column.desc_nulls_first() for column in order] + [F.col("id").desc()]
        if self.keep == "longest":
            return [F.col("length").desc(), *forwards]
        if self.keep == "shortest":
            return [F.col("length").asc(), *forwards]
        if self.keep.startswith("max:"):
            return [F.col("keep").desc_nulls_last(), *forwards]
        if self.keep.startswith("min:"):
            return [F.col("keep").asc_nulls_last(), *forwards]
        return forwards

    def place(self) -> Column:
        """A value that ascends in input order."""
        return F.struct(*[part for column in self._order() for part in (column.isNull(), column)], F.col("id"))

    def _order(self) -> list[Column]:
        return [F.col(f"order_{at}") for at in range(len(self.order_by))]

    def _text(self) -> Column | str:
        if isinstance(self.kinds[self.text], T.ArrayType):
            # An item that is missing is none.
            return F.array_compact(F.col(self.text).cast("array<string>")).alias("text")
        return self._as(self.text, "text")

    def _as(self, name: str, wanted: str) -> Column | str:
        """A column under another name. For one that has it already, Spark is asked for less."""
        return name if name == wanted else F.col(name).alias(wanted)

    def _keep(self) -> Column:
        column = F.col(self.keep_column)
        if isinstance(self.kinds[self.keep_column], (T.FloatType, T.DoubleType)):
            # As everywhere: what is no finite number is as if it were missing.
            is_finite = ~F.isnan(column) & (F.abs(column) != F.lit(float("inf")))
            return F.when(is_finite, column)
        return column


def _plain_columns(frame: DataFrame) -> dict[str, T.DataType]:
    """The columns whose names Spark can take for nothing else, whether or not it tells capitals from small letters."""
    fields = frame.schema.fields
    times = Counter(field.name.lower() for field in fields)
    return {field.name: field.dataType for field in fields if field.name.isidentifier() and times[field.name.lower()] == 1}


def _to_the_letter(plain: dict[str, T.DataType], name: str) -> str:
    """A name as the frame has it. Spark finds a column in other letters too, but may then forget how it was asked for."""
    return next((column for column in plain if column.lower() == name.lower()), name)


def _type_of(frame: DataFrame, plain: dict[str, T.DataType], name: str, setting: str) -> T.DataType:
    if not isinstance(name, str):
        raise SettingError(
            f"{setting}= is given as {type(name).__name__}; give the name of a column, and add the column first if there is none"
        )
    if name in plain:
        return plain[name]
    try:
        return frame.select(name).schema.fields[0].dataType
    except AnalysisException as error:
        if name in frame.columns and "." in name:
            raise ColumnError(
                f"{setting}={name!r} would reach into a column; for the one of that name, put it in backticks: '`{name}`'"
            ) from error
        shown = ", ".join(frame.columns)
        raise ColumnError(f"there is no column {name!r}; {setting}= can name one of: {shown}") from error


def _check_id(kind: T.DataType, name: str) -> None:
    if not (isinstance(kind, _WHOLE) or kind == T.StringType()):
        raise InputError(
            f"the ids in {name!r} are of type {kind.simpleString()}; name a column of integers or of plain strings, or cast it"
        )


def _check_text(kind: T.DataType, name: str) -> None:
    if isinstance(kind, T.StringType):
        return
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, (T.StringType, *_WHOLE)):
        return
    raise InputError(
        f"the column {name!r} is of type {kind.simpleString()}; a text is a string, a set an array of strings or integers"
    )


def _check_orderable(kind: T.DataType, name: str, setting: str) -> None:
    if not isinstance(kind, T.AtomicType) or isinstance(kind, (T.BinaryType, T.VariantType)):
        raise SettingError(
            f"{setting}= names {name!r}, which is of type {kind.simpleString()}; name a column of numbers, strings or times"
        )

"""What an executor refuses, raised on the driver as what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lookalike import _errors

if TYPE_CHECKING:
    from lookalike.spark._work import Work

_REFUSED = re.compile(r"lookalike\._errors\.(\w+): ([^\n]*)")


@contextmanager
def raising(work: Work) -> Iterator[None]:
    """Turns the failure of a job into the exception that its Python code raised, if it is one of ours. Nothing is left then."""
    try:
        yield
    except BaseException as error:
        work.remove_all_but()
        if refused := _refused(error):
            raise refused from error
        raise


def _refused(error: BaseException) -> _errors.Error | None:
    if isinstance(error, _errors.Error):
        return None
    shown = _REFUSED.search(f"{error} {getattr(error, 'java_exception', '')}")
    if shown is None:
        return None
    kind = getattr(_errors, shown[1], None)
    if isinstance(kind, type) and issubclass(kind, _errors.Error):
        return kind(shown[2].strip())
    return None

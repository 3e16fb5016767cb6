"""Progress that a person can see: in a terminal, in a notebook, or wherever a function takes it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from types import TracebackType
from typing import Any, TextIO, Union

#: What is told of progress: the stage, how much of it is done, and how much there is, if that is known.
Listener = Callable[[str, int, Union[int, None]], None]


class Bar:
    """A line in a terminal or in a notebook, as long as the work lasts."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._began = time.monotonic()
        self._width = 0
        self._display: Any = None

    def __enter__(self) -> Bar:
        if _is_notebook():
            from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

            self._html = HTML
            self._display = display(HTML(""), display_id=True)
        return self

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        seconds = time.monotonic() - self._began
        share = f"{min(100, 100 * done // total)} %" if total else ""
        if self._display is not None:
            limits = f'value="{done}" max="{total}"' if total else ""
            text = f"{escape(stage)} {share}, {seconds:.0f} s"
            self._display.update(self._html(f"<progress {limits}></progress> <span>{text}</span>"))
            return
        line = f"{stage:>6} {share:>5}  {seconds:.1f} s"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.update(self._html(""))
        elif self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


class Listening:
    """Tells a function of progress, shows a bar, or does nothing: what ``progress=`` asks for."""

    def __init__(self, progress: bool | Listener) -> None:
        self._bar = Bar() if progress is True else None
        self._listener: Listener | None = progress if callable(progress) else self._bar

    def __enter__(self) -> Listener | None:
        if self._bar is not None:
            self._bar.__enter__()
        return self._listener

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)


def _is_notebook() -> bool:
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"

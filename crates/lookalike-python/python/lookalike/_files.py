"""Near-duplicates in files, larger than memory: the program, run and watched from Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Union

from lookalike._errors import FilesError
from lookalike._progress import Listener, Listening
from lookalike._settings import Settings, plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: One path or glob, or several.
Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


def dedup_files(
    inputs: Paths,
    output: str | os.PathLike[str] | None = None,
    *,
    threshold: float = 0.8,
    text: str | None = None,
    id: str | None = None,
    against: Paths | None = None,
    within: str | None = None,
    dropped: str | os.PathLike[str] | None = None,
    pairs: str | os.PathLike[str] | None = None,
    annotate: bool = False,
    input_format: str | None = None,
    on_error: str | None = None,
    threads: int | None = None,
    memory: str | None = None,
    tmp: str | os.PathLike[str] | None = None,
    restart: bool = False,
    progress: bool | Listener = False,
    **settings: Unpack[Settings],
) -> dict[str, Any]:
    """Write the records of files without their near-duplicates, as ``lookalike dedup`` does. Returns its summary.

    Without ``output``, nothing is written and the summary says what would be. The files never pass through Python: they
    are read in parallel, may be larger than memory, and the same call after an interruption goes on from there.

    >>> import lookalike as la, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(folder + "/in.jsonl", "w") as file:
    ...     _ = file.write('{"id": 1, "text": "the cat sat on the mat"}\\n{"id": 2, "text": "The cat sat on the mat!"}\\n')
    >>> summary = la.dedup_files(folder + "/in.jsonl", folder + "/out.jsonl")
    >>> summary["records"], summary["kept"], open(folder + "/out.jsonl").read()
    (2, 1, '{"id": 1, "text": "the cat sat on the mat"}\\n')
    """
    threshold = plan(threshold, **settings).threshold
    paths = _paths(inputs)
    if not paths:
        raise FilesError("there are no inputs; name at least one file, or look at what the pattern matches")
    command = [sys.executable, "-m", "lookalike", "dedup", "--json", "--progress", "json", "--threshold", repr(threshold)]
    command += ["--dry-run"] if output is None else ["--output", os.fspath(output)]
    named = {
        "text": text,
        "id": id,
        "within": within,
        "dropped": dropped,
        "pairs": pairs,
        "input-format": input_format,
        "on-error": on_error,
        "threads": threads,
        "memory": memory,
        "tmp": tmp,
        **settings,
    }
    for name, value in named.items():
        command += _flag(name, value)
    for path in _paths(against) if against is not None else []:
        command += ["--against", path]
    command += ["--annotate"] * annotate + ["--restart"] * restart + ["--", *paths]
    with Listening(progress) as listener:
        return _run(command, listener)


def _flag(name: str, value: object) -> list[str]:
    """A setting as it is typed."""
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    return [f"--{name}", os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


def _paths(paths: Paths) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def _run(command: list[str], listener: Listener | None) -> dict[str, Any]:
    """Runs the program; what it says becomes progress, a summary with warnings, or an exception."""
    summary: dict[str, Any] = {}
    refusal = ""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, encoding="utf-8") as program:
        assert program.stderr is not None
        try:
            for line in program.stderr:
                said = _json(line)
                if said is None:
                    if line.startswith("error: "):
                        refusal = line.removeprefix("error: ").strip()
                elif "stage" not in said:
                    summary = said
                elif listener is not None:
                    listener(said["stage"], said["done"], said["total"])
        except BaseException as error:
            # Ctrl-C reaches the program by itself where both have a terminal; a second time would end it at once.
            has_heard = isinstance(error, KeyboardInterrupt) and sys.stdin is not None and sys.stdin.isatty()
            if program.poll() is None and not has_heard:
                program.send_signal(signal.SIGINT)
            # To the end of what it says: it waits for whoever does not listen.
            program.communicate()
            raise
    if program.returncode == 130:
        raise KeyboardInterrupt
    if program.returncode != 0:
        raise FilesError(refusal or f"the program ended with status {program.returncode}")
    for note in summary.get("notes", []):
        warnings.warn(note, stacklevel=3)
    return summary


def _json(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None

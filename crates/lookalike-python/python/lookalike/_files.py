"""Near-duplicates in files, larger than memory: the program, run and watched from Python."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Union, get_args

from lookalike._errors import FilesError, SettingError
from lookalike._progress import Listener, Listening
from lookalike._settings import Settings, check_threads, plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: One path or glob, or several.
Paths = Union[Path, Iterable[Path]]
InputFormat = Literal["jsonl", "csv", "tsv", "txt", "lines", "html", "parquet", "warc", "sets"]
OnError = Literal["fail", "skip"]

#: Starts the program as ``-m lookalike`` does, but not with what lies in the working directory: no ``json.py`` there is taken
#: for Python's own. Python 3.10 has no ``-P``. The package is found where it is here, whatever has led to it.
_START = (
    "import sys; sys.path = [path for path in sys.path if path] + [sys.argv.pop(1)]; "
    "from lookalike.__main__ import main; sys.exit(main())"
)
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: A size, as people write it.
_SIZE = re.compile(r"(?=.*[1-9])(\d+\.?\d*|\.\d+)\s*([kmgt](i?b)?|b)?", re.IGNORECASE)
#: So many lines that the program said are shown, if it ends without a word about why.
_LAST_LINES = 10


def dedup_files(
    inputs: Paths,
    output: Path | None = None,
    *,
    threshold: float = 0.8,
    text: str | None = None,
    id: str | None = None,
    against: Paths | None = None,
    within: str | None = None,
    dropped: Path | None = None,
    pairs: Path | None = None,
    annotate: bool = False,
    input_format: InputFormat | None = None,
    on_error: OnError | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
    tmp: Path | None = None,
    restart: bool = False,
    progress: bool | Listener = False,
    **settings: Unpack[Settings],
) -> dict[str, Any]:
    """Write the records of files without their near-duplicates, as ``lookalike dedup`` does. Returns its summary.

    Without ``output``, nothing is written and the summary says what would be. The files never pass through Python: they
    are read in parallel, may be larger than memory, and the same call after an interruption goes on from there. What a
    ``lookalike.toml`` in the working directory, or above it, says counts here too.

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
    check_threads(threads)
    _check(output, dropped, pairs, input_format, on_error, memory)
    command = [sys.executable, "-c", _START, _HOME, "dedup", "--json", "--progress=json", f"--threshold={threshold!r}"]
    command += ["--dry-run"] if output is None else _flag("output", output)
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
        command += _flag("against", path)
    command += ["--annotate"] * annotate + ["--restart"] * restart + ["--", *paths]
    with Listening(progress) as listener:
        return _run(command, listener)


def _flag(name: str, value: object) -> list[str]:
    """A setting as it is typed."""
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    # In one word: a value may begin as a flag does.
    return [f"--{name}={os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else value}"]


def _paths(paths: Paths) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [os.fsdecode(paths)]
    return [os.fsdecode(path) for path in paths]


def _check(
    output: Path | None,
    dropped: Path | None,
    pairs: Path | None,
    input_format: str | None,
    on_error: str | None,
    memory: str | int | None,
) -> None:
    """Refuses what the program would refuse in words of the command line, or do where nobody sees it."""
    for name, path in (("output", output), ("dropped", dropped), ("pairs", pairs)):
        if path is not None and os.fsdecode(path) == "-":
            raise SettingError(f'{name}="-" is standard output, which Python does not read; name a file')
    for name, value, known in (
        ("input_format", input_format, get_args(InputFormat)),
        ("on_error", on_error, get_args(OnError)),
    ):
        if value is not None and value not in known:
            raise SettingError(f"{name}={value!r} is none of {', '.join(known)}")
    if memory is not None and (isinstance(memory, bool) or _SIZE.fullmatch(str(memory)) is None):
        raise SettingError(f'memory={memory!r} is no size; choose one such as "512MiB" or "4GiB"')


def _run(command: list[str], listener: Listener | None) -> dict[str, Any]:
    """Runs the program; what it says becomes progress, a summary with warnings, or an exception."""
    summary: dict[str, Any] = {}
    refusal, last = "", deque[str](maxlen=_LAST_LINES)
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, encoding="utf-8", errors="replace"
    ) as program:
        assert program.stderr is not None
        try:
            for line in program.stderr:
                said = _json(line)
                if said is None:
                    last.append(line)
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
        ended = f"the program ended with status {program.returncode}"
        raise FilesError(refusal or "\n".join([ended, "".join(last).strip()]).strip())
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

"""What the engine refuses, as exceptions: one class for each kind, all under :class:`Error`."""

import re

#: Flags that the engine and the program advise, and the values that stand behind some of them.
_FLAG = re.compile(
    r"(?<![\w-])--(threshold|recall|measure|shingles|bag|normalize|hashes|bands|verify|exact|fingerprints|group|keep|seed"
    r"|text|id|against|within|input-format|on-error|threads|memory|tmp|restart)(?![\w-]|\.\w)"
    r"(?: (jaccard|containment|exact|estimate|edit|off|anchored|connected|skip|none)\b)?"
)
#: Those that are True or False.
_SWITCHES = {"bag", "exact", "restart"}


def _as_argument(flag: re.Match[str]) -> str:
    name, value = flag[1].replace("-", "_"), flag[2]
    if name in _SWITCHES:
        return f"{name}=True" + (f" {value}" if value else "")
    return f'{name}="{value}"' if value else f"{name}="


class Error(Exception):
    """Something was refused. The message says what, and what to do about it."""

    def __init__(self, message: str = "") -> None:
        # Advice is given as it is typed on the command line; here the same settings are arguments.
        super().__init__(_FLAG.sub(_as_argument, message))


class SettingError(Error, ValueError):
    """A setting is out of range or contradicts another."""


class InputError(Error, ValueError):
    """Records cannot be taken as they are: ids or texts are missing, or ids are not unique."""


class ColumnError(Error, KeyError):
    """There is no such column."""

    # A KeyError would show its message in quotes.
    __str__ = Exception.__str__


class UnavailableError(Error, LookupError):
    """The outcome does not hold what was asked of it."""


class TooLargeError(Error, OverflowError):
    """More records, or larger ones, than can be numbered."""


class WorkError(Error, OSError):
    """A work file cannot be read or written."""


class MemoryLimitError(Error, MemoryError):
    """Less memory is allowed than the run needs."""


class SupplyError(Error):
    """Records could not be supplied again."""


class ChangedError(Error):
    """Records are not what they were when they were first read."""


class IndexFileError(Error, OSError):
    """An index is damaged, of another version, or none at all; or its files cannot be read or written."""


class LockedError(Error, OSError):
    """Somebody else is writing to the index."""


class FilesError(Error, OSError):
    """Files could not be read, written or understood."""

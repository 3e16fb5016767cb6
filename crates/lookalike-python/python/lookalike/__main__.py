"""The program: ``python -m lookalike`` is the same as ``lookalike``."""

import sys

from lookalike._native import run_program


def main() -> int:
    """Run the program with the arguments of this process."""
    return run_program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

"""The program that the package carries."""

import subprocess
import sys


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lookalike", *arguments], capture_output=True, text=True)


def test_it_says_its_version() -> None:
    import lookalike

    assert run("--version").stdout == f"lookalike {lookalike.__version__}\n"


def test_status_and_streams_are_those_of_the_program(tmp_path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("one two three four five six\nsomething else entirely, is it not so\nOne two three four five six!\n")
    found = run("pairs", "--input-format", "lines", str(texts))
    assert (found.returncode, found.stdout) == (0, f"{texts}:1\t{texts}:3\t1.000000\n")
    refused = run("dedup", "--threshold", "7", str(texts))
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: the threshold 7 is out of range")

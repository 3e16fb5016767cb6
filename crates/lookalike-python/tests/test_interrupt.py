"""Ctrl-C."""

import signal
import subprocess
import sys
import time

import pytest

LONG_WORK = """
import lookalike as la
texts = [" ".join(str((at * 7 + word * (at % 13 + 1)) % 5003) for word in range(400)) for at in range(60_000)]
print("begins", flush=True)
la.dedup(texts, threshold=0.3, exact=True, shingles="words:1")
print("ended", flush=True)
"""


LONG_COMPARISON = """
import lookalike as la
texts = [" ".join(str(word * word * step % 50_021) for word in range(3_000_000)) for step in (3, 7)]
print("begins", flush=True)
la.compare(*texts)
print("ended", flush=True)
"""


@pytest.mark.parametrize(("work", "seconds"), [(LONG_WORK, 0.1), (LONG_WORK, 1.5), (LONG_COMPARISON, 0.3)])
def test_it_stops_a_run_within_a_second(work: str, seconds: float) -> None:
    with subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None and run.stdout.readline() == "begins\n"
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        began = time.monotonic()
        said, complaint = run.communicate(timeout=60)
        took = time.monotonic() - began
    assert said == "" and "KeyboardInterrupt" in complaint, (said, complaint)
    # Ending Python itself takes its time too, on a busy machine.
    assert took < 2, took

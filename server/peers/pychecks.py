"""What the Python clients share: payloads, and one JSON line on stdout a check.

A line is {"check": name, "ok": bool, "detail": text}; the last one is {"done": number of checks}, so that a client
which ends early is told apart from one whose checks all passed.
"""

import json
import os
import random
import threading
import traceback

KIB = 1024
MIB = 1024 * KIB
SIZES = {"0 B": 0, "1 B": 1, "128 B": 128, "16 KiB": 16 * KIB, "1 MiB": MIB}
OVERSIZE = 17 * MIB  # the servers' limit is 16 MiB
CHECK_SECONDS = 60


def payload(size, seed=0):
    """Bytes that no off-by-one, truncation or mix-up of two calls leaves unchanged."""
    return random.Random(f"{size}/{seed}").randbytes(size)


def expect_echo(sent, got):
    if got == sent:
        return
    at = next((i for i, (a, b) in enumerate(zip(sent, got)) if a != b), min(len(sent), len(got)))
    raise AssertionError(f"sent {len(sent)} bytes, got {len(got)}, first difference at {at}: {bytes(got[at:at + 16]).hex()}")


class Checks:
    """Runs checks one by one, each under a time limit of its own."""

    def __init__(self):
        self.count = 0

    def run(self, name, check, *args, **kwargs):
        outcome = [f"took longer than {CHECK_SECONDS} s"]

        def body():
            try:
                check(*args, **kwargs)
                outcome[0] = None
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                outcome[0] = f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        thread.join(CHECK_SECONDS)
        self.count += 1
        self._print({"check": name, "ok": outcome[0] is None, "detail": (outcome[0] or "")[:600]})

    def close(self):
        self._print({"done": self.count})
        os._exit(0)  # a check that hung has a thread that never ends

    @staticmethod
    def _print(line):
        print(json.dumps(line), flush=True)

"""Plays functions as the tests of a suite: a line for each, and counts as run_tests.py reads them."""

import sys
import time
import traceback


class Skipped(Exception):
    """Raised by a test that cannot be played here; its text says why."""


def check(truth, text):
    if not truth:
        raise AssertionError(text)


class Tally:
    def __init__(self, prefix=""):
        """`prefix` stands before the names of tests."""
        self.prefix, self.passed, self.failed, self.skipped = prefix, 0, 0, 0

    def play(self, test, *arguments, afterwards=lambda: None):
        """`afterwards` must hold too for the test to pass."""
        started = time.monotonic()
        try:
            test(*arguments)
            afterwards()
            self.passed += 1
            print(f"ok      {self.prefix}{test.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
        except Skipped as why:
            self.skip(test.__name__, why)
        except Exception as error:
            self.fail(f"{test.__name__} ({time.monotonic() - started:.1f} s)", error)
            if not isinstance(error, AssertionError):
                traceback.print_exc(file=sys.stdout)

    def fail(self, name, why):
        self.failed += 1
        print(f"FAILED  {self.prefix}{name}: {why}", flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"SKIPPED: {self.prefix}{name}: {why}", flush=True)

    def __add__(self, other):
        both = Tally()
        both.passed, both.failed, both.skipped = self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        return both

    def end(self):
        """The last line, and the exit code of the suite."""
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0

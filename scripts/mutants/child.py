"""Runs programs that may hang, or start others."""

import contextlib
import os
import signal
import subprocess


class Child:
    """A program of its own group, which ends with all that it has started."""

    living = set()

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **options)
        Child.living.add(self)

    def wait(self, seconds=None):
        """Returns the exit status; None where the time was up."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.end()
            Child.living.discard(self)
            self.process.wait()

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

#!/usr/bin/env python3
"""table_test.py TABLE.PY: what is said of two tables of costs."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()

OLD = """\
A title
of two lines.

compiler  GNU 12.2.0
glibc     2.36
python    3.11.7

operation    instructions  locked  system_calls  allocations  driver_calls
lease.read            100       2             0            0             0
python.view         10000       8             1            0             0

what           bytes
sizeof.buffer     32
"""


def verdict(old, new):
    """Returns the exit status, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("old", "new")]
        for path, text in zip(paths, (old, new), strict=True):
            path.write_text(text)
        done = subprocess.run(
            [sys.executable, PROGRAM, "--compare", *paths], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr


class Verdicts(unittest.TestCase):
    def changed(self, *changes):
        new = OLD
        for old, other in changes:
            self.assertIn(old, new)
            new = new.replace(old, other)
        return verdict(OLD, new)

    def test_the_same_holds(self):
        status, said = verdict(OLD, OLD)
        self.assertEqual((status, said), (0, "The costs are within those of the table.\n"))

    def test_two_percent_more_instructions_hold_and_three_do_not(self):
        self.assertEqual(self.changed((" 100 ", " 102 "))[0], 0)
        status, said = self.changed((" 100 ", " 103 "))
        self.assertEqual(status, 1)
        self.assertRegex(said, r"lease.read +instructions +100 -> +103, allowed 102")
        self.assertIn("make cost STORE=1", said)

    def test_one_more_of_anything_else_does_not_hold(self):
        for old, new, column in (
            ("100       2", "100       3", "locked"),
            ("2             0", "2             1", "system_calls"),
            ("8             1            0 ", "8             1            1 ", "allocations"),
            ("0             0\npython", "0             1\npython", "driver_calls"),
            ("   32", "   40", "bytes"),
        ):
            status, said = self.changed((old, new))
            self.assertEqual(status, 1, column)
            self.assertIn(f" {column} ", said)

    def test_less_asks_to_store_the_table(self):
        for old, new in ((" 100 ", "  97 "), ("100       2", "100       1"), ("   32", "   24")):
            status, said = self.changed((old, new))
            self.assertEqual(status, 0)
            self.assertIn("COSTS LESS", said)
        self.assertNotIn("COSTS LESS", self.changed((" 100 ", "  99 "))[1])

    def test_another_compiler_has_other_instructions_and_nothing_else(self):
        status, said = self.changed(("12.2.0", "13.1.0"), (" 100 ", " 150 "))
        self.assertEqual(status, 0)
        self.assertIn("NOT COMPARED: instructions, as compiler is GNU 13.1.0, the table's is GNU 12.2.0", said)
        self.assertEqual(self.changed(("12.2.0", "13.1.0"), ("100       2", "100       3"))[0], 1)

    def test_another_python_has_other_costs_of_its_own_only(self):
        status, said = self.changed(("3.11.7", "3.12.0"), ("10000       8", "20000       9"))
        self.assertEqual(status, 0)
        self.assertIn("NOT COMPARED: python.*, as python is 3.12.0, the table's is 3.11.7", said)
        self.assertEqual(self.changed(("3.11.7", "3.12.0"), (" 100 ", " 150 "))[0], 1)

    def test_what_only_one_of_them_has_is_named(self):
        for old, new in (("lease.read ", "lease.write"), ("sizeof.buffer", "sizeof.batch ")):
            status, said = self.changed((old, new))
            self.assertEqual(status, 1)
            for name in (old.strip(), new.strip()):
                self.assertIn(name, said)

    def test_a_table_that_cannot_be_read_is_one_error(self):
        status, said = self.changed((" 100 ", " ten "))
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^The table of costs cannot be read \(.*\): .*make cost STORE=1\n$")


unittest.main()

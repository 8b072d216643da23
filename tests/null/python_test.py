"""The works that bench/python/null.py measures on the null driver, by unibuf and by hand with the real CuPy; no time is
measured."""

import importlib.util
import json
import subprocess
import sys

import null
import pytest

BYTES = {
    "change": 4,
    "rewrite_4k": 4096,
    "rewrite_1m": 1 << 20,
    "row": 16384,
    "column": 16384,
    "temporary": 0,
    "small_10000": 4096,
}


@pytest.fixture
def contenders(monkeypatch):
    """By hand and unibuf."""
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("CuPy cannot be imported: make build/cupy")
    null_cupy = importlib.import_module("null_cupy")
    made = null.contenders()
    for module in ("cuda_peers", "python_works"):
        monkeypatch.setattr(sys.modules[module], "SMALL_BUFFERS", 10)
    for each in made:
        each.temporaries = each.small_at_once = 1
    yield made
    assert all(name.startswith(("cuGL", "cuGraphics")) for name in null_cupy.lacking())


@pytest.mark.parametrize("work", null.WORKS, ids=lambda work: work.name)
def test_both_move_the_same_bytes(contenders, work):
    for each in contenders:
        way = work.make(each)
        way.prepare()
        way.run()  # of the first time memory is made
        counts = null.counts_of(way)
        assert counts["bytes"] == BYTES[work.name]
        assert counts["calls"] == sum(counts["by_name"].values()) > 0
        assert counts["waits"] >= 1  # each run ends with one


def test_by_hand_takes_the_calls_that_cuda_takes(contenders):
    way = null.WORKS[0].make(contenders[0])
    assert null.counts_of(way)["calls"] == 12  # as on a card, by a tracer


def test_the_worst_case_of_a_claim_counts():
    row = null.row("calls", "calls", "", [("good", 4, 2), ("bad", 2, 4), ("good", 2, 2)])
    assert (row["holds"], row["note"].partition(";")[0], row["ratio"]) == (False, "bad", 0.5)
    assert null.row("calls", "calls", "", [("good", 2, 2)])["holds"]


def test_what_takes_nothing_holds_and_what_by_hand_takes_nothing_does_not():
    assert null.row("events", "events", "", [("none", 0, 0)])["holds"]
    assert null.row("events", "events", "", [("some", 0, 2)])["holds"] is False


def test_without_cupy_the_claims_say_how_to_get_it(tmp_path):
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps([{"name": "python.null.change"}, {"name": "lease.current"}]))
    code = "import importlib.util, null; importlib.util.find_spec = lambda name: None; null.main()"
    command = [sys.executable, "-c", code, "--json", str(summary)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = {each["name"]: each for each in json.loads(summary.read_text())}
    assert set(rows) == {"lease.current", *(f"python.null.{name}" for name in [*BYTES, *null.COUNTS])}
    assert rows["python.null.change"]["holds"] is None
    assert "make build/cupy" in rows["python.null.change"]["note"]
    assert "MISSED" not in said

"""Reads the event files of a log with TensorBoard's own reader, and compares them with metrics.jsonl: python read_events.py PROGRAM, where
PROGRAM is build/examples/example_own_loop. Exits with 77 where the package tensorboard is missing."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    sys.exit(77)

with tempfile.TemporaryDirectory() as directory:
    run = pathlib.Path(directory) / "mine"
    subprocess.run([sys.argv[1], run], check=True, stdout=subprocess.DEVNULL)
    reader = EventAccumulator(str(run), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    expected = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        numbers = json.loads(line)
        for name, value in numbers.items():
            if name != "step":
                expected.setdefault(name, []).append((numbers["step"], value))
    names = reader.Tags()["scalars"]
    assert sorted(names) == sorted(expected), (names, list(expected))
    for name, points in expected.items():
        events = reader.Scalars(name)
        assert [e.step for e in events] == [step for step, _ in points], name
        assert all(math.isclose(e.value, value, rel_tol=1e-6) for e, (_, value) in zip(events, points)), name
    print(f"{len(names)} curves of {len(expected['loss'])} points")

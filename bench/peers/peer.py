"""Common parts of the peers of the bench, which read one request per line, a JSON object, and answer each with one line."""

import json
import statistics
import struct
import sys
import time

import numpy


def read_safetensors(path):
    """Reads a safetensors file (github.com/huggingface/safetensors, "Format"). Returns arrays by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    dtypes = {"F32": numpy.float32, "F64": numpy.float64}
    return {
        name: numpy.frombuffer(data, dtypes[t["dtype"]], offset=t["data_offsets"][0], count=int(numpy.prod(t["shape"])))
        .reshape(t["shape"])
        for name, t in header.items()
        if name != "__metadata__"
    }


def turn(work, seconds):
    """Returns the median time in ms of as many calls as fit into `seconds`."""
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def serve(name, version, has, prepare, losses):
    """Answers {"has": ROW} -> {"has": true}; {"prepare": ROW, "threads": 2} -> {"way": "2 threads"};
    {"turn": SECONDS} -> {"ms": MEDIAN}; {"losses": ROW, "steps": 20} -> {"losses": [...]}

    prepare(row, threads) returns the work of a turn and its method; losses(row, steps) returns a list."""
    print(json.dumps({"name": name, "version": version}), flush=True)
    work = None
    for line in sys.stdin:
        request = json.loads(line)
        if "has" in request:
            answer = {"has": has(request["has"])}
        elif "prepare" in request:
            work = None  # frees its memory for the next one
            work, way = prepare(request["prepare"], request["threads"])
            answer = {"way": way}
        elif "losses" in request:
            answer = {"losses": losses(request["losses"], request["steps"])}
        else:
            answer = {"ms": turn(work, request["turn"])}
        print(json.dumps(answer), flush=True)

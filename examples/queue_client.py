"""Your own system under test on queues instead of Kafka: the revenue of each gem pack and window, in plain Python.

streamgauge run sustainable/aggregation --engine command -- python examples/queue_client.py
"""

import json
import signal
import socket
import struct
import sys
from collections import Counter
from pathlib import Path

FETCH, ACKNOWLEDGE, LEAVE = 1, 3, 4


def emit(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def receive(connection, size):
    data = b""
    while len(data) < size:
        if not (part := connection.recv(size - len(data))):
            raise ConnectionError("closed")
        data += part
    return data


def connect(address, stream):
    host, port = address.split(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(struct.pack("<I", len(stream)) + stream.encode())  # the name of the stream, with its length
    return connection, struct.unpack("<I", receive(connection, 4))[0]  # the bytes of a record


def fetch(connection, width, offset):
    """Up to 10,000 records from this offset on; none if none came within 0.1 s."""
    connection.sendall(struct.pack("<IIQ", FETCH, 10_000, offset))
    _, count, gone = struct.unpack("<QII", receive(connection, 16))
    assert not gone, "acknowledged records cannot be read again"
    return count, receive(connection, count * width)


def main():
    job = json.loads(Path(sys.argv[-1]).read_text())
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    window_ms, slide_ms = (1000 * job["parameters"][name] for name in ("window_s", "slide_s"))
    queues = [connect(address, "purchases") for address in job["endpoints"]["queues"].split(",")]
    collector, _ = connect(job["endpoints"]["collector"], "output")
    offsets, newest_ms, windows = [0] * len(queues), [0] * len(queues), {}
    emit("ready")
    while not stopping:
        for place, (queue, width) in enumerate(queues):
            count, records = fetch(queue, width, offsets[place])
            for _, event_ms, _, gem_pack, price in struct.iter_unpack("<qqiii", records):
                newest_ms[place] = max(newest_ms[place], event_ms)
                first_ms = event_ms // slide_ms * slide_ms + slide_ms
                for end_ms in range(first_ms, first_ms + window_ms, slide_ms):
                    windows.setdefault(end_ms, Counter())[gem_pack] += price
            offsets[place] += count
            queue.sendall(struct.pack("<IIQ", ACKNOWLEDGE, 0, offsets[place]))
        # A window has ended when every queue is past its end; each queue is in the order of event time.
        for end_ms in sorted(end for end in windows if end <= min(newest_ms)):
            frame = b""
            for gem_pack, revenue in windows.pop(end_ms).items():
                key = str(gem_pack).encode()
                value = json.dumps({"gem_pack": gem_pack, "window_end_ms": end_ms, "revenue": revenue}).encode()
                frame += struct.pack("<II", len(key), len(value)) + key + value
            collector.sendall(struct.pack("<I", len(frame)) + frame)
            receive(collector, 8)  # how many results the collector has
    for queue, _ in queues:
        queue.sendall(struct.pack("<IIQ", LEAVE, 0, 0))
    emit("stopped")


if __name__ == "__main__":
    main()

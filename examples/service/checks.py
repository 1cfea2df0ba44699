"""Clients that break off, lie, dawdle or come all at once; and whether the service answers them and everyone else right.

Each check raises AssertionError with what was found. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import array
import json
import os
import re
import resource
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from client import answer, ask, connect, drive, request
from graphs import FEATURES, Graph, expected_scores, make_graph, make_graphs, safetensors, scores_of

SMALL = make_graph(3, 20)


def good(port: int) -> None:
    """A small graph in every format gets the scores of the formula."""
    expected = expected_scores(SMALL)
    wide = Graph(SMALL.nodes, SMALL.x, array.array("q", SMALL.edge_index))
    answers = []
    for body, type in (
        (SMALL.body(), "application/octet-stream"),
        (wide.body(), ""),
        (SMALL.json(), "application/json"),
    ):
        status, _, found = ask(port, request(body, type))
        assert status == 200, (status, found)
        answers.append(array.array("f", json.loads(found)["score"]) if type.endswith("json") else scores_of(found))
    assert answers[0] == answers[1] == answers[2], "the formats give different scores"
    worst = max(abs(a - b) for a, b in zip(answers[0], expected))
    assert len(answers[0]) == SMALL.nodes and worst < 1e-5, f"{len(answers[0])} scores, off by {worst}"
    for nodes in (0, 1):
        status, _, found = ask(port, request(make_graph(0, nodes, degree=0).body()))
        assert status == 200 and len(scores_of(found)) == nodes, (nodes, status, found)
    before = metric(port, "service_request_seconds_count")
    framing(port)
    assert metric(port, "service_request_seconds_count") == before + 5
    lines = ask(port, request(b"", path="/metrics"))[2].decode().splitlines()
    strange = [line for line in lines if not re.fullmatch(r'# TYPE \w+ \w+|\w+(\{\w+="[^"]+"\})? [\d.e+-]+', line)]
    assert not strange, strange


def metric(port: int, name: str) -> float:
    lines = ask(port, request(b"", path="/metrics"))[2].decode().splitlines()
    return next(float(line.split(" ")[1]) for line in lines if line.startswith(name + " "))


def framing(port: int) -> None:
    """What HTTP/1.1 allows a client to do."""
    graph = request(SMALL.body())
    expected = ask(port, graph)
    head, body = graph.split(b"\r\n\r\n", 1)
    with connect(port) as connected:  # the second request before the first response
        connected.sendall(graph + graph[:200])
        assert answer(connected) == expected
        connected.sendall(graph[200:])
        assert answer(connected) == expected
        connected.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert connected.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connected.sendall(body)
        assert answer(connected) == expected
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:], b""))
    assert ask(port, b"POST /score HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks) == expected


def tensors(**changes: object) -> bytes:
    """The small graph with other bytes than its header says, or another header."""
    body = SMALL.body()
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    for name, value in changes.items():
        tensor, key = name.split("__")
        header[tensor][key] = value
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body[8 + length :]


def with_values(x: float = 0, index: int = 0, typecode: str = "i") -> bytes:
    graph = make_graph(3, 20, typecode=typecode)
    graph.x[FEATURES + 2] = x
    graph.edge_index[-1] = index
    return graph.body()


def broken_requests() -> list[tuple[bytes, int, str]]:
    """What is sent, after which nothing more comes; the status; and what the error says."""
    body, as_json = SMALL.body(), "application/json"
    few = safetensors({"x": SMALL.tensors()["x"]})
    return [
        (request(body)[:-100], 400, f"expected {len(body)} bytes, found {len(body) - 100} bytes"),
        (request(body[:-100]), 400, "expected data_offsets within"),
        (request(body[:5]), 400, "expected a safetensors file, found 5 bytes"),
        (request(b"\xff" * 200), 400, "are the length of its header; they say 18446744073709551615"),
        (request(body[:8] + b"\xfe" * 300), 400, "the safetensors header: parse error"),
        (request((2).to_bytes(8, "little") + b"[]"), 400, "expected an object, found array"),
        (request(few), 400, "the safetensors header has no 'edge_index'"),
        (request(tensors(x__shape=[float("nan"), 16])), 400, "the safetensors header: parse error"),
        (request(tensors(x__shape=[-1, 16])), 400, "expected a shape of two integers from 0, found [-1,16]"),
        (request(tensors(x__shape=[1.5, 16])), 400, "two integers from 0, found [1.5,16]"),
        (request(tensors(x__shape=[2**60, 16])), 400, "do not fit its 1280 bytes"),
        (request(tensors(x__shape=[20, 15])), 400, "expected shape [nodes, 16], found [20, 15]"),
        (request(tensors(x__dtype="F64")), 400, "expected dtype F32, found F64"),
        (request(tensors(x__data_offsets=[-8, 1280])), 400, "expected data_offsets of two integers from 0"),
        (request(tensors(x__data_offsets=[1280, 0])), 400, "expected data_offsets within"),
        (request(tensors(edge_index__shape=[3, 160])), 400, "expected shape [2, edges], found [3, 160]"),
        (request(tensors(edge_index__shape=[2, 2**63])), 400, "do not fit its 1280 bytes"),
        (request(tensors(edge_index__dtype="U8")), 400, "expected dtype I32 or I64, found U8"),
        (request(with_values(index=20)), 400, "edge_index[1, 159]: expected the index of one of 20 nodes, found 20"),
        (request(with_values(index=-1)), 400, "edge_index[1, 159]: "),
        (request(with_values(index=2**40, typecode="q")), 400, "found one below 0 or above 2^31 - 1"),
        (request(with_values(x=float("nan"))), 400, "x[1, 2]: expected a finite number, found nan"),
        (request(with_values(x=float("-inf"))), 400, "x[1, 2]: expected a finite number, found -inf"),
        (request(SMALL.json()[:-1], as_json), 400, "the JSON body: parse error"),
        (request(b"[" * 100000, as_json), 400, "is nested deeper than 3"),
        (request(b" " * (2 << 20), as_json), 400, "expected at most 1048576 bytes"),
        (request(b'{"x": [[1, 2]], "edge_index": [[], []]}', as_json), 400, "x[0]: expected 16 numbers, found 2"),
        (request(b'{"x": [[' + b"1," * 15 + b'"a"]], "edge_index": [[], []]}', as_json), 400, "numbers, found string"),
        (request(b'{"x": [[' + b"1," * 15 + b'1e400]], "edge_index": [[], []]}', as_json), 400, "the JSON body: "),
        (request(b'{"x": [], "edge_index": [[0], [0]]}', as_json), 400, "one of 0 nodes, found 0"),
        (request(b'{"x": [], "edge_index": [[0], []]}', as_json), 400, "two lists of the same length"),
        (request(b'{"x": [], "edge_index": [[0.5], [0]]}', as_json), 400, "expected integers, found number"),
        (b"\x16\x03\x01 these are no words of HTTP\r\n\r\n", 400, "not a request of HTTP/1.1"),
        (b"POST /score HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400, "not a request of HTTP/1.1"),
        (b"POST /score HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", 413, "at most 16777216 bytes"),
        (request(b" " * (17 << 20)), 413, "at most 16777216 bytes"),
        (b"GET /health HTTP/1.1\r\nX: " + b"x" * 10000 + b"\r\n\r\n", 431, "at most 8192 bytes of header"),
        (b"POST /score HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400, "found 0 bytes"),
        (request(b"", path="/score"), 405, "expected POST, found GET"),
        (request(b"", path="/nowhere"), 404, "there are /score, /health and /metrics"),
    ]  # fmt: skip


def broken(port: int) -> str:
    """Each gets one error that says what is wrong, and the next good request is answered as ever."""
    graph = request(SMALL.body())
    expected = ask(port, graph)
    cases = broken_requests()
    for data, wanted, message in cases:
        status, _, body = ask(port, data, end=True)
        error = json.loads(body)["error"]
        assert status == wanted and message in error, (
            f"{data[:150]!r}: expected {wanted} {message!r}, found {status} {error!r}"
        )
        assert len(error) < 400 and "\n" not in error, error
        assert ask(port, graph) == expected, f"another answer than before after {data[:150]!r}"
    for cut in range(0, len(graph), 97):  # clients that vanish at any point
        with connect(port) as connected:
            connected.sendall(graph[:cut])
    assert ask(port, graph) == expected
    return f"{len(cases)} broken requests"


def slow(port: int, seconds: float, process: subprocess.Popen, clients: int = 50) -> str:
    """Clients that send a few bytes at a time get 408 after `seconds`, and keep nobody else waiting."""
    graph = request(SMALL.body())
    expected = ask(port, graph)[2]
    sockets = [connect(port) for _ in range(clients)]
    begin, sent, worst = time.monotonic(), 0, 0.0
    while time.monotonic() - begin < 0.8 * seconds:
        for number, each in enumerate(sockets):  # half of them never get as far as the body
            each.sendall(graph[sent : sent + (1 if number % 2 else 150)])
        sent += 1 if sent else 0
        result = drive(port, [graph], [expected], clients=2, count=20)
        assert result.statuses == {200: 20} and not result.wrong, result.statuses
        worst = max(worst, *result.latencies)
        time.sleep(seconds / 20)
    for each in sockets:
        status, _, body = answer(each)
        assert status == 408 and "did not arrive within" in json.loads(body)["error"], (status, body)
        each.close()
    taken = time.monotonic() - begin
    assert seconds * 0.9 < taken < seconds + 3, f"expected an end after {seconds} seconds, found {taken}"
    paused(port, seconds, process)
    return f"{clients} slow clients, 408 after {taken:.1f} s; the slowest answer to others {1e3 * worst:.1f} ms"


def paused(port: int, seconds: float, process: subprocess.Popen) -> None:
    """The time also ends while the service has bytes to read: what it cancels then has completed already."""
    with connect(port, timeout=10) as connected:
        connected.sendall(b"POST /score HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
        time.sleep(0.2 * seconds)
        process.send_signal(signal.SIGSTOP)
        connected.sendall(bytes(200000))  # more than one read takes
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        assert (status := answer(connected)[0]) == 408, status


def overload(port: int, clients: int = 32, count: int = 2000) -> str:
    """More clients than the queue holds: some are refused, and told to come again; all others get their scores."""
    graphs = [request(graph.body()) for graph in make_graphs(16, 200)]
    expected = [ask(port, graph)[2] for graph in graphs]
    result = drive(port, graphs, expected, clients, count)
    refused, answered = result.statuses[503], result.statuses[200]
    assert refused and answered and refused + answered == count, result.statuses
    assert not result.wrong, f"{result.wrong} answers differ from those of an idle service"
    assert metric(port, 'service_refusals_total{reason="queue"}') == refused
    assert drive(port, graphs, expected, 1, 16).statuses == {200: 16}
    return f"{answered} answered, all right; {refused} refused"


def crowd(port: int, connections: int) -> str:
    """Connections beyond the limit are told so, and there is room again when others have gone."""
    sockets = [connect(port) for _ in range(connections)]
    for each in sockets:
        each.sendall(request(b"", path="/health"))
        assert answer(each)[0] == 200
    status, head, body = ask(port, request(SMALL.body()))
    assert status == 503 and "retry-after: 1" in head and "connections are taken" in json.loads(body)["error"], body
    for each in sockets:
        each.close()
    time.sleep(0.1)
    assert ask(port, request(SMALL.body()))[0] == 200
    return f"{connections} connections, the next one refused"


LOST = 0  # in place of a status: there is no memory even for a response


def ask_or_lose(port: int, data: bytes) -> tuple[int, str, bytes]:
    try:
        return ask(port, data)
    except ConnectionError:
        return LOST, "", b""


def memory(port: int, process: subprocess.Popen, clients: int = 4) -> str:
    """With less memory than large graphs take, at any step of a request: they are told so, and all others served."""
    small, large = request(SMALL.body()), request(make_graph(1, 40000).body())
    expected = ask(port, small)
    statuses: Counter = Counter()
    largest: set[bytes] = set()
    for more in (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 64):  # MiB beside what it has, each time anew
        limit = addressed(process.pid) + (more << 20)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        with ThreadPoolExecutor(clients) as pool:
            answers = list(pool.map(lambda _: ask_or_lose(port, large), range(clients)))
        for status, _, body in answers:
            statuses[status] += 1
            if status == LOST:
                continue
            assert status == 200 or status == 500 and b"out of memory" in body, (status, body[:200])
            if status == 200:
                largest.add(body)
        assert ask(port, small) == expected, f"another answer than before with {more} MiB"
    resource.prlimit(process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    status, _, body = ask(port, large)
    assert status == 200 and largest <= {body}, (status, len(largest))
    assert statuses[500] > statuses[LOST], statuses
    refused = statuses[500] + statuses[LOST]
    return f"{refused} of {statuses.total()} large graphs refused, the others right"


def stop(port: int, process: subprocess.Popen) -> str:
    """After SIGTERM, whoever has begun a request gets the scores, and nobody else gets in."""
    graph = request(make_graph(1, 1000).body())
    expected = ask(port, graph)[2]
    idle, *busy = [connect(port) for _ in range(9)]
    for number, each in enumerate(busy):
        each.sendall(graph if number % 2 else graph[:5000])
    idle.sendall(request(b"", path="/health"))
    answer(idle)
    process.terminate()
    assert idle.recv(1) == b"", "an idle connection stays open"
    try:
        connect(port).close()
        raise AssertionError("a new client gets in")
    except ConnectionRefusedError:
        pass
    for number, each in enumerate(busy):
        each.sendall(b"" if number % 2 else graph[5000:])
        status, head, body = answer(each)
        assert status == 200 and body == expected, status
    assert process.wait(10) == 0, process.returncode
    return f"{len(busy)} requests answered after SIGTERM"


def addressed(pid: int) -> int:
    """Bytes of address space, which RLIMIT_AS limits."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


def resident(pid: int) -> float:
    """MiB of memory."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

"""Clients that send graphs and wait for the scores, each one request at a time, all in one thread.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


def request(body: bytes, type: str = "application/octet-stream", path: str = "/score", more: str = "") -> bytes:
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: service\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def response(data: bytes | bytearray) -> tuple[int, str, bytes] | None:
    """Status, header and body; None if the response is not complete."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(data[:end]).decode().lower()
    at = head.index("content-length:") + len("content-length:")
    length = int(head[at:].split("\r\n", 1)[0])
    if len(data) < end + 4 + length:
        return None
    return int(head.split(" ", 2)[1]), head, bytes(data[end + 4 : end + 4 + length])


def connect(port: int, timeout: float = 30) -> socket.socket:
    connected = socket.create_connection(("127.0.0.1", port), timeout)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def ask(port: int, data: bytes, end: bool = False) -> tuple[int, str, bytes]:
    """What the service says to these bytes, after which nothing more comes if `end` says so."""
    with connect(port) as connected:
        connected.sendall(data)
        if end:
            connected.shutdown(socket.SHUT_WR)
        return answer(connected)


def answer(connected: socket.socket) -> tuple[int, str, bytes]:
    received = bytearray()
    while not (found := response(received)):
        if not (more := connected.recv(1 << 16)):
            raise ConnectionError(f"the connection was closed after {len(received)} bytes of a response")
        received += more
    return found


@dataclass
class Result:
    seconds: float = 0
    latencies: list[float] = field(default_factory=list)  # of responses with 200, in seconds
    statuses: Counter = field(default_factory=Counter)
    wrong: int = 0  # responses with 200 that differ from what was expected

    def quantile(self, q: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[int(q * (len(ordered) - 1))]


class Client:
    """One connection, kept open for as long as the service keeps it."""

    def __init__(self, port: int, poll: select.epoll) -> None:
        self.port, self.poll = port, poll
        self.open()

    def open(self) -> None:
        self.socket = connect(self.port)
        self.socket.setblocking(False)
        self.poll.register(self.socket, select.EPOLLIN)

    def close(self) -> None:
        self.poll.unregister(self.socket)
        self.socket.close()

    def send(self, number: int, data: bytes) -> None:
        self.number, self.unsent, self.received = number, memoryview(data), bytearray()
        self.begin = time.perf_counter()
        self.go_on()

    def go_on(self) -> None:
        try:
            self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except BlockingIOError:
            pass
        self.poll.modify(self.socket, select.EPOLLIN | (select.EPOLLOUT if self.unsent else 0))

    def receive(self) -> tuple[int, str, bytes] | None:
        if not (more := self.socket.recv(1 << 18)):
            raise ConnectionError("the service closed a connection without a response")
        self.received += more
        return response(self.received)


def drive(
    port: int,
    requests: Sequence[bytes],
    expected: Sequence[bytes] | None,
    clients: int,
    count: int,
    at: Callable[[int], None] = lambda done: None,
) -> Result:
    """`count` requests by this many clients; `requests` are sent in turn. A refused client goes on with the next one."""
    poll, result, sent, done = select.epoll(), Result(), 0, 0
    begin = time.perf_counter()
    waiting: dict[int, Client] = {}
    for _ in range(min(clients, count)):
        client = Client(port, poll)
        waiting[client.socket.fileno()] = client
        client.send(sent % len(requests), requests[sent % len(requests)])
        sent += 1
    while waiting:
        if not (events := poll.poll(60)):
            raise TimeoutError(f"no response for 60 seconds: {done} of {count} requests were answered")
        for descriptor, event in events:
            client = waiting[descriptor]
            if event & select.EPOLLOUT:
                client.go_on()
            if not event & ~select.EPOLLOUT or not (found := client.receive()):
                continue
            status, head, body = found
            result.statuses[status] += 1
            if status == 200:
                result.latencies.append(time.perf_counter() - client.begin)
                result.wrong += expected is not None and body != expected[client.number]
            done += 1
            at(done)
            if sent < count:
                if "connection: close" in head:
                    client.close()
                    del waiting[descriptor]
                    client.open()
                    waiting[client.socket.fileno()] = client
                client.send(sent % len(requests), requests[sent % len(requests)])
                sent += 1
            else:
                client.close()
                del waiting[descriptor]
    result.seconds = time.perf_counter() - begin
    return result

"""Runs a command, sends it a signal when its handlers are there, and prints what it wrote to the standard error.

usage: crash.py SIGNAL PIPE COMMAND...

The handlers are there when the command waits for words in the named pipe PIPE, which this makes; or, where PIPE is -,
when it answers a message of the language server protocol and waits for the next. It is sent the signal while all its
threads sleep, so that no lock is held that its stack trace needs. Exits with 0 where the signal ended the command.
"""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import time


def open_for_reader(pipe: str, process: subprocess.Popen) -> int:
    """Opens the pipe as soon as the command reads it; a command that ends without having done so is an error."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # nobody reads it yet
                raise
            time.sleep(0.01)
    sys.exit(f"the command ended before it read '{pipe}': {process.stderr.read().decode()}")


def wait_for_sleep(process: subprocess.Popen) -> None:
    """Returns when no thread of the process has run for a moment, or the process has ended."""
    still, before = 0, None
    while still < 5 and process.poll() is None:
        try:
            threads = sorted(pathlib.Path(f"/proc/{process.pid}/task").iterdir())
            fields = [(thread / "stat").read_text().rpartition(")")[2].split() for thread in threads]
        except (FileNotFoundError, ProcessLookupError):  # a thread has just ended
            continue
        # The first field behind a thread's name is its state; the 12th and the 13th are its processor time.
        now = [(each[0], each[11], each[12]) for each in fields]
        still = still + 1 if now == before and all(state == "S" for state, *_ in now) else 0
        before = now
        time.sleep(0.01)


name, pipe, command = sys.argv[1], sys.argv[2], sys.argv[3:]
number = getattr(signal, name)
if pipe == "-":
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    message = b'{"jsonrpc":"2.0","id":4,"method":"shutdown"}'
    process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(message), message))
    process.stdin.flush()
    process.stdout.read(1)
    wait_for_sleep(process)
    process.send_signal(number)
    said = process.communicate()[1]
else:
    os.mkfifo(pipe)
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    writer = open_for_reader(pipe, process)
    wait_for_sleep(process)
    process.send_signal(number)
    said = process.communicate()[1]
    os.close(writer)
    os.remove(pipe)
print(said.decode(), end="")
if process.returncode != -number:
    sys.exit(f"expected the end by {name}, found status {process.returncode}")

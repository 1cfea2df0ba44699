"""kill_rank.py MODEL.so PARTS CHECKPOINT: kills a rank of three that train, after their checkpoint was written.

Exits with 1 if the others go on, or end as if nothing had happened.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

model, parts, checkpoint = sys.argv[1:]
train = ["gnnc", "train", model, "--graph", parts, "--seed", "3", "--threads", "1", "--checkpoint", checkpoint]
launcher = [shutil.which("mpirun") or "mpirun", "--oversubscribe", "--bind-to", "none", "-np", "3"]
subprocess.run([*launcher, *train, "--epochs", "5"], check=True, stdout=subprocess.DEVNULL)
whole = os.stat(checkpoint).st_size
job = subprocess.Popen(
    [*launcher, *train, "--epochs", "16000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)


def ranks() -> list[int]:
    """Processes that mpirun has started and that are gnnc by now."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat") as stat, open(f"/proc/{number}/cmdline") as line:
                parent = int(stat.read().rpartition(")")[2].split()[1])
                if parent == job.pid and os.path.basename(line.read().split("\0")[0]) == "gnnc":
                    found.append(int(number))
        except OSError:
            pass
    return sorted(found)


deadline = time.monotonic() + 60
while len(ranks()) < 3 and time.monotonic() < deadline:
    time.sleep(0.1)
time.sleep(2)
os.kill(ranks()[1], signal.SIGKILL)
try:
    status = job.wait(timeout=60)
except subprocess.TimeoutExpired:
    job.kill()
    sys.exit("the others went on")
if status == 0:
    sys.exit("the job ended as if nothing had happened")
if os.stat(checkpoint).st_size != whole:
    sys.exit("the checkpoint has changed")

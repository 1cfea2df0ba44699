# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When calls on CUDA devices are recorded and replayed: with stand-ins for the driver and for the compiled model. On a GPU
test/Device/PyTorch checks what they compute."""

from __future__ import annotations

import contextlib
import gc
import struct
import unittest
from ctypes import c_size_t, c_void_p
from types import SimpleNamespace
from typing import Any
from unittest import mock

import gnnc
from gnnc.torch import _device, _replay


class Device:
    """Says what is asked of it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.failing: set[str] = set()
        self.recordings = 0

    def _does(self, what: str) -> int:
        self.log.append(what)
        return int(what in self.failing)

    def cuStreamCreate(self, stream: Any, flags: int) -> int:
        assert flags == 1
        return self._does("create")

    def cuStreamDestroy_v2(self, stream: Any) -> int:
        return self._does("destroy")

    def begin_recording(self, context: Any, stream: Any, failure: Any) -> int:
        return self._does("begin")

    def end_recording(self, context: Any, stream: Any, recording: Any, failure: Any) -> int:
        failed = self._does("end")
        if not failed:
            self.recordings += 1
            recording._obj.value = self.recordings
        return failed

    def replay(self, context: Any, recording: Any, stream: Any, failure: Any) -> int:
        return self._does(f"replay {recording.value}")

    def free_recording(self, context: Any, recording: Any) -> None:
        self._does(f"free {recording.value}")


class Launches:
    """A call of two addresses."""

    num_pointers = 2

    def __init__(self, device: Device) -> None:
        self.device, self.replays = device, None

    def launch(self, context: Any, data: bytes, workspace: Any, workspace_bytes: Any, stream: Any) -> None:
        if self.device._does("launch {} {}".format(*struct.unpack("3Q", data))):
            raise gnnc.Error("it fails")

    def __call__(self, context: Any, pointers: Any, workspace: Any, workspace_bytes: Any, stream: Any) -> None:
        self.device._does("call {} {}".format(*pointers))


class ReplayTest(unittest.TestCase):
    def setUp(self) -> None:
        self.device = Device()
        self.call = Launches(self.device)
        library = SimpleNamespace(api=self.device)
        self.prepared: Any = SimpleNamespace(library=library, streams=set(), part=None)
        self.context: Any = SimpleNamespace(handle=c_void_p(1), device=(2, 0))
        for target, name, by in (
            (_replay, "_driver", lambda: self.device),
            (_replay.torch.cuda, "device", lambda number: contextlib.nullcontext()),
        ):
            patch = mock.patch.object(target, name, by)
            patch.start()
            self.addCleanup(patch.stop)

    def launch(self, a: int, b: int, workspace: int = 64, replays: bool = True) -> list[str]:
        """What one call asks of the device."""
        room: Any = SimpleNamespace(address=workspace, pointer=c_void_p(workspace), size=c_size_t(8))
        before = len(self.device.log)
        _device.launch(self.call, self.prepared, self.context, [a, b], room, 7, replays)  # type: ignore[arg-type]
        return self.device.log[before:]

    def test_what_comes_back_is_recorded_once(self) -> None:
        found = [self.launch(16, 32) for _ in range(5)]
        recorded = ["create", "begin", "launch 16 32", "end", "destroy", "replay 1"]
        self.assertEqual(found, [["launch 16 32"], ["launch 16 32"], recorded, ["replay 1"], ["replay 1"]])
        self.assertEqual(self.prepared.streams, {7})

    def test_other_addresses_are_launched(self) -> None:
        for _ in range(4):
            self.launch(16, 32)
        self.assertEqual(self.launch(16, 48), ["launch 16 48"])
        self.assertEqual(self.launch(16, 32, workspace=128), ["launch 16 32"])
        self.assertEqual(self.launch(16, 32), ["replay 1"])

    def test_addresses_in_turns_have_a_recording_each(self) -> None:
        for _ in range(3):
            self.launch(16, 32), self.launch(16, 48)
        self.assertEqual([self.launch(16, 32), self.launch(16, 48)], [["replay 1"], ["replay 2"]])

    def test_addresses_that_never_come_back_are_not_recorded(self) -> None:
        for i in range(200):
            self.assertEqual(self.launch(16, 32 + 16 * i), [f"launch 16 {32 + 16 * i}"])
        self.assertLessEqual(len(self.call.replays._seen), 17)

    def test_captures_and_ranks_are_launched(self) -> None:
        for _ in range(4):
            self.assertEqual(self.launch(16, 32, replays=False), ["call 16 32"])
        self.prepared.part = object()
        for _ in range(4):
            self.assertEqual(self.launch(16, 32), ["call 16 32"])

    def test_recordings_are_bounded_and_freed(self) -> None:
        for i in range(_replay.MOST_KEPT + 3):
            for _ in range(_replay.TIMES):
                self.launch(16, 32 + 16 * i)
        self.assertEqual(len(self.call.replays), _replay.MOST_KEPT)
        self.assertEqual([line for line in self.device.log if line.startswith("free")], ["free 1", "free 2", "free 3"])
        self.call.replays = None
        gc.collect()
        self.assertEqual(sum(line.startswith("free") for line in self.device.log), _replay.MOST_KEPT + 3)

    def test_recordings_that_do_not_last_are_given_up(self) -> None:
        for i in range(100):
            for _ in range(_replay.TIMES):
                self.launch(16, 32 + 16 * i)
        self.assertEqual(self.device.recordings, 64)

    def test_what_cannot_be_recorded_is_launched(self) -> None:
        for failing in ("create", "begin", "launch 16 32", "end"):
            with self.subTest(failing):
                self.call.replays = None
                self.launch(16, 32), self.launch(16, 32)
                launch = mock.patch.object(self.device, "failing", {failing})
                try:
                    with launch:
                        found = self.launch(16, 32)
                except gnnc.Error:  # as it does without a recording
                    found = []
                    self.assertEqual(failing, "launch 16 32")
                self.assertNotIn("replay 1", found)
                if "begin" in found and "begin" != failing:
                    self.assertIn("end", found)
                self.assertEqual(self.launch(16, 32), ["launch 16 32"])

    def test_a_replay_that_fails_is_an_error(self) -> None:
        for _ in range(3):
            self.launch(16, 32)
        with mock.patch.object(self.device, "failing", {"replay 1"}), self.assertRaises(gnnc.Error):
            self.launch(16, 32)


if __name__ == "__main__":
    unittest.main()

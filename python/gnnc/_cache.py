# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepared graphs, found again by their index arrays.

A graph is found by where its index arrays are and how they are laid out, and by its extents. An entry holds the arrays,
so that their addresses are not used again. Whether the numbers in them are still the same:

* tensors of PyTorch count their changes. Writes through `.data` or through an array of NumPy that shares the memory are
  not counted; with GNNC_CHECK_GRAPHS=1 every call compares the contents with a copy, and such a write is an error;
* tensors made in `torch.inference_mode()` count nothing, and graphs of them are not kept;
* arrays of NumPy count nothing either; their contents are always compared with a copy.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ._arrays import View
from ._errors import Error
from ._graph import Prepared

#: Entries that stay however large they are: a training loop alternates between few.
_LEAST_ENTRIES = 2
DEFAULT_BYTES = 512 << 20


class _Held:
    """One index array of an entry."""

    __slots__ = ("owner", "version", "copy")

    def __init__(self, given: View, compared: bool) -> None:
        # An alias: the caller's own object could be given other memory through `.data`.
        self.owner = given.owner.detach() if given.is_torch else given.owner
        self.version = given.owner._version if given.is_torch else None
        self.copy = None
        if compared:
            self.copy = given.owner.detach().clone() if given.is_torch else given.owner.copy()

    @property
    def nbytes(self) -> int:
        held = self.owner
        size = held.numel() * held.element_size() if hasattr(held, "element_size") else held.nbytes
        return size * (1 if self.copy is None else 2)

    def is_current(self, given: View) -> bool:
        if given.is_torch:
            if given.owner._version != self.version:
                return False
            if self.copy is not None and not bool((given.owner == self.copy).all()):
                raise Error(
                    "index tensors were changed without PyTorch's knowledge (through .data or a NumPy array) after a "
                    "graph was prepared from them: call gnnc.clear_graphs(), or change them in place as tensors",
                    2,
                )
            return True
        return self.copy is not None and np.array_equal(given.owner, self.copy)


class _Entry:
    __slots__ = ("prepared", "held", "nbytes", "pinned")

    def __init__(self, prepared: Prepared, held: Sequence[_Held]) -> None:
        self.prepared, self.held, self.pinned = prepared, held, False
        self.nbytes = prepared.nbytes + sum(array.nbytes for array in held)


def checks_contents() -> bool:
    return os.environ.get("GNNC_CHECK_GRAPHS", "0") not in ("", "0")


class GraphCache:
    """Of all models of this process, bounded in bytes: what was used longest ago goes first."""

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self.limit = limit
        self.nbytes = 0
        self.hits = self.misses = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._pinned: dict[int, Prepared] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Hashable, arrays: Sequence[View], make: Callable[[], Prepared]) -> Prepared:
        """The graph that was prepared from these arrays, or what `make` prepares now. `key` says whose it is, where the
        arrays are, and all extents."""
        if any(array.is_torch and array.owner.is_inference() for array in arrays):
            self.misses += 1
            return make()
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                if all(held.is_current(array) for held, array in zip(entry.held, arrays)):
                    self._entries.move_to_end(key)
                    self.hits += 1
                    return entry.prepared
                self._remove(key)
        # Outside of the lock: it may take long, and other graphs are wanted meanwhile. Changes that another thread makes
        # while the numbers are read are changes of what was prepared.
        checks = checks_contents()
        held = [_Held(array, checks or not array.is_torch) for array in arrays]
        entry = _Entry(make(), held)
        prepared = entry.prepared
        with self._lock:
            if key in self._entries:
                self._remove(key)
            self._entries[key] = entry
            self.nbytes += entry.nbytes
            self.misses += 1
            self._evict()
        return prepared

    def pin(self, prepared: Prepared) -> None:
        """Never to be freed: a CUDA graph that was captured reads it, even after the indices have changed."""
        if id(prepared) in self._pinned:
            return
        with self._lock:
            self._pinned[id(prepared)] = prepared
            for entry in self._entries.values():
                if entry.prepared is prepared:
                    entry.pinned = True

    def clear(self) -> None:
        with self._lock:
            for key in [key for key, entry in self._entries.items() if not entry.pinned]:
                self._remove(key)

    def _remove(self, key: Hashable) -> None:
        entry = self._entries.pop(key)
        self.nbytes -= entry.nbytes

    def _evict(self) -> None:
        # Of thousands of small graphs no more are looked at than go.
        left, oldest = self.nbytes, []
        for key, entry in itertools.islice(self._entries.items(), max(len(self._entries) - _LEAST_ENTRIES, 0)):
            if left <= self.limit:
                break
            if not entry.pinned:
                oldest.append(key)
                left -= entry.nbytes
        for key in oldest:
            self._remove(key)


graphs = GraphCache(int(os.environ.get("GNNC_GRAPH_CACHE_BYTES", DEFAULT_BYTES)))


def clear_graphs() -> None:
    """Drops all prepared graphs that are kept for index arrays seen before."""
    graphs.clear()

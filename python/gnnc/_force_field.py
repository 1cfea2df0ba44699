# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled force field (`gnnc.export(…, forces=…)`), called with atoms and pairs of neighbours as NumPy arrays."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _abi
from ._arrays import empty_like, long_name, view
from ._elements import SYMBOLS
from ._errors import Error
from ._graph import Description, Prepared, describe_call
from ._model import Model, _stream


@dataclass(frozen=True)
class Found:
    """Of one configuration, in the units of the model, as float64."""

    energy: float
    energies: np.ndarray | None  #: [atoms], if the model has them
    forces: np.ndarray  #: [atoms, 3]
    virial: np.ndarray | None  #: [3, 3]: minus the derivative of the energy by strain


def _device(text: str) -> tuple[int, int]:
    kind, _, number = text.partition(":")
    if kind == "cpu" and not number:
        return (_abi.CPU, 0)
    if kind == "cuda" and (not number or number.isdigit()):
        return (_abi.CUDA, int(number or 0))
    raise Error(f"device: expected cpu, cuda or cuda:NUMBER, found '{text}'", 1)


class ForceField:
    """Keeps a prepared graph and the memory of a step as long as the same pairs come."""

    def __init__(self, path: str | os.PathLike[str] | Model, *, device: str = "cpu", threads: int = 0) -> None:
        self.model = path if isinstance(path, Model) else Model(path, threads)
        text = self.model.description.get("metadata", {}).get("force_field")
        if text is None:
            raise Error(f"'{self.model.path}' is no force field: expected an object that gnnc.export(…, forces=…) wrote")
        roles = json.loads(text)
        #: Of each argument of the model, what it is for.
        self.arguments: dict[str, str] = roles["arguments"]
        self.cutoff: float | None = roles.get("cutoff")
        #: Whether pairs beyond the cutoff do no harm.
        self.ignores_longer_pairs: bool = roles.get("ignores_longer_pairs", False)
        self.has_virial: bool = roles["virial"]
        self.elements: list[int] = roles.get("elements", [])
        self._has_energies: bool = roles["energies"]
        self._types = np.full(len(SYMBOLS) + 1, -1, np.int64)
        self._types[self.elements] = np.arange(len(self.elements))
        self._device = _device(device)
        self._step: _Step | None = None

    def __call__(
        self,
        positions: np.ndarray,
        numbers: np.ndarray,
        *,
        pairs: np.ndarray | None,
        unit_shifts: np.ndarray | None,
        cell: np.ndarray | None,
        virial: bool,
    ) -> Found:
        """`positions` [atoms, 3], atomic `numbers` [atoms], `pairs` [2, P] of neighbours and the atoms that they are near,
        with `unit_shifts` [P, 3] in multiples of the rows of `cell` [3, 3]. A graph is prepared where `pairs` is another
        array than last time, or `numbers` differ."""
        step = self._step
        if step is None or step.pairs is not pairs or not np.array_equal(step.numbers, numbers):
            step = self._step = _Step(self, numbers, pairs, unit_shifts)
        return step.run(positions, cell, virial)

    def types(self, numbers: np.ndarray) -> np.ndarray:
        """Places in `elements`."""
        found = self._types[numbers]
        if (found < 0).any():
            atom = int(np.argmax(found < 0))
            known = ", ".join(SYMBOLS[each - 1] for each in self.elements)
            symbol = SYMBOLS[numbers[atom] - 1] if numbers[atom] > 0 else "X"
            raise Error(f"atom {atom} is {symbol}, which the model does not know: expected one of {known}")
        return found

    def outputs(self, virial: bool) -> tuple[str, ...]:
        return ("energies" if self._has_energies else "energy", "forces", *(["virial"] if virial else []))


class _Step:
    """The model on one list of pairs."""

    def __init__(
        self, field: ForceField, numbers: np.ndarray, pairs: np.ndarray | None, unit_shifts: np.ndarray | None
    ) -> None:
        self.field, self.pairs, self.numbers = field, pairs, numbers.copy()
        self._unit_shifts, self._cell = unit_shifts, None
        model = field.model
        self._types = {name: value.dtype for name, value in model._description.inputs.items()}
        atoms, count = len(numbers), 0 if pairs is None else pairs.shape[1]
        given: dict[str, Any] = {}
        for name, role in field.arguments.items():
            if role == "types":
                given[name] = field.types(numbers)
            elif role == "numbers":
                given[name] = np.asarray(numbers, np.int64)
            elif role == "edge_index":
                given[name] = pairs
            else:
                shape = {"positions": (atoms, 3), "cell": (3, 3)}.get(role, (count, 3))
                given[name] = np.zeros(shape, long_name(self._types.get(name, "f64")))
        if "unit_shifts" in field.arguments.values() and unit_shifts is not None:
            given[self._named("unit_shifts")][...] = unit_shifts
        self._given = {name: self._placed(value) for name, value in given.items() if name in model.arguments}
        resolved = model._arguments.resolve(self._given)
        data = resolved.data()
        device = field._device
        self._prepared = Prepared(model._library, device, Description(data.extents, data.indices, stream=_stream(device)))
        self._inputs = {
            name: value
            for name, value in {**resolved.values, **data.values}.items()
            if name in model._description.programs["forward"].inputs
        }
        self._results: dict[tuple[str, ...], dict[str, Any]] = {}

    def _named(self, role: str) -> str:
        return next(name for name, found in self.field.arguments.items() if found == role)

    def _placed(self, value: np.ndarray) -> Any:
        if self.field._device[0] == _abi.CPU:
            return value
        import torch

        return torch.as_tensor(value, device=torch.device("cuda", self.field._device[1]))

    def _write(self, role: str, value: np.ndarray) -> None:
        for name, found in self.field.arguments.items():
            # An input that the program does not read is not there.
            if found == role and name in self._given and name in self._inputs:
                target = self._inputs[name].owner
                if isinstance(target, np.ndarray):
                    target[...] = value
                else:
                    import torch

                    target.copy_(torch.from_numpy(np.ascontiguousarray(value)).to(target.dtype))

    def run(self, positions: np.ndarray, cell: np.ndarray | None, virial: bool) -> Found:
        self._write("positions", positions)
        if cell is not None and (self._cell is None or not np.array_equal(cell, self._cell)):
            self._cell = cell.copy()
            self._write("cell", cell)
            if self._unit_shifts is not None:
                self._write("shifts", self._unit_shifts @ cell)
        wanted = self.field.outputs(virial)
        found = self._results.get(wanted) or self._memory(wanted)
        library = self.field.model._library
        call = self._prepared.call(describe_call("forward", tuple(self._inputs), wanted))
        context = library.context(self.field._device, self.field.model._threads)
        pointers = [value.pointer for value in self._inputs.values()]
        pointers += [view(output, "").pointer for output in found.values()]
        if self.field._device[0] == _abi.CPU:
            workspace = library.workspace(call.workspace_bytes)
            try:
                call(context, pointers, workspace.pointer, workspace.size)
            finally:
                workspace.release()
        else:
            from .torch._device import run

            run(call, self._prepared, context, pointers)
        numbers = {name: self._read(value) for name, value in found.items()}
        energies = numbers.get("energies")
        energy = float(energies.sum()) if energies is not None else float(numbers["energy"].sum())
        return Found(energy, energies, numbers["forces"], numbers.get("virial"))

    def _memory(self, wanted: tuple[str, ...]) -> dict[str, Any]:
        """Results of all steps lie in the same place, so that a GPU may replay what it has recorded."""
        first = next(iter(self._inputs.values()), None)
        outputs = self.field.model._description.outputs
        found = {
            name: empty_like(first, outputs[name].shape(self._prepared.extent), outputs[name].dtype) for name in wanted
        }
        self._results[wanted] = found
        return found

    @staticmethod
    def _read(value: Any) -> np.ndarray:
        return np.array(value if isinstance(value, np.ndarray) else value.cpu().numpy(), np.float64)

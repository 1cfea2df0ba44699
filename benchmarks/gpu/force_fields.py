"""Energies and forces of force fields: an exported object beside the module, eagerly and compiled.

    python3 benchmarks gpu.force_fields [MODEL …] [--atoms 54 10648] [--device cpu] [--rounds 5] [--cuequivariance]

A step begins with positions on the host and ends with forces there, as in ASE, on a list of neighbours that stays. Forces
are compared. One object, exported from the first size, serves all. Times are medians with the range of the rounds;
ns/day are at 0.5 fs a step. MACE and NequIP are those of the packages mace-torch and nequip, with random weights, and
are left out where these are not installed. What does not fit in the GPU's memory is said.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from gnnc._force_field import ForceField

CUTOFF = 5.0
DENSITY = 0.1  # atoms in a cubic Å, as in water

Step = Callable[[], np.ndarray]


class SchNet(nn.Module):
    """Schütt et al., "SchNet": continuous filters, 3 interactions of width 128, 50 Gaussians."""

    def __init__(self, width: int = 128, radial: int = 50, layers: int = 3) -> None:
        super().__init__()

        def dense() -> nn.Linear:
            return nn.Linear(width, width)

        def two() -> nn.Module:
            return nn.Sequential(dense(), nn.Softplus(), dense())

        self.embedding = nn.Embedding(2, width)
        self.before = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(radial, width), nn.Softplus(), dense()) for _ in range(layers)
        )
        self.after = nn.ModuleList(two() for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(width, width // 2), nn.Softplus(), nn.Linear(width // 2, 1))
        self.register_buffer("centres", torch.linspace(0, CUTOFF, radial))

    def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
        neighbour, centre = edge_index[0], edge_index[1]
        distance = (positions[neighbour] + shifts - positions[centre]).norm(dim=1, keepdim=True)
        basis = torch.exp(-0.5 * ((distance - self.centres) * (50 / CUTOFF)) ** 2)
        envelope = 0.5 * (torch.cos(distance * (torch.pi / CUTOFF)) + 1) * (distance < CUTOFF)
        h = self.embedding(types)
        for before, filters, after in zip(self.before, self.filters, self.after):
            messages = before(h)[neighbour] * filters(basis) * envelope
            h = h + after(torch.zeros_like(h).index_add(0, centre, messages))
        return self.head(h)


class PaiNN(nn.Module):
    """Schütt et al., "Equivariant message passing": scalars and vectors, 3 layers of width 128, 20 Bessel functions."""

    def __init__(self, width: int = 128, radial: int = 20, layers: int = 3) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(2, width)

        def two(a: int, b: int) -> nn.Module:
            return nn.Sequential(nn.Linear(a, width), nn.SiLU(), nn.Linear(width, b))

        self.filters = nn.ModuleList(nn.Linear(radial, 3 * width) for _ in range(layers))
        self.messages = nn.ModuleList(two(width, 3 * width) for _ in range(layers))
        self.mixes = nn.ModuleList(nn.Linear(width, 2 * width, bias=False) for _ in range(layers))
        self.updates = nn.ModuleList(two(2 * width, 3 * width) for _ in range(layers))
        self.head = two(width, 1)
        self.register_buffer("frequencies", torch.arange(1, radial + 1) * (torch.pi / CUTOFF))

    def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
        neighbour, centre = edge_index[0], edge_index[1]
        vector = positions[neighbour] + shifts - positions[centre]
        distance = vector.norm(dim=1, keepdim=True)
        direction = (vector / distance)[:, :, None]
        basis = torch.sin(distance * self.frequencies) / distance
        envelope = 0.5 * (torch.cos(distance * (torch.pi / CUTOFF)) + 1) * (distance < CUTOFF)
        s = self.embedding(types)
        v = torch.zeros(s.shape[0], 3, self.width, dtype=s.dtype, device=s.device)
        for filters, messages, mix, update in zip(self.filters, self.messages, self.mixes, self.updates):
            x = messages(s)[neighbour] * (filters(basis) * envelope)
            ds, along, across = x.split(self.width, 1)
            dv = v[neighbour] * along[:, None] + direction * across[:, None]
            s = s + torch.zeros_like(s).index_add(0, centre, ds)
            v = v + torch.zeros_like(v).index_add(0, centre, dv)
            a, b = mix(v).split(self.width, 2)
            norm = (b.square().sum(1) + 1e-8).sqrt()
            first, second, third = update(torch.cat([s, norm], 1)).split(self.width, 1)
            s = s + first + second * (a * b).sum(1)
            v = v + third[:, None] * a
        return self.head(s)


class Mace(nn.Module):
    """The package's model: two layers of 128 channels with scalars and vectors, correlation 3, harmonics up to 3."""

    def __init__(self, channels: int = 128) -> None:
        super().__init__()
        from mace import modules  # first: it says how e3nn may load its constants

        from e3nn import o3

        block = modules.interaction_classes["RealAgnosticResidualInteractionBlock"]
        self.mace = modules.ScaleShiftMACE(
            r_max=CUTOFF,
            num_bessel=8,
            num_polynomial_cutoff=5,
            max_ell=3,
            interaction_cls=block,
            interaction_cls_first=block,
            num_interactions=2,
            num_elements=2,
            hidden_irreps=o3.Irreps(f"{channels}x0e + {channels}x1o"),
            MLP_irreps=o3.Irreps("16x0e"),
            gate=F.silu,
            atomic_energies=np.array([-1.0, -5.0]),
            avg_num_neighbors=50,
            atomic_numbers=[1, 8],
            correlation=3,
            radial_type="bessel",
            atomic_inter_scale=1.0,
            atomic_inter_shift=0.0,
        )

    def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
        data = {
            "positions": positions,
            "edge_index": edge_index,
            "shifts": shifts,
            "unit_shifts": shifts,
            "cell": torch.zeros(3, 3, dtype=positions.dtype, device=positions.device),
            "node_attrs": F.one_hot(types, 2).to(positions.dtype),
            "batch": torch.zeros_like(types),
            "ptr": torch.tensor([0, positions.shape[0]]),
        }
        return self.mace(data, training=False, compute_force=False)["node_energy"]


class NequIP(nn.Module):
    """The package's model: 4 layers of 32 features for each harmonic up to 2, with parity."""

    def __init__(self) -> None:
        super().__init__()
        from nequip.model import NequIPGNNModel
        from nequip.utils.global_state import set_global_state

        set_global_state()
        dtype = str(torch.get_default_dtype()).rpartition(".")[2]
        self.model = NequIPGNNModel(
            seed=1,
            model_dtype=dtype,
            r_max=CUTOFF,
            type_names=["H", "O"],
            num_layers=4,
            l_max=2,
            num_features=32,
            avg_num_neighbors=50.0,
            do_derivatives=False,
        )

    def forward(self, types: Tensor, positions: Tensor, edge_index: Tensor, shifts: Tensor) -> Tensor:
        # Its pairs begin at the centre; cells are the unit cube, so that shifts are multiples of its edges.
        data = {
            "pos": positions,
            "edge_index": edge_index.flip(0),
            "atom_types": types,
            "cell": torch.eye(3, dtype=positions.dtype, device=positions.device)[None],
            "edge_cell_shift": shifts,
        }
        return self.model(data)["atomic_energy"]


MODELS: dict[str, Callable[[], nn.Module]] = {"schnet": SchNet, "painn": PaiNN, "mace": Mace, "nequip": NequIP}


def liquid(atoms: int, device: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Tensor, ...]]:
    """Positions near a lattice in a periodic cube, numbers, and pairs within the cutoff."""
    import vesin

    generator = np.random.default_rng(0)
    side, points = (atoms / DENSITY) ** (1 / 3), int(np.ceil(atoms ** (1 / 3) - 1e-9))
    lattice = np.stack(np.meshgrid(*3 * [np.arange(points)]), -1).reshape(-1, 3)[:atoms]
    positions = lattice * (side / points) + generator.normal(0, 0.15, (atoms, 3))
    types = generator.integers(0, 2, atoms)
    centre, neighbour, cells = vesin.NeighborList(cutoff=CUTOFF, full_list=True).compute(
        positions, np.eye(3) * side, True, "ijS"
    )
    pairs = np.stack([neighbour, centre]).astype(np.int64)
    dtype = torch.get_default_dtype()
    arguments = (
        torch.tensor(types, device=device),
        torch.tensor(positions, dtype=dtype, device=device),
        torch.tensor(pairs, device=device),
        torch.tensor(cells * side, dtype=dtype, device=device),
    )
    return positions, pairs, cells.astype(np.float64), (*arguments, torch.tensor(side))


def median(step: Callable[[], Any], rounds: int) -> list[float]:
    """Milliseconds of a step, a number for each round of about a quarter of a second."""
    for _ in range(3):
        step()
    started = time.perf_counter()
    step()
    count = max(1, min(200, int(0.25 / (time.perf_counter() - started))))
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            step()
        found.append((time.perf_counter() - started) / count * 1e3)
    return sorted(found)


def told(times: list[float]) -> str:
    middle = statistics.median(times)
    return f"{middle:.3f} [{times[0]:.3f}, {times[-1]:.3f}] ms, {43.2 / middle:.3g} ns/day"


def by_autograd(energy_of: Callable[..., Tensor], positions: np.ndarray, arguments: tuple[Tensor, ...]) -> Step:
    """A step of a module: positions to the device, energies, their gradient, and forces back."""
    types, like, edge_index, shifts, _ = arguments

    def step() -> np.ndarray:
        places = torch.from_numpy(positions).to(device=like.device, dtype=like.dtype).requires_grad_()
        energy = energy_of(types, places, edge_index, shifts).sum()
        return -torch.autograd.grad(energy, places)[0].cpu().numpy()

    return step


def with_cuequivariance(module: nn.Module) -> nn.Module:
    """MACE with NVIDIA's kernels, as its package converts it."""
    from mace.cli.convert_e3nn_cueq import run as convert

    other = Mace.__new__(Mace)
    nn.Module.__init__(other)
    other.mace = convert(module.mace, device="cuda").eval()
    for parameter in other.parameters():
        parameter.requires_grad_(False)
    return other


def measure(name: str, sizes: list[int], device: str, rounds: int, compiled: list[str], cuequivariance: bool) -> None:
    torch.manual_seed(0)
    module = MODELS[name]().to(device).eval()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    contenders: dict[str, Callable[[], nn.Module]] = {"eager": lambda: module}
    if cuequivariance and name == "mace":
        contenders["cuEquivariance"] = lambda: with_cuequivariance(module)
    for mode in compiled:
        contenders[f"torch.compile ({mode})"] = lambda mode=mode: torch.compile(module, mode=mode)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.so"
        started = time.perf_counter()
        example = liquid(sizes[0], device)[3][:4]
        gnnc.export(module, example, path, forces="positions", stress=True, cutoff=CUTOFF, elements=["H", "O"])
        print(f"{name}: exported in {time.perf_counter() - started:.1f} s", flush=True)
        for atoms in sizes:
            compare(path, atoms, device, rounds, contenders)


def compare(path: Path, atoms: int, device: str, rounds: int, contenders: dict[str, Callable[[], nn.Module]]) -> None:
    positions, pairs, cells, arguments = liquid(atoms, device)
    types, *_, side = arguments
    print(f"{atoms} atoms, {pairs.shape[1]} pairs", flush=True)
    numbers, cell = np.where(types.cpu().numpy() == 1, 8, 1), np.eye(3) * float(side)
    started = time.perf_counter()
    field = ForceField(path, device=device)

    def own() -> np.ndarray:
        return field(positions, numbers, pairs=pairs, unit_shifts=cells, cell=cell, virial=False).forces

    forces = own()
    first = time.perf_counter() - started
    print(f"  gnnc {told(median(own, rounds))}; loaded and first forces in {first:.2f} s", flush=True)
    for contender, build in contenders.items():
        torch._dynamo.reset()
        with contextlib.suppress(KeyboardInterrupt):
            try:
                started = time.perf_counter()
                step = by_autograd(build(), positions, arguments)
                expected = step()
                took = time.perf_counter() - started
                difference = float(np.abs(forces - expected).max() / np.abs(expected).max())
                text = f"first forces in {took:.1f} s; gnnc's within {difference:.1e} of the largest"
                print(f"  {contender} {told(median(step, rounds))}; {text}", flush=True)
            except Exception as error:
                print(f"  {contender}: {type(error).__name__}: {str(error).splitlines()[0][:120]}", flush=True)
            finally:
                step = None
                if device == "cuda":
                    torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"which of {', '.join(MODELS)}; default: all that are installed")
    parser.add_argument("--atoms", nargs="*", type=int, default=[54, 10648])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--double", action="store_true", help="float64 instead of float32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiled", nargs="*", default=["default", "reduce-overhead"], help="modes of torch.compile")
    parser.add_argument("--cuequivariance", action="store_true", help="MACE also with NVIDIA's kernels")
    args = parser.parse_args()
    torch.set_default_dtype(torch.float64 if args.double else torch.float32)
    for name in args.models or MODELS:
        try:
            measure(name, args.atoms, args.device, args.rounds, args.compiled, args.cuequivariance)
        except ImportError as error:
            print(f"{name}: {error}", flush=True)
        except (gnnc.Error, RuntimeError) as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()

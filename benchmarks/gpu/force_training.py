"""Steps of training with forces in the loss, beside PyTorch, eagerly and compiled.

    python3 benchmarks gpu.force_training [MODEL …] [--molecules 64] [--layers 2] [--device cpu] [--rounds 5] [--only gnnc]

A step is the energies of a batch of molecules of 60 atoms, their gradient by the positions, a loss of both, and its
gradients by the parameters. Losses and gradients are compared with the first contender's. Times are medians of steps on
one batch, and on batches that are new in each step, with the range of the rounds.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn

import gnnc
from gpu.force_fields import CUTOFF, PaiNN, SchNet, median, told

MODELS: dict[str, type[nn.Module]] = {"schnet": SchNet, "painn": PaiNN}
ATOMS = 60
FRESH = 12  #: batches that take turns as new ones

Batch = tuple[Tensor, ...]


def molecules(count: int, seed: int, device: str) -> Batch:
    """Types, positions, pairs within the cutoff, their shifts, and forces to learn."""
    g = torch.Generator().manual_seed(seed)
    positions = torch.randn(count, ATOMS, 3, generator=g) * 2.7
    near = (torch.cdist(positions, positions) < CUTOFF) & ~torch.eye(ATOMS, dtype=torch.bool)
    molecule, centre, neighbour = near.nonzero(as_tuple=True)
    pairs = torch.stack([molecule * ATOMS + neighbour, molecule * ATOMS + centre])
    types = torch.randint(0, 2, (count * ATOMS,), generator=g)
    forces = torch.randn(count * ATOMS, 3, generator=g)
    found = (types, positions.reshape(-1, 3), pairs, torch.zeros(pairs.shape[1], 3), forces)
    return tuple(each.to(device) for each in found)


def step(energies: Callable[..., Tensor], module: nn.Module, batch: Batch) -> tuple[Tensor, list[Tensor]]:
    types, positions, pairs, shifts, wanted = batch
    leaf = positions.detach().requires_grad_()
    energy = energies(types, leaf, pairs, shifts)
    (gradient,) = torch.autograd.grad(energy.sum(), leaf, create_graph=True)
    loss = energy.square().mean() + (gradient + wanted).square().mean()
    # The bias of the last layer has none.
    found = torch.autograd.grad(loss, list(module.parameters()), allow_unused=True, materialize_grads=True)
    return loss.detach(), list(found)


def measure(name: str, layers: int, count: int, device: str, rounds: int, only: list[str]) -> None:
    torch.manual_seed(0)
    module = MODELS[name](layers=layers).to(device)
    known = molecules(count, 1, device)
    fresh = [molecules(max(1, count - seed), seed, device) for seed in range(2, 2 + FRESH)]
    print(f"{name}, {layers} layers, {count} molecules, {known[2].shape[1]} pairs", flush=True)
    ways = {
        "eager": lambda: module,
        "torch.compile": lambda: torch.compile(module, dynamic=True),
        "gnnc": lambda: gnnc.compile(module),
    }
    first: list[Tensor] | None = None
    for way in only or ways:
        torch.compiler.reset()
        try:
            run = ways[way]()
            loss, gradients = step(run, module, known)
            first = first or [loss, *gradients]
            error = max(float((a - b).norm() / (b.norm() + 1e-9)) for a, b in zip([loss, *gradients], first))
            turns = itertools.cycle(fresh)

            def timed(batch: Callable[[], Batch]) -> str:
                times = median(lambda: _wait(step(run, module, batch()), device), rounds)
                return told(times).rpartition(",")[0]  # without ns/day

            same, new = timed(lambda: known), timed(lambda: next(turns))
        except (gnnc.Error, RuntimeError) as failure:
            print(f"  {way}: {type(failure).__name__}: {str(failure)[:160]}", flush=True)
            continue
        print(f"  {way}: {same}; new batches {new}; differs by {error:.1e}", flush=True)


def _wait(_: object, device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"which of {', '.join(MODELS)}; default: all")
    parser.add_argument("--molecules", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="contenders: eager, torch.compile, gnnc")
    args = parser.parse_args()
    for name in args.models or MODELS:
        measure(name, args.layers, args.molecules, args.device, args.rounds, args.only)


if __name__ == "__main__":
    main()

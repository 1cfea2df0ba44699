# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module that computes an energy to one object that simulators can use.

The derivatives are taken by the compiler, of the exported program: `forces`, the negative gradient of the energy by the
positions, `virial`, the negative gradient by a symmetric strain of space (positions, shifts and cell alike), which is the
sum over all pairs of vector times force, and `pair_forces`, these forces, the negative gradient by the pairs' shifts. What each argument is for, the cutoff and the elements are written into
the object's metadata, under `force_field`, where hosts read them (docs/ForceFields.md).
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from .._elements import atomic_number
from .._errors import Error
from ._wrapper import Wrapper, named_as

#: What a host can give, by the names of forward's arguments.
ROLES = {
    "types": "[atoms], each atom's place in `elements`",
    "numbers": "[atoms], atomic numbers",
    "edge_index": "[2, pairs], of each pair the neighbour and the atom whose neighbour it is",
    "shifts": "[pairs, 3], what to add to the neighbour's position",
    "unit_shifts": "[pairs, 3], the same in multiples of the cell's vectors",
    "cell": "[3, 3], a vector in each row",
}
_STRAIN = "gnnc_strain"
#: Lengths of pairs that are looked at, in multiples of the cutoff.
_BEYOND = (1.0001, 1.05, 1.4)


@dataclass
class ForceField:
    """What the module is exported as, and what the compiler is told besides."""

    model: nn.Module
    kwargs: dict[str, Any]
    statements: list[str] = field(default_factory=list)
    roles: dict[str, Any] = field(default_factory=dict)

    def options(self) -> list[str]:
        also = [word for statement in self.statements for word in ("--also", statement)]
        return [*also, "--metadata", f"force_field={json.dumps(self.roles)}"]


def _check_sizes(positions: str, arguments: Mapping[str, Tensor]) -> None:
    """Tells torch which sizes are the same, so that the program has one space of atoms and one of pairs."""
    atoms = arguments[positions].shape[0]
    pairs = arguments["edge_index"].shape[1] if "edge_index" in arguments else 0
    for name, size in (("types", atoms), ("numbers", atoms), ("shifts", pairs), ("unit_shifts", pairs)):
        if name in arguments:
            torch._check(arguments[name].shape[0] == size)


class _Energy(Wrapper):
    """A module with the arguments of another, whose results are `energy` and, where the other computes one for each atom,
    `energies`. Its numbers do not depend on the buffer for strain, which is 0; their derivatives do."""

    def __init__(self, module: nn.Module, positions: str, strained: Sequence[str], per_atom: bool) -> None:
        super().__init__(module)
        self.__dict__["_gnnc_force_field"] = (positions, tuple(strained), per_atom)

    def forward(self, **arguments: Any) -> dict[str, Tensor]:
        positions, strained, per_atom = self.__dict__["_gnnc_force_field"]
        _check_sizes(positions, arguments)
        if strained:
            strain = (self._buffers[_STRAIN] + self._buffers[_STRAIN].t()) / 2
            for name in strained:
                arguments[name] = arguments[name] + arguments[name] @ strain
        found = self.__dict__["_gnnc_wrapped"](**arguments)
        if not per_atom:
            return {"energy": found.sum()}
        energies = found.reshape(-1)
        return {"energy": energies.sum(), "energies": energies}


def _bound_arguments(model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise Error(f"{type(model).__name__}.forward: {error}") from None
    for parameter in inspect.signature(model.forward).parameters.values():
        if parameter.name in bound.arguments and parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise Error(
                f"{type(model).__name__}.forward: expected named arguments, since hosts go by their names, "
                f"found '{parameter}'"
            )
    return dict(bound.arguments)


def _check_arguments(name: str, positions: str, arguments: Mapping[str, Any]) -> None:
    if not isinstance(arguments.get(positions), Tensor):
        raise Error(f"forces={positions!r}: expected an argument of {name}.forward, one of {', '.join(arguments)}")
    found = tuple(arguments[positions].shape)
    if len(found) != 2 or found[1] != 3 or found[0] < 2:
        raise Error(f"{name}: expected '{positions}' to be [atoms, 3], two atoms at least, found {list(found)}")
    for each in arguments:
        if each != positions and each not in ROLES:
            known = "; ".join(f"{role}: {what}" for role, what in ROLES.items())
            raise Error(
                f"{name}.forward: hosts have nothing to give as '{each}': they know {positions}: [atoms, 3]; {known}. "
                "Write a module around yours that makes the rest"
            )
    if "unit_shifts" in arguments and "cell" not in arguments:
        raise Error(f"{name}.forward: expected 'cell' beside 'unit_shifts'")


def _energy_of(model: nn.Module, arguments: Mapping[str, Any]) -> Tensor:
    found = model(**arguments)
    if not isinstance(found, Tensor) or not found.is_floating_point():
        raise Error(
            f"{type(model).__name__}.forward: expected the energy, or one for each atom, as a tensor, "
            f"found {type(found).__name__}"
        )
    return found


def _is_per_atom(model: nn.Module, positions: str, arguments: Mapping[str, Any]) -> bool:
    with torch.no_grad():
        energy = _energy_of(model, arguments)
    atoms = len(arguments[positions])
    if energy.numel() == atoms and energy.dim() > 0 and energy.shape[0] == atoms:
        return True
    if energy.numel() == 1:
        return False
    raise Error(
        f"{type(model).__name__}.forward: expected one energy or [{atoms}] of them, found {list(energy.shape)}"
    )


def _ignores_longer_pairs(model: nn.Module, positions: str, arguments: dict[str, Any], cutoff: float) -> bool:
    """Whether pairs beyond the cutoff change neither energy nor forces, so that lists may have some. Found by trying."""
    if "shifts" not in arguments or "edge_index" not in arguments or arguments["edge_index"].shape[1] == 0:
        return False
    # In float64, where nothing that counts is lost beside a large energy.
    model = copy.deepcopy(model).double()
    arguments = {name: value.double() if value.is_floating_point() else value for name, value in arguments.items()}
    edges, shifts, places = arguments["edge_index"], arguments["shifts"], arguments[positions].detach()

    def evaluate(more: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        moved = places.clone().requires_grad_()
        energy = _energy_of(model, {**arguments, **more, positions: moved}).sum()
        return energy.detach(), torch.autograd.grad(energy, moved)[0]

    vectors = places[edges[0]] + shifts - places[edges[1]]
    lengths = vectors.norm(dim=1, keepdim=True).clamp(min=1e-6)
    longer = [shifts + vectors * (factor * cutoff / lengths - 1) for factor in _BEYOND]
    energy, forces = evaluate({})
    more = {
        "edge_index": torch.cat([edges] * (len(longer) + 1), dim=1),
        "shifts": torch.cat([shifts, *longer]),
    }
    other, others = evaluate(more)
    same_forces = float((others - forces).abs().max()) <= 1e-9 * float(forces.abs().max())
    # Sums of energies are rounded in another order.
    return same_forces and float((other - energy).abs()) <= 1e-12 * float(energy.abs()) + 1e-9


def force_field(
    model: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    positions: str,
    stress: bool,
    cutoff: float | None,
    elements: Sequence[str | int] | None,
) -> ForceField:
    """See `gnnc.export`. Raises `Error` where hosts would not know what to give."""
    name = type(model).__name__
    arguments = _bound_arguments(model, args, kwargs)
    _check_arguments(name, positions, arguments)
    if "edge_index" in arguments and cutoff is None:
        raise Error(f"{name}.forward takes 'edge_index': say up to which distance atoms are neighbours with cutoff=")
    if cutoff is not None and not cutoff > 0:
        raise Error(f"cutoff: expected a length greater than 0, found {cutoff}")
    if "types" in arguments and not elements:
        raise Error(f"{name}.forward takes 'types': say which elements they are with elements=, such as ['H', 'O']")
    per_atom = _is_per_atom(model, positions, arguments)
    strained = [each for each in (positions, "shifts", "cell") if each in arguments] if stress else []
    parameters = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in arguments
    ]
    wrapped: Any = named_as(model, _Energy, inspect.Signature(parameters))
    energy = wrapped(model, positions, strained, per_atom)
    if strained:
        strain = torch.zeros(3, 3, dtype=arguments[positions].dtype, device=arguments[positions].device)
        energy.__dict__["_buffers"] = {**energy._buffers, _STRAIN: strain}
    result = ForceField(energy, arguments)
    result.statements.append(f"output forces = -gradient(energy, {positions})")
    if stress:
        result.statements.append(f"output virial = -gradient(energy, {_STRAIN})")
    has_pair_forces = stress and "shifts" in arguments
    if has_pair_forces:
        result.statements.append("output pair_forces = -gradient(energy, shifts)")
    result.roles = {
        "arguments": {positions: "positions", **{each: each for each in arguments if each != positions}},
        "energies": per_atom,
        "virial": stress,
        "pair_forces": has_pair_forces,
    }
    if cutoff is not None:
        result.roles["cutoff"] = float(cutoff)
        result.roles["ignores_longer_pairs"] = _ignores_longer_pairs(model, positions, arguments, cutoff)
    if elements:
        result.roles["elements"] = [atomic_number(each) for each in elements]
    return result

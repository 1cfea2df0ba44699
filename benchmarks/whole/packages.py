"""Models of packages other than PyTorch Geometric, where these can be imported."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import Atoms, rows, spatial
from whole.parts import Radial, scatter_sum


def e3nn(size: Size) -> Made:
    """Tensor products with weights of an edge network, and gates: the shape of e3nn's own convolutional example."""
    from e3nn import nn as gated
    from e3nn import o3

    class Convolution(nn.Module):
        def __init__(self, inputs: Any, outputs: Any, harmonics: Any) -> None:
            super().__init__()
            self.product = o3.FullyConnectedTensorProduct(inputs, harmonics, outputs, shared_weights=False)
            self.network = gated.FullyConnectedNet([10, 32, self.product.weight_numel], F.silu)
            self.own = o3.Linear(inputs, outputs)

        def forward(self, x: Tensor, edge_index: Tensor, harmonics: Tensor, basis: Tensor) -> Tensor:
            src, dst = edge_index
            messages = self.product(x[src], harmonics, self.network(basis))
            return self.own(x) + scatter_sum(messages, dst, x.shape[0]) / 4.0

    class Network(nn.Module):
        def __init__(self, graphs: int) -> None:
            super().__init__()
            self.graphs, self.harmonics = graphs, o3.Irreps.spherical_harmonics(2)
            self.embedding, self.basis = nn.Embedding(100, 16), Radial(10, 5.0)
            irreps, self.convs, self.gates = o3.Irreps("16x0e"), nn.ModuleList(), nn.ModuleList()
            scalars, vectors = o3.Irreps("64x0e"), o3.Irreps("32x1o + 16x2e")
            for _ in range(size.depth):
                gate = gated.Gate(scalars, [F.silu], o3.Irreps("48x0e"), [torch.sigmoid], vectors)
                self.convs.append(Convolution(irreps, gate.irreps_in, self.harmonics))
                self.gates.append(gate)
                irreps = gate.irreps_out
            self.energy = o3.Linear(irreps, "1x0e")

        def forward(self, z: Tensor, edge_index: Tensor, vectors: Tensor, batch: Tensor) -> Tensor:
            harmonics = o3.spherical_harmonics(self.harmonics, vectors, normalize=True, normalization="component")
            basis, x = self.basis(vectors.norm(dim=1)), self.embedding(z)
            for conv, gate in zip(self.convs, self.gates):
                x = gate(conv(x, edge_index, harmonics, basis))
            return scatter_sum(self.energy(x), batch, self.graphs).squeeze(-1)

    atoms = spatial(size.of(64))
    inputs = (atoms.kinds, atoms.edge_index, atoms.vectors, atoms.batch)
    return Made(Network(atoms.count), inputs, rows(atoms.count, 1, 4).squeeze(1), F.mse_loss)


def mace(size: Size) -> Made:
    """MACE of 128 channels and l ≤ 1, correlation 3: its energies."""
    import numpy as np
    from e3nn import o3
    from mace.modules import ScaleShiftMACE, interaction_classes

    kinds = [1, 6, 7, 8, 9]

    class Energy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mace = ScaleShiftMACE(
                r_max=5.0, num_bessel=8, num_polynomial_cutoff=5, max_ell=3, num_interactions=size.depth,
                interaction_cls=interaction_classes["RealAgnosticResidualInteractionBlock"],
                interaction_cls_first=interaction_classes["RealAgnosticInteractionBlock"],
                num_elements=len(kinds), hidden_irreps=o3.Irreps("128x0e + 128x1o"), MLP_irreps=o3.Irreps("16x0e"),
                atomic_energies=np.zeros(len(kinds)), avg_num_neighbors=12.0, atomic_numbers=kinds, correlation=3,
                gate=F.silu, atomic_inter_scale=1.0, atomic_inter_shift=0.0,
            )  # fmt: skip

        def forward(self, data: dict[str, Tensor]) -> Tensor:
            return self.mace(data, training=True, compute_force=False)["energy"]

    atoms = spatial(size.of(32))
    return Made(Energy(), (mace_data(atoms, kinds),), rows(atoms.count, 1, 4).squeeze(1), F.mse_loss)


def mace_data(atoms: Atoms, kinds: list[int]) -> dict[str, Tensor]:
    one_hot = (atoms.kinds[:, None] == torch.tensor(kinds)).float()
    each, edges = len(atoms.kinds) // atoms.count, atoms.edge_index.shape[1]
    return {
        "positions": atoms.position,
        "node_attrs": one_hot,
        "edge_index": atoms.edge_index,
        "shifts": torch.zeros(edges, 3),
        "unit_shifts": torch.zeros(edges, 3),
        "cell": torch.zeros(3 * atoms.count, 3),
        "batch": atoms.batch,
        "ptr": torch.arange(atoms.count + 1) * each,
        "head": torch.zeros(atoms.count, dtype=torch.long),
    }

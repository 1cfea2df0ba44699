"""Attention of all to all, beside PyTorch: in batches of small graphs, in one long sequence, and kernels of distances.

PyTorch has the nodes of each graph in rows of equal length, or all pairs in memory; the same modules, unmodified, are
compiled by gnnc. Times are medians, with the range of the rounds; losses and memory stand beside them.
"""

from __future__ import annotations

import argparse

import torch
from gpu.neighbours import row, timed
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc


def to_dense_batch(x: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
    """As PyTorch Geometric has it."""
    graphs = int(batch.max()) + 1
    counts = torch.zeros(graphs, dtype=torch.long, device=x.device).scatter_add_(0, batch, torch.ones_like(batch))
    first = torch.cat([batch.new_zeros(1), counts.cumsum(0)])
    most = int(counts.max())
    places = torch.arange(batch.size(0), device=x.device) - first[batch] + batch * most
    rows = x.new_zeros([graphs * most, x.size(1)])
    rows[places] = x
    mask = torch.zeros(graphs * most, dtype=torch.bool, device=x.device)
    mask[places] = 1
    return rows.view(graphs, most, x.size(1)), mask.view(graphs, most)


class GPSLayer(nn.Module):
    """Rampášek et al., 2022: messages along edges and attention within graphs, and a network of both."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.edges = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
        sums = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        local = self.norms[0](x + self.edges(x + sums))
        rows, mask = to_dense_batch(x, batch)
        h, _ = self.attention(rows, rows, rows, key_padding_mask=~mask, need_weights=False)
        h = local + self.norms[1](x + h[mask])
        return self.norms[2](h + self.mlp(h))


class GPS(nn.Module):
    def __init__(self, layers: int, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(9, width), nn.Linear(width, 1)
        self.layers = nn.ModuleList(GPSLayer(width, heads) for _ in range(layers))

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x, edges, batch)
        return self.last(x)


class Encoder(nn.Module):
    def __init__(self, layers: int, width: int = 256, heads: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x[None]
        for layer in self.layers:
            x = layer(x)
        return x[0]


class Kernel(nn.Module):
    """A smoothed field: every point's by all others', with a learnt width."""

    def __init__(self) -> None:
        super().__init__()
        self.width = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor, f: Tensor) -> Tensor:
        d = (x[:, None] - x[None]).square().sum(-1)
        w = torch.exp(-d * self.width)
        return w @ f / w.sum(1, keepdim=True)


def molecules(count: int) -> tuple[Tensor, Tensor, Tensor]:
    sizes = torch.randint(10, 51, (count,))
    batch = torch.arange(count).repeat_interleave(sizes)
    n = len(batch)
    src = torch.arange(n - 1)
    chain = src[batch[:-1] == batch[1:]]
    edges = torch.stack([torch.cat([chain, chain + 1]), torch.cat([chain + 1, chain])])
    return torch.randn(n, 9).cuda(), edges.cuda(), batch.cuda()


def compare(name: str, module: nn.Module, inputs: tuple[Tensor, ...], args: argparse.Namespace, precision: str) -> None:
    module = module.cuda()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    for training in (False, True):
        module.train(training)
        results, losses, memory = {}, {}, {}
        ways = {"gnnc": gnnc.compile(module), "eager": module}
        if not args.no_compile:
            ways["torch.compile"] = torch.compile(module)
        for way, call in ways.items():

            def step() -> Tensor:
                with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
                    loss = F.smooth_l1_loss(call(*inputs).float(), torch.tensor(0.5, device="cuda"))  # noqa: B023
                if training:  # noqa: B023
                    module.zero_grad()
                    loss.backward()
                return loss

            try:
                torch.cuda.reset_peak_memory_stats()
                with torch.set_grad_enabled(training):
                    losses[way] = step().item()
                    results[way] = timed(step, args.rounds)
                memory[way] = torch.cuda.max_memory_allocated() >> 20
            except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
                print(f"  {way}: {str(error).splitlines()[0][:160]}")
        note = "losses " + ", ".join(f"{loss:.5f}" for loss in losses.values())
        note += "; MiB " + ", ".join(str(each) for each in memory.values())
        if "gnnc" in results:
            row(f"{name}, {precision}, {'training' if training else 'inference'}", results, note)
    torch._dynamo.reset()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--precision", nargs="+", default=["float32", "tf32", "bf16"], help="(default: all)")
    parser.add_argument("--only", nargs="+", choices=["gps", "encoder", "kernel"], default=["gps", "encoder", "kernel"])
    args = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__)
    torch.manual_seed(0)
    for precision in args.precision:
        if "gps" in args.only:
            for layers in (2, 8):
                compare(f"GPS, 256 molecules, {layers} layers", GPS(layers), molecules(256), args, precision)
        if "encoder" in args.only:
            for length in (512, 4096):
                x = torch.randn(length, 256, device="cuda")
                compare(f"encoder, {length} rows, 2 layers", Encoder(2), (x,), args, precision)
        if "kernel" in args.only and precision == "float32":
            x, f = torch.rand(8192, 3, device="cuda"), torch.randn(8192, 4, device="cuda")
            compare("kernel of distances, 8192 points", Kernel(), (x, f), args, precision)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

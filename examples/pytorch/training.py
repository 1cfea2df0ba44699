"""What the examples share: their arguments, and the training loop of PyTorch Geometric's examples on Cora, as it stands, with
early selection on the validation nodes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import cora
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def parser(epochs: int = 200) -> argparse.ArgumentParser:
    """What all examples take."""
    result = argparse.ArgumentParser()
    result.add_argument("--epochs", type=int, default=epochs)
    result.add_argument("--seeds", type=int, default=1)
    result.add_argument("--device", default="cpu")
    result.add_argument("--eager", action="store_true", help="without gnnc")
    return result


def area(scores: Tensor, labels: Tensor) -> float:
    """Under the receiver operating characteristic: how often a positive is above a negative."""
    ranks = scores.argsort().argsort().double() + 1
    positive = int(labels.sum())
    negative = len(labels) - positive
    return float((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * negative))


def train(model: nn.Module, run: nn.Module, data: cora.Cora, epochs: int, learning_rate: float) -> tuple[float, float]:
    """Trains `run`, whose parameters are `model`'s. Returns the test accuracy at the best validation accuracy, and the
    seconds of an epoch, of which each trains and evaluates once."""
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=5e-4)
    best = final = 0.0
    started = time.perf_counter()
    for epoch in range(epochs):
        if epoch == 1:  # the first compiles
            started = time.perf_counter()
        run.train()
        optimizer.zero_grad()
        out = run(data.x, data.edge_index)
        F.cross_entropy(out[data.train], data.y[data.train]).backward()
        optimizer.step()
        run.eval()
        with torch.no_grad():
            predicted = run(data.x, data.edge_index).argmax(-1)
        right = [(predicted[part] == data.y[part]).float().mean().item() for part in (data.val, data.test)]
        if right[0] > best:
            best, final = right
    return final, (time.perf_counter() - started) / max(epochs - 1, 1)


def main(
    make: Callable[[], nn.Module], compile: Callable[[nn.Module, cora.Cora], nn.Module], learning_rate: float
) -> None:
    args = parser().parse_args()
    data = cora.load(args.device)
    accuracies = []
    for seed in range(args.seeds):
        torch.manual_seed(seed)
        model = make().to(args.device)
        run = model if args.eager else compile(model, data)
        accuracy, seconds = train(model, run, data, args.epochs, learning_rate)
        accuracies.append(accuracy)
        print(f"seed {seed}: test accuracy {accuracy:.4f}, {seconds * 1e3:.2f} ms an epoch")
    mean = torch.tensor(accuracies)
    if len(accuracies) > 1:
        print(f"test accuracy {mean.mean():.4f} ± {mean.std():.4f} over {len(accuracies)} seeds")

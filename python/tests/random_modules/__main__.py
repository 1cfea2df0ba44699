# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles random modules and compares them with eager: `python3 python/tests/random_modules --seeds 0:100`.

Ends with 1 after the first seed that fails, whose program it prints, made smaller. `--keep-going` goes on, and
`--print` only shows a seed's program. Each line of `--log` is a seed, its outcome, and of a refusal the message.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SKIPPED = 77


def main() -> int:
    sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parents[1])]
    parser = argparse.ArgumentParser(prog="random_modules", description=(__doc__ or "").split("\n")[0])
    given = os.environ.get("GNNC_RANDOM_SEEDS", "0:20")
    parser.add_argument("--seeds", default=given, metavar="FIRST:END", help="which seeds, or a single one")
    parser.add_argument("--log", default=os.environ.get("GNNC_RANDOM_LOG"), metavar="FILE", help="a line for each seed")
    parser.add_argument("--print", action="store_true", help="print programs, and do not run them")
    parser.add_argument("--keep-going", action="store_true", help="go on after failures")
    parser.add_argument(
        "--minimise", metavar="WHAT", help="make programs smaller whose outcome or message has this text"
    )
    parser.add_argument("--seconds", type=float, default=60, metavar="N", help="for making one smaller (default: 60)")
    options = parser.parse_args()
    first, _, end = options.seeds.partition(":")
    seeds = range(int(first), int(end) if end else int(first) + 1)

    from random_modules.draw import draw

    if options.print:
        for seed in seeds:
            print(draw(seed).source())
        return 0
    try:
        import torch
    except ImportError:
        print(f"{sys.executable} has no PyTorch: random modules are left out")
        return SKIPPED
    torch.set_num_threads(1)
    faulthandler.enable()
    from random_modules.campaign import Campaign

    return Campaign(options.log, options.keep_going, options.minimise, options.seconds).run(seeds)


if __name__ == "__main__":
    sys.exit(main())

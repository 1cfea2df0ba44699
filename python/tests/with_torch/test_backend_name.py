# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of torch.compile by its name."""

from __future__ import annotations

import subprocess
import sys
import unittest


class BackendTest(unittest.TestCase):
    def run_python(self, text: str) -> str:
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_backend_is_known_by_its_name(self) -> None:
        compiled = "torch.compile(torch.nn.Linear(2, 2), backend='gnnc', dynamic=True)(torch.ones(1, 2))"
        text = f"import sys, gnnc\nassert 'torch' not in sys.modules\nimport torch\n{compiled}"
        self.run_python(text)
        # PyTorch has asked all packages for their backends before.
        asked = "try: torch.compile(torch.nn.Linear(2, 2), backend='unknown')\nexcept Exception: pass"
        self.run_python(f"import torch\n{asked}\nimport gnnc\n{compiled}")


if __name__ == "__main__":
    unittest.main()

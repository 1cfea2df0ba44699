"""Whether the kernels of printed CUDA C++ are short enough: the statements of the longest are at most those named."""

import re
import sys

kernels = re.split(r"(?=^extern \"C\" __global__)", sys.stdin.read(), flags=re.MULTILINE)
longest = max(kernel.count(";") for kernel in kernels)
print("longest", "bounded" if longest <= int(sys.argv[1]) else f"of {longest} statements")

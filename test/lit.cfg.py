# Configuration of lit, which runs the RUN lines of the tests in this folder.
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os
import platform
import shutil

import lit.formats

config.name = "gnnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".gnn", ".mlir", ".test"]
# Programs of their own, and files that tests read.
config.excludes = ["Device", "Inputs", "Install", "Integration", "Unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.gnnc_obj_root, "test")

config.environment["PATH"] = os.pathsep.join(
    [config.gnnc_tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
)
config.environment["FILECHECK_OPTS"] = "--dump-input=fail --dump-input-context=10"
config.environment["PYTHONDONTWRITEBYTECODE"] = (
    "1"  # Scripts in Inputs import one another; the sources stay as they are.
)
config.substitutions.append(("%llvm", os.path.dirname(config.llvm_tools_dir)))
config.substitutions.append(("%version", config.gnnc_version))
config.substitutions.append(("%examples", os.path.join(config.gnnc_src_root, "examples")))
# Where gnnc looks for NVIDIA's run-time compiler.
for name in ["GNNC_NVRTC", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME"]:
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Stand-ins for NVIDIA's libraries: `%gpu` before a command gives it a GPU whose kernels do nothing, and a compiler for it.
stand_ins = os.path.join(config.test_exec_root, "StandIn")
stand_in_nvrtc = f"env GNNC_NVRTC={stand_ins}/nvrtc XDG_CACHE_HOME={stand_ins}/cache"
config.substitutions.append(("%gpu", f"{stand_in_nvrtc} LD_LIBRARY_PATH={stand_ins}/driver"))
# The same with kernels that run on the host, and with processes of MPI as NCCL's ranks.
emulating_nvrtc = f"env GNNC_NVRTC={stand_ins}/emulating-nvrtc XDG_CACHE_HOME={stand_ins}/cache"
config.substitutions.append(("%emulator", f"{emulating_nvrtc} LD_LIBRARY_PATH={stand_ins}/driver"))
config.substitutions.append(("%nccl", f"{stand_ins}/nccl/libnccl.so.2"))
config.substitutions.append(("%old-gpu", f"{stand_in_nvrtc} LD_LIBRARY_PATH={stand_ins}/old-driver"))
config.substitutions.append(("%kernels", os.path.join(config.gnnc_src_root, "lib", "Target", "CUDA", "Kernels")))
# All phases from import to code generation: a program means the same before and after.
for level in "012":
    phases = ["simplify", "rewrite", "form-products", "fuse", "plan-memory"]
    lower = " ".join(f"--gnnc-{phase}-O{level}" for phase in phases)
    config.substitutions.append((f"%lower-O{level}", lower))

# What models are compiled for here.
if platform.machine().lower() in ("x86_64", "amd64"):
    config.available_features.add("x86-64-host")
config.available_features.update(f"{name}-runtime" for name in config.gnnc_runtimes.split(";"))
# A tool that is not built leaves its tests out instead of failing them.
for tool in ["gnnc", "gnnc-opt", "gnnc-lsp-server"]:
    if os.path.exists(os.path.join(config.gnnc_tools_dir, tool)):
        config.available_features.add(tool)
if all(os.path.isdir(os.path.join(stand_ins, name)) for name in ["driver", "old-driver", "nvrtc"]):
    config.available_features.add("stand-in-gpu")
# Sanitizers reserve far more addresses than they use.
if not config.gnnc_sanitizer:
    config.available_features.add("memory-limits")

# Ranks are processes that mpirun starts, more than there are processors.
mpirun = shutil.which("mpirun")
if mpirun and os.path.exists(os.path.join(config.gnnc_obj_root, "lib", "libgnnc_mpi.so")):
    config.available_features.add("mpi")
    if os.path.exists(os.path.join(stand_ins, "nccl", "libnccl.so.2")):
        config.available_features.add("stand-in-nccl")
else:
    lit_config.note("MPI is not found: tests of several processes are left out")
of_mpi = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
if config.gnnc_sanitizer == "address":  # Open MPI does not give back all that it takes.
    of_mpi += f" ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
config.substitutions.append(("%mpirun", f"{of_mpi} GNNC_TIMEOUT=60 {mpirun} --oversubscribe --bind-to none"))
config.substitutions.append(("%of-mpi", of_mpi))  # before a script that calls mpirun


# Tests of machine code for GPUs need NVIDIA's run-time compiler: asked of gnnc itself, as it is what looks for it.
def has_nvrtc():
    import subprocess

    gnnc = os.path.join(config.gnnc_tools_dir, "gnnc")
    if not os.path.exists(gnnc):
        return False
    model = os.path.join(config.test_source_root, "Target", "CUDA", "nvrtc.gnn")
    return subprocess.run([gnnc, "compile", model, "--emit", "ptx"], capture_output=True).returncode == 0


def has_driver():
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


if not has_driver():
    config.available_features.add("no-gpu")
if has_nvrtc():
    config.available_features.add("nvrtc")
else:
    lit_config.note("NVRTC is not found: tests of GPU machine code are left out")


# CUDA's other compilers, which people use on the kernels and on what --emit=cuda prints.
def compiles_cuda(*command):
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "empty.cu")
        with open(source, "w") as file:
            file.write("__global__ void nothing() {}\n")
        try:
            return subprocess.run([*command, source, "-o", os.devnull], capture_output=True).returncode == 0
        except OSError:
            return False


clang = os.path.join(config.llvm_tools_dir, "clang++")
# Kernels include one header of the project's own.
model_format = "-I" + os.path.join(config.gnnc_src_root, "include", "gnnc", "ModelFormat")
config.substitutions.append(("%model-format", model_format))
emulation = os.path.join(config.gnnc_src_root, "test", "StandIn", "Emulation")
as_emulated = f"-x c++ -std=c++20 -fsyntax-only -w -D__global__= -I{emulation} -include {emulation}/CUDA.h {model_format}"
config.substitutions.append(("%clang-emulated", f"{clang} {as_emulated}"))
as_cuda = "-x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -fsyntax-only -Wno-unknown-cuda-version"
config.substitutions.append(("%clang-cuda", f"{clang} {as_cuda}"))
if compiles_cuda(clang, *as_cuda.split()):
    config.available_features.add("clang-cuda")
if compiles_cuda("nvcc", "-arch=sm_90", "-c"):
    config.available_features.add("nvcc")

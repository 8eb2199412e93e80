"""Every kernel of the engine compiles to machine code for the GPUs that Tacktile names, without a GPU or its driver.

Warp carries NVRTC, so a machine with a CPU alone proves that the CUDA build holds. A kernel that has been written for
the CPU only (a host call, a type that CUDA lacks, too much local storage) fails here and not at a user's desk.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
import warp as wp
from warp._src import context  # the registry of modules has no public name in Warp 1.19

import engine

ARCHITECTURES = {86: "RTX 30, A40", 90: "H100", 120: "RTX 50"}


def _kernel_modules() -> dict[str, list[str]]:
    """Module name -> kernel names, of every module of the engine that defines kernels."""
    for found in pkgutil.walk_packages(engine.__path__, "engine."):
        importlib.import_module(found.name)
    modules = {name: sorted(m.kernels) for name, m in context.user_modules.items() if name.startswith("engine.")}
    return {name: kernels for name, kernels in sorted(modules.items()) if kernels}


MODULES = _kernel_modules()


@pytest.fixture(scope="session")
def compiler():
    wp.config.quiet = True
    wp.init()
    missing = set(ARCHITECTURES) - set(context.runtime.nvrtc_supported_archs or ())
    if missing:
        pytest.skip(f"this build of Warp carries no compiler for sm_{min(missing)}")


def test_the_kernel_modules_are_found():
    root = Path(engine.__file__).parent
    written = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for path in root.rglob("*.py")
        if "@wp.kernel" in path.read_text(encoding="utf-8")
    }
    assert set(MODULES) >= written and len(written) > 20


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("module", MODULES)
def test_compiles(module, arch, compiler, tmp_path):
    (made,) = wp.compile_aot_module(module, arch=arch, use_ptx=False, module_dir=tmp_path)
    code = made.read_bytes()
    assert code.startswith(b"\x7fELF"), f"{made.name} is not machine code"
    absent = [name for name in MODULES[module] if f"{name}_".encode() not in code]
    assert not absent, f"kernels missing in {made.name}: {absent}"


def test_a_kernel_for_the_cpu_alone_is_caught(compiler, tmp_path):
    """The proof of the proof: code that only a host compiler accepts does not pass."""

    @wp.func_native("throw 1;")
    def host_only(): ...

    @wp.kernel(module="unique")
    def broken():
        host_only()

    with pytest.raises(Exception, match="(?i)build|compil|nvrtc"):
        wp.compile_aot_module(broken.module, arch=86, use_ptx=False, module_dir=tmp_path)

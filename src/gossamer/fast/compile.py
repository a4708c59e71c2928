"""Compiles a protocol's kernel together with its rules and the draws.

Numba's own cache looks only at the file of the function it compiles: a changed `rules.py` would go unnoticed and
the old rule would run. So the cache folder is named by a hash of every source that takes part.
"""

import hashlib
import os
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba

SHARED = ("gossamer.core.draws", "gossamer.parts.sampling", "gossamer.parts.infection")


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer" / "kernels"


def _sources(kernel: str) -> list[ModuleType]:
    rules = kernel.rpartition(".")[0] + ".rules"
    modules = [import_module(name) for name in SHARED]
    try:
        modules.append(import_module(rules))
    except ModuleNotFoundError as missing:
        if missing.name != rules:
            raise
    return [*modules, import_module(kernel)]


def _fingerprint(modules: list[ModuleType], parallel: bool) -> str:
    digest = hashlib.sha256(f"numba {numba.__version__} parallel {parallel}".encode())
    for module in modules:
        assert module.__file__ is not None
        digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()[:16]


@cache
def compiled(kernel: str, *, parallel: bool = False) -> dict[str, Any]:
    """The functions of a kernel module, compiled on first call; `parallel` uses every core Numba sees."""
    modules = _sources(kernel)
    folder = cache_folder() / _fingerprint(modules, parallel)
    namespace: dict[str, Any] = {}
    own: list[FunctionType] = []
    for module in modules:
        namespace.update(vars(module))
        own += [it for it in vars(module).values() if isinstance(it, FunctionType) and it.__module__ == module.__name__]
    namespace["prange"] = numba.prange
    kept, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        for function in own:
            moved = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
            moved.__module__ = kernel
            threaded = parallel and "prange" in function.__code__.co_names
            namespace[function.__name__] = numba.njit(cache=function.__name__ == "spread_many", parallel=threaded, error_model="numpy")(moved)
    finally:
        numba.config.CACHE_DIR = kept
    return namespace

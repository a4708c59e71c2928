"""Compiles a protocol's kernel together with its rules and the draws.

Numba's own cache looks only at the file of the function it compiles: a changed `rules.py` would go unnoticed and
the old rule would run. So the cache folder is named by a hash of every source that takes part or stands beside it.
"""

import contextlib
import hashlib
import inspect
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any

import numba

SHARED = ("gossamer.core.draws", "gossamer.core.tally", "gossamer.parts.sampling", "gossamer.parts.infection")
ENTRY = "spread_many"
"A kernel that is no infection says which function is called from outside (ENTRY), and what it is made of (SOURCES)."


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer" / "kernels"


def _sources(kernel: str) -> list[ModuleType]:
    """Every module whose functions may be called by the kernel, the kernel last: its names win."""
    protocol = kernel.rpartition(".kernel")[0]  # its rules stand beside the kernel's file, or its folder
    rules = [f"{protocol}.rules"] if protocol and find_spec(f"{protocol}.rules") else []
    names = [*getattr(import_module(kernel), "SOURCES", SHARED), *rules, kernel]
    return [import_module(name) for name in names]


def _deciding(kernel: str) -> list[ModuleType]:
    """What is compiled, and what else is in the kernel's folder: kinds of arrays, and which column means what."""
    modules = _sources(kernel)
    folder = kernel.rpartition(".")[0]
    if not folder.endswith(".kernel"):
        return modules
    beside = [import_module(f"{folder}.{each.name}") for each in iter_modules(import_module(folder).__path__)]
    return [*modules, *(module for module in beside if module not in modules)]


def _fingerprint(modules: list[ModuleType], parallel: bool) -> str:
    """Of all that decides the machine code: every source, and how this file has them compiled."""
    digest = hashlib.sha256(f"numba {numba.__version__} parallel {parallel}".encode())
    for module in [sys.modules[__name__], *modules]:
        digest.update(inspect.getsource(module).encode())  # not the file: on a cluster the package is in a zip
    return digest.hexdigest()[:16]


def compiled(kernel: str, *, parallel: bool = False) -> Any:
    """The function of a kernel module that is called from outside, compiled on first call; `parallel` deals the blocks
    out to threads."""
    functions = namespace_of(kernel, parallel=parallel)
    return functions[functions.get("ENTRY", ENTRY)]


@cache
def namespace_of(kernel: str, *, parallel: bool = False) -> dict[str, Any]:
    """All that a kernel is made of. Only its entry can be called from Python: the others end the process."""
    modules = _sources(kernel)
    namespace: dict[str, Any] = {}
    for module in modules:
        namespace.update(vars(module))
    own = {module.__name__ for module in modules}
    entry = namespace.get("ENTRY", ENTRY)
    functions = [it for it in namespace.values() if isinstance(it, FunctionType) and it.__module__ in own]
    namespace["prange"] = numba.prange
    if parallel:
        # Else threads spin between rounds, and keep the core from whoever has something to do.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    settings: Any = numba.config
    kept, settings.CACHE_DIR = settings.CACHE_DIR, str(cache_folder() / _fingerprint(_deciding(kernel), parallel))
    try:
        for function in functions:
            moved = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
            moved.__module__ = kernel
            threaded = "prange" in function.__code__.co_names
            outer = threaded or function.__name__ == entry
            # Only the entry is cached: a cached callee comes back as machine code that can no longer be inlined.
            # Numba cannot cache what has no file of its own, as in a zip.
            cached = function.__name__ == entry and Path(function.__code__.co_filename).is_file()
            # Inner functions borrow the arrays of the outer ones and make none. With `_nrt` they would count references
            # to each array at each call, atomically, which takes as long as all the rest.
            how: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": outer}
            # Nor do they have a door for Python, which would be a third of all the compiling.
            how["no_cpython_wrapper"] = not outer
            namespace[function.__name__] = numba.njit(cache=cached, parallel=parallel and threaded, **how)(moved)
    finally:
        settings.CACHE_DIR = kept
    return namespace


@contextlib.contextmanager
def threads_limited(threads: int) -> Iterator[None]:
    """At most this many threads for what runs in the block."""
    if threads == 1:  # even to ask would start Numba's threads, and a process with threads should not fork
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)

"""Which machine code is taken from the cache: that of the sources as they are now."""

from pathlib import Path

import pytest

from gossamer.fast import compile as compiling
from gossamer.fast import hpmcast, recovery, spidercast


@pytest.mark.parametrize("kernel", [recovery.KERNEL, spidercast.KERNEL, hpmcast.KERNEL])
def test_every_file_of_a_kernels_folder_decides_which_machine_code_is_taken(kernel: str) -> None:
    """Also those that are not compiled: what kinds of arrays it is given, and which column means what."""
    looked_at = [Path(str(module.__file__)) for module in compiling._deciding(kernel)]
    (folder,) = {path.parent for path in looked_at if path.parent.name == "kernel"}
    beside = [path for path in looked_at if path.parent == folder]
    assert sorted(beside) == sorted(path for path in folder.glob("*.py") if path.stem != "__init__")


def test_a_kernel_that_is_one_file_is_decided_by_what_is_compiled() -> None:
    kernel = "gossamer.protocols.flood.kernel"
    assert compiling._deciding(kernel) == compiling._sources(kernel)

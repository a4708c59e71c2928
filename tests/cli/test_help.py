"""Every command explains itself, by name and by example."""

import re

import pytest

from cli.running import gossamer, script
from gossamer import __version__
from gossamer.cli import COMMANDS


def test_the_commands_are_listed_with_what_they_do() -> None:
    shown = gossamer("--help")
    assert shown.exit_code == 0
    for name, says in COMMANDS.items():
        assert re.search(rf"^ +{name} +{says}$", shown.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_gives_an_example_of_itself(name: str) -> None:
    shown = gossamer(name, "--help")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert re.search(rf"^ +Example: gossamer {name}\b", shown.stdout, re.MULTILINE)


def test_without_a_command_the_help_is_shown() -> None:
    assert "Commands:" in gossamer().output


def test_the_version_is_the_packages() -> None:
    assert gossamer("--version").stdout == f"gossamer, version {__version__}\n"


# What a command loads

LOADED = """
import sys
from gossamer.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
heavy = [name for name in ("numpy", "numba", "matplotlib", "pyspark", "pyarrow", "py4j") if name in sys.modules]
print(*heavy, file=sys.stderr)
"""


def test_the_help_is_there_before_anything_heavy_is_loaded() -> None:
    asked = script(LOADED, "--help")
    assert "Commands:" in asked.stdout
    assert asked.stderr == "\n"


def test_a_simulation_does_without_spark() -> None:
    asked = script(LOADED, "simulate", "flood/neighbours", "--engine", "machine", "--set", 'topics.".news".size=20')
    assert "nobody received what it did not want" in asked.stdout
    assert set(asked.stderr.split()) <= {"numpy", "numba"}


def test_the_module_is_the_command() -> None:
    asked = script("import runpy; runpy.run_module('gossamer', run_name='__main__')", "--version")
    assert asked.stdout == f"gossamer, version {__version__}\n"


# What is not installed

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from gossamer.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("numpy", "sim", ["simulate", "flood/neighbours"]),
        ("numba", "sim", ["simulate", "flood/neighbours"]),
        ("matplotlib", "spark", ["sweep", "flood/neighbours", "--out", "out"]),
        ("pyspark", "spark", ["sweep", "flood/neighbours", "--out", "out"]),
        ("pyarrow", "spark", ["reproduce", "camcast", "--out", "out"]),
    ],
)
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    package: str, extra: str, arguments: list[str]
) -> None:
    asked = script(WITHOUT, package, *arguments)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr == f'gossamer: this command needs {package}: pip install "gossamer[{extra}]"\n'


def test_the_light_commands_work_without_the_extras() -> None:
    asked = script(WITHOUT, "numpy", "--help")
    assert (asked.returncode, asked.stderr) == (0, "")


def test_a_package_of_nobodys_extra_is_not_explained_away() -> None:
    asked = script(WITHOUT, "tomllib", "simulate", "flood/neighbours")
    assert asked.returncode == 1
    assert "No module named 'tomllib'" in asked.stderr

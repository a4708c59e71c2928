"""Which node a command means, and as whom it attaches."""

from pathlib import Path

import pytest

from gossamer.cli.attaching import HERE, attachment, spelled
from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOSSAMER_NODE", "GOSSAMER_KEYS", "GOSSAMER_BIND"):
        monkeypatch.delenv(name, raising=False)


def settings(folder: Path, text: str) -> Path:
    (folder / "node.toml").write_text(text)
    return folder / "node.toml"


def test_the_node_meant_is_the_one_named_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = settings(tmp_path, 'name = "n"\nbind = "127.0.0.1:3"\n')
    assert attachment(None, None, None, None).address == HERE
    monkeypatch.setenv("GOSSAMER_NODE", "127.0.0.1:2")
    assert attachment(None, None, None, None).address == "127.0.0.1:2"
    assert attachment(path, None, None, None).address == "127.0.0.1:3"
    assert attachment(path, "127.0.0.1:4", None, None).address == "127.0.0.1:4"


@pytest.mark.parametrize(
    ("bind", "called"),
    [
        ("0.0.0.0:7400", "127.0.0.1:7400"),
        ("[::]:7400", "[::1]:7400"),
        ("[::1]:7400", "[::1]:7400"),
        ("198.51.100.7:7400", "198.51.100.7:7400"),
    ],
)
def test_a_node_that_listens_everywhere_is_called_on_this_machine(bind: str, called: str, tmp_path: Path) -> None:
    path = settings(tmp_path, f'keys = "keys"\nbind = "{bind}"\nadvertise = ["n.example.org:7400"]\n')
    assert attachment(path, None, None, None).address == called


def test_keys_and_network_are_those_of_the_node_unless_others_are_given(tmp_path: Path) -> None:
    path = settings(tmp_path, 'keys = "keys"\nnetwork = "mine"\n')
    found = attachment(path, None, None, None)
    assert (found.keys, found.network) == (tmp_path / "keys", "mine")
    found = attachment(path, None, Path("others"), "yours")
    assert (found.keys, found.network) == (Path("others"), "yours")


def test_without_keys_nothing_leaves_the_machine() -> None:
    with pytest.raises(Misuse, match="give --keys FOLDER"):
        attachment(None, "n.example.org:7400", None, None)
    assert attachment(None, "localhost:7400", None, None).keys is None


def test_an_id_is_one_word() -> None:
    assert spelled(EventId(2**63 - 1, 5, 7)) == "9223372036854775807-5-7"

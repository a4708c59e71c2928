"""Keys are made once: nothing in these tests changes them, but for those that make their own."""

import pytest

from gossamer.live.keys.network import Network


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """Whom the authority let in: honest nodes, and members gone bad with more or fewer rights."""
    made = Network.init(tmp_path_factory.mktemp("keys") / "net")
    for name in ("victim", "friend", "third"):
        made.grant(name, [".soccer"], [".soccer"])
    made.grant("mallory", [".soccer"], [".soccer"])
    made.grant("oscar", [".soccer"], [".soccer"])
    made.grant("writer", [".soccer"], [])
    made.grant("outsider", [".cricket"], [".cricket"])
    return made


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A network of somebody else's, with nodes of the same names."""
    made = Network.init(tmp_path_factory.mktemp("keys") / "net")
    for name in ("mallory", "friend"):
        made.grant(name, [".soccer"], [".soccer"])
    return made

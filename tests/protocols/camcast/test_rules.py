"""What decides in CAMCAST, as numbers."""

from gossamer.protocols.camcast import rules


def test_a_community_is_another_once_an_eighth_came_or_went() -> None:
    assert rules.is_other_size(1, 0)
    assert not rules.is_other_size(80, 80)
    assert not rules.is_other_size(90, 80)
    assert rules.is_other_size(91, 80)
    assert rules.is_other_size(69, 80)

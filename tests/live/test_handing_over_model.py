"""Publications on their way agree with the model of them, through any order of what can happen."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from live.handing import AGAIN_S, FORGET_AFTER_S, Model


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.check()
    made.teardown()


def test_what_was_left_to_the_spool_goes_out_when_nothing_is_under_way_any_more(model: Model) -> None:
    for _ in range(3):
        model.publish([(".a", 0)] * 6, keyed=False)
    assert model.handover.backlog.left
    model.pass_time(FORGET_AFTER_S)
    assert not model.underway, "given up"
    model.spool_answers()
    assert model.underway


def test_what_was_left_to_the_spool_goes_out_though_all_else_was_taken_while_it_was_looked_through(
    model: Model,
) -> None:
    for _ in range(3):
        model.publish([(".a", 0)] * 6, keyed=False)
    model.come_and_go([2], apart=False, unwanted=False)
    model.pass_time(AGAIN_S)
    model.ack(2, [(1, 99, 99)])
    model.pass_time(AGAIN_S / 2)
    while model.spool.asked and model.spool.asked[0][1]:
        model.spool_answers()
    assert model.handover.backlog.left, "there was no room"
    model.acked_all_of_it(2)
    model.spool_answers()
    model.spool_answers()
    assert model.underway


def test_what_comes_from_the_spool_after_younger_events_is_heard_of_when_it_is_acknowledged(model: Model) -> None:
    for _ in range(3):
        model.publish([(".a", 0)] * 6, keyed=False)
    model.come_and_go([2], apart=False, unwanted=False)
    model.pass_time(AGAIN_S)
    model.ack(2, [(1, 1, 8)])
    model.spool_answers()
    model.acked_all_of_it(2)
    assert not model.underway, "while the next page is asked for"
    model.publish([(".a", 0)] * 3, keyed=False)
    model.spool_answers()
    assert [*model.underway] != sorted(model.underway)
    model.acked_all_of_it(2)


def test_an_event_may_be_taken_while_another_is_spread_again(model: Model) -> None:
    model.come_and_go([2, 3], apart=True, unwanted=False)
    model.publish([(".a", 0)] * 2, keyed=False)
    model.acked_all_of_it(2)
    model.told(0, 2, [], again=False)
    model.come_and_go([2], apart=True, unwanted=False)
    model.pass_time(AGAIN_S)
    assert not model.underway


def test_what_was_left_to_the_spool_stays_there_once_the_publisher_closes() -> None:
    model = Model()
    for _ in range(3):
        model.publish([(".a", 0)] * 6, keyed=False)
    model.handover.close()
    model.ack(2, [(1, 1, 8)])
    assert (model.spool.asked, len(model.spool.rows)) == ([], 3)
    model.crash()
    model.teardown()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=25)


@pytest.mark.slow
def test_publications_agree_with_their_model_over_many_lives() -> None:
    run_state_machine_as_test(Model, settings=settings(max_examples=2000, stateful_step_count=50))  # type: ignore[no-untyped-call]

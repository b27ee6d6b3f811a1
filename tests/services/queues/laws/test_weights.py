"""The paper's weights (Section IV.B, Algorithm 1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.queues.laws.weights import GRANULARITY, paper_weights

queues = st.sampled_from("abcdef")


def test_weights_are_parts_of_the_consumption_in_hundredths():
    weights = paper_weights({"a": 1400, "b": 600}, {"a": 0, "b": 0}, 3000, {})
    assert weights == {"a": 70, "b": 30}


def test_a_queue_above_max_load_loses_a_tenth_and_the_others_gain_nothing():
    weights = paper_weights({"a": 1000, "b": 1000}, {"a": 3001, "b": 3000}, 3000, {})
    assert weights == {"a": 45, "b": 50}


def test_a_weight_is_at_least_one_and_an_idle_system_keeps_its_weights():
    assert paper_weights({"a": 0, "b": 10}, {"a": 0, "b": 0}, 1, {}) == {"a": 1, "b": 100}
    idle = paper_weights({"a": 0, "b": 0}, {"a": 0, "b": 0}, 1, {"a": 7, "b": 3})
    assert idle == {"a": 7, "b": 3}


@given(st.dictionaries(queues, st.floats(0, 1e6), min_size=1))
def test_every_weight_lies_between_one_and_the_granularity(rates):
    weights = paper_weights(rates, dict.fromkeys(rates, 0), 3000, {})
    assert weights.keys() == rates.keys()
    assert all(1 <= weight <= GRANULARITY for weight in weights.values())

"""Orders on their way to the disk."""

from penstock.store.orders import STATE_CHANGE_OVERHEAD_BYTES, state_change


def test_a_state_change_counts_its_keys_and_values() -> None:
    change = state_change(7, {"key": b"value", "gone": None})
    length = len("key") + len("value") + len("gone")
    assert change.size_bytes == STATE_CHANGE_OVERHEAD_BYTES + length
    assert state_change(8, {}).size_bytes == STATE_CHANGE_OVERHEAD_BYTES


def test_a_state_change_is_not_changed_by_its_caller() -> None:
    values: dict[str, bytes | None] = {"key": b"value"}
    change = state_change(7, values)
    values.clear()
    assert change.values == {"key": b"value"}

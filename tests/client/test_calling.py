from penstock.client.calling import DIRECT


def test_a_direct_call_is_made_at_once() -> None:
    called: list[int] = []
    DIRECT.post(called.append, 1)
    assert called == [1]
    assert DIRECT.run(max, 2, 3) == 3

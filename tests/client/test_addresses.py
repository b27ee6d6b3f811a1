import pytest

from penstock.client.addresses import Address, parse_addresses
from penstock.client.errors import InvalidAddress


def test_one_address() -> None:
    assert parse_addresses("penstock://broker.example:7400") == (Address("broker.example", 7400),)


def test_several_addresses_keep_their_order_and_appear_once() -> None:
    found = parse_addresses(["penstock://b:1,a:2", "penstock://b:1/"])
    assert found == (Address("b", 1), Address("a", 2))


def test_an_ipv6_address_stands_in_brackets_both_ways() -> None:
    (address,) = parse_addresses("penstock://[::1]:7400")
    assert address == Address("::1", 7400)
    assert str(address) == "[::1]:7400"
    assert str(Address("a", 7)) == "a:7"


def test_the_environment_names_the_broker_if_nobody_else_does() -> None:
    environment = {"PENSTOCK_URL": "penstock://a:1"}
    assert parse_addresses(None, environment) == (Address("a", 1),)
    assert parse_addresses("penstock://b:2", environment) == (Address("b", 2),)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://a:1", "penstock://host:port"),
        ("a:1", "penstock://host:port"),
        ("penstock://a", "host:port"),
        ("penstock://:1", "host:port"),
        ("penstock://a:", "host:port"),
        ("penstock://a:x", "host:port"),
        ("penstock://a:0", "between 1 and 65535"),
        ("penstock://a:65536", "between 1 and 65535"),
        ("penstock://a:1,", "host:port"),
        ("penstock://::1:7400", "brackets"),
        ([], "at least one"),
    ],
)
def test_what_is_not_an_address_is_named(url: str | list[str], said: str) -> None:
    with pytest.raises(InvalidAddress, match=said):
        parse_addresses(url)


def test_no_address_at_all_says_how_to_give_one() -> None:
    with pytest.raises(InvalidAddress, match="PENSTOCK_URL"):
        parse_addresses(None, {})

"""An answer to ``penstock why`` of this service, for people."""

from __future__ import annotations

from typing import Any, Final

from penstock.services.multicast.laws.law import WaitsFor

WAITS_FOR: Final[dict[str, str]] = {
    WaitsFor.MONEY: "money",
    WaitsFor.LOTTERY: "the lottery",
    WaitsFor.PRICE: "the price",
    WaitsFor.SLOW_START: "its slow start",
}
"""The words for what an account waits for."""


def why_text(document: dict[str, Any]) -> str:
    """What limits a client's group senders, as text."""
    lines = []
    for each in document["senders"]:
        account = each["account"]
        rate = account.get("rate_packets_per_s")
        may = f", may send {rate:g} packets/s" if rate is not None else ""
        lines += [
            f"{each['sender']} to {', '.join(each['groups']) or 'no group yet'}: "
            f"{each['waiting_messages']} messages waiting, the first for "
            f"{each['waiting_for_s']:.1f} s",
            f"  law:     {each['law']}, benefit {each['benefit']}",
            f"  balance: {account['balance']:g} {account['balance_unit']}{may}; "
            f"waits for {_cause(each)}",
            f"  price:   {each['price']:.4g} a packet"
            + (f"; the dearest link is {each['dearest_link']}" if each["dearest_link"] else ""),
        ]
        lines += [f"  tree:    {link['link']} {link['price']:.4g}" for link in each["tree"]]
    return "\n".join(lines)


def _cause(each: dict[str, Any]) -> str:
    if not each["waiting_messages"]:
        return "nothing"
    return (
        "confirmations (its window is full)"
        if each["window_full"]
        else WAITS_FOR[each["account"]["waits_for"]]
    )

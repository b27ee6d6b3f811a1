"""Small simulated overlays with groups, and what the tests of single parts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import strategies as st

from penstock.client.groups.producer import GROUP_LIMITS, GroupProducer
from penstock.client.groups.reader import GroupReader
from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.machine import Effect, Fact, LinkDown, LinkUp, Received, Send
from penstock.overlay.node import node_config
from penstock.overlay.routing import parents_from
from penstock.services.multicast.laws.law import Account
from penstock.services.multicast.messages import GroupDelivery
from penstock.services.multicast.parameters import MulticastParameters
from penstock.sim.link import LinkModel
from penstock.sim.world import BROKER, EPOCH, SimWorld

ROOM_BYTES = 1 << 40


class NumberedSender:
    """A client that sends numbered messages at a pace, and counts its receipts."""

    def __init__(
        self,
        name: str,
        groups: tuple[str, ...],
        total: int,
        *,
        every_ns: Duration = 5 * MILLISECOND,
        start_at: Instant = EPOCH + SECOND,
        must_exist: bool = False,
        payload_bytes: int = 100,
    ) -> None:
        self.producer = GroupProducer(name, GROUP_LIMITS, groups=groups, must_exist=must_exist)
        self.total = total
        self.settled = 0
        self.failures: list[str] = []
        self._sent = 0
        self._every_ns = every_ns
        self._next_at = start_at
        self._payload = bytes(payload_bytes)

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        match fact:
            case LinkUp():
                self.producer.connected()
            case LinkDown():
                self.producer.disconnected()
            case Received(message=message):
                self.producer.received(message)
        for parcel in self.producer.take_settled():
            self.settled += parcel.size
            if parcel.failure is not None:
                self.failures.append(str(parcel.failure))
        while self._sent < self.total and now >= self._next_at:
            batch = Batch.from_rows([({"n": self._sent}, self._payload)])
            if self.producer.add_batch(batch) is None:
                break
            self._sent += 1
            self._next_at += self._every_ns
        return [Send(BROKER, each) for each in self.producer.outgoing(now, ROOM_BYTES)]

    def next_deadline(self) -> Instant | None:
        return self._next_at if self._sent < self.total and self.producer.has_room else None

    def check_invariants(self) -> None:
        self.producer.check_invariants()


class EagerMember:
    """A client that consumes messages immediately."""

    def __init__(
        self, member: str, group: str, on_delivery: Callable[[GroupDelivery, Instant], None]
    ) -> None:
        self.reader = GroupReader(member, group)
        self._on_delivery = on_delivery

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        match fact:
            case LinkUp():
                self.reader.connected()
            case LinkDown():
                self.reader.disconnected()
            case Received(message=message):
                self.reader.received(message)
        while self.reader.deliveries:
            self._on_delivery(self.reader.take(), now)
        return [Send(BROKER, each) for each in self.reader.outgoing()]

    def next_deadline(self) -> Instant | None:
        return None

    def check_invariants(self) -> None:
        pass


class Overlay:
    """Brokers, links, members and senders; ``seen`` is what each member got, by sender."""

    def __init__(
        self,
        seed: int,
        links: dict[tuple[str, str], int],
        *,
        parameters: MulticastParameters | None = None,
        checked: bool = True,
    ) -> None:
        """``links`` are the costs; every link has 2 ms and 10 Mbit/s."""
        self.world = SimWorld(seed, checked=checked, digested=True)
        self.members: dict[str, EagerMember] = {}
        self.senders: dict[str, NumberedSender] = {}
        self.seen: dict[str, dict[str, list[int]]] = {}
        costs: dict[str, dict[str, int]] = {}
        for (here, there), cost in links.items():
            costs.setdefault(here, {})[there] = cost
            costs.setdefault(there, {})[here] = cost
        used = parameters or MulticastParameters()
        for name, neighbours in sorted(costs.items()):
            config = node_config(name, neighbours, multicast=used, trace_interval_ns=0)
            self.world.add_broker(config)
        model = LinkModel(bandwidth_bytes_per_s=1_250_000, latency_ns=2 * MILLISECOND)
        for ends in links:
            self.world.add_link(*ends, model)

    def member(self, name: str, group: str, broker: str) -> EagerMember:
        """A client that takes whatever comes."""
        seen = self.seen.setdefault(name, {})

        def note(delivery: GroupDelivery, now: Instant) -> None:
            numbers = [int(row["n"]) for row in delivery.batch.attribute_rows()]
            seen.setdefault(delivery.sender, []).extend(numbers)

        member = self.members[name] = EagerMember(name, group, note)
        self.world.add_client(name, member, broker)
        return member

    def sender(
        self, name: str, broker: str, *groups: str, total: int = 100, **more: object
    ) -> None:
        """A client that sends."""
        sender = NumberedSender(name, groups, total, **more)  # type: ignore[arg-type]
        self.senders[name] = sender
        self.world.add_client(name, sender, broker)

    def finish(self, within_s: int = 60) -> None:
        """Let time pass until every message has its receipt."""
        if self.world.brokers["a"].node is None:
            self.world.start()
        for _ in range(within_s):
            if all(each.settled == each.total for each in self.senders.values()):
                break
            self.world.run_for(SECOND)
        self.world.run_for(SECOND)

    def judge(self, member: str, sender: str) -> None:
        """Nothing lost, nothing twice, in order."""
        total = self.senders[sender].total
        seen = self.seen[member].get(sender, [])
        where = f"seed {self.world.seed}: {member} from {sender}"
        assert len(seen) == len(set(seen)), f"{where}: something came twice"
        assert seen == sorted(seen), f"{where}: out of order"
        assert seen == list(range(total)), f"{where}: {len(seen)} of {total} came"


DIAMOND = {("a", "b"): 1, ("a", "c"): 2, ("b", "d"): 1, ("c", "d"): 2, ("d", "e"): 1}
"""Two ways from a to d; e hangs on d."""


@pytest.fixture
def overlay() -> type[Overlay]:
    """The class: a test makes its own."""
    return Overlay


@pytest.fixture
def diamond() -> dict[tuple[str, str], int]:
    """Links of a diamond with a tail."""
    return dict(DIAMOND)


Graph = dict[str, dict[str, int]]
NAMES = "abcdefgh"


class Known:
    """A topology in which every broker knows every link."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.incarnations: dict[str, int] = {}

    def parents(self, root: str) -> Mapping[str, str]:
        return parents_from(root, self.graph)

    def links(self) -> Mapping[str, Mapping[str, int]]:
        return self.graph

    def incarnation(self, broker: str) -> int:
        return self.incarnations.get(broker, 1)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Connected graphs with costs."""
    graph: Graph = {name: {} for name in NAMES[: draw(st.integers(2, len(NAMES)))]}
    names = list(graph)
    for index, name in enumerate(names[1:], 1):
        other = names[draw(st.integers(0, index - 1))]
        graph[name][other] = graph[other][name] = draw(st.integers(1, 3))
    for _ in range(draw(st.integers(0, 6))):
        one, two = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        if one != two:
            graph[one][two] = graph[two][one] = draw(st.integers(1, 3))
    return graph


@pytest.fixture
def line() -> Known:
    """Three brokers in a row, a - b - c."""
    return Known({"a": {"b": 1}, "b": {"a": 1, "c": 1}, "c": {"b": 1}})


def _spend(account: Account, price: float, seconds: int, size: float = 1.0) -> float:
    now, end, bought = 0, seconds * SECOND, 0.0
    while now < end:
        if account.buy(size, price, 0, now) is None:
            after = account.ask_again_at()
            assert after > now, "an account that says no must say when to ask again"
            now = after
        else:
            bought += size
    return bought


@pytest.fixture
def spend() -> Callable[..., float]:
    """How many packets a greedy sender gets through at a price, in some seconds."""
    return _spend

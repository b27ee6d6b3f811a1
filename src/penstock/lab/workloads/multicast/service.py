"""The multicast service in the laboratory."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import ClassVar, Final

from penstock.core.clock import Instant
from penstock.core.machine import Machine
from penstock.core.randomness import random_stream
from penstock.lab.arrays.multicast.world import ArrayWorld
from penstock.lab.oracle.history import Metric
from penstock.lab.oracle.multicast.clients import MemberHistory, SenderHistory
from penstock.lab.oracle.multicast.history import MulticastHistory
from penstock.lab.oracle.multicast.judge import REPEATED, RULES
from penstock.lab.oracle.multicast.outages import outages_of
from penstock.lab.scenario.curve import NotACurve, points_of
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Client, Keys, Scenario
from penstock.lab.service import Application, LabService, NetStage, RandomPart, Stage
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.workloads.attribute_values import InvalidAttributeSpec
from penstock.lab.workloads.message_source import UnreachableSize
from penstock.lab.workloads.multicast.applications import (
    SENDER_SUFFIX,
    NetGroupMember,
    NetGroupSender,
)
from penstock.lab.workloads.multicast.machines import SimGroupMember, SimGroupSender
from penstock.lab.workloads.multicast.messages import GroupMessages
from penstock.lab.workloads.multicast.random_part import random_part
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender, awaited_members
from penstock.lab.workloads.pace import Pace
from penstock.services.multicast.admission import name_objection
from penstock.services.multicast.parameters import MulticastParameters

METRICS: Final = {
    "sent": Metric("messages that the flow control let into the network, and that have a receipt"),
    "delivered": Metric("messages that members received"),
    "submitted": Metric("messages that senders submitted"),
    "confirmed": Metric("messages with a receipt, at the time of the receipt"),
    "refused": Metric("messages that were refused"),
    "uncertain": Metric("messages of which it is not known whether members have them"),
    "unsettled": Metric("messages that had no outcome at the end, when they were submitted"),
    "delay_s": Metric("seconds from a message's submission to its delivery", "sample"),
    "lost": Metric("confirmed messages that a member is due and did not receive", "rule"),
    "duplicated": Metric("messages received twice by a member that stayed", "rule"),
    "out_of_order": Metric("messages received after a later one of their sender", "rule"),
    "unwanted": Metric("messages that were refused, not sent or for other groups", "rule"),
    "corrupted": Metric("messages received with other content", "rule"),
    "view_gaps": Metric("views whose number does not follow the one before", "rule"),
    REPEATED: Metric("messages received again after joining again; breaks no rule", "rule"),
}

TELEMETRY: Final = frozenset(
    (
        "link_price",
        "link_price_bytes",
        "prices_rode_on_data",
        "prices_went_alone",
        "sender_waiting_bytes",
        "sender_sent_packets",
        "senders_waiting",
        "unconfirmed_bytes",
        "delivered_rows",
        "held_streams",
    )
)

assert {name for name, metric in METRICS.items() if metric.kind == "rule"} == {*RULES, REPEATED}


class MulticastLab(LabService):
    """Senders to groups, and members of them."""

    name = "multicast"
    roles: ClassVar[Mapping[str, type[Client]]] = {"sender": GroupSender, "member": GroupMember}
    metrics = METRICS
    telemetry = TELEMETRY

    def check(self, scenario: Scenario) -> None:
        """Check the names of groups, rates and messages."""
        senders: dict[str, GroupSender] = {}
        for client in scenario.clients:
            where = f"clients {client.name!r}"
            if isinstance(client, GroupSender):
                # Those of one table differ in their number: the last has the longest name.
                senders[client.group_of or client.name] = client
                for group in client.groups:
                    _check_group(f"{where}.groups", group)
            elif isinstance(client, GroupMember):
                _check_group(f"{where}.group", client.group)
        for sender in senders.values():
            _check_sender(f"clients {sender.name!r}", sender)

    def implied_keys(self, scenario: Scenario) -> Keys:
        """Brokers allow every weight that a sender of the file has."""
        weights = [each.weight for each in scenario.clients if isinstance(each, GroupSender)]
        highest = max(weights, default=1.0)
        return {"multicast": {"highest_weight": highest}} if highest > 1.0 else {}

    def history(self, scenario: Scenario) -> MulticastHistory:
        """The empty history of a run."""
        return MulticastHistory(outages_of(scenario))

    def machine(
        self, client: GroupSender | GroupMember, history: MulticastHistory, stage: Stage
    ) -> Machine:
        """A client for the simulated world."""
        history.began_at = stage.began_at
        if isinstance(client, GroupMember):
            return SimGroupMember(_new_member(client, history), client)
        sent = _new_sender(client, history, stage)
        random = random_stream(stage.seed, client.name, "pace")
        awaited = awaited_members(stage.scenario, client)
        return SimGroupSender(sent, client, _pace(client, stage), random, awaited)

    def application(
        self, client: GroupSender | GroupMember, history: MulticastHistory, stage: NetStage
    ) -> Application:
        """A client for the network world."""
        history.began_at = stage.began_at
        if isinstance(client, GroupMember):
            return NetGroupMember(_new_member(client, history), client, stage.url)
        sent = _new_sender(client, history, stage, client.name + SENDER_SUFFIX)
        random = random_stream(stage.seed, client.name, "pace")
        awaited = awaited_members(stage.scenario, client)
        return NetGroupSender(sent, client, _pace(client, stage), random, awaited, stage.url)

    def random_part(self, random: Random, starts_s: Mapping[str, float]) -> RandomPart:
        """Random groups, senders and members."""
        return random_part(random, starts_s)

    def arrays(self, scenario: Scenario, seed: int, telemetry: Telemetry) -> ArrayWorld:
        """The flow control of many senders, without brokers."""
        return ArrayWorld(scenario, seed, telemetry)

    def stopped(
        self, client: GroupSender | GroupMember, history: MulticastHistory, now: Instant
    ) -> None:
        """From now on a member is due nothing."""
        if client.name in history.members:
            history.members[client.name].left(now)


def _new_sender(
    client: GroupSender, history: MulticastHistory, stage: Stage, known_as: str = ""
) -> SenderHistory:
    source = GroupMessages(client, stage.seed, known_as)
    return history.add_sender(SenderHistory(client.name, client.groups, source))


def _new_member(client: GroupMember, history: MulticastHistory) -> MemberHistory:
    return history.add_member(MemberHistory(client.name, client.group))


def _pace(client: GroupSender, stage: Stage) -> Pace:
    return Pace(
        start_at=stage.now,
        stop_at=stage.stop_at,
        rate_msgs_per_s=client.rate_msgs_per_s,
        pattern=client.pattern,
        messages=client.messages,
        max_in_flight=client.max_in_flight,
        began_at=stage.began_at,
    )


def _check_group(where: str, group: str) -> None:
    problem = name_objection("group", group, MulticastParameters())
    if problem:
        raise ScenarioError(f"{where}: {problem}")


def _check_sender(where: str, sender: GroupSender) -> None:
    try:
        points_of(sender.rate_msgs_per_s)
        GroupMessages(sender, 0)
    except NotACurve as error:
        raise ScenarioError(f"{where}.rate_msgs_per_s: {error}") from None
    except (UnreachableSize, InvalidAttributeSpec) as error:
        raise ScenarioError(f"{where}: {error}") from None

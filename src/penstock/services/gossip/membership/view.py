"""The part of the group that one peer knows.

lpbcast's partial view: nobody knows everybody.

1. A view holds a bounded number of members, each with the number of rounds since that member last
   spoke for itself.  Every gossip carries the sender (0 rounds) and a random sample of its view.
2. A sample is merged: the younger word about a member wins.  When there are too many, those that
   were mentioned most often are forgotten, at random among equals (lpbcast's weights): others
   know them well, so every member stays in about as many views as any other.  Forgetting at
   random instead leaves some in three times as many views as others, which costs coverage.
3. A member of which nobody has heard for ``forget_after_rounds`` is forgotten: so crashes are.
4. A departure is passed on for a number of rounds, and outweighs older words about the member.

Targets of a round are drawn without repetition.  With ``balanced`` targets a peer goes through
its view in a random order before anybody gets a second gossip, which evens out how much each
member receives.
"""

from __future__ import annotations

from random import Random
from typing import Final

from penstock.core.datagrams import Address
from penstock.core.machine import InvariantBroken
from penstock.services.gossip.messages import Acquaintance
from penstock.services.gossip.parameters import GossipParameters

DEPARTURES_IN_GOSSIP: Final = 4
"""With these the longest header still fits the smallest datagram."""


class PartialView:
    """Members that a peer can gossip to."""

    __slots__ = (
        "_balanced",
        "_contacts",
        "_departed",
        "_heard_in",
        "_mentions",
        "_own",
        "_parameters",
        "_random",
        "_round",
        "_turn",
    )

    def __init__(
        self, own: Address, parameters: GossipParameters, random: Random, *, balanced: bool
    ) -> None:
        """Nobody is known yet but oneself, who is never part of the view."""
        self._own = own
        self._parameters = parameters
        self._random = random
        self._balanced = balanced
        self._round = 0
        self._heard_in: dict[Address, int] = {}
        self._mentions: dict[Address, int] = {}
        self._departed: dict[Address, int] = {}
        self._contacts: tuple[Address, ...] = ()
        self._turn: list[Address] = []

    def __len__(self) -> int:
        """How many members are known."""
        return len(self._heard_in)

    def __contains__(self, address: Address) -> bool:
        """Whether a member is known."""
        return address in self._heard_in

    @property
    def members(self) -> list[Address]:
        """Who is known."""
        return list(self._heard_in)

    def meet(self, addresses: tuple[Address, ...]) -> None:
        """Contacts: tried now, and again whenever nobody else is known."""
        self._contacts = addresses[: self._parameters.view_size]
        self._try_contacts()

    def next_round(self) -> None:
        """Forget whom nobody has heard of, and departures that everybody knows by now."""
        self._round += 1
        oldest = self._round - self._parameters.forget_after_rounds
        for address in [each for each, heard in self._heard_in.items() if heard < oldest]:
            self._forget(address)
        expired = self._round - self._parameters.departure_rounds
        for address in [each for each, since in self._departed.items() if since < expired]:
            del self._departed[address]
        if not self._heard_in:
            self._try_contacts()

    def sample(self) -> tuple[Acquaintance, ...]:
        """What a gossip says about the members: oneself, and some others at random."""
        count = min(self._parameters.view_exchange, len(self._heard_in))
        chosen = self._random.sample(list(self._heard_in), count)
        return (
            Acquaintance(self._own, 0),
            *(Acquaintance(each, self._round - self._heard_in[each]) for each in chosen),
        )

    @property
    def departed(self) -> tuple[Address, ...]:
        """The latest departures, to be passed on."""
        return tuple(self._departed)[-DEPARTURES_IN_GOSSIP:]

    def merge(self, members: tuple[Acquaintance, ...], departed: tuple[Address, ...]) -> None:
        """Another peer's word about who is there and who has left."""
        for address in departed:
            self._depart(address)
        heard_in, now = self._heard_in, self._round
        oldest = now - self._parameters.forget_after_rounds
        for member in members:
            address, heard = member.address, now - member.rounds
            if address == self._own or heard < oldest:
                continue
            since = self._departed.get(address)
            if since is not None:
                if heard <= since:
                    continue
                del self._departed[address]
            known = heard_in.get(address)
            if known is None or known < heard:
                heard_in[address] = heard
            self._mentions[address] = self._mentions.get(address, 0) + 1
        self._forget_the_best_known(len(heard_in) - self._parameters.view_size)

    def _forget_the_best_known(self, count: int) -> None:
        if count <= 0:
            return
        mentions, draw = self._mentions, self._random.random
        by_mentions = sorted((-mentions[each], draw(), each) for each in self._heard_in)
        for _, _, address in by_mentions[:count]:
            self._forget(address)

    def _forget(self, address: Address) -> None:
        del self._heard_in[address], self._mentions[address]

    def targets(self, count: int) -> list[Address]:
        """Whom to gossip to in this round."""
        members = list(self._heard_in)
        if len(members) <= count:
            return members
        if not self._balanced:
            return self._random.sample(members, count)
        chosen: list[Address] = []
        passed_over: list[Address] = []
        while len(chosen) < count:
            if not self._turn:
                self._turn = members.copy()
                self._random.shuffle(self._turn)
            candidate = self._turn.pop()
            if candidate in chosen:
                passed_over.append(candidate)
            elif candidate in self._heard_in:
                chosen.append(candidate)
        self._turn.extend(passed_over)
        return chosen

    def _depart(self, address: Address) -> None:
        if address == self._own or address in self._departed:
            return
        if address in self._heard_in:
            self._forget(address)
        if len(self._departed) < self._parameters.departures_kept:
            self._departed[address] = self._round

    def _try_contacts(self) -> None:
        for address in self._contacts:
            if address != self._own and address not in self._departed:
                self._heard_in.setdefault(address, self._round)
                self._mentions.setdefault(address, 1)

    def check_invariants(self) -> None:
        """The view is bounded and never holds oneself."""
        if len(self._heard_in) > self._parameters.view_size:
            raise InvariantBroken("the view is larger than its bound")
        if self._own in self._heard_in:
            raise InvariantBroken("a peer is in its own view")
        if self._heard_in.keys() != self._mentions.keys():
            raise InvariantBroken("mentions are counted of somebody who is not known")

"""Durable subscriptions: those whose positions an edge saves.

1. A durable subscription is identified by its name, whichever client connects to it.
2. It exists once it is saved together with where it starts on each stream; it is not announced
   before.  The instant at which it was made is saved too: it starts there on streams that appear
   while it has no reader.
3. The reader's acknowledgements are saved together, a few times a second.
4. Only what is saved is claimed from the source: after a crash the broker may repeat messages that
   were consumed in the last moment, and never skips any.
5. A durable subscription without a reader for ``durable_hold_expiry_ns`` keeps its position and
   claims nothing any more: a reader that comes back is told what was trimmed meanwhile as lost.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import Selector
from penstock.core.clock import MILLISECOND, NEVER, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.edge.starting import claimed_from
from penstock.services.guaranteed.edge.subscription import DurableState, Subscription
from penstock.services.guaranteed.messages import DurableClaim, Subscribe
from penstock.services.guaranteed.parameters import GuaranteedParameters

PREFIX = "durable/"
EDGE = "edge"
"""The owner of the orders to the store that are given here."""
SAVE_INTERVAL = 100 * MILLISECOND
"""Positions are saved together, this often at most: one small write a few times a second."""


class DurableSubscriptions:
    """The durable subscriptions of one edge, connected or not."""

    def __init__(
        self,
        parameters: GuaranteedParameters,
        tokens: Tokens,
        saved: Mapping[str, bytes],
        now: Instant,
    ) -> None:
        """``saved`` is the state that was found."""
        self._parameters = parameters
        self._tokens = tokens
        self._by_name: dict[str, Subscription] = {}
        self._creating: dict[int, Subscription] = {}
        self._saving: dict[int, list[tuple[Subscription, dict[str, Tick]]]] = {}
        self._changed: dict[str, Subscription] = {}
        self._deleting: dict[int, tuple[LinkName, str]] = {}
        self._lowest: dict[str, DurableClaim | None] = {}
        self._started_at = now
        self._last_key = 0
        self.save_at: Instant | None = None
        for key in sorted(key for key in saved if key.startswith(PREFIX)):
            state = msgspec.msgpack.decode(saved[key], type=DurableState)
            name = key.removeprefix(PREFIX)
            subscription = Subscription(self.next_key(), name, parse(state.selector), durable=True)
            subscription.restore(state, now)
            self._by_name[name] = subscription

    def next_key(self) -> int:
        """A unique number for a subscription."""
        self._last_key += 1
        return self._last_key

    def all(self) -> list[Subscription]:
        """Every durable subscription, with a reader or without."""
        return list(self._by_name.values())

    def get(self, name: str) -> Subscription | None:
        """The durable subscription of a name."""
        return self._by_name.get(name)

    def refusal(self, message: Subscribe, selector: Selector) -> str:
        """Why a durable subscription cannot be opened; empty if it can."""
        found = self._by_name.get(message.subscription)
        if found is not None:
            if found.selector != selector:
                return (
                    f"the durable subscription {message.subscription!r} exists with the selector "
                    f"{found.selector.text!r}; use it, or delete the subscription first"
                )
            return ""
        limit = self._parameters.durable_subscriptions
        if len(self._by_name) >= limit:
            return f"this broker already keeps {limit} durable subscriptions, the most allowed"
        return ""

    def open(
        self, message: Subscribe, selector: Selector, now: Instant, out: list[Effect]
    ) -> Subscription:
        """Find the subscription, or create and save it."""
        self._lowest.clear()
        found = self._by_name.get(message.subscription)
        if found is not None:
            found.since = found.made_at
            if found.pubends != message.pubends or found.absent_since:
                found.pubends, found.absent_since = message.pubends, 0
                self._changed[found.name] = found
                self.save_at = earliest(self.save_at, now)
            return found
        created = Subscription(self.next_key(), message.subscription, selector, durable=True)
        created.start, created.start_time = message.start, message.start_time
        created.made_at = message.since or now
        created.since = message.since or None
        created.pubends = message.pubends
        self._by_name[created.name] = created
        token = self._tokens.take(EDGE)
        self._creating[token] = created
        out.append(PersistState(token, {PREFIX + created.name: created.state()}))
        return created

    def is_saved(self, subscription: Subscription) -> bool:
        """Whether a durable subscription and its start are saved; True if it is not durable."""
        if not subscription.durable:
            return True
        if any(created is subscription for created in self._creating.values()):
            return False
        return subscription.consumed.keys() <= subscription.saved.keys()

    def claims_saved(self, subscription: Subscription, now: Instant) -> None:
        """Every source has saved a new subscription's claim."""
        subscription.claimed = True
        if self._by_name.get(subscription.name) is not subscription:
            return
        self._changed[subscription.name] = subscription
        self.save_at = earliest(self.save_at, now + SAVE_INTERVAL)

    def left(self, subscription: Subscription, now: Instant) -> None:
        """The reader of a subscription is gone."""
        if self._by_name.get(subscription.name) is subscription:
            subscription.absent_since = now
            self._changed[subscription.name] = subscription
            self.save_at = earliest(self.save_at, now + SAVE_INTERVAL)

    def forget(self, name: str, session: LinkName, out: list[Effect]) -> bool:
        """Delete a durable subscription, for which a session waits; False if there is none."""
        if self._by_name.pop(name, None) is None:
            return False
        self._changed.pop(name, None)
        token = self._tokens.take(EDGE)
        self._deleting[token] = (session, name)
        out.append(PersistState(token, {PREFIX + name: None}))
        return True

    def deleted(self, token: int) -> tuple[LinkName, str] | None:
        """The session and the subscription of a deletion, if the order was one."""
        self._lowest.clear()
        return self._deleting.pop(token, None)

    def changed(self, subscription: Subscription, now: Instant) -> None:
        """A position moved: save it soon, or at once if the stream has no saved position."""
        if subscription.consumed == subscription.saved or subscription.name not in self._by_name:
            return
        self._changed[subscription.name] = subscription
        known = subscription.consumed.keys() <= subscription.saved.keys()
        self.save_at = earliest(self.save_at, now + SAVE_INTERVAL if known else now)

    def save_if_due(self, now: Instant, out: list[Effect]) -> None:
        """Save all positions that moved in one order."""
        if self.save_at is None or now < self.save_at:
            return
        self.save_at = None
        changed, self._changed = list(self._changed.values()), {}
        values: dict[str, bytes | None] = {
            PREFIX + subscription.name: subscription.state() for subscription in changed
        }
        token = self._tokens.take(EDGE)
        self._saving[token] = [(each, dict(each.consumed)) for each in changed]
        out.append(PersistState(token, values))

    def resolved(self, token: int, failure: PersistFailed | None) -> list[Subscription]:
        """An order is durable, or was refused.

        Returns the subscriptions that are saved now, or the one that could not be created.
        """
        created = self._creating.pop(token, None)
        if created is not None:
            if failure:
                self._by_name.pop(created.name, None)
            return [created]
        saving = self._saving.pop(token, [])
        if failure:
            return []
        for subscription, consumed in saving:
            subscription.saved = consumed
        self._lowest.clear()
        return [subscription for subscription, _ in saving]

    def holds(self, subscription: Subscription, now: Instant) -> bool:
        """Whether a subscription still holds the logs: it has a reader, or had one recently."""
        expiry = self._parameters.durable_hold_expiry_ns
        if not expiry or not subscription.absent_since:
            return True
        # After a start of the broker, readers have some time to reconnect.
        grace = self._started_at + self._parameters.hold_expiry_ns
        return now < max(subscription.absent_since + expiry, grace)

    def lowest(self, pubend: str, now: Instant) -> DurableClaim | None:
        """The claim of the durable subscription that reaches back furthest, if any."""
        if self._parameters.durable_hold_expiry_ns:
            return self._lowest_claim(pubend, now)
        if pubend not in self._lowest:
            self._lowest[pubend] = self._lowest_claim(pubend, now)
        return self._lowest[pubend]

    def _lowest_claim(self, pubend: str, now: Instant) -> DurableClaim | None:
        lowest: Subscription | None = None
        lowest_tick: Tick = NEVER
        for subscription in self._by_name.values():
            tick = subscription.saved.get(pubend)
            if tick is None:
                if not subscription.reads(pubend):
                    continue
                tick = claimed_from(subscription)
            if tick < lowest_tick and self.holds(subscription, now):
                lowest, lowest_tick = subscription, tick
        if lowest is None:
            return None
        return DurableClaim(lowest_tick, f"durable subscription {lowest.name!r}")

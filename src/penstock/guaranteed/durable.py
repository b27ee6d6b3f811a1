"""Durable subscriptions: what an edge broker must not forget.

1. A durable subscription is known by its name, whoever connects to it.
2. It exists once it is saved, and where it starts on each stream too; until then it is not
   announced.
3. The reader's acknowledgements are saved together, a few times a second.
4. Only what is saved is claimed towards the source: a crash can make the broker repeat messages
   that were consumed in the last moment, never skip any.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.content.parser import parse
from penstock.content.selector import Selector
from penstock.core.clock import MILLISECOND, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.guaranteed.messages import Subscribe
from penstock.guaranteed.parameters import GuaranteedParameters
from penstock.guaranteed.subscription import DurableState, Subscription

PREFIX = "durable/"
EDGE = "edge"
"""The owner of the orders that are given here."""
SAVE_INTERVAL = 100 * MILLISECOND
"""Positions are saved together, this often at most: one small write a few times a second."""


class DurableSubscriptions:
    """The durable subscriptions of one edge, connected or not."""

    def __init__(
        self,
        parameters: GuaranteedParameters,
        tokens: Tokens,
        saved: Mapping[str, bytes],
    ) -> None:
        """Take over what was found on the disk."""
        self._parameters = parameters
        self._tokens = tokens
        self._by_name: dict[str, Subscription] = {}
        self._creating: dict[int, Subscription] = {}
        self._saving: dict[int, list[tuple[Subscription, dict[str, Tick]]]] = {}
        self._changed: dict[str, Subscription] = {}
        self._last_key = 0
        self.save_at: Instant | None = None
        for key in sorted(key for key in saved if key.startswith(PREFIX)):
            state = msgspec.msgpack.decode(saved[key], type=DurableState)
            name = key.removeprefix(PREFIX)
            subscription = Subscription(self.next_key(), name, parse(state.selector), durable=True)
            subscription.consumed = dict(state.consumed)
            subscription.saved = dict(state.consumed)
            self._by_name[name] = subscription

    def next_key(self) -> int:
        """A number for a subscription that no other has."""
        self._last_key += 1
        return self._last_key

    @property
    def any(self) -> bool:
        """Whether there are durable subscriptions at all."""
        return bool(self._by_name)

    def refusal(self, message: Subscribe, selector: Selector) -> str:
        """Why a durable subscription cannot be opened, or nothing."""
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

    def open(self, message: Subscribe, selector: Selector, out: list[Effect]) -> Subscription:
        """Find the subscription, or create and save it."""
        found = self._by_name.get(message.subscription)
        if found is not None:
            return found
        created = Subscription(self.next_key(), message.subscription, selector, durable=True)
        self._by_name[created.name] = created
        token = self._tokens.take(EDGE)
        self._creating[token] = created
        out.append(PersistState(token, {PREFIX + created.name: created.state()}))
        return created

    def is_saved(self, subscription: Subscription) -> bool:
        """Whether the subscription exists for good (one that is not durable always does)."""
        if not subscription.durable:
            return True
        if any(created is subscription for created in self._creating.values()):
            return False
        return subscription.consumed.keys() <= subscription.saved.keys()

    def forget(self, name: str, out: list[Effect]) -> None:
        """Delete a durable subscription and its claim."""
        if self._by_name.pop(name, None) is not None:
            self._changed.pop(name, None)
            out.append(PersistState(self._tokens.take(EDGE), {PREFIX + name: None}))

    def changed(self, subscription: Subscription, now: Instant) -> None:
        """A position moved, and will be saved soon; one that was never saved, at once."""
        if subscription.consumed == subscription.saved or subscription.name not in self._by_name:
            return
        self._changed[subscription.name] = subscription
        known = subscription.consumed.keys() <= subscription.saved.keys()
        self.save_at = earliest(self.save_at, now + SAVE_INTERVAL if known else now)

    def save_if_due(self, now: Instant, out: list[Effect]) -> None:
        """Save the positions that moved, together."""
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
        """Something is saved, or was refused.

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
        return [subscription for subscription, _ in saving]

    def claims(self, pubend: str) -> list[Tick]:
        """The saved positions of all durable subscriptions on one stream."""
        return [
            subscription.saved[pubend]
            for subscription in self._by_name.values()
            if pubend in subscription.saved
        ]

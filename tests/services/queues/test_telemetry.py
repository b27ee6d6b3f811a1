"""The trace records of the service."""

from __future__ import annotations

from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.telemetry import service_records


def test_every_queue_has_its_records(make_context):
    context = make_context()
    queue = Queue(QueueConfig("work"), context)
    queue.received.add(3, context.now)
    alias = AliasQueue(AliasConfig("orders", ("work@east",)), context)
    records = list(service_records("b", {"work": queue}, {"orders": alias}, context.now))
    values = {(each.subject, each.metric): each.value for each in records}
    assert values == {
        ("work", "queue_messages"): 0,
        ("work", "queue_waiting"): 0,
        ("work", "queue_consumers"): 0,
        ("work", "queue_received_messages"): 3,
        ("work", "queue_consumed_messages"): 0,
        ("orders", "alias_messages"): 0,
        ("orders", "alias_forwarded_messages"): 0,
        ("orders>work@east", "alias_weight"): 1.0,
    }

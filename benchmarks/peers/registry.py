"""All measured peers, ourselves first."""

from __future__ import annotations

from typing import Final

import msgspec

from benchmarks.harness.kafka_server import kafka_server
from benchmarks.peers import (
    activemq,
    artemis,
    confluent,
    kafka,
    mosquitto,
    nats,
    nats_py,
    ourselves,
    ourselves_unkept,
    paho,
    pika,
    rabbitmq,
    rabbitmq_stream,
    redis,
    redis_py,
)
from benchmarks.peers.peer import Durability, Peer

PEERS: Final = (
    msgspec.structs.replace(
        ourselves.PEER, variants=(*ourselves.PEER.variants, *ourselves_unkept.VARIANTS)
    ),
    Peer(
        "RabbitMQ",
        "rabbitmq-server",
        "apt-get install rabbitmq-server",
        rabbitmq.start,
        (
            rabbitmq.variant("quorum", Durability.SYNCED, 0.25),
            rabbitmq.variant("classic", Durability.WRITTEN, 0.25, rabbitmq.HEADERS),
            rabbitmq.variant(rabbitmq.STREAM, Durability.WRITTEN, 0.5),
            rabbitmq_stream.STREAMS,
            pika.variant("quorum", Durability.SYNCED, 0.02),
        ),
    ),
    Peer(
        "Redis, synced always",
        "redis-server",
        "apt-get install redis-server",
        redis.start("always"),
        (
            redis.variant("always", Durability.SYNCED, 1.0),
            redis_py.variant("always", Durability.SYNCED, 0.1),
        ),
    ),
    Peer(
        "Redis, synced every second",
        "redis-server",
        "apt-get install redis-server",
        redis.start("everysec"),
        (
            redis.variant("everysec", Durability.WRITTEN, 1.5),
            redis_py.variant("everysec", Durability.WRITTEN, 0.25),
        ),
    ),
    Peer(
        "NATS",
        "nats-server",
        "apt-get install nats-server",
        nats.start,
        (nats.JETSTREAM, nats.CORE, nats_py.JETSTREAM, nats_py.CORE),
    ),
    Peer(
        "Mosquitto",
        "mosquitto",
        "apt-get install mosquitto",
        mosquitto.start,
        (mosquitto.TOPIC_QOS_1, paho.TOPIC_QOS_1),
    ),
    Peer(
        "ActiveMQ",
        "activemq",
        "apt-get install activemq",
        activemq.start,
        (activemq.TOPIC,),
    ),
    Peer(
        "Artemis",
        "",
        "Maven Central, as it starts",
        artemis.start,
        (artemis.ADDRESS,),
    ),
    Peer(
        "Kafka",
        "",
        "Maven Central, as it starts",
        kafka_server,
        (
            kafka.variant("Kafka, flushed", Durability.SYNCED, kafka.FLUSHED, 0.5),
            confluent.variant("Kafka, flushed", Durability.SYNCED, kafka.FLUSHED, 0.5),
            kafka.variant("Kafka", Durability.WRITTEN, kafka.DEFAULT, 1.0),
            confluent.variant("Kafka", Durability.WRITTEN, kafka.DEFAULT, 0.5),
        ),
    ),
)


def chosen(peers: list[str], variants: list[str] | None = None) -> list[Peer]:
    """The peers and variants whose names begin with these prefixes, or all."""
    narrowed = []
    for peer in PEERS:
        kept = tuple(each for each in peer.variants if _begins(each.name, variants or []))
        if kept and _begins(peer.name, peers):
            narrowed.append(msgspec.structs.replace(peer, variants=kept))
    return narrowed


def _begins(name: str, beginnings: list[str]) -> bool:
    return not beginnings or name.lower().startswith(tuple(each.lower() for each in beginnings))

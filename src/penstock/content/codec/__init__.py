"""One codec for messages, with two profiles.

``stream``: one message in an envelope, its batches and frames attached behind a MessagePack head;
for connections, for the log, and for gossip, which sends one message in a datagram.

``datagram``: several small messages in one datagram under one header, none in two.

Both encode a message as a MessagePack array that starts with the name of its type, and both raise
``MalformedMessage`` for bytes that are not one.
"""

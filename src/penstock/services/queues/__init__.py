"""Queues: durable messages, each for one consumer; and alias queues, which forward to queues.

Who owns what
-------------
``QueueBroker`` (broker.py) is the machine of one broker.  It owns

- ``Routes`` (routing.py): the first link to each broker;
- ``HostedQueues`` (hosted.py): the queues and alias queues by name, and their deadlines;
- ``RelayedSends`` (relays.py): unanswered messages of its clients for queues on other brokers;
- ``Administration``, ``Producers``, ``LocalDelivery``: no rows; they pass on what others own.

``DurableQueue`` (durable_queue.py) is what a queue and an alias queue have in common.  It owns

- ``Journal`` (log/journal.py): the positions, the orders to the store, the checkpoint, and the
  table of origins (mechanisms/sequence_table.py) by which repeats are recognised;
- ``Entries`` (log/entries.py): every row that is durable and not settled, and its body if it is in
  memory; ``BodyReader`` (log/bodies.py) reads the other bodies back;
- ``Appender`` (log/append.py): the rows that are not durable yet, and the answers to their senders;
- ``QueueAdmission`` (admission.py): the requests that wait until the journal has been read.

``Queue`` (queue/queue.py) adds

- ``QueueRows`` (queue/rows.py): where each row is, with the sets of prepared and of ready rows;
- ``Consumers`` (queue/consumers.py): the consumers, each with its set of in-flight rows;
- ``Settlements`` (log/settlements.py): settlement notes that are not durable yet;
- ``DeadLetters``, ``RetainedHandovers``, ``ForwardedRows``, ``Reports``, ``Browser`` (queue/): rows
  given up, entries kept for alias queues, questions to alias queues, who gets reports, browses.

``AliasQueue`` (alias/alias_queue.py) adds

- ``AliasRows`` (alias/rows.py): the sets of waiting and of undecided rows;
- ``Destinations`` (alias/destinations.py): the destinations, each with its sets of rows in flight,
  deciding and decided, and what it told last of its load (alias/destination_load.py);
- ``PassThrough`` and ``Handover`` (alias/): rows that are not stored here;
- ``ForwardingTransaction`` (alias/transaction.py) with ``DecisionNotes``: notes not yet durable;
- ``Balancer`` (laws/balancer.py) with a ``BalancingLaw``, and ``MonitorLoop``: the control loop.

The path of a message
---------------------
To a queue:

1. broker.py: a ``SendToQueue`` arrives; producers.py finds the queue, or relays.py passes it on.
2. admission.py: is there room, does the sender have its name, has the journal been read?
3. log/append.py: new rows get positions and are ordered into the journal.  *Sent.*
4. durable_queue.py: the store confirms; the sender gets its ``SendReceipt``.  *Stored.*
5. queue/rows.py: the rows are ready.
6. queue/dispatch.py: consumers take turns; ``Deliver`` leaves.  *Dispatched.*
7. queue/consumer_requests.py: a ``Settle`` arrives; rows to be tried again go back to 5, rows that
   are given up go to queue/dead_letters.py.
8. log/settlements.py: the note of the settlement is written; when it is durable the consumer gets
   ``Settled`` and the rows leave log/entries.py.  *Settled.*

To an alias queue, steps 1 to 4 are the same (alias/pass_through.py and alias/handover.py leave the
write out when they can); then

5. alias/rows.py: the rows wait.
6. alias/forwarding.py: the balancer divides them; ``Forward`` leaves.  They are in flight.
7. queue/forwarded.py, at the destination: the rows are stored as prepared; ``Stored`` asks.
8. alias/transaction.py: the first destination that asks gets a row; the note is written, and when
   it is durable ``Decision`` leaves.
9. queue/forwarded.py: committed rows are ready at the destination (step 5 above); ``Resolved``
   confirms.
10. alias/failover.py takes undecided rows back from destinations that do not answer: to step 5.

Conventions
-----------
Messages are dispatched by tables from type to method (broker.py, durable_queue.py).  Orders are
effects: the machine returns a list of them, and inside it every part appends to the list ``out``
that it is given, in order.  No part holds a callback into another; queues reach each other through
``SendToBroker`` and ``SendWithinBroker`` (routing.py), which local_delivery.py carries out.
"""

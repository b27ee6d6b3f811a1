"""ActiveMQ over STOMP: a topic with durable subscriptions, whose journal is synced each time."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness.server import Server, served
from benchmarks.peers import stomp
from penstock.net.process import free_port

CONFIGURATION: Final = """\
<beans xmlns="http://www.springframework.org/schema/beans"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.springframework.org/schema/beans
  http://www.springframework.org/schema/beans/spring-beans.xsd
  http://activemq.apache.org/schema/core
  http://activemq.apache.org/schema/core/activemq-core.xsd">
  <broker xmlns="http://activemq.apache.org/schema/core" brokerName="bench" useJmx="false"
      dataDirectory="{data}" schedulerSupport="false">
    <persistenceAdapter><kahaDB directory="{data}/kahadb"/></persistenceAdapter>
    <transportConnectors>
      <transportConnector name="stomp" uri="stomp+nio://127.0.0.1:{port}"/>
    </transportConnectors>
  </broker>
</beans>
"""

DIALECT: Final = stomp.Dialect(
    topic="/topic/bench",
    selected="/topic/selected",
    durable_header="activemq.subscriptionName",
    unsubscribe_header="activemq.subscriptionName",
    further=(("activemq.prefetchSize", str(stomp.PREFETCH)),),
    sending=(),
)


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """Start it in the foreground, with its own directories."""
    port = free_port()
    configuration = directory / "activemq.xml"
    configuration.write_text(CONFIGURATION.format(data=directory / "data", port=port))
    environment = {
        "ACTIVEMQ_BASE": str(directory),
        "ACTIVEMQ_CONF": str(directory),
        "ACTIVEMQ_DATA": str(directory / "data"),
        "ACTIVEMQ_TMP": str(directory),
        # Its script would switch to another user, who cannot read our directories.
        "ACTIVEMQ_USER": getpass.getuser(),
    }
    command = ["activemq", "console", f"xbean:file:{configuration}"]
    with served(command, directory, port, environment) as process:
        yield Server(port, process.pid)


TOPIC: Final = stomp.variant("ActiveMQ topic", DIALECT, 0.02)

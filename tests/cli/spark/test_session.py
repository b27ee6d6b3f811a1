"""How a command ends when Spark's JVM has exited before it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from penstock.cli.errors import UserError
from penstock.cli.spark.session import spark_session
from penstock.spark import session as session_module


class Session:
    """A session with a JVM that runs, or that has exited with a status."""

    def __init__(self, status: int | None) -> None:
        process = SimpleNamespace(poll=lambda: status)
        self.sparkContext = SimpleNamespace(_gateway=SimpleNamespace(proc=process))
        self.status = status
        self.stopped = False

    def stop(self) -> None:
        if self.status is not None:
            raise ConnectionRefusedError(111, "Connection refused")
        self.stopped = True


def started(monkeypatch: pytest.MonkeyPatch, status: int | None) -> Session:
    made = Session(status)
    monkeypatch.setattr(session_module, "build_session", lambda *arguments: made)
    return made


def test_a_jvm_that_has_exited_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    started(monkeypatch, 143)
    with pytest.raises(UserError, match="Spark's JVM has ended"), spark_session("x", "local"):
        raise UserError("[Errno 111] Connection refused")


def test_an_interrupt_is_reported_as_one_after_the_jvm_exits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started(monkeypatch, 130)
    with pytest.raises(KeyboardInterrupt), spark_session("x", "local"):
        raise KeyboardInterrupt


def test_an_error_is_reported_unchanged_while_the_jvm_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = started(monkeypatch, None)
    with pytest.raises(UserError, match="no such run"), spark_session("x", "local"):
        raise UserError("no such run")
    assert session.stopped

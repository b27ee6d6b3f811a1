"""Blocking classes, made from the asyncio ones when they are first needed.

For each asyncio class ``blocking_class`` makes one whose objects hold an asyncio object and the
thread of its event loop:

1. A coroutine method becomes a method that waits for its result.  Any other method runs in the
   event loop's thread too, because asyncio objects may be used only there.
2. An asynchronous iterator becomes an iterator, ``async with`` becomes ``with``.
3. A property is read in the event loop's thread.  An attribute is read directly; a class declares
   its public attributes as annotations.
4. A result that has coroutine methods of its own is given as its blocking counterpart.
5. ``close`` after the client was closed does nothing; everything else raises ``Disconnected``.

``classes.py`` names the classes that are made this way, ``classes.pyi`` declares them for editors
and type checkers, and ``stubs.py`` writes that file.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial, wraps
from types import TracebackType
from typing import Any, Final, Self

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.facade import ServiceFacade

END: Final = object()
"""Stands for the end of an asynchronous iterator, whose exception cannot cross a coroutine."""

CLOSING: Final = frozenset(("close", "leave"))
"""Methods that do nothing once the event loop has ended."""


class Proxy:
    """A blocking object: an asyncio object and the thread of its event loop."""

    _mirrors: type | None = None
    """The asyncio base class whose members a hand-written subclass of ``Proxy`` implements."""

    def __init__(self, thread: LoopThread, asyncio_object: Any) -> None:
        """Made by methods of other blocking objects."""
        self._thread = thread
        self._asyncio = asyncio_object
        self._kept: dict[str, Any] = {}

    def _wrap(self, value: Any) -> Any:
        """The blocking counterpart of a result, or the result itself."""
        if value is self._asyncio:
            return self
        kind = proxy_of(type(value))
        return value if kind is None else kind(self._thread, value)

    def _read(self, name: str) -> Any:
        """A property; the same asyncio object is given as the same blocking one each time."""
        value = (
            getattr(self._asyncio, name)
            if self._thread.stopped
            else self._thread.run(getattr, self._asyncio, name)
        )
        kept = self._kept.get(name)
        if isinstance(kept, Proxy) and kept._asyncio is value:
            return kept
        wrapped = self._wrap(value)
        if isinstance(wrapped, Proxy):
            self._kept[name] = wrapped
        return wrapped

    def _iterate(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        thread = self._thread
        try:
            while (item := thread.call(_next_or_end(items))) is not END:
                yield self._wrap(item)
        finally:
            if inspect.isasyncgen(items) and not thread.stopped and not thread.is_current:
                thread.call(items.aclose())


class BlockingContext(Proxy):
    """A proxy that is a context manager."""

    def __enter__(self) -> Self:
        """Open it."""
        self._thread.call(self._asyncio.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        if not self._thread.stopped:
            self._thread.call(self._asyncio.__aexit__(kind, error, traceback))


async def _next_or_end(items: AsyncIterator[Any]) -> Any:
    try:
        return await anext(items)
    except StopAsyncIteration:
        return END


_proxies: dict[type, type[Proxy] | None] = {}
"""The blocking class of each asyncio class that was asked for; None for classes that need none."""


def proxy_of(kind: type) -> type[Proxy] | None:
    """The blocking class of an asyncio class; None if the class has nothing to wait for."""
    if kind not in _proxies:
        _proxies[kind] = blocking_class(kind) if _has_to_wait(kind) else None
    return _proxies[kind]


def stands_for(kind: type) -> Callable[[type[Any]], type[Any]]:
    """Registers a hand-written blocking class for an asyncio class."""

    def register(made: type[Any]) -> type[Any]:
        _proxies[kind] = made
        return made

    return register


def _has_to_wait(kind: type) -> bool:
    """Whether a class has coroutines; what can be used without them as well needs no proxy."""
    if issubclass(kind, ServiceFacade):
        return True
    if hasattr(kind, "__enter__") or kind.__module__ == "builtins":
        return False
    members = [getattr(kind, name, None) for name in dir(kind) if not name.startswith("_")]
    return (
        hasattr(kind, "__aenter__")
        or hasattr(kind, "__aiter__")
        or any(map(inspect.iscoroutinefunction, members))
    )


def blocking_class(kind: type, base: type[Proxy] | None = None) -> type[Proxy]:
    """The blocking counterpart of an asyncio class.

    ``base`` is a hand-written class that mirrors a base class of ``kind``.
    """
    if base is None:
        base = _base_for(kind)
    namespace: dict[str, Any] = {"__doc__": kind.__doc__, "__module__": __name__}
    for name, member in public_members(kind, base._mirrors).items():
        namespace["__iter__" if name == "__aiter__" else name] = _translated(name, member)
    return type(kind.__name__, (base,), namespace)


def _base_for(kind: type) -> type[Proxy]:
    for ancestor in kind.__mro__[1:]:
        known = _proxies.get(ancestor)
        if known is not None and known._mirrors is ancestor:
            return known
    return BlockingContext if hasattr(kind, "__aenter__") else Proxy


def public_members(kind: type, mirrored: type | None = None) -> dict[str, Any]:
    """Methods, properties and declared attributes that a blocking class has to offer.

    Members of ``mirrored`` and of its bases are left out unless a subclass overrides them.
    Declared attributes are None.
    """
    found: dict[str, Any] = {}
    for ancestor in reversed(kind.__mro__):
        left_out = mirrored is not None and issubclass(mirrored, ancestor)
        if left_out or ancestor.__module__ in ("builtins", "typing", "msgspec"):
            continue
        declared = inspect.get_annotations(ancestor)
        for name in declared:
            if not name.startswith("_") and name not in vars(ancestor):
                found.setdefault(name, None)
        found |= {
            name: member
            for name, member in vars(ancestor).items()
            if name == "__aiter__" or not name.startswith("_")
        }
    return found


def _translated(name: str, member: Any) -> Any:
    if member is None or inspect.ismemberdescriptor(member):
        return property(partial(_attribute, name))
    if isinstance(member, property):
        return property(partial(_property, name), doc=member.__doc__)
    return _method(name, member)


def _attribute(name: str, proxy: Proxy) -> Any:
    return proxy._wrap(getattr(proxy._asyncio, name))


def _property(name: str, proxy: Proxy) -> Any:
    return proxy._read(name)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        def iterate(self: Proxy, *arguments: Any, **options: Any) -> Any:
            return self._iterate(getattr(self._asyncio, name)(*arguments, **options))

        return iterate

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        def call(self: Proxy, *arguments: Any, **options: Any) -> Any:
            if self._thread.stopped and name in CLOSING:
                return None
            coroutine = getattr(self._asyncio, name)(*arguments, **options)
            return self._wrap(self._thread.call(coroutine))

        return call

    @wraps(function)
    def run(self: Proxy, *arguments: Any, **options: Any) -> Any:
        method = partial(getattr(self._asyncio, name), *arguments, **options)
        return self._wrap(self._thread.run(method))

    return run

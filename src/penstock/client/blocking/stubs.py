"""Writes ``classes.pyi``: the blocking classes with the signatures of the asyncio ones.

Run ``python -m penstock.client.blocking.stubs`` after changing a public signature of the asyncio
client; a test compares the file with what this module would write.

Signatures are copied from the source text.  Names in them are imported from where the asyncio
module imports them; names of asyncio classes mean the blocking classes of the same name.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from penstock.client.blocking.mirrored import MIRRORED, asyncio_class
from penstock.client.blocking.proxy import public_members
from penstock.client.reading import Reading

STUB: Final = Path(__file__).with_name("classes.pyi")

BY_HAND: Final = {
    "GossipPeer": "penstock.client.blocking.gossip",
    "Publisher": "penstock.client.blocking.publisher",
}
"""Blocking classes that are not made from asyncio ones, and where they are."""

RENAMED: Final = {
    "AsyncIterator": "Iterator",
    "GroupSender": "Publisher",
    "QueueSender": "Publisher",
}
"""What annotations of the asyncio client become."""

HEADER: Final = '''"""Written by ``python -m penstock.client.blocking.stubs``; do not edit."""

'''

FIRST_IMPORTS: Final = {
    "Any": "typing",
    "BlockingContext": "penstock.client.blocking.proxy",
    "LoopThread": "penstock.client.blocking.loop_thread",
    "Proxy": "penstock.client.blocking.proxy",
    "Reading": "penstock.client.blocking.reading",
}


class Stub:
    """The text of the stub, and the imports that it turns out to need."""

    def __init__(self) -> None:
        """Empty."""
        self._imports: dict[str, str] = {}
        self._modules: set[str] = set()

    def text(self) -> str:
        """The whole file."""
        classes = [self._class(name) for name in MIRRORED]
        lines = [f"import {module}\n" for module in sorted(self._modules)]
        by_module: dict[str, list[str]] = {}
        for name, module in self._imports.items():
            by_module.setdefault(module, []).append(name)
        lines += [
            f"from {module} import {', '.join(sorted(names))}\n"
            for module, names in sorted(by_module.items())
        ]
        return HEADER + "".join(lines) + "\n" + "\n".join(classes)

    def _class(self, name: str) -> str:
        kind = asyncio_class(name)
        base, mirrored = self._base(kind)
        lines = [f"class {name}({base}):"]
        if kind.__doc__:
            lines.append(f"    {self._docstring(kind.__doc__, '    ')}")
        for member in public_members(kind, mirrored):
            lines += [f"    {line}" for line in self._member(kind, member)]
        return "\n".join(lines) + "\n"

    def _base(self, kind: type) -> tuple[str, type | None]:
        if issubclass(kind, Reading):
            definition = _definition(kind)
            self._import("Reading", FIRST_IMPORTS["Reading"])
            return self._annotation(kind, definition.bases[0]), Reading
        base = "BlockingContext" if hasattr(kind, "__aenter__") else "Proxy"
        self._import(base, FIRST_IMPORTS[base])
        return base, None

    def _member(self, kind: type, name: str) -> Iterator[str]:
        owner, node = _member_node(kind, name)
        if isinstance(node, ast.AnnAssign):
            yield "@property"
            yield f"def {name}(self) -> {self._annotation(owner, node.annotation)}: ..."
            return
        decorators = [ast.unparse(each) for each in node.decorator_list]
        yield from (f"@{each}" for each in decorators)
        assert node.returns is not None
        arguments = self._arguments(owner, node.args)
        shown = "__iter__" if name == "__aiter__" else name
        yield f"def {shown}({arguments}) -> {self._annotation(owner, node.returns)}:"
        docstring = ast.get_docstring(node)
        yield f"    {self._docstring(docstring, '        ')}" if docstring else "    ..."

    def _docstring(self, text: str, indent: str) -> str:
        lines = inspect.cleandoc(text).replace("async with", "with").splitlines()
        if len(lines) == 1:
            return f'"""{lines[0]}"""'
        body = "\n".join(f"{indent}{line}" if line else "" for line in lines[1:])
        return f'"""{lines[0]}\n{body}\n{indent}"""'

    def _arguments(self, owner: type, arguments: ast.arguments) -> str:
        """Parameters; constants that are defaults are shown with their values."""
        known = vars(import_module(owner.__module__))
        for defaults in (arguments.defaults, arguments.kw_defaults):
            for at, default in enumerate(defaults):
                if isinstance(default, ast.Name):
                    defaults[at] = ast.Constant(known[default.id])
        for node in ast.walk(arguments):
            if isinstance(node, ast.Name):
                self._need(owner, node)
        return ast.unparse(arguments)

    def _annotation(self, owner: type, node: ast.expr) -> str:
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                self._need(owner, each)
        return ast.unparse(node)

    def _need(self, owner: type, node: ast.Name) -> None:
        """Import a name, renamed where the blocking client calls it otherwise."""
        node.id = RENAMED.get(node.id, node.id)
        name = node.id
        if name in MIRRORED or hasattr(builtins, name):
            return
        if name in FIRST_IMPORTS:
            self._import(name, FIRST_IMPORTS[name])
        elif name in BY_HAND:
            self._import(name, BY_HAND[name])
        else:
            self._import(name, _home_of(owner, name))

    def _import(self, name: str, module: str) -> None:
        if not module:
            self._modules.add(name)
            return
        known = self._imports.setdefault(name, module)
        if known != module:
            raise ValueError(f"{name} is imported from {known} and from {module}")


def _definition(kind: type) -> ast.ClassDef:
    tree = ast.parse(inspect.getsource(import_module(kind.__module__)))
    return next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )


def _member_node(
    kind: type, name: str
) -> tuple[type, ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign]:
    """The class that defines a member, and its definition there."""
    for owner in kind.__mro__:
        if owner.__module__.startswith("penstock."):
            for node in _definition(owner).body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    return owner, node
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                    return owner, node
    raise LookupError(f"{kind.__name__}.{name}")


def _home_of(owner: type, name: str) -> str:
    """The module that a name is imported from; empty if it is a module itself."""
    module = import_module(owner.__module__)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    assert node.module is not None
                    return "collections.abc" if name == "Iterator" else node.module
        elif isinstance(node, ast.Import) and any(
            (alias.asname or alias.name) == name for alias in node.names
        ):
            return ""
    return "collections.abc" if name == "Iterator" else owner.__module__


def stub_text() -> str:
    """What ``classes.pyi`` should contain, before it is formatted."""
    return Stub().text()


if __name__ == "__main__":
    STUB.write_text(stub_text())
    for command in (("check", "--select", "I", "--fix"), ("format",)):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", STUB], check=False)

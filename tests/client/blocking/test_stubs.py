import ast
from collections.abc import Iterator

from penstock.client.blocking.stubs import STUB, stub_text


def imports(tree: ast.Module) -> set[tuple[str | None, str]]:
    return {
        (getattr(node, "module", None), alias.name)
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def classes(tree: ast.Module) -> Iterator[str]:
    return (ast.dump(node) for node in tree.body if isinstance(node, ast.ClassDef))


def test_the_stub_declares_what_the_asyncio_classes_offer() -> None:
    expected, found = ast.parse(stub_text()), ast.parse(STUB.read_text())
    remedy = "run python -m penstock.client.blocking.stubs"
    assert imports(found) == imports(expected), remedy
    assert list(classes(found)) == list(classes(expected)), remedy

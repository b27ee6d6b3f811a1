"""A broker's place in a tree is a value."""

from __future__ import annotations

import pytest

from penstock.core.trees import Tree


def test_the_root_has_no_parent() -> None:
    at_root = Tree("b1", "b1", None, ("b2", "b3"), 1, ("orders",))
    assert at_root.parent is None
    assert at_root.children == ("b2", "b3")


def test_a_restarted_root_gives_another_tree() -> None:
    before = Tree("b1", "b1", "b1", (), 1, ("orders",))
    assert before == Tree("b1", "b1", "b1", (), 1, ("orders",))
    assert before != Tree("b1", "b1", "b1", (), 2, ("orders",))


def test_a_tree_never_changes_and_can_be_a_key() -> None:
    tree = Tree("b1", "b1", None, ("b2",), 1, ())
    with pytest.raises(AttributeError):
        tree.parent = "b2"  # type: ignore[misc]
    assert {tree: "here"}[Tree("b1", "b1", None, ("b2",), 1, ())] == "here"

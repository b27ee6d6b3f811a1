"""All cases run under both laws, in order; an error says which run it was."""

from __future__ import annotations

import pytest

from penstock.papers.held_out import runner


def test_scores_are_in_the_order_of_seeds_and_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run_case", lambda seed, law: (seed, law))
    told: list[tuple[int, int, str]] = []

    scores = runner.run_cases([2, 1], workers=1, progress=lambda *each: told.append(each))

    assert scores == [(2, "paper"), (2, "improved"), (1, "paper"), (1, "improved")]
    assert told[-1] == (4, 4, "case 1, improved")


def test_an_error_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(seed: int, law: str) -> None:
        raise ValueError("no")

    monkeypatch.setattr(runner, "run_case", fail)
    with pytest.raises(ValueError, match="no") as caught:
        runner.run_cases([7], workers=1)
    assert caught.value.__notes__ == ["in the run case 7, paper"]

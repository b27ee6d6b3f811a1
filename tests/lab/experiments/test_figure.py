"""Figures as data, and their pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.lab.experiments.drawing import draw
from penstock.lab.experiments.figure import (
    Bars,
    CurveOf,
    Figure,
    Level,
    Line,
    Panel,
    Points,
    Series,
    both_laws,
)
from penstock.lab.experiments.marks import Mark, marks_of
from penstock.lab.experiments.results import Of, Results
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.scenario.numbering import expanded

QUEUE = Measurement(metric="queue_bytes")
RATE = Measurement(metric="delivered_rate")

CURVES = Figure(
    "curves",
    "A title",
    (
        (Panel("E paper", "both", "kB", both_laws("E", QUEUE, "max", scale=1e-3)),),
        (Panel("F", "alone", "messages", (Line("one line", QUEUE, "value", style="dots"),)),),
    ),
)
VALUES = Figure(
    "values",
    "Over a parameter",
    (
        (
            Points(
                "points",
                "peers",
                "hops",
                (
                    Series("ours", RATE, ((10, "ten"), (100, "hundred")), scale=2.0),
                    Series("the paper's", RATE, ((10, 5.0), (100, 7.0)), style="crosses"),
                ),
                log_x=True,
                levels=(Level(6, "a mark"),),
            ),
            Bars("bars", "run", "hops", ("ten", "hundred"), (Series("b", RATE, ((0, "ten"),)),)),
        ),
    ),
)


def curves() -> Results:
    results = Results()
    for key in ("E paper", "E improved", "F"):
        results.ran(key, 1, (Mark(3.0, "cut a-b"),), 10.0)
        results.add_curve(key, CurveOf(QUEUE, "max", 1.0), [(float(at), at) for at in range(13)])
    results.add_curve("F", CurveOf(QUEUE, "value", 1.0), [(0.5, 1.0), (7.25, 2.0)])
    return results


def values(*experiments: str) -> Results:
    results = Results()
    for key in experiments:
        results.ran(key, 2, (), 10.0)
        results.add(Of(key, RATE), 1.0)
        results.add(Of(key, RATE), 3.0)
    return results


def svg(figure: Figure, results: Results, out: Path) -> str:
    png, path = draw(figure, results, out)
    assert png.read_bytes().startswith(b"\x89PNG")
    return path.read_text(encoding="utf-8")


def test_a_figure_names_what_it_needs() -> None:
    assert CURVES.experiments() == {"E paper", "E improved", "F"}
    assert ("F", CurveOf(QUEUE, "value", 1.0)) in list(CURVES.curves())
    assert VALUES.experiments() == {"ten", "hundred"}
    assert set(VALUES.measures()) == {Of("ten", RATE), Of("hundred", RATE)}


def test_a_picture_of_curves_has_labels_a_legend_and_the_faults(tmp_path: Path) -> None:
    text = svg(CURVES, curves(), tmp_path)
    for words in ("A title", "both", "kB", "messages", "seconds", "cut a-b", "one line"):
        assert words in text
    assert ">paper's law<" in text
    assert ">improved law<" in text


def test_a_picture_of_values_over_a_parameter(tmp_path: Path) -> None:
    text = svg(VALUES, values("ten", "hundred"), tmp_path)
    for words in ("peers", "hops", "ours", ">the paper's<", "a mark", "bars", "hundred"):
        assert words in text


def test_what_was_not_run_is_left_out(tmp_path: Path) -> None:
    results = Results()
    results.ran("E paper", 1, (), 10.0)
    results.add_curve("E paper", CurveOf(QUEUE, "max", 1.0), [(1.0, 2.0)])
    text = svg(CURVES, results, tmp_path)
    assert ">paper's law<" in text
    assert ">improved law<" not in text
    assert "hops" in svg(VALUES, values("ten"), tmp_path)


def test_the_same_results_give_the_same_picture(tmp_path: Path) -> None:
    first, second = (svg(CURVES, curves(), tmp_path / name) for name in ("a", "b"))
    assert first == second


def test_the_faults_and_changes_of_a_scenario() -> None:
    scenario = parse_scenario(
        {
            "name": "changes",
            "duration_s": 20,
            "brokers": [{"name": "a", "pubends": 1}, {"name": "b", "start_s": 2}],
            "links": [
                {
                    "between": ["a", "b"],
                    "changes": [{"at_s": 9, "bandwidth_bytes_per_s": 0, "loss": 0.5}],
                }
            ],
            "clients": [
                {
                    "service": "guaranteed",
                    "role": "publisher",
                    "name": "p",
                    "broker": "a",
                    "pubend": "a.1",
                    "rate_msgs_per_s": [[0, 10], [8, 20]],
                    "start_s": 1,
                },
                {
                    "service": "guaranteed",
                    "role": "subscriber",
                    "name": "s",
                    "count": 2,
                    "broker": "b",
                    "start_s": 4,
                    "start_every_s": 1,
                },
            ],
            "faults": [
                {"at_s": 5, "cut": ["a", "b"]},
                {"at_s": 5, "bandwidth": {"link": ["a", "b"], "bytes_per_s": 61_440}},
                {"at_s": 30, "mend": ["a", "b"]},
            ],
        }
    )
    assert marks_of(expanded(scenario)) == (
        Mark(1, "p starts"),
        Mark(2, "b starts"),
        Mark(5, "cut a-b, a-b 61.4 kB/s"),
        Mark(8, "p rate msgs per s 20"),
        Mark(9, "a-b unlimited loss 50 %"),
    )


def test_a_panels_title_may_be_written_from_the_results(tmp_path: Path) -> None:
    def title(results: Results) -> str:
        return f"took {results.median('ten', RATE):g} s"

    figure = Figure(
        "title",
        "",
        ((Points(title, "x", "s", (Series("", RATE, ((1, "ten"),)),), needs=(Of("ten", RATE),)),),),
    )
    assert "took 2 s" in svg(figure, values("ten"), tmp_path)


@pytest.mark.parametrize("style", ["line", "dashed", "dots", "crosses", "bars"])
def test_every_style_can_be_drawn(style: str, tmp_path: Path) -> None:
    line = Line("x", QUEUE, "max", style=style)  # type: ignore[arg-type]
    assert ">x<" in svg(Figure("f", "", ((Panel("F", "", "", (line,)),),)), curves(), tmp_path)

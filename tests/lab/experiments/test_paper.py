"""A paper as data: its references, and the parts of it that can be chosen."""

from __future__ import annotations

import pytest

from penstock.lab.experiments.experiment import Experiment, scenario_of, scenario_path
from penstock.lab.experiments.figure import Figure, Panel, both_laws
from penstock.lab.experiments.paper import Paper, PaperError, installed_services, paper_of
from penstock.lab.experiments.row import Row
from penstock.lab.scenario.model import Measurement
from penstock.services.registry import descriptions

RATE = Measurement(metric="delivered_rate")

EXPERIMENTS = {
    "E1 paper": Experiment("gryphon-e1"),
    "E1 improved": Experiment("gryphon-e1"),
    "E2 paper": Experiment("gryphon-e2"),
    "E1 live paper": Experiment("gryphon-e1", world="net"),
}
ROWS = (
    Row("E1", "rate", "msg/s", measure=RATE, laws="E1"),
    Row("E1, again", "rate", "msg/s", measure=RATE, paper_law="E1 paper"),
    Row("E2", "rate", "msg/s", measure=RATE, paper_law="E2 paper"),
    Row("E1 live", "rate", "msg/s", measure=RATE, paper_law="E1 live paper", against="E1 paper"),
)
FIGURE = Figure("e1", "E1", ((Panel("E1 paper", "", "", both_laws("E1", RATE)),),))
PAPER = Paper("guaranteed", "A paper", EXPERIMENTS, ROWS, (FIGURE,))


def test_rows_belong_to_the_world_that_they_need() -> None:
    simulated, live = PAPER.of_world("sim"), PAPER.of_world("net")
    assert [row.run for row in simulated.rows] == ["E1", "E1, again", "E2"]
    assert simulated.experiments == {"E1 paper", "E1 improved", "E2 paper"}
    assert simulated.figures == (FIGURE,)
    assert [row.run for row in live.rows] == ["E1 live"]
    assert live.experiments == {"E1 live paper", "E1 paper"}


def test_one_experiment_gives_the_rows_that_it_is_enough_for() -> None:
    part = PAPER.chosen("E1 paper")
    assert part.experiments == {"E1 paper"}
    assert [(row.run, row.paper_law, row.improved_law) for row in part.rows] == [
        ("E1", "E1 paper", ""),
        ("E1, again", "E1 paper", ""),
    ]
    assert part.figures == (FIGURE,)


def test_rows_are_chosen_by_the_beginning_of_their_label() -> None:
    part = PAPER.chosen("e1,")
    assert [row.run for row in part.rows] == ["E1, again"]
    assert part.experiments == {"E1 paper"}
    assert [row.run for row in PAPER.chosen("E1").rows] == ["E1", "E1, again"]
    assert [row.run for row in PAPER.chosen("E1", "net").rows] == ["E1 live"]
    assert [row.run for row in PAPER.chosen("E1 l").rows] == ["E1 live"], "no other world has it"
    assert PAPER.chosen("E9").experiments == frozenset()


def test_what_cannot_be_run_is_left_out() -> None:
    part = PAPER.of_world("sim").without(frozenset(("E1 improved",)))
    assert [row.run for row in part.rows] == ["E1, again", "E2"]
    assert part.figures == ()


def test_an_unknown_experiment_is_refused() -> None:
    row = Row("E1", "rate", "", measure=RATE, paper_law="E1 papr")
    with pytest.raises(PaperError, match="no experiment 'E1 papr'; did you mean 'E1 paper'"):
        Paper("guaranteed", "", EXPERIMENTS, (row,))
    panel = Panel("E5", "", "", both_laws("E5", RATE))
    with pytest.raises(PaperError, match="figure 'f': there is no experiment"):
        Paper("guaranteed", "", EXPERIMENTS, (), (Figure("f", "", ((panel,),)),))
    with pytest.raises(PaperError, match="set paper_law or improved_law"):
        Paper("guaranteed", "", EXPERIMENTS, (Row("E1", "rate", "", measure=RATE),))


def test_every_service_has_a_paper() -> None:
    assert installed_services() == [each.name for each in descriptions() if each.papers]
    for service in installed_services():
        assert paper_of(service).service == service


def test_an_experiment_is_its_file_with_other_values_in_less_time() -> None:
    overrides = {"links.pb-ib.bandwidth_bytes_per_s": 7, "congestion.law": "improved"}
    scenario = scenario_of(Experiment("gryphon-e1", overrides, shorten=4.0))
    assert scenario.links[0].bandwidth_bytes_per_s == 7
    assert scenario.parameters["guaranteed"]["congestion"]["law"] == "improved"
    assert (scenario.duration_s, scenario.faults[0].at_s) == (100.0, 7.5)


def test_a_file_that_does_not_exist_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="0 papers have a scenario 'gryphon-e9'"):
        scenario_path("gryphon-e9")

"""A report as one self-contained HTML page with tables and figures."""

from __future__ import annotations

from html import escape
from typing import Final

from penstock.spark.report.figures import Figure, figures
from penstock.spark.report.report import Report, Summary
from penstock.spark.report.tables import Table, tables
from penstock.version import __version__

STYLE: Final = """
:root { color-scheme: light; }
body { font: 15px/1.45 system-ui, sans-serif; color: #1c1c1c; margin: 2rem auto; padding: 0 1rem;
       max-width: 68rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .3rem 0; color: #555; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; white-space: nowrap; }
th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #e4e4e4; }
th { font-weight: 600; border-bottom-color: #999; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 0; }
svg { max-width: 100%; height: auto; }
"""


def page(report: Report) -> str:
    names = [summary.run for summary in report.runs]
    title = f"Report on {names[0]}" if len(names) == 1 else f"Report on {len(names)} runs"
    summary, *details = tables(report)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>From the lake {escape(report.lake)}, by Penstock {__version__}.</p>",
        *(_origin(each) for each in report.runs if each.facts is not None and len(names) == 1),
        _table(summary),
        *(_figure(each) for each in figures(report)),
        *(_table(each) for each in details),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _origin(summary: Summary) -> str:
    facts = summary.facts
    assert facts is not None
    text = f"Scenario {facts.scenario} in the {facts.world} world, seed {facts.seed}"
    if facts.parameters:
        text += ", with " + ", ".join(f"{key} = {value}" for key, value in facts.parameters.items())
    return f"<p>{escape(text)}.</p>"


def _figure(figure: Figure) -> str:
    return f"<h2>{escape(figure.title)}</h2>\n<figure>{figure.svg}</figure>"


def _table(table: Table) -> str:
    kinds = ["number" if numeric else "text" for _, numeric in table.columns]
    heads = "".join(
        f'<th class="{kind}">{escape(name)}</th>'
        for kind, (name, _) in zip(kinds, table.columns, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}">{escape(text)}</td>' for kind, text in zip(kinds, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<h2>{escape(table.title)}</h2>\n"
        f'<div class="wide"><table><tr>{heads}</tr>\n{rows}</table></div>{note}'
    )

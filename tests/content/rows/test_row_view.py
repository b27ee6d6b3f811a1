from penstock.content.rows.batch import Batch
from penstock.content.rows.row_view import columns_by_name, rows_of

ROWS = [{"a": 1, "b": "x"}, {"a": "y"}, {"a": 2.5, "c": False}, {}]


def test_views_show_what_the_rows_hold():
    for view, row in zip(rows_of(Batch.from_rows([(row, b"") for row in ROWS])), ROWS, strict=True):
        for name in ("a", "b", "c", "d"):
            assert view.get(name) == row.get(name)
            assert view.get(name) == row.get(name)


def test_columns_of_every_type_stand_under_their_name():
    columns = columns_by_name(Batch.from_rows([(row, b"") for row in ROWS]))
    assert {name: len(each) for name, each in columns.items()} == {"a": 3, "b": 1, "c": 1}

import numpy as np

from penstock.content.matching.matches import Matches


def as_dict(matches):
    return {key: rows.tolist() for key, rows in matches}


def test_keys_with_their_rows():
    matches = Matches(4, (9,), (3, 5), (0, 2, 3), np.array([0, 2, 3]))
    assert as_dict(matches) == {9: [0, 1, 2, 3], 3: [0, 2], 5: [3]}
    assert len(matches) == 3
    assert matches.rows_of(3).tolist() == [0, 2]
    assert matches.rows_of(9).tolist() == [0, 1, 2, 3]
    assert matches.rows_of(7).tolist() == []


def test_an_empty_batch_matches_nobody():
    matches = Matches(0, (9,), (), (0,), np.zeros(0, np.intp))
    assert as_dict(matches) == {}
    assert len(matches) == 0
    assert matches.rows_of(9).tolist() == []

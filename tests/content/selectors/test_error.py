from penstock.content.selectors.error import SelectorError


def test_the_text_is_one_line_with_place_and_hint():
    error = SelectorError("it is wrong", line=2, column=3, hint="mend it")
    assert str(error) == "invalid selector at line 2, column 3: it is wrong (mend it)"
    assert (error.reason, error.line, error.column, error.hint) == ("it is wrong", 2, 3, "mend it")


def test_without_a_place():
    assert str(SelectorError("it is too long")) == "invalid selector: it is too long"

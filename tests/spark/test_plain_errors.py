"""What is left of an error at the boundary to Spark."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.client.errors import ConnectionFailed
from penstock.spark.plain_errors import plain_errors


@plain_errors
class Reader:
    def partitions(self, error: Exception) -> int:
        return deeper(error)

    def read(self, error: Exception | None) -> Iterator[int]:
        yield 1
        if error is not None:
            deeper(error)
        yield 2

    def schema(self) -> str:
        return "a string"


def deeper(error: Exception) -> int:
    try:
        raise OSError("refused")
    except OSError:
        raise error from None


def frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_an_error_of_our_own_keeps_its_sentence_and_no_frames() -> None:
    with pytest.raises(ConnectionFailed, match="no broker") as raised:
        Reader().partitions(ConnectionFailed("no broker"))
    assert frames(raised.value)[1:] == ["call"]
    with pytest.raises(ConnectionFailed) as raised:
        list(Reader().read(ConnectionFailed("no broker")))
    assert frames(raised.value)[1:] == ["rows"]


def test_a_defect_keeps_its_frames() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        Reader().partitions(ZeroDivisionError())
    assert frames(raised.value)[-1] == "deeper"
    with pytest.raises(ZeroDivisionError) as raised:
        list(Reader().read(ZeroDivisionError()))
    assert frames(raised.value)[-1] == "deeper"


def test_what_works_is_not_changed() -> None:
    assert list(Reader().read(None)) == [1, 2]
    assert Reader().schema() == "a string"


@pytest.mark.xdist_group("spark")
def test_a_user_of_spark_sees_the_sentence_within_a_few_lines(spark: SparkSession) -> None:
    reader = spark.read.format("penstock").option("url", "penstock://127.0.0.1:1")
    for wrong in (reader.option("selectr", "x"), reader.option("timeout", "1s")):
        with pytest.raises(PySparkException) as raised:
            wrong.load().count()
        lines = str(raised.value).strip().splitlines()
        (place,) = [
            number
            for number, line in enumerate(lines)
            if "did you mean selector?" in line or "no broker could be reached" in line
        ]
        assert place <= 4, lines

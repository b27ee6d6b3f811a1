from __future__ import annotations

import pytest

from penstock.core.clock import HOUR, MILLISECOND, SECOND
from penstock.spark.sink.options import read_sink_options
from penstock.spark.source.options import (
    BadOption,
    Place,
    SourceOptions,
    at_time,
    read_source_options,
)

URL = "penstock://127.0.0.1:7400"


def read(streaming: bool = True, **options: str) -> SourceOptions:
    return read_source_options({"url": URL, **options}, streaming=streaming)


def test_defaults_match_those_of_kafka() -> None:
    stream = read_source_options({"URL": URL}, streaming=True)
    assert (stream.starting, stream.fail_on_data_loss) == (Place("latest"), True)
    batch = read_source_options({"url": URL}, streaming=False)
    assert (batch.starting, batch.ending) == (Place("earliest"), Place("latest"))


def test_all_options_can_be_set() -> None:
    options = read_source_options(
        {
            "url": URL,
            "startingoffsets": '{"p": 5}',
            "pubends": "p, q*",
            "selector": "n > 3",
            "maxOffsetsPerTrigger": "10",
            "maxBytesPerTrigger": "1000",
            "maxSpanPerTrigger": "1h",
            "minRowsPerTrigger": "5",
            "maxTriggerDelay": "30 seconds",
            "minPartitions": "1000",
            "failOnDataLoss": "false",
            "typeMismatch": "null",
            "cursor": "job",
            "timeout": "500ms",
        },
        streaming=True,
    )
    assert options.starting == Place("latest", ticks={"p": 5})
    assert options.pubends == ("p", "q*")
    assert (options.max_rows, options.max_bytes, options.min_rows) == (10, 1000, 5)
    assert (options.max_span_ns, options.max_trigger_delay_ns) == (HOUR, 30 * SECOND)
    assert options.max_partitions == 1000
    assert (options.fail_on_data_loss, options.null_on_type_mismatch) == (False, True)
    assert (options.cursor, options.timeout_s) == ("job", 0.5)


def test_the_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", URL)
    assert read_source_options({}, streaming=True).url == URL
    monkeypatch.delenv("PENSTOCK_URL")
    with pytest.raises(BadOption, match="set PENSTOCK_URL"):
        read_source_options({}, streaming=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"url": "http://x"}, "option url='http://x'"),
        (
            {"maxRowPerTrigger": "5"},
            "unknown option 'maxrowpertrigger'; did you mean maxRowsPerTrigger? the options are: a",
        ),
        ({"topic": "t"}, "unknown option 'topic'; the options are: attributes, cursor"),
        ({"startingOffsets": "newest"}, "option startingOffsets='newest': use earliest, latest"),
        ({"startingOffsets": "{}"}, "the JSON names no pubend"),
        ({"startingOffsets": "latest", "startingTimestamp": "5"}, "exclude each other"),
        ({"startingTimestamp": "soon"}, "use milliseconds since 1970"),
        ({"endingOffsets": "latest"}, "for batch queries"),
        ({"maxRowsPerTrigger": "0"}, "use an integer above 0"),
        ({"maxTriggerDelay": "15 parsecs"}, "use a duration like"),
        ({"failOnDataLoss": "maybe"}, "use true or false"),
        ({"selector": "n >"}, "option selector='n >'"),
        ({"pubends": " , "}, "give at least one name"),
        ({"typeMismatch": "ignore"}, "use fail or null"),
        (
            {"minRowsPerTrigger": "5", "maxRowsPerTrigger": "4"},
            "must not be greater than maxRowsPerTrigger",
        ),
    ],
)
def test_an_invalid_option_is_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(BadOption) as raised:
        read(**options)
    assert says in str(raised.value)


@pytest.mark.parametrize("options", [{"startingOffsets": "latest"}, {"endingOffsets": "earliest"}])
def test_a_batch_query_that_can_read_nothing_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(BadOption, match="leaves nothing"):
        read(streaming=False, **options)


def test_a_batch_query_has_an_end_and_a_number_of_tasks() -> None:
    ending = {"endingTimestamp": "2000", "minPartitions": "2", "maxPartitions": "3"}
    options = read(streaming=False, **ending)
    assert options.ending == Place(time=2 * SECOND)
    assert (options.min_partitions, options.max_partitions) == (2, 3)
    assert read(streaming=False, endingOffsets='{"p": 9}').ending == Place("latest", ticks={"p": 9})


def test_a_tick_that_is_none_is_refused() -> None:
    with pytest.raises(BadOption, match="-3 is no tick of 'p'; -2 is earliest, -1 is latest"):
        read(startingOffsets='{"p": -3}')


def test_times() -> None:
    assert at_time("1700000000123") == Place(time=1_700_000_000_123 * MILLISECOND)
    assert at_time("1970-01-01T00:00:01") == at_time("1970-01-01T01:00:01+01:00")


def test_a_sink_with_several_brokers_names_its_pubend() -> None:
    several = {"url": f"{URL},127.0.0.1:7401"}
    with pytest.raises(BadOption, match="url names several brokers"):
        read_sink_options(several, overwrite=False)
    assert read_sink_options({**several, "pubend": "p"}, overwrite=False).pubend == "p"


def test_an_invalid_sink_option_is_refused() -> None:
    options = read_sink_options({"url": URL, "sink": "s", "epoch": "3"}, overwrite=False)
    assert (options.sink, options.epoch) == ("s", 3)
    with pytest.raises(BadOption, match="give sink and epoch together"):
        read_sink_options({"url": URL, "sink": "s"}, overwrite=False)
    with pytest.raises(BadOption, match="a stream cannot be overwritten"):
        read_sink_options({"url": URL}, overwrite=True)
    with pytest.raises(BadOption, match=r"unknown option 'pubends'; did you mean pubend\?"):
        read_sink_options({"url": URL, "pubends": "t"}, overwrite=False)


def test_the_options_that_spark_adds_are_accepted() -> None:
    added = dict.fromkeys(["queryName", "checkpointLocation", "path", "paths"], "x")
    for streaming in (False, True):
        assert read(streaming, **added) == read(streaming)
    options = read_sink_options({"url": URL, **added}, overwrite=False)
    assert options == read_sink_options({"url": URL}, overwrite=False)

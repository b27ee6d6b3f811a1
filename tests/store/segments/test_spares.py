from pathlib import Path

from penstock.store.segments.spares import SparePool


def make(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def test_a_pool_keeps_a_bounded_number_of_files_of_the_right_size(tmp_path: Path) -> None:
    pool = SparePool(tmp_path / "spare", segment_bytes=100, limit=2)
    for number, size in enumerate((100, 50, 100, 100)):
        path = make(tmp_path / str(number), size)
        pool.give(path)
        assert not path.exists()
    assert len(pool) == 2
    assert pool.take(tmp_path / "again")
    assert pool.take(tmp_path / "and-again")
    assert not pool.take(tmp_path / "never")
    assert (tmp_path / "again").stat().st_size == 100


def test_a_pool_takes_over_what_an_earlier_run_left(tmp_path: Path) -> None:
    for number, size in enumerate((100, 70, 100, 100)):
        make(tmp_path / "spare" / f"{number}.spare", size)
    pool = SparePool(tmp_path / "spare", segment_bytes=100, limit=2)
    assert len(pool) == 2
    assert len(list((tmp_path / "spare").iterdir())) == 2
    pool.take(tmp_path / "one")
    pool.give(make(tmp_path / "two", 100))
    assert len(pool) == 2


def test_a_pool_gives_its_room_back_on_request(tmp_path: Path) -> None:
    pool = SparePool(tmp_path / "spare", segment_bytes=100, limit=2)
    assert not pool.clear()
    pool.give(make(tmp_path / "one", 100))
    assert pool.clear()
    assert list((tmp_path / "spare").iterdir()) == []

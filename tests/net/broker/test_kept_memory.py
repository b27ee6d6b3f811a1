import platform
import subprocess
import sys

import pytest

ROUNDS = """
import resource, sys
import numpy as np
from penstock.net.broker.kept_memory import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "kept":
    keep_freed_memory()
before = None
for number in range(10):
    blocks = [np.full(1 << 20, number, np.uint8) for _ in range(8)]
    blocks.clear()
    before = before or faults()
print(faults() - before)
"""


def later_faults(how: str) -> int:
    """Pages that were mapped anew after the first round."""
    ran = subprocess.run([sys.executable, "-c", ROUNDS, how], capture_output=True, check=True)
    return int(ran.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_memory_of_batches_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"):
        monkeypatch.delenv(name, raising=False)
    pages_of_a_round = 8 * (1 << 20) // 4096
    assert later_faults("kept") < pages_of_a_round // 2
    assert later_faults("not kept") > pages_of_a_round

"""Runs a module with the sources of what ``make compiled`` compiled, to compare the two.

python -m benchmarks.from_sources benchmarks.simulator_peers --own
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class SourceFinder(MetaPathFinder):
    """Finds a module's source where an extension module is beside it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The source, for our modules that are a file."""
        if not fullname.startswith("penstock."):
            return None
        for directory in path or ():
            source = Path(directory, fullname.rpartition(".")[2] + ".py")
            if source.exists():
                return spec_from_file_location(fullname, source)
        return None


def main() -> None:
    """Run the module that the command line names."""
    sys.meta_path.insert(0, SourceFinder())
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

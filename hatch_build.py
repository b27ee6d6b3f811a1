"""Compiles the simulator's hot modules with mypyc, for those who ask for it.

    python hatch_build.py              beside their sources (make compiled)
    python hatch_build.py DIRECTORY    into another tree
    PENSTOCK_COMPILED=1 pip wheel .    into the wheel

The modules are ordinary Python and run as such where nothing was compiled; an extension module
beside its source is what Python imports first.  That would hide a developer's edits, so nothing is
compiled unasked.  It takes a C compiler, mypy and setuptools.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).parent.absolute()
SOURCES: Final = ROOT / "src"

MODULES: Final = (
    "penstock/overlay/drop_tail.py",
    "penstock/overlay/link_queue.py",
    "penstock/sim/link.py",
    "penstock/sim/scheduler.py",
)
"""What every message of a simulation passes; none of them defines msgspec structs."""

NEEDED: Final = ("mypy>=1.14", "setuptools>=75")


def compile_into(target: Path) -> None:
    """Put the extension modules into a tree that has the shape of ``src``.

    The compiler finds modules relative to the working directory.
    """
    from mypyc.build import mypycify
    from setuptools import Distribution

    before = Path.cwd()
    os.chdir(SOURCES)
    try:
        with TemporaryDirectory(prefix="penstock-compiled-") as scratch:
            extensions = mypycify(
                [
                    f"--config-file={ROOT / 'pyproject.toml'}",
                    # The rest of the package is checked by make types.
                    "--follow-imports=silent",
                    f"--cache-dir={scratch}/cache",
                    *MODULES,
                ],
                opt_level="3",
                debug_level="0",
                target_dir=scratch,
                group_name="penstock",
            )
            command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
            command.build_lib = str(target.absolute())
            command.build_temp = scratch
            command.ensure_finalized()
            command.run()
    finally:
        os.chdir(before)


class CompiledBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension modules to a wheel if ``PENSTOCK_COMPILED`` is 1."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What a build needs besides hatchling."""
        return list(NEEDED) if _asked_for() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected."""
        if version == "editable" or not _asked_for():
            return
        self._scratch = TemporaryDirectory(prefix="penstock-wheel-")
        built = Path(self._scratch.name)
        compile_into(built)
        for extension in sorted(built.rglob("*")):
            if extension.is_file():
                build_data["force_include"][str(extension)] = str(extension.relative_to(built))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Clear up."""
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()


def _asked_for() -> bool:
    return os.environ.get("PENSTOCK_COMPILED") == "1"


if __name__ == "__main__":
    compile_into(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCES)

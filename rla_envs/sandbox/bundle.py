"""The code that runs inside a cell, as one text for ``python -c``."""

from __future__ import annotations

from functools import cache
from importlib import resources

# In the order of their imports.
_MODULES = (
    "values",
    "kernel",
    "library",
    "dialogue",
    "harness",
    "pytest_like",
    "examiner",
    "isolation",
    "stages",
    "zygote",
)

_START = """
import sys, types
name = ""
for part in {package!r}.split("."):
    name = name + "." + part if name else part
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = []
for name, source in {sources!r}:
    module = sys.modules[{package!r} + "." + name] = types.ModuleType({package!r} + "." + name)
    setattr(package, name, module)
    exec(compile(source, "<cell>/" + name + ".py", "exec"), module.__dict__)
module.main()
"""


@cache
def cell_source() -> str:
    """Return the zygote's program; it needs nothing but the standard library."""
    folder = resources.files("rla_envs.sandbox.inside")
    sources = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in _MODULES]
    return _START.format(package="rla_envs.sandbox.inside", sources=sources)

"""Parts of pages that are made when the site is built: pictures, tables of results, commands, sentences, names.

``write_fragments`` is called by Sphinx. All that is written lies in ``docs/_generated``, which pages include, and in
``docs/reference/python``, the pages of public names; neither is kept in the repository.
"""

import ast
import re
import shutil
import sys
from functools import cached_property
from importlib import import_module
from inspect import cleandoc, getsource, isclass, isfunction
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from types import ModuleType

import gapdrift
from docs._tools import commands, figures, results, sentences

ROOT = Path(__file__).parents[2]
SUITES = ("storage", "suites")
"""Public modules that are not names of the package itself."""
DESCRIPTORS = (property, cached_property, classmethod, staticmethod)


def write_fragments(source: Path) -> None:
    """Write all that is made, given the source folder of the site."""
    folder = source / "_generated"
    folder.mkdir(exist_ok=True)
    sources = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/_tools/*.py"), figures.RESULTS / "calibration.csv"]
    if is_older(folder / "flow.svg", sources):
        figures.draw_all(folder)
    for figure in (ROOT / "experiments" / "results" / "published").glob("*.svg"):
        shutil.copy(figure, folder)
    texts = results.tables(ROOT / "benchmarks" / "results") | {
        "commands": commands.describe_all(),
        "sentences": sentences.describe_all(ROOT / "src" / "gapdrift"),
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    write_names(source / "reference" / "python")
    check_readme(
        (ROOT / "README.md").read_text(encoding="utf-8"), (folder / "demonstration.md").read_text(encoding="utf-8")
    )


def check_readme(readme: str, table: str) -> None:
    """Raise an error unless the README has the table that `gapdrift demo` prints now."""
    absent = [line for line in table.splitlines()[2:] if line not in readme]
    if absent:
        raise ValueError("README.md shows another table than gapdrift demo. It lacks:\n" + "\n".join(absent))


def is_older(path: Path, sources: list[Path]) -> bool:
    """Whether a file is absent, or older than any of those it is made from."""
    return not path.exists() or path.stat().st_mtime < max(source.stat().st_mtime for source in sources)


def write_names(folder: Path) -> None:
    """One page for the names of the package itself, and one for those of each of its public modules."""
    folder.mkdir(parents=True, exist_ok=True)
    modules = [name for name in gapdrift.__all__ if isinstance(getattr(gapdrift, name), ModuleType)]
    own = sorted(
        set(gapdrift.__all__) - set(modules), key=lambda name: (name == "MDLFWF", name)
    )  # the detector to use first
    (folder / "gapdrift.md").write_text(page_of("gapdrift", own), encoding="utf-8")
    toctree = "\n".join(["gapdrift", *sorted((*modules, *SUITES))])
    opening = "# Names and their docstrings\n\nMade from the source when the site is built; each has an example."
    index = f"{opening}\n\n```{{toctree}}\n{toctree}\n```\n"
    (folder / "index.md").write_text(index, encoding="utf-8")
    documented = {id(getattr(gapdrift, name)) for name in own}
    for name in sorted((*modules, *SUITES)):
        module = import_module(f"gapdrift.{name}")
        names = [each for each in module.__all__ if id(getattr(module, each)) not in documented]
        (folder / f"{name}.md").write_text(page_of(f"gapdrift.{name}", names), encoding="utf-8")


def page_of(module: str, names: list[str]) -> str:
    """Page of some names of a module, from their docstrings."""
    loaded = import_module(module)
    lines = [f"# {module}", "", (loaded.__doc__ or "").strip().split("\n\n")[0], "", "```{eval-rst}"]
    for name in names:
        thing = getattr(loaded, name)
        if isclass(thing):
            lines += [f".. autoclass:: {module}.{name}", f"   :members: {', '.join(own_members(thing))}", ""]
        elif isfunction(thing):
            lines += [f".. autofunction:: {module}.{name}", ""]
        else:
            lines += [f".. py:data:: {module}.{name}", "", indent(described(name, thing), "   "), ""]
    return "\n".join([*lines, "```", ""])


def described(name: str, value: object) -> str:
    """What stands below the line that gives a constant its value, in whichever module of the package that is."""
    modules = [module for path, module in sys.modules.items() if path.startswith("gapdrift.")]
    for module in modules:
        if vars(module).get(name) is value:
            for line, following in pairwise(ast.parse(getsource(module)).body):
                targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
                named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
                if named and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                    return cleandoc(str(following.value.value))
    raise LookupError(f"{name} has no description.")


def own_members(thing: type) -> list[str]:
    """Public methods and properties of a class that gapdrift itself defines, in it or in one of its bases."""
    bases = [base for base in thing.__mro__ if base.__module__.startswith("gapdrift")]
    found = (
        name
        for base in bases
        for name, member in vars(base).items()
        if callable(member) or isinstance(member, DESCRIPTORS)
    )
    attributes = (thing.__doc__ or "").partition("Attributes\n")[2].partition("Notes\n")[0].partition("Examples\n")[0]
    told = re.findall(r"^ *(\w+) : ", attributes, re.MULTILINE)
    return [name for name in dict.fromkeys(found) if not name.startswith("_") and name not in told]

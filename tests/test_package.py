import re
import subprocess
import sys
import tomllib
from importlib import import_module, metadata, resources
from pathlib import Path
from types import FunctionType, ModuleType

import jinja2
import pytest
import yaml

import gapdrift as gd


def test_public_names_are_sorted_and_there():
    constants_first = sorted(gd.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert gd.__all__ == constants_first
    assert all(hasattr(gd, name) for name in gd.__all__)


MODULES = [name for name in gd.__all__ if isinstance(getattr(gd, name), ModuleType)]


@pytest.mark.parametrize("name", ["gapdrift", *(f"gapdrift.{name}" for name in (*MODULES, "storage", "suites"))])
def test_public_names_have_an_example(name):
    module = import_module(name)
    things = {each: getattr(module, each) for each in module.__all__}
    documented = {each: thing for each, thing in things.items() if isinstance(thing, type | FunctionType)}
    assert [each for each, thing in documented.items() if ">>>" not in (thing.__doc__ or "")] == []


def test_modules_say_what_is_public_and_the_documents_know_it():
    api = (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    for name in gd.__all__:
        assert f"`{name}`" in api or f"`gd.{name}`" in api, name
    assert len(gd.__all__) - len(MODULES) <= 12
    for module in (getattr(gd, name) for name in MODULES):
        things = [getattr(module, name) for name in module.__all__]
        assert all(thing.__doc__ for thing in things if isinstance(thing, type | FunctionType)), module.__name__
        assert set(dir(module)) >= set(module.__all__)


def test_all_files_have_the_same_version():
    root = Path(__file__).parents[1]
    for name in ("pyproject.toml", "CITATION.cff", "packaging/conda/meta.yaml"):
        found = re.search(r"^\W*(?:set )?version\W+([\d.]+)", (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert found and found[1] == gd.__version__, name


@pytest.mark.parametrize(
    "path", ["CITATION.cff", *(f".github/ISSUE_TEMPLATE/{n}.yml" for n in ("bug", "false_alarm", "idea"))]
)
def test_files_for_github_are_yaml(path):
    content = yaml.safe_load((Path(__file__).parents[1] / path).read_text(encoding="utf-8"))
    labels = [part["attributes"]["label"] for part in content.get("body", [])]
    assert all(isinstance(label, str) for label in labels)
    assert {"name", "description", "body"} <= set(content) or content["cff-version"] == "1.2.0"


def test_conda_recipe_needs_what_the_package_needs():
    """The recipe as Jinja and YAML: requirements of the package and of its extra cli, and the same command."""
    root = Path(__file__).parents[1]
    source = (root / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(jinja2.Template(source).render(PYTHON="python"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    assert sorted(text.replace(" ", "") for text in recipe["requirements"]["run"]) == sorted(
        [*needed, f"python{project['requires-python']}"]
    )
    assert recipe["build"]["entry_points"] == [f"gapdrift = {project['scripts']['gapdrift']}"]
    assert recipe["about"]["license"] == project["license"]
    assert (root / "packaging/conda" / recipe["source"]["path"] / recipe["about"]["license_file"]).is_file()


def test_version_and_type_marker():
    assert metadata.version("gapdrift") == gd.__version__
    assert resources.files("gapdrift").joinpath("py.typed").is_file()


def test_import_brings_no_extra():
    """Beyond what scikit-learn itself imports where it is installed."""
    baseline = modules_after("import narwhals, sklearn.ensemble")
    everything = "import gapdrift; [getattr(gapdrift, name) for name in gapdrift.__all__]"
    brought = modules_after(everything) - baseline
    assert not brought & {"pandas", "polars", "pyarrow", "matplotlib", "torch", "click", "rich", "sqlalchemy"}


def test_names_are_loaded_when_asked_for():
    assert not modules_after("import gapdrift") & {"numpy", "sklearn", "narwhals"}
    assert set(dir(gd)) >= set(gd.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gd.nothing


def modules_after(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_links_of_the_documents_lead_somewhere():
    """Without the site: what is made when it is built (pictures, gallery) is left to `make docs`."""
    root = Path(__file__).parents[1]
    for page in (*root.glob("*.md"), *root.glob("docs/**/*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            is_made = {"_generated", "gallery"} & {*Path(target).parts, *page.parts[-2:]}
            assert is_made or (page.parent / target).exists(), f"{page.name}: {target}"

import re

from docs._tools.fences import MARKS, blocks_of
from docs._tools.others import LIBRARIES, ROOT, pages_of

PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def test_every_environment_of_a_block_is_one_that_is_run():
    named = {block.environment for path in PAGES for block in blocks_of(path.read_text(encoding="utf-8"))}
    assert named == {"", "everywhere", "engines", *LIBRARIES}


def test_make_runs_the_blocks_about_clusters():
    commands = re.findall(r"--environment engines (.+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert commands == [" ".join(path.relative_to(ROOT).as_posix() for path in pages_of("engines"))]


def test_continuous_integration_runs_every_environment():
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert {"make engines", "make docs", "make docs-others"} <= set(lines)


def test_every_mark_is_one_that_is_known():
    """Marks are comments: one that is misspelt would leave its block to be run in another way."""
    for path in PAGES:
        for comment in re.findall(r"^<!-- (\w[\w ]*):", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert comment in MARKS, f"{path}: {comment}"


def test_the_table_of_the_readme_is_that_of_the_demonstration():
    shown = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    table = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:KS|MMD|gapdrift).*?) \| (.+) \|$", table, re.MULTILINE)
    assert len(rows) == 7
    for name, cells in rows:
        (line,) = re.findall(rf"^{re.escape(name)} +(.+)$", shown, re.MULTILINE)
        assert cells.replace("*", "").replace("|", " ").split() == line.split()

import doctest

import pytest

from docs._tools.blocks import FLAGS, LooseChecker, blocks_of, run_page, update

PAGE = """# A page

<!-- setup
answer = 42
-->

```{code-block} text
:caption: note.txt

hello
```

```pycon
>>> answer + 1
43
```

```console
$ cat note.txt; echo "exit code $?"
hello
exit code 0
```

<!-- not run: needs a cluster -->
```python
cluster.run()
```
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_blocks_are_found_with_caption_and_reason():
    found = list(blocks_of(PAGE))
    assert [block.language for block in found] == ["setup", "text", "pycon", "console", "python"]
    assert found[1].caption == "note.txt"
    assert found[1].lines == ("hello",)
    assert found[4].not_run == "needs a cluster"
    assert PAGE.splitlines()[found[2].line - 1] == ">>> answer + 1"


def test_a_page_that_shows_what_comes_is_right(page, tmp_path):
    assert run_page(page, tmp_path, LooseChecker()).wrong == []


@pytest.mark.parametrize(("right", "wrong"), [("\n43\n", "\n44\n"), ("\nexit code 0\n", "\nexit code 1\n")])
def test_other_output_is_found_and_mended(page, tmp_path, right, wrong):
    page.write_text(PAGE.replace(right, wrong))
    assert len(run_page(page, tmp_path, LooseChecker()).wrong) == 1
    update(page)
    assert page.read_text() == PAGE


@pytest.mark.parametrize("command", ["$ false", "ls"])
def test_commands_that_fail_or_have_no_prompt_are_errors(page, tmp_path, command):
    page.write_text(f"```console\n{command}\n```\n")
    with pytest.raises(RuntimeError, match="block at line 2"):
        run_page(page, tmp_path, LooseChecker())


@pytest.mark.parametrize(
    ("shown", "came", "same"),
    [
        ("No drift (p = 0.31, alpha 0.05).", "No drift (p = 0.29, alpha 0.05).", True),
        ("DRIFT (p < 1e-9, alpha 0.05).", "No drift (p = 0.29, alpha 0.05).", False),
        ("0  0 to 499  calm  0.1  0.12  0.98  0.02", "0  0 to 499  calm  < 1e-9  0.1  1.00  0.01", True),
        ("0  0 to 499  calm  0.1  0.12  0.98  0.02", "0  0 to 499  drift  0.1  0.12  0.98  0.02", False),
        ("3 rows", "4 rows", False),
    ],
)
def test_only_digits_of_p_values_and_effect_sizes_may_differ(shown, came, same):
    assert LooseChecker().check_output(shown + "\n", came + "\n", FLAGS) is same
    assert not doctest.OutputChecker().check_output(shown + "\n", came + "\n", FLAGS)

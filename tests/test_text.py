import re
from pathlib import Path

import gapdrift
from gapdrift._text import install_hint, printable

ROOT = Path(gapdrift.__file__).parents[2]


def test_lines_and_tabs_stay():
    assert printable("a\tb\nc\r\x9b\ud800") == "a\tb\nc\\r\\x9b\\ud800"


def test_documents_and_messages_agree_on_how_to_install():
    """Nothing but the source folder can be installed from, and all say so in the same words."""
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    found = {command for path in texts for command in re.findall(r"pip install '[^']*'", path.read_text())}
    assert found <= {
        f"pip install '.[{extra}]'" for extra in ("cli", "fast", "history", "plot", "serve", "dask", "spark", "{extra}")
    }
    assert install_hint("cli").startswith("pip install '.[cli]'")

"""``python -m docs._tools.read_options MODULE OPTIONS...`` runs a module until argparse has read its options.

Options that the module does not have are an error, as they would be in a real run.
"""

import argparse
import runpy
import sys
from typing import Any, NoReturn

read = argparse.ArgumentParser.parse_args


def read_and_stop(parser: argparse.ArgumentParser, *arguments: Any, **options: Any) -> NoReturn:
    """Read options as argparse does, and end with exit code 0."""
    read(parser, *arguments, **options)
    sys.exit(0)


if __name__ == "__main__":
    argparse.ArgumentParser.parse_args = read_and_stop  # type: ignore[assignment,method-assign]
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    sys.exit("No options were read.")

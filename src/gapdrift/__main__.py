"""Run the command line: ``python -m gapdrift``."""

from gapdrift.cli import main

if __name__ == "__main__":
    main()

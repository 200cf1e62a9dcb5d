"""What a null case is, and how often which finding alarms: `python -m benchmarks.grammar "drawn 17" --trials 100`."""

import argparse

from benchmarks._drawn_nulls import measure
from benchmarks.grammar.nulls import fixed, null_case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(fixed()), help="'drawn SEED' or fixed ones (default: these)")
    parser.add_argument("--trials", type=int, default=0, help="how many trials to make")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
    arguments = parser.parse_args()
    for name in arguments.names:
        print(f"{name}: {null_case(name)}")
        if arguments.trials:
            each = measure([name], "drawn", 0, arguments.trials, arguments.jobs, None)[0]
            shares = f"0.05: {each.share:.3f}, 0.01: {each.at_01 / each.trials:.3f} ({null_case(name).judged})"
            print(f"  {shares}, {each.seconds:.2f} s; smallest p-values in alarms: {dict(each.findings)}")
            if each.failures:
                print(f"  errors and undetermined: {dict(each.failures)}")


if __name__ == "__main__":
    main()

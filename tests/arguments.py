"""Command lines of the tests' own programs: a wrong argument is one sentence that is safe to print, and exit code 2."""
import argparse
import sys

LONGEST = 300  # characters of a sentence


class Parser(argparse.ArgumentParser):
    def parse_args(self, args=None, namespace=None):
        """As argparse does it, but --help wins wherever it is, behind a wrong argument too."""
        if {"-h", "--help"} & {*(sys.argv[1:] if args is None else args)}:
            self.print_help()
            sys.exit(0)
        return super().parse_args(args, namespace)

    def error(self, message):
        text = "".join(c if c.isprintable() else "?" for c in message)
        text = text if len(text) <= LONGEST else text[:LONGEST] + "…"
        print(f"{self.prog}: {text} (--help lists the options)", file=sys.stderr)
        sys.exit(2)


def at_least(least, kind=int):
    """A type of add_argument(): numbers of this kind from `least` on."""
    def number(text):
        value = kind(text)
        if not value >= least:  # true for NaN
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value
    number.__name__ = "whole number" if kind is int else "number"
    return number

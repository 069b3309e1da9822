"""``python -m kc.bench``: the commands."""

from __future__ import annotations

import argparse
import pathlib
import sys

from . import facts


def _selected(words, family=None, level=1):
    """The tasks that are named: numbers and ranges (``1-18``) of a level, names; all of the level
    without any."""
    found = [] if words else list(facts.tasks(level).values())
    for word in words or []:
        first, dash, last = word.partition("-")
        if dash and first.isdigit() and last.isdigit():
            found += [facts.task(n, level) for n in range(int(first), int(last) + 1)]
        else:
            found.append(facts.task(word, level))
    return [t for t in found if family is None or family in (t.family, *t.family.split())]


def _solutions(folder):
    """The files of a folder by the number that their names begin with."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.py")):
        number = path.name.split("_")[0]
        if number.isdigit():
            found[int(number)] = str(path)
    return found


def main(arguments=None) -> int:
    """Runs a command; gives its exit code: 0 right, 1 refused, 2 wrong usage."""
    from . import _commands

    parser = argparse.ArgumentParser(prog="python -m kc.bench", description="KernelBench's tasks, checked strictly, without a GPU and without PyTorch.")
    _commands.describe(parser.add_subparsers(dest="command", required=True, metavar="COMMAND"))
    given = parser.parse_args(arguments)
    try:
        return given.run(given)
    except facts.UnknownTask as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

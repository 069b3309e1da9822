"""``python -m kc check file.py``: the ``kc`` command, which ``pip`` installs beside Python.

``python -m kc run program.py`` runs a program of Warp, its kernels by kc; with arguments of ``kc run`` (``--dim``, ``--arg``, a
launch file, ...) it is that. ``python -m kc check PACKAGE`` imports a package and checks its kernels with the types that they get.
"""

from __future__ import annotations

import argparse
import runpy
import sys


#: What only programs of Warp are run with.
_OF_PROGRAMS = {"--report", "--report-file", "--record", "--record-launches", "-m"}


def command(arguments=None) -> None:
    """The ``kc`` command."""
    import os
    import signal

    from . import _native

    # The simulated driver of `kc gpu`, where the package carries it.
    library = os.path.join(os.path.dirname(__file__), "libkc_gpu.so")
    if os.path.exists(library):
        os.environ.setdefault("KC_GPU_LIBRARY", library)
    # Programs of `kc gpu` run in this environment.
    os.environ.setdefault("KC_PYTHON", sys.executable)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = [sys.executable, "-c", "from kc.__main__ import command; command()"]
    sys.stdout.flush()
    sys.exit(_native.command(["kc", *(sys.argv[1:] if arguments is None else arguments)], again))


def _is_program(arguments) -> bool:
    """Whether ``run`` is asked for a program of Warp, and not for a launch: a Python file that stands first, without options of
    ``kc run`` behind it."""
    words = arguments[1:]
    while words and words[0].split("=")[0] in _OF_PROGRAMS:
        if words[0] == "-m":
            return True
        words = words[1 if "=" in words[0] else 2 :]
    if not words or words[0].startswith("-"):
        return not words or words[0] in ("-h", "--help")
    if not words[0].endswith(".py"):
        return False
    # Every launch by flags has one; programs have a `--device` of their own.
    return not any(word.split("=")[0] in ("--dim", "--arg") for word in words[1:])


def main(arguments=None) -> None:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] in (["check"], ["compile"], ["verify"]):
        from . import _package

        if _package.package_of(given) is not None:
            sys.exit(_package.run(given))
        given = _package.without_import(given)
    if not (given[:1] == ["run"] and _is_program(given)):
        command(given)
    _run_program(given)


def _run_program(arguments) -> None:
    parser = argparse.ArgumentParser(prog="python -m kc", description="Runs programs of Warp through kc.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a program that imports warp; its kernels by kc")
    run.add_argument("--report", choices=["text", "json"], help="who ran which kernel, at the end, on standard error")
    run.add_argument("--report-file", metavar="FILE", help="write the report there")
    run.add_argument("--record", metavar="DIR", help="write the text of each kernel there, which `kc` reads without Python")
    run.add_argument("--record-launches", metavar="DIR", help="keep the first launch of each kernel and size there, with its arrays")
    run.add_argument("-m", dest="module", action="store_true", help="the program is the name of a module")
    run.add_argument("program")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)

    from . import _accelerate

    made = _recorder(given.record) if given.record else None
    _accelerate.accelerate()
    launches = _launches(given.record_launches) if given.record_launches else None
    sys.argv = [given.program, *given.arguments]
    try:
        if given.module:
            runpy.run_module(given.program, run_name="__main__", alter_sys=True)
        else:
            # As `python program.py` has it.
            import os

            sys.path.insert(0, os.path.dirname(os.path.abspath(given.program)))
            runpy.run_path(given.program, run_name="__main__")
    finally:
        if launches is not None:
            launches.__exit__()
            said = "".join(f"\nkc:   {kernel}: {why}" for kernel, why in launches.left.items())
            many = "launch" if len(launches.files) == 1 else "launches"
            print(f"kc: recorded {len(launches.files)} {many} in {given.record_launches}{said}", file=sys.stderr)
        if made is not None:
            from ._package_import import record

            written, left = record(given.record, made)
            print(f"kc: recorded {written} kernels in {given.record}, {left} without types or only for Warp", file=sys.stderr)
        if given.report or given.report_file:
            text = _accelerate.report_text(given.report or "json") + "\n"
            if given.report_file:
                _written(given.report_file, text)
            else:
                sys.stderr.write(text)


def _launches(folder):
    """A recorder of launches, which has begun."""
    from . import record

    return record(folder).__enter__()


def _recorder(folder):
    """A list that gets the kernels that the program makes."""
    from warp._src import context

    from ._package import make_new
    from ._package_import import note_kernels

    make_new(folder)
    return note_kernels(context)


def _written(path, text):
    """The whole file or none of it; a link stays one, and what is no regular file is written into."""
    import os
    import tempfile

    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    path = os.path.realpath(path)
    if os.path.exists(path):
        mode = os.stat(path).st_mode & 0o7777
    else:
        # The rights of any new file; only setting the mask tells what it is.
        os.umask(mask := os.umask(0))
        mode = 0o666 & ~mask
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, mode)
    os.replace(file.name, path)


if __name__ == "__main__":
    main()

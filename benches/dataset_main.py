"""Do the programs of `kc dataset` pass their own comparison where they are run as Python files?

    python3 benches/dataset_main.py target/release/kc .env-warp/bin/python [ROWS] [FAMILY ...]

kc verifies kernels, and the references as kernels; `main`, which makes data with NumPy, launches and compares with the references as Python, it does not run. Here
ROWS programs of each family (1 where nothing is said) are, under NVIDIA Warp on the processor. Printed are the families whose program fails, with the end of what it
said; the exit status is 1 if there is one.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ALGORITHMS = pathlib.Path(__file__).parent.parent / "algorithms"


def families() -> list[str]:
    files = (path for path in sorted(ALGORITHMS.glob("*.py")) if path.stem != "companions")
    return [name for path in files for name in re.findall(r"^# === (\w+)", path.read_text(), re.MULTILINE)]


def programs(kc: str, family: str, rows: int, folder: pathlib.Path) -> list[str]:
    made = folder / "set"
    options = ["--no-verify", "--no-backward", "--emit", "cuda", "--format", "jsonl", "-j", "1"]
    subprocess.run([kc, "dataset", "--families", family, "-n", str(rows), "-o", made, *options], check=True, capture_output=True)
    show = [kc, "dataset", "show", made]
    column = ["--column", "python_source"]
    return [subprocess.run([*show, str(n), *column], check=True, capture_output=True, text=True).stdout for n in range(rows)]


def failures(kc: str, python: str, family: str, rows: int) -> list[str]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, text in enumerate(programs(kc, family, rows, folder)):
            file = folder / f"{family}_{number}.py"
            file.write_text(text)
            done = subprocess.run([python, file], capture_output=True, text=True, cwd=folder)
            if done.returncode != 0:
                found.append(f"{family}, row {number}:\n" + "\n".join(done.stderr.splitlines()[-14:]))
    return found


def main():
    kc, python = str(pathlib.Path(sys.argv[1]).absolute()), str(pathlib.Path(sys.argv[2]).absolute())
    rows = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    names = sys.argv[4:] or families()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda family: failures(kc, python, family, rows), names))
    wrong = [text for found in results for text in found]
    print("\n\n".join(wrong))
    print(f"{rows * len(names)} programs of {len(names)} families, {len(wrong)} fail")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

#!/bin/bash
# Installs the wheel for each Python, in an environment of its own, and tries the command and the package there:
#   scripts/wheel.sh out/wheels/*.whl python3.10 python3.13
# Needs the package index for NumPy. For an older C library there is scripts/debian11.sh.
set -euo pipefail
wheel=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/double.py" <<'END'
import kc

@kc.kernel
def double(x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = 2.0 * x[i]
END
for python in "${@:2}"; do
    "$python" -m venv "$work/env"
    "$work/env/bin/pip" install -q --disable-pip-version-check "$wheel"
    # From elsewhere, so that nothing of this checkout is found.
    cd "$work"
    "$work/env/bin/kc" --version
    "$work/env/bin/kc" check -q double.py
    "$work/env/bin/python" -m kc run -q double.py --dim 2 --arg x=1,2 --print x
    "$work/env/bin/python" "$here/../python/tests/smoke.py"
    cd - >/dev/null
    rm -rf "$work/env"
done

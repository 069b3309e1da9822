"""Texts of data sets in PyTorch, Triton and Numba compute what the rows of their programs say."""

import subprocess

import pytest
from conftest import KC, ROOT

FAMILIES = "adam_update,attention_head,batch_norm_2d,dense_layer,rms_norm,softmax_cross_entropy"


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Runs the texts of a small set; those of PyTorch where its environment is."""
    folder = tmp_path_factory.mktemp("rows") / "set"
    made = [KC, "dataset", "-n", "14", "-s", "3", "--format", "parquet", "--emit", "torch,triton,numba", "-q"]
    subprocess.run([*made, "--mutants", "0", "--families", FAMILIES, "-o", folder], check=True)
    languages = ["torch", "triton", "numba"] if (ROOT / ".env-torch").is_dir() else ["triton", "numba"]
    command = [ROOT / ".env-data/bin/python", ROOT / "tests/dataset_translations.py", folder, "--kc", KC]

    def run(*options):
        done = subprocess.run([*command, "--languages", *languages, *options], capture_output=True, text=True)
        return languages, done

    return run


def test_texts_do_what_their_rows_say(check):
    languages, done = check()
    assert done.returncode == 0, done.stdout + done.stderr
    for language in languages:
        line = next(line for line in done.stdout.splitlines() if line.startswith(language))
        assert int(line.split()[1]) >= 5, done.stdout


def test_a_wrong_text_is_found(check):
    _, done = check("--break")
    assert done.returncode != 0 and " (" in done.stderr, done.stdout + done.stderr

"""What a snapshot and a checkpoint know their query by."""

import os
import subprocess
import sys

import numpy as np

import cepheid as cep

SCRIPT = """
import cepheid as cep
q = cep.Query(
    "PATTERN A a WHERE a.s IN Names", params={"Names": {"x", "y", "z", "w"}}, types={"A": {"s", "t", "u", "v"}}
)
print(q.compiled.fingerprint)
"""


def test_sets_give_the_same_in_every_process():
    told = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1


def test_long_arrays_are_looked_at_as_a_whole():
    one = np.arange(5000)
    other = one.copy()
    other[2500] = 999_999
    text = "PATTERN A a WHERE a.id IN Ids"
    told = {cep.Query(text, params={"Ids": ids}).compiled.fingerprint for ids in (one, other)}
    assert len(told) == 2

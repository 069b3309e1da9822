"""Does a data set load with the libraries that people use? dataset_loads.py DIR ROWS"""

import json
import os
import pathlib
import sys

import datasets
import duckdb
import mlcroissant
import pandas
import polars
import pyarrow.parquet

folder, rows = pathlib.Path(sys.argv[1]), int(sys.argv[2])
parts = sorted((folder / "data/pairs").glob("*.parquet"))

table = pyarrow.parquet.ParquetDataset(parts).read()
assert table.num_rows == rows, table.num_rows
assert table["verify"][0]["host_ok"].as_py() is True
assert isinstance(table["tags"][0].as_py(), list)
assert all(pyarrow.parquet.ParquetFile(part).metadata.row_group(0).num_rows <= 512 for part in parts)

hashes = [row.as_py() for row in table["minhash"]]
assert all(len(row) == 64 for row in hashes) and max(map(max, hashes)) > 2**31
entry = table["entry"][0].as_py()
assert entry["args"] and {arg["intent"] for arg in entry["args"]} <= {"in", "out", "inout"}, entry

frame = polars.read_parquet(parts)
assert frame.height == rows
flops = frame.select(polars.col("perf_static").struct.field("flops")).sum().item()
assert flops == sum(row["flops"] for row in table["perf_static"].to_pylist()) > 0
assert sum(len(pandas.read_parquet(part)) for part in parts) == rows
query = f"select count(*), min(complexity.stmts) from '{folder}/data/pairs/*.parquet'"
count, fewest = duckdb.sql(query).fetchall()[0]
assert count == rows and fewest >= 1, (count, fewest)
query = f"select count(*) from (select unnest(entry.args) a from '{folder}/data/pairs/*.parquet') where a.intent != 'in'"
assert duckdb.sql(query).fetchall()[0][0] >= rows, "every kernel writes something"
query = f"select count(*) from read_json('{folder}/data/pairs/*.jsonl.zst', maximum_object_size=100000000)"
assert duckdb.sql(query).fetchall()[0][0] == rows

cache = str(folder / ".." / "cache")
loaded = datasets.load_dataset(str(folder), cache_dir=cache)
assert sum(split.num_rows for split in loaded.values()) == rows
row = next(iter(loaded.values()))[0]
assert "@wp.kernel" in row["python_source"] and "__global__" in row["cuda_forward"], row["id"]
assert row["io"]["inputs"] and row["io"]["outputs"] and row["entry"]["args"][0]["name"], row["id"]

# The faulty programs, by their name in the card.
repair = datasets.load_dataset(str(folder), "repair", cache_dir=cache)
sources = {row["id"]: row["python_source"] for split in loaded.values() for row in split}
mended = [row for split in repair.values() for row in split]
assert rows >= len(mended) > rows // 2, len(mended)
for row in mended:
    assert row["fixed_source"] == sources[row["parent_id"]], row["id"]
    # A barrier is missing in CUDA alone.
    assert (row["buggy_source"] == row["fixed_source"]) == (row["bug_kind"] == "missing-barrier"), row["id"]
    assert isinstance(json.loads(row["diagnostics"]), list) and row["failure"], row["id"]
assert polars.read_parquet(folder / "data/repair/*.parquet").height == len(mended)
query = f"select bug_class, count(*) from '{folder}/data/repair/*.parquet' group by bug_class"
assert sum(count for _, count in duckdb.sql(query).fetchall()) == len(mended)

# The slow ones, with their versions.
slow = [row for split in datasets.load_dataset(str(folder), "optimize", cache_dir=cache).values() for row in split]
assert slow and any(row["ladder"] is None for row in slow)
for row in slow:
    assert row["fast_source"] == row["versions"][-1]["source"], row["id"]
    # Ladders are other kernels than those of the row.
    assert (row["fast_source"] == sources[row["parent_id"]]) == (row["ladder"] is None), row["id"]
assert polars.read_parquet(folder / "data/optimize/*.parquet").height == len(slow)

# The same through the Croissant description, nested columns too.
described = mlcroissant.Dataset(str(folder / "croissant.json"))
assert not described.metadata.ctx.issues.errors, described.metadata.ctx.issues.report()
found = {row["pairs/id"].decode(): row for row in described.records("pairs")}
assert {id: row["pairs/python_source"].decode() for id, row in found.items()} == sources
assert all(row["pairs/verify"]["pairs/verify/host_ok"] for row in found.values())
assert all(len(row["pairs/minhash"]) == 64 for row in found.values())
assert sum(1 for _ in described.records("repair")) == len(mended)
assert sum(1 for _ in described.records("optimize")) == len(slow)
print("loaded", rows, "rows and", len(mended), "faults", flush=True)
# Threads of these libraries may still run, and the end of the interpreter would abort for them.
os._exit(0)

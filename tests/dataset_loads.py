"""Does a data set load with the libraries that people use? dataset_loads.py DIR ROWS"""

import pathlib
import sys

import datasets
import duckdb
import polars
import pyarrow.parquet

folder, rows = pathlib.Path(sys.argv[1]), int(sys.argv[2])
parts = sorted((folder / "data").glob("*.parquet"))

table = pyarrow.parquet.ParquetDataset(parts).read()
assert table.num_rows == rows, table.num_rows
assert table["verify"][0]["host_ok"].as_py() is True
assert isinstance(table["tags"][0].as_py(), list)
assert all(pyarrow.parquet.ParquetFile(part).metadata.row_group(0).num_rows <= 512 for part in parts)

assert polars.read_parquet(parts).height == rows
query = f"select count(*), min(complexity.statements) from '{folder}/data/*.parquet'"
count, fewest = duckdb.sql(query).fetchall()[0]
assert count == rows and fewest >= 1, (count, fewest)
lines = duckdb.sql(f"select count(*) from read_json('{folder}/data/*.jsonl.zst', maximum_object_size=100000000)")
assert lines.fetchall()[0][0] == rows

loaded = datasets.load_dataset(str(folder), cache_dir=str(folder / ".." / "cache"))
assert sum(split.num_rows for split in loaded.values()) == rows
row = next(iter(loaded.values()))[0]
assert "@wp.kernel" in row["python_source"] and "__global__" in row["cuda_forward"], row["id"]
print("loaded", rows, "rows")

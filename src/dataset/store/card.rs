//! What tells people and tools about a set? The data set card and its description as Croissant.

use serde_json::{Value, json};

use super::Store;
use crate::dataset::columns::ColumnType;
use crate::dataset::record::LICENSE;
use crate::dataset::splits::SPLITS;
use crate::dataset::{Config, Options};

/// Programs that the card shows.
const EXAMPLES: usize = 3;

/// `README.md`, with the header that the `datasets` library reads.
pub fn readme(store: &Store, stats: &Value) -> String {
    let options = &store.options;
    let present =
        |config: Config, split: &str| store.entries().any(|entry| entry.config() == config && entry.split == split);
    let mut out = format!("---\npretty_name: {}\n", title(store));
    let licence = if options.from.is_some() { "other".to_string() } else { LICENSE.to_lowercase() };
    out += &format!("license: {licence}\n");
    out += "language: [code]\ntask_categories: [text-generation]\n";
    out += &format!("size_categories: [{}]\n", size_category(options.rows));
    out += "annotations_creators: [machine-generated]\n";
    out += "tags: [code, cuda, gpu, compilers, synthetic]\nconfigs:\n";
    let extension = if options.parquet { "parquet" } else { "jsonl.zst" };
    // A table without rows has no files, and no library can load it.
    for config in options.configs().filter(|config| store.rows_in(*config) > 0) {
        let name = config.name();
        out += &format!("- config_name: {name}\n");
        if config == Config::Pairs {
            out += "  default: true\n";
        }
        out += "  data_files:\n";
        for split in SPLITS.into_iter().filter(|split| present(config, split)) {
            out += &format!("  - split: {split}\n    path: data/{name}/{split}-*.{extension}\n");
        }
    }
    out += &format!("---\n\n# {}\n\n", title(store));
    out += &match &options.from {
        Some(from) => format!(
            "{} kernels from the files of `{}`, with what kc {} made of them. Each is under the licence in its column `license`, and is here only if it passed the checks below.\n\n",
            options.rows,
            from.folder.file_name().unwrap_or_default().to_string_lossy(),
            options.version
        ),
        None => format!(
            "{} programs in the Python kernel language of NVIDIA Warp with what kc {} made of them. Every program was generated from (seed {}, number), and is here only if it passed the checks below.\n\n",
            options.rows, options.version, options.seed
        ),
    };
    if options.from.is_none() {
        out += "Algorithms as people write them, each with the host program that launches and checks it. ";
    }
    out += "Pairs to train on: `task.*` and `python_source`, `python_source` and `cuda_forward`, `cuda_forward` and `cuda_backward`, `python_source` and `adjoint_source`, each in both directions.\n\n";
    for config in options.configs() {
        out += &match config {
            Config::Pairs => "## Columns\n\n".to_string(),
            Config::Repair => format!(
                "\n## Columns of `repair`\n\n{} programs with one fault each, as people make them: in `bug_class` syntax, type, shape, semantic, race, bounds or gradient. The right program is that of the row `parent_id`.\n\n",
                store.rows_in(config)
            ),
            Config::Optimize => format!(
                "\n## Columns of `optimize`\n\n{} programs on their way from slow to fast: `versions` has the slow one first, and the program of the row `parent_id` last, each with what the simulator counts of its first kernel at 4,096 threads or more. Where `ladder` is not null, they are programs of their own, and all their kernels are counted.\n\n",
                store.rows_in(config)
            ),
        };
        out += "| column | type |\n|---|---|\n";
        for (name, ty) in config.columns() {
            out += &format!("| `{name}` | {} |\n", type_name(*ty));
        }
    }
    out += "\n## What is true of every row\n\n";
    out += "- It parses, types, and compiles without a warning, but for those that say where a gradient is zero or not to be trusted (W06..).\n- No other row has the same structure (names, constants and the spelling of types left out).\n";
    out += "- Its kernels are in one split alone: all programs of an algorithm are, and no kernel of one split is in another one under other names.\n";
    if options.emit.verify {
        out += "- Its arrays hold what the references in it compute: the statements of its plain Python, run one element after the other by kc in double precision (`verify.reference_error`). `main` was not run.\n";
        out += "- Host code gives what the reference interpreter gives, at 1 thread, at a few, and at more than a block; no index is out of bounds, no two threads store to one element, and the order of the threads does not matter.\n- In double precision it gives the same floats within 1e-3 (`verify.f64_ok`; null: there is no such program).\n- Its gradient, if it has one, passed the dot-product test against forward mode (`verify.grad_ok`).\n";
    }
    if options.mutants > 0 {
        out += &format!(
            "- Of {} random changes of its kernels, those that are no equivalents, its checks notice at least 80 % (`verify.mutants_killed`).\n",
            options.mutants
        );
    }
    if options.repair {
        out += "\n## What is true of every row of `repair`\n\n- kc gives the `diagnostics` for `buggy_source`; for the classes syntax, type and shape there is an error among them.\n- Semantic: at the launch in `witness_input` the interpreter finds other numbers than for `fixed_source`, no index out of bounds and no race. Race: two threads store to one element there, or the order of the threads shows; `missing-barrier` is a fault of `buggy_cuda` alone, which the simulator finds. Bounds: an index leaves its array there.\n- Gradient: kc refuses the gradient or warns of it, as it does not for `fixed_source`; where there is one, it differs at the launch and the adjoints in `witness_input`.\n- `unified_diff` makes `fixed_source` of `buggy_source`. A row is in the split of its program.\n";
    }
    if options.optimize {
        out += "\n## What is true of every row of `optimize`\n\n- All versions leave the same in their arrays, at three sizes, on the interpreter; none has a race.\n- Each change lowers a counter by at least a fifth (`gain` is of all together), and does not raise sectors by a tenth; nor instructions, where `ladder` is null.\n- `unified_diff` makes `fast_source` of `slow_source`. A row is in the split of its program.\n";
    }
    let tally = store.tally();
    out += &format!(
        "\n## Rejected\n\n{} candidates were looked at, {} had a structure that was there already, {} were nearly the same as one before.\n\n",
        tally.candidates, tally.duplicates, tally.near_duplicates
    );
    if !tally.rejected.is_empty() {
        out += "| cause | candidates |\n|---|---|\n";
        for (cause, count) in &tally.rejected {
            out += &format!("| {cause} | {count} |\n");
        }
    }
    if let (None, Ok(algorithms)) = (&options.from, options.algorithms()) {
        out += "\n## Splits\n\nBy algorithm: what a model is measured with it has not seen.\n\n";
        out += "| split | rows | algorithms |\n|---|---|---|\n";
        for split in SPLITS {
            let rows = &stats["splits"][split];
            let count = algorithms.iter().filter(|family| family.split == split).count();
            out += &format!("| {split} | {} | {count} |\n", rows.as_u64().unwrap_or(0));
        }
    }
    let first = store.shards.values().next().map(|shard| store.first_of(shard, &["python_source"], EXAMPLES));
    out += "\n## Examples\n";
    let examples = first.and_then(|rows| rows.ok()).unwrap_or_default();
    for (n, program) in examples.iter().filter_map(|row| row["python_source"].as_str()).enumerate() {
        out += &format!("\n<details><summary>Program {}</summary>\n\n```python\n{program}```\n\n</details>\n", n + 1);
    }
    out += "\n## Measures\n\n```json\n";
    out += &format!(
        "{stats:#}\n```\n\n## Load\n\n```python\nimport datasets\nrows = datasets.load_dataset(\"DIRECTORY\", split=\"train\")\n"
    );
    if options.repair {
        out += "faults = datasets.load_dataset(\"DIRECTORY\", \"repair\", split=\"train\")\n";
    }
    if options.optimize {
        out += "slow = datasets.load_dataset(\"DIRECTORY\", \"optimize\", split=\"train\")\n";
    }
    out += "```\n";
    out += &format!("\n## Cite\n\n```bibtex\n{}\n```\n", citation(store));
    out += "\n## Contact\n\nIs a row wrong, or does one break a licence? Open an issue in kc's repository, with the `id` of the row and the `generator_version`.\n";
    out
}

/// What people call the set.
fn title(store: &Store) -> String {
    match store.options.from {
        Some(_) => "Verified GPU kernels of a repository".to_string(),
        None => "Verified GPU kernels".to_string(),
    }
}

/// The words of the hub for how large a set is.
fn size_category(rows: u64) -> String {
    let word = |n: u64| match n {
        1_000..1_000_000 => format!("{}K", n / 1_000),
        1_000_000..1_000_000_000 => format!("{}M", n / 1_000_000),
        n => n.to_string(),
    };
    match (3..9).map(|n| 10u64.pow(n)).find(|end| rows < *end) {
        Some(1_000) => "n<1K".to_string(),
        Some(end) => format!("{}<n<{}", word(end / 10), word(end)),
        None => "100M<n<1B".to_string(),
    }
}

/// How papers name the set.
fn citation(store: &Store) -> String {
    let Options { version, seed, rows, .. } = &store.options;
    format!(
        "@misc{{kc_kernels,\n  title = {{{{{}}}}},\n  author = {{{{The kc authors}}}},\n  note = {{Made by kc {version}: {rows} rows, seed {seed}}}\n}}",
        title(store)
    )
}

fn type_name(ty: ColumnType) -> &'static str {
    match ty {
        ColumnType::Text => "text",
        ColumnType::OptionalText => "text or null",
        ColumnType::Int => "integer",
        ColumnType::OptionalInt => "integer or null",
        ColumnType::Float => "float",
        ColumnType::OptionalFloat => "float or null",
        ColumnType::Bool => "truth value",
        ColumnType::OptionalBool => "truth value or null",
        ColumnType::TextList => "list of texts",
        ColumnType::IntList => "list of integers",
        ColumnType::WordList => "list of 32-bit integers without sign",
    }
}

/// JSON-LD after the Croissant format specification, version 1.0 (mlcommons.org/croissant).
pub fn croissant(store: &Store) -> Value {
    let files: Vec<Value> = store
        .entries()
        .map(|entry| {
            let format =
                if entry.path.ends_with(".parquet") { "application/x-parquet" } else { "application/jsonlines+zstd" };
            json!({
                "@type": "cr:FileObject",
                "@id": entry.path,
                "name": entry.path,
                "contentUrl": entry.path,
                "contentSize": format!("{} B", entry.bytes),
                "encodingFormat": format,
                "sha256": entry.sha256,
            })
        })
        .collect();
    let extension = if store.options.parquet { "parquet" } else { "jsonl.zst" };
    let mut distribution = files;
    let mut records = Vec::new();
    for config in store.options.configs() {
        let (table, set) = (config.name(), format!("{}-files", config.name()));
        let field = |path: &str, ty: ColumnType| {
            let data_type = match ty {
                ColumnType::Int | ColumnType::OptionalInt | ColumnType::IntList | ColumnType::WordList => "sc:Integer",
                ColumnType::Float | ColumnType::OptionalFloat => "sc:Float",
                ColumnType::Bool | ColumnType::OptionalBool => "sc:Boolean",
                _ => "sc:Text",
            };
            let (column, inner) = path.split_once('.').unwrap_or((path, ""));
            let mut out = json!({
                "@type": "cr:Field",
                "@id": format!("{table}/{}", path.replace('.', "/")),
                "name": path,
                "dataType": data_type,
                "source": {"fileSet": {"@id": set}, "extract": {"column": column}},
            });
            if !inner.is_empty() {
                out["source"]["transform"] = json!({"jsonPath": inner});
            }
            if ty.is_list() {
                out["repeated"] = true.into();
            }
            out
        };
        let mut fields: Vec<Value> = Vec::new();
        // The format has no fields in lists of structs that all its readers take.
        for (path, ty) in config.columns().iter().filter(|(path, _)| !path.contains("[]")) {
            let Some((group, _)) = path.split_once('.') else {
                fields.push(field(path, *ty));
                continue;
            };
            let name = format!("{table}/{group}");
            if fields.last().is_none_or(|last| last["@id"] != name) {
                fields.push(json!({"@type": "cr:Field", "@id": name, "name": group, "subField": []}));
            }
            if let Some(list) = fields.last_mut().and_then(|last| last["subField"].as_array_mut()) {
                list.push(field(path, *ty));
            }
        }
        records.push(json!({"@type": "cr:RecordSet", "@id": table, "name": table, "field": fields}));
        distribution.push(json!({
            "@type": "cr:FileSet",
            "@id": set,
            "name": set,
            "encodingFormat": if store.options.parquet { "application/x-parquet" } else { "application/jsonlines+zstd" },
            "includes": format!("data/{table}/*.{extension}"),
        }));
    }
    json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "kc-kernels",
        "description": "GPU kernels with their compiled forms, checked by running them.",
        "license": "https://creativecommons.org/publicdomain/zero/1.0/",
        "citeAs": citation(store),
        "version": store.options.version,
        "distribution": distribution,
        "recordSet": records,
    })
}

/// The names that the format's specification gives its words.
fn context() -> Value {
    let own = [
        "citeAs",
        "column",
        "equivalentProperty",
        "extract",
        "field",
        "fileObject",
        "fileProperty",
        "fileSet",
        "format",
        "includes",
        "isLiveDataset",
        "jsonPath",
        "key",
        "md5",
        "parentField",
        "path",
        "recordSet",
        "references",
        "regex",
        "repeated",
        "replace",
        "samplingRate",
        "separator",
        "source",
        "subField",
        "transform",
    ];
    let mut out = json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
    });
    for word in own {
        out[word] = format!("cr:{word}").into();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::size_category;

    #[test]
    fn sizes_are_in_the_words_of_the_hub() {
        let words = [
            (1, "n<1K"),
            (999, "n<1K"),
            (1_000, "1K<n<10K"),
            (100_000, "100K<n<1M"),
            (9_999_999, "1M<n<10M"),
            (100_000_000, "100M<n<1B"),
        ];
        for (rows, word) in words {
            assert_eq!(size_category(rows), word, "{rows}");
        }
    }
}

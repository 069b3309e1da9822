//! How different are the programs of a set? Measures that can be compared with those of other corpora.
//!
//! Per kernel without decorators and docstring, its name replaced by K. *exact*, *alpha*, *shape*: share of different
//! texts, of texts but for names, of texts but for names and constants. Entropies are in bits over n-grams of the first
//! 60,000 tokens; the near-duplicate share is that of the first 1,000 kernels whose nearest other one shares at least 0.7 (Jaccard)
//! of its 5-grams of tokens.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::identity::{self, Identity};
use super::near::mix;
use super::sample::random::Random;
use crate::diag::Diagnostics;
use crate::source::FileId;
use crate::syntax::{self, ast};

/// Tokens that n-grams are counted over.
const TOKENS: usize = 60_000;
/// Kernels that are compared with each other.
const COMPARED: usize = 1_000;
/// Bytes that are compressed.
const COMPRESSED: usize = 200_000;

/// More programs than these say nothing new, and would have to be held in memory.
pub const MEASURED: u64 = 2709;

/// What is measured of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Its normal form.
    text: String,
    identity: Identity,
    has_struct: bool,
}

impl Kernel {
    /// Of a source text; None if it has no kernel.
    pub fn of_text(text: &str) -> Option<Kernel> {
        let parsed = syntax::parse(FileId(0), text, &mut Diagnostics::new());
        Kernel::of_parsed(text, &parsed, identity::of_parsed(&parsed)?)
    }

    /// The same for a text that is parsed already, and its identity.
    pub fn of_parsed(text: &str, parsed: &ast::Parsed, identity: Identity) -> Option<Kernel> {
        let normal = normal_form(text, identity::kernel_of(parsed)?)?;
        Some(Kernel { text: normal, identity, has_struct: text.contains("@wp.struct") })
    }
}

/// The measures of a list of programs.
pub fn measure(mut kernels: Vec<Arc<Kernel>>) -> Value {
    // In an order that has nothing to do with how they were made.
    let mut random = Random::new(0, 0);
    for n in (1..kernels.len()).rev() {
        kernels.swap(n, random.below(n + 1));
    }
    let count = kernels.len();
    if count == 0 {
        return json!({"kernels": 0});
    }
    let share = |n: usize| (n as f64 / count as f64 * 1e4).round() / 1e4;
    let of = |test: &dyn Fn(&Kernel) -> bool| share(kernels.iter().filter(|k| test(k)).count());
    let exact: HashSet<&str> = kernels.iter().map(|k| k.text.as_str()).collect();
    let alpha: HashSet<u64> = kernels.iter().map(|k| k.identity.alpha).collect();
    let shapes: HashSet<u64> = kernels.iter().map(|k| k.identity.shape).collect();
    let mut statements: Vec<u32> = kernels.iter().map(|k| k.identity.statements).collect();
    statements.sort_unstable();
    let at = |p: f64| statements[((p * count as f64) as usize).min(count - 1)];
    let mut depths: BTreeMap<u32, usize> = BTreeMap::new();
    let mut builtins: BTreeMap<&str, u64> = BTreeMap::new();
    for Identity { control_depth, builtins: called, .. } in kernels.iter().map(|k| &k.identity) {
        *depths.entry((*control_depth).min(3)).or_default() += 1;
        for name in called {
            if !is_type(name) {
                *builtins.entry(name).or_default() += 1;
            }
        }
    }
    let depth = |n: u32| share(depths.get(&n).copied().unwrap_or(0));
    // The distribution in libraries of hand-written kernels.
    let reference = [0.30, 0.39, 0.19, 0.12];
    let variation: f64 = reference.iter().enumerate().map(|(n, r)| (depth(n as u32) - r).abs()).sum::<f64>() / 2.0;
    let compressed = || {
        let joined: String = kernels.iter().map(|k| k.text.as_str()).collect::<Vec<_>>().join("\n");
        compression(joined.as_bytes())
    };
    let (ratio, (near, (entropy, distinct))) =
        rayon::join(compressed, || (near_duplicates(&kernels), ngrams(&token_stream(&kernels), 4)));
    json!({
        "kernels": count,
        "exact_unique": share(exact.len()),
        "alpha_unique": share(alpha.len()),
        "shape_unique": share(shapes.len()),
        "statements": {
            "mean": round(f64::from(statements.iter().sum::<u32>()) / count as f64),
            "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": statements[count - 1],
        },
        "control_depth": {"0": depth(0), "1": depth(1), "2": depth(2), "3+": depth(3)},
        "control_depth_variation": round(variation),
        "loops": of(&|k| k.identity.has_loop),
        "while": of(&|k| k.identity.has_while),
        "branches": of(&|k| k.identity.has_branch),
        "functions_called": of(&|k| k.identity.calls_functions),
        "structs": of(&|k| k.has_struct),
        "builtins": builtins.len(),
        "builtin_entropy_bits": round(entropy_of(builtins.values().copied())),
        "four_gram_entropy_bits": round(entropy),
        "four_gram_distinct": round(distinct),
        "zstd_ratio_200k": round(ratio),
        "near_duplicates": near,
    })
}

fn round(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

/// Constructors and decorators are no built-ins.
pub fn is_type(name: &str) -> bool {
    const TYPES: [&str; 17] = [
        "array",
        "array2d",
        "array3d",
        "array4d",
        "constant",
        "quat",
        "transform",
        "int32",
        "uint32",
        "float",
        "int",
        "float32",
        "float64",
        "kernel",
        "func",
        "struct",
        "identity_",
    ];
    TYPES.contains(&name)
        || (name.starts_with("vec") && name != "vector")
        || (name.starts_with("mat") && name.chars().nth(3).is_some_and(|c| c.is_ascii_digit()))
}

/// The kernel's text without decorators and docstring, called K.
fn normal_form(text: &str, function: &ast::Function) -> Option<String> {
    let span = function.span;
    let own = text.get(span.start as usize..span.end as usize)?;
    let head = own.find("def ")?;
    let mut out = own[head..].replacen(&format!("def {}(", function.name.text), "def K(", 1);
    if function.doc.is_some()
        && let Some(start) = out.find("    \"\"\"")
        && let Some(length) = out[start + 7..].find("\"\"\"")
    {
        let end = (start + 7 + length + 4).min(out.len());
        out.replace_range(start..end, "");
    }
    // One line per header, as a printer of syntax trees has it.
    if let Some(close) = out.find(":\n    ")
        && out[..close].contains('\n')
    {
        let header: Vec<&str> = out[..close].lines().map(str::trim).collect();
        let header = header.join(" ").replace("( ", "(").replace(", )", ")");
        out = header + &out[close..];
    }
    Some(out.trim_end().to_string())
}

/// Python tokens: names, numbers, texts, operators.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let from = at;
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if byte.is_ascii_alphabetic() || byte == b'_' {
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                at += 1;
            }
        } else if byte.is_ascii_digit() {
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                at += 1;
            }
        } else {
            const PAIRS: [&str; 14] =
                ["**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", "+=", "-=", "*=", "/=", ":="];
            let pair = text.get(at..at + 2).is_some_and(|two| PAIRS.contains(&two));
            at += if pair { 2 } else { text[at..].chars().next().map_or(1, char::len_utf8) };
        }
        out.push(&text[from..at]);
    }
    out
}

fn token_stream(kernels: &[Arc<Kernel>]) -> Vec<&str> {
    let mut out = Vec::new();
    for kernel in kernels {
        out.extend(tokens(&kernel.text));
        out.push("<eos>");
        if out.len() >= TOKENS {
            break;
        }
    }
    out.truncate(TOKENS);
    out
}

/// Entropy in bits, and the share of different n-grams.
fn ngrams(tokens: &[&str], n: usize) -> (f64, f64) {
    let mut counts: HashMap<&[&str], u64> = HashMap::new();
    for window in tokens.windows(n) {
        *counts.entry(window).or_default() += 1;
    }
    let total: u64 = counts.values().sum();
    let mut values: Vec<u64> = counts.values().copied().collect();
    // Sums of floats depend on the order.
    values.sort_unstable();
    (entropy_of(values), counts.len() as f64 / total.max(1) as f64)
}

fn entropy_of(counts: impl IntoIterator<Item = u64>) -> f64 {
    let counts: Vec<u64> = counts.into_iter().collect();
    let total = counts.iter().sum::<u64>().max(1) as f64;
    -counts.iter().map(|&n| n as f64 / total * (n as f64 / total).log2()).sum::<f64>()
}

fn compression(text: &[u8]) -> f64 {
    let text = &text[..text.len().min(COMPRESSED)];
    let compressed = || -> std::io::Result<usize> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 19)?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(27)?;
        // Its tables are as large as the text, not as the window.
        encoder.set_pledged_src_size(Some(text.len() as u64))?;
        std::io::Write::write_all(&mut encoder, text)?;
        Ok(encoder.finish()?.len())
    };
    compressed().map_or(0.0, |size| text.len() as f64 / size.max(1) as f64)
}

fn near_duplicates(kernels: &[Arc<Kernel>]) -> f64 {
    let compared = &kernels[..kernels.len().min(COMPARED)];
    // Of each kernel the number of different grams; of each gram the kernels that have it, so far.
    let mut sizes: Vec<usize> = Vec::new();
    let mut holders: HashMap<u64, Vec<u32>> = HashMap::new();
    let mut near = vec![false; compared.len()];
    for (n, kernel) in compared.iter().enumerate() {
        let words: Vec<u64> = tokens(&kernel.text).iter().map(|token| mix(token.bytes().map(u64::from))).collect();
        let grams = words.windows(5.min(words.len().max(1))).map(|gram| mix(gram.iter().copied()));
        let grams: HashSet<u64> = grams.collect();
        let mut shared = vec![0usize; n];
        for gram in &grams {
            let holders = holders.entry(*gram).or_default();
            holders.iter().for_each(|&other| shared[other as usize] += 1);
            holders.push(n as u32);
        }
        for (other, &shared) in shared.iter().enumerate() {
            if shared as f64 >= 0.7 * (grams.len() + sizes[other] - shared) as f64 {
                (near[n], near[other]) = (true, true);
            }
        }
        sizes.push(grams.len());
    }
    round(near.iter().filter(|&&n| n).count() as f64 / near.len().max(1) as f64)
}

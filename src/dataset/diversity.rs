//! How different are the programs of a set? Measures that can be compared with those of other
//! corpora.
//!
//! Per kernel without decorators and docstring, its name replaced by K. *exact*, *alpha*, *shape*:
//! share of different texts, of texts except for names, of texts except for names and constants.
//! What follows is of the first 1,000 kernels ([`Head`]): entropies are in bits over n-grams of the
//! first 60,000 tokens; the near-duplicate share is of those whose nearest other one shares at
//! least 0.7 (Jaccard) of its 5-grams of tokens.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::identity::{self, Identity};
use super::natural::Looks;
use super::near::mix;
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
    looks: Looks,
}

impl Kernel {
    /// Of a source text; None if it has no kernel.
    pub fn of_text(text: &str) -> Option<Kernel> {
        let parsed = syntax::parse(FileId(0), text, &mut Diagnostics::new());
        Kernel::of_parsed(text, &parsed)
    }

    /// The same for a text that is parsed already: of its first kernel.
    pub fn of_parsed(text: &str, parsed: &ast::Parsed) -> Option<Kernel> {
        let kernel = identity::kernel_of(parsed)?;
        let (normal, identity) = (normal_form(text, kernel)?, identity::of_kernel(kernel));
        let looks = Looks::of(text, parsed);
        Some(Kernel { text: normal, identity, has_struct: text.contains("@wp.struct"), looks })
    }
}

/// Kernels to be measured, in the order of their files: within a split it has nothing to do with
/// what they are.
#[derive(Clone, Default)]
pub struct Kernels {
    list: Vec<Arc<Kernel>>,
    /// Of a list that grew by single kernels, and became long enough.
    head: Option<Arc<Head>>,
}

impl Kernels {
    pub fn of(list: Vec<Arc<Kernel>>) -> Kernels {
        Kernels { list, head: None }
    }

    /// What is measured of whole programs.
    pub fn looks(&self) -> impl Iterator<Item = &Looks> {
        self.list.iter().map(|kernel| &kernel.looks)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a kernel. As soon as the head is there, it is measured beside what else the pool of
    /// threads does.
    pub fn push(&mut self, kernel: Arc<Kernel>) {
        self.list.push(kernel);
        if self.list.len() == COMPARED {
            let head = Arc::new(Head::of(&self.list));
            let (one, other) = (head.clone(), head.clone());
            rayon::spawn(move || _ = one.ratio());
            rayon::spawn(move || _ = other.words());
            self.head = Some(head);
        }
    }

    /// Adds the first kernels of another list, up to `most`.
    pub fn append(&mut self, other: &Kernels, most: usize) {
        if self.is_empty() && most >= COMPARED {
            self.head = other.head.clone();
        }
        self.list.extend(other.list.iter().take(most).cloned());
    }
}

/// The first kernels. To measure their texts takes as long as to make a few hundred rows, on one
/// thread for the most part.
///
/// No measure here hands work to other threads: one that waits for a measure must not be given it
/// again.
struct Head {
    kernels: Vec<Arc<Kernel>>,
    ratio: OnceLock<f64>,
    words: OnceLock<Words>,
}

/// What is measured of tokens.
#[derive(Clone, Copy)]
struct Words {
    near_duplicates: f64,
    entropy: f64,
    distinct: f64,
}

impl Head {
    fn of(list: &[Arc<Kernel>]) -> Head {
        let kernels = list.iter().take(COMPARED).cloned().collect();
        Head { kernels, ratio: OnceLock::new(), words: OnceLock::new() }
    }

    /// How much shorter the text gets when it is compressed.
    fn ratio(&self) -> f64 {
        *self.ratio.get_or_init(|| {
            let joined: String = self.kernels.iter().map(|k| k.text.as_str()).collect::<Vec<_>>().join("\n");
            compression(joined.as_bytes())
        })
    }

    fn words(&self) -> Words {
        *self.words.get_or_init(|| {
            let mut numbers: HashMap<&str, u32> = HashMap::new();
            let tokens: Vec<Vec<u32>> = self.kernels.iter().map(|k| numbered(&k.text, &mut numbers)).collect();
            let (entropy, distinct) = four_grams(&tokens);
            Words { near_duplicates: near_duplicates(&tokens), entropy, distinct }
        })
    }
}

/// The measures of programs.
pub fn measure(measured: &Kernels) -> Value {
    let Kernels { list: kernels, head } = measured;
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
    let head = head.clone().unwrap_or_else(|| Arc::new(Head::of(kernels)));
    let (ratio, words) = rayon::join(|| head.ratio(), || head.words());
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
        "four_gram_entropy_bits": round(words.entropy),
        "four_gram_distinct": round(words.distinct),
        "zstd_ratio_200k": round(ratio),
        "near_duplicates": words.near_duplicates,
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
pub fn tokens(text: &str) -> Vec<&str> {
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

/// Tokens as numbers, equal ones as equal numbers.
fn numbered<'a>(text: &'a str, numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let number = |token| {
        let next = numbers.len() as u32;
        *numbers.entry(token).or_insert(next)
    };
    tokens(text).into_iter().map(number).collect()
}

/// Entropy in bits, and the share of different 4-grams, of kernels one after the other.
fn four_grams(kernels: &[Vec<u32>]) -> (f64, f64) {
    /// Is behind each kernel.
    const END: u32 = u32::MAX;
    let tokens = kernels.iter().flat_map(|tokens| tokens.iter().copied().chain([END])).take(TOKENS);
    let tokens: Vec<u32> = tokens.collect();
    let mut grams: Vec<[u32; 4]> = tokens.windows(4).filter_map(|gram| gram.try_into().ok()).collect();
    grams.sort_unstable();
    let mut counts: Vec<u64> = grams.chunk_by(|a, b| a == b).map(|equal| equal.len() as u64).collect();
    // Sums of floats depend on the order.
    counts.sort_unstable();
    let distinct = counts.len() as f64 / grams.len().max(1) as f64;
    (entropy_of(counts), distinct)
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

/// Of the tokens of kernels.
fn near_duplicates(kernels: &[Vec<u32>]) -> f64 {
    // The different grams of each kernel; which kernels have a gram, by their numbers.
    let mut sizes: Vec<usize> = Vec::new();
    let mut holders: Vec<(u64, u32)> = Vec::new();
    for (n, tokens) in kernels.iter().enumerate() {
        let grams = tokens.windows(5.min(tokens.len().max(1)));
        let mut grams: Vec<u64> = grams.map(|gram| mix(gram.iter().map(|&token| u64::from(token)))).collect();
        grams.sort_unstable();
        grams.dedup();
        sizes.push(grams.len());
        holders.extend(grams.into_iter().map(|gram| (gram, n as u32)));
    }
    holders.sort_unstable();
    // Of each pair how many grams it shares: row by row, of which only what is left of the diagonal
    // is used.
    let count = kernels.len();
    let mut shared = vec![0u32; count * count];
    for equal in holders.chunk_by(|a, b| a.0 == b.0) {
        for (n, &(_, kernel)) in equal.iter().enumerate() {
            let row = &mut shared[kernel as usize * count..][..count];
            equal[..n].iter().for_each(|&(_, other)| row[other as usize] += 1);
        }
    }
    let mut near = vec![false; count];
    for n in 0..count {
        for other in 0..n {
            let shared = shared[n * count + other] as usize;
            if shared as f64 >= 0.7 * (sizes[n] + sizes[other] - shared) as f64 {
                (near[n], near[other]) = (true, true);
            }
        }
    }
    round(near.iter().filter(|&&n| n).count() as f64 / near.len().max(1) as f64)
}

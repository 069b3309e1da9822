//! No text makes the parser fail, cascade or slow down.

use std::time::{Duration, Instant};

use kc::diag::Diagnostics;
use kc::source::{FileId, SourceFile};
use kc::syntax::ast::{Expr, ExprKind, Function, Item, Parsed, Region, RegionKind, StmtKind};

fn parse(text: &str) -> (Parsed, Vec<String>) {
    let mut diagnostics = Diagnostics::new();
    let parsed = kc::syntax::parse(FileId(0), text, &mut diagnostics);
    let source = SourceFile::new("test.py", text.to_owned());
    let found = diagnostics.iter().map(|d| {
        let span = d.span().expect("syntax errors have a place");
        // Renderers slice the text by spans.
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{d:?}");
        format!("{} {} {}", source.line_column(span.start).line, d.code.name(), d.message)
    });
    let found = found.collect();
    (parsed, found)
}

fn functions(parsed: &Parsed) -> Vec<&Function> {
    parsed.items.iter().filter_map(|item| if let Item::Function(f) = item { Some(&**f) } else { None }).collect()
}

fn kernel(body: &str) -> String {
    format!("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n{body}\n\n@wp.func\ndef last(a: float):\n    return a\n")
}

/// Pseudo-random numbers; xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

const GOOD: &str = r#"import warp as wp
from typing import Any

N = wp.constant(16)
vec6 = wp.types.vector(length=6, dtype=float)


@wp.struct
class Particle:
    x: wp.vec3
    v: wp.vec3
    mass: float


@wp.func
def spring(a: wp.vec3, b: wp.vec3, rest: float = 1.0, stiffness: float = 10.0) -> wp.vec3:
    """Force on `a`."""
    d = b - a
    length = wp.length(d)
    if length < 1.0e-6 or not (rest > 0.0):
        return wp.vec3(0.0, 0.0, 0.0)
    return d * (stiffness * (length - rest) / length)


@wp.kernel
def integrate(p: wp.array(dtype=Particle), f: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    v = p[i].v + f[i] / p[i].mass * dt
    p[i].v = v
    p[i].x += v * dt


@wp.kernel(enable_backward=False)
def stencil(u: wp.array2d(dtype=float), out: wp.array2d(dtype=float), n: int):
    i, j = wp.tid()
    if i == 0 or j == 0 or i == n - 1 or j == n - 1:
        out[i, j] = 0.0
        return
    total = float(0.0)
    for k in range(-1, 2):
        for l in range(-1, 2):
            if k != 0 or l != 0:
                total += u[i + k, j + l]
            else:
                continue
    out[i, j] = total / 8.0 if 0 < i < n else -total ** 2.0


@wp.func
def pick(which: int, a: Any, b: Any):
    if which == 0:
        return a
    elif which == 1:
        return b
    else:
        while which > 3:
            which -= 1
            if which & 1 == 0:
                break
    return wp.where(which > 2, a, b)


@wp.kernel
def scatter(index: wp.array(dtype=wp.int32), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(
        y,
        index[i],
        x[i] * 2.0,
    )
    assert i < 100, "too many"
    wp.printf("%d %f\n", i, x[i])


def host(x):
    wp.launch(integrate, dim=len(x), inputs=[x, {}, 0.1])


@wp.kernel
def last(x: wp.array(dtype=float)):
    m = wp.mat22(1.0, 0.0, 0.0, 1.0)
    a = x[1:3]
    x[0] = m[0, 1] + wp.float32(N) * float(0x10) - a[0]
"#;

/// Words, numbers, single other characters, and line ends.
fn pieces(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        if word(bytes[start]) {
            while at < bytes.len() && word(bytes[at]) {
                at += 1;
            }
        }
        if bytes[start] != b' ' {
            out.push((start, at));
        }
    }
    out
}

#[test]
fn the_good_text_is_good() {
    let (parsed, found) = parse(GOOD);
    assert_eq!(found, Vec::<String>::new());
    // And `host`, a region because it launches.
    assert_eq!(functions(&parsed).len(), 6);
    assert_eq!(parsed.items.len(), 12);
}

#[test]
fn one_token_less_costs_two_errors_at_most() {
    let names = ["spring", "integrate", "stencil", "pick", "scatter", "host", "last"];
    let mut bad = Vec::new();
    let mut histogram = [0; 6];
    for (start, end) in pieces(GOOD) {
        let text = format!("{}{}", &GOOD[..start], &GOOD[end..]);
        let (parsed, found) = parse(&text);
        histogram[found.len().min(5)] += 1;
        let place = format!("line {}: without {:?}", GOOD[..start].lines().count(), &GOOD[start..end]);
        if found.len() > 2 {
            bad.push(format!("{place}: {found:#?}"));
        }
        // Functions whose header starts behind the deleted token.
        let mut kept: Vec<_> = functions(&parsed).iter().map(|f| f.name.text.as_str()).collect();
        // Host code that launches kernels is read as a region.
        kept.extend(parsed.items.iter().filter_map(|item| match item {
            Item::Region(Region { kind: RegionKind::Launching { name, .. }, .. }) => Some(name.text.as_str()),
            _ => None,
        }));
        for name in names {
            let header = GOOD.find(&format!("\ndef {name}")).unwrap_or(0) + 1;
            let decorator = GOOD[..header].rfind("\n\n").unwrap_or(0);
            if decorator > end && !kept.contains(&name) {
                bad.push(format!("{place}: {name} is lost"));
            }
        }
    }
    println!("deletions by number of errors: {histogram:?}");
    assert!(bad.is_empty(), "{} bad\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn one_token_doubled_or_replaced_costs_few_errors() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let all = pieces(GOOD);
    let mut worst = (0, String::new());
    for &(start, end) in &all {
        let (a, b) = all[random.below(all.len())];
        for by in [&GOOD[start..end], &GOOD[a..b]] {
            let text = format!("{} {} {}", &GOOD[..end], by, &GOOD[end..]);
            let (_, found) = parse(&text);
            let (_, replaced) = parse(&format!("{}{}{}", &GOOD[..start], by, &GOOD[end..]));
            for found in [found, replaced] {
                if found.len() > worst.0 {
                    worst = (found.len(), format!("{:?} at {start}: {found:#?}", by));
                }
            }
        }
    }
    assert!(worst.0 <= 6, "{}", worst.1);
}

#[test]
fn mutated_texts_never_panic() {
    let mut random = Random(42);
    let all = pieces(GOOD);
    for _ in 0..400 {
        let mut text = GOOD.to_owned();
        for _ in 0..1 + random.below(12) {
            let at = all[random.below(all.len())].0.min(text.len());
            let (a, b) = all[random.below(all.len())];
            match random.below(3) {
                0 => text.insert_str(at, &GOOD[a..b]),
                1 => text.truncate(at.max(200)),
                _ => {
                    let end = (at + random.below(30)).min(text.len());
                    text.replace_range(at..end, "");
                }
            }
        }
        parse(&text);
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(7);
    let alphabet: Vec<char> = "()[]{}:=+-*/'\"\\\n\n\t  @#.,;azif_019é\u{0}\u{feff}\u{2028}".chars().collect();
    for _ in 0..300 {
        let text: String = (0..random.below(600)).map(|_| alphabet[random.below(alphabet.len())]).collect();
        parse(&text);
        parse(&kernel(&format!("    {text}")));
        let bytes: Vec<u8> = (0..600).map(|_| random.below(256) as u8).collect();
        parse(&String::from_utf8_lossy(&bytes));
    }
}

/// A debug build reads a sixteenth of it: what is worse than linear shows there too.
#[test]
fn a_mebibyte_of_anything_takes_a_second_or_so() {
    const SIZE: usize = if cfg!(debug_assertions) { 1 << 16 } else { 1 << 20 };
    let mut random = Random(3);
    let noise: Vec<u8> = (0..SIZE).map(|_| random.below(256) as u8).collect();
    let mut texts = vec![
        ("noise".to_owned(), String::from_utf8_lossy(&noise).into_owned()),
        ("nul".to_owned(), "\0".repeat(SIZE)),
        ("elif".to_owned(), kernel(&format!("    if x: pass\n{}", "    elif x: pass\n".repeat(SIZE / 17)))),
        ("if".to_owned(), kernel(&(0..1400).map(|i| format!("{}if x:\n", " ".repeat(4 + i))).collect::<String>())),
        ("sum".to_owned(), kernel(&format!("    y = 1{}", " + 1".repeat(SIZE / 4)))),
        ("list".to_owned(), kernel(&format!("    y = [{}]", "1, ".repeat(SIZE / 4)))),
        ("bad lines".to_owned(), kernel(&"    a b\n".repeat(SIZE / 8))),
        ("good lines".to_owned(), kernel(&"    a = b + c * d\n".repeat(SIZE / 17))),
        ("params".to_owned(), format!("@wp.func\ndef f({}):\n    pass\n", "a: int, ".repeat(SIZE / 8))),
        ("decorators".to_owned(), "@wp.kernel\n".repeat(SIZE / 11)),
        ("blank lines in a bracket".to_owned(), kernel(&format!("    y = (\n{}", "\n".repeat(SIZE)))),
        ("line of f-strings".to_owned(), "f\"{\" ".repeat(SIZE / 6)),
        ("long name".to_owned(), "a".repeat(SIZE)),
        ("long number".to_owned(), "1".repeat(SIZE)),
        ("long comment".to_owned(), format!("#{}", "a".repeat(SIZE))),
        ("blanks".to_owned(), format!("x ={} 1", " ".repeat(SIZE))),
        ("doc".to_owned(), kernel(&format!("    \"\"\"{}\"\"\"", "\n".repeat(SIZE)))),
    ];
    for unit in [
        "(",
        "[",
        "{",
        ")",
        "(]",
        "({[",
        "-",
        "not ",
        "a.",
        "a(",
        "lambda: ",
        "'",
        "\"\"\"",
        "f\"{",
        "\\\n",
        "\n ",
        "@",
        "@a\n",
        "def f(",
        "x = (\n",
        "if x:\n ",
        "a = ",
        "*",
        "1 if 1 else ",
        "\\\"\"\"\n@\\",
        "\n\"\"\"\n@'''",
        "x[",
        "a, ",
        ";",
        ":",
    ] {
        let many = unit.repeat(SIZE / unit.len());
        texts.push((format!("{unit:?} in a kernel"), kernel(&format!("    {many}"))));
        texts.push((format!("{unit:?} at module level"), many.clone()));
        texts.push((format!("{unit:?} in a header"), format!("@wp.kernel\ndef k({many}):\n    pass\n")));
    }
    let mut slow = Vec::new();
    for (name, text) in texts {
        let start = Instant::now();
        // The tree of a long chain is deep; its users run on a large stack too.
        let run = move || drop(parse(&text));
        std::thread::Builder::new().stack_size(64 << 20).spawn(run).expect("a thread").join().expect("no panic");
        let time = start.elapsed();
        if time > Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 }) {
            slow.push(format!("{name}: {time:?}"));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

fn first_value(parsed: &Parsed) -> &Expr {
    let function = functions(parsed)[0];
    match &function.body[0].kind {
        StmtKind::Assign { value, .. } => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn long_sums_are_read() {
    let (parsed, found) = parse(&kernel(&format!("    y = x[0]{}", " + x[1] * 2.0".repeat(4999))));
    assert_eq!(found, Vec::<String>::new());
    let mut terms = 1;
    let mut expr = first_value(&parsed);
    while let ExprKind::Binary { left, .. } = &expr.kind {
        terms += 1;
        expr = left;
    }
    assert_eq!(terms, 5000);
}

#[test]
fn long_elif_chains_are_read() {
    let (parsed, found) = parse(&kernel(&format!(
        "    if x[0] == 0.0:\n        x[0] = 1.0\n{}    else:\n        x[1] = 1.0",
        "    elif x[0] == 1.0:\n        x[0] = 2.0\n".repeat(1000)
    )));
    assert_eq!(found, Vec::<String>::new());
    let mut count = 0;
    let mut body = &functions(&parsed)[0].body;
    while let Some(StmtKind::If { otherwise, .. }) = body.first().map(|stmt| &stmt.kind) {
        count += 1;
        body = otherwise;
    }
    assert_eq!(count, 1001);
}

#[test]
fn nesting_has_a_limit() {
    let nested = |n: usize| kernel(&format!("    y = {}1{}", "(".repeat(n), ")".repeat(n)));
    assert_eq!(parse(&nested(200)).1, Vec::<String>::new());
    assert_eq!(parse(&nested(256)).1, Vec::<String>::new());
    let (parsed, found) = parse(&nested(257));
    assert_eq!(found, ["3 E0115 brackets nest more than 256 deep"]);
    assert_eq!(functions(&parsed).len(), 2);
    let blocks = |n: usize| {
        let open: String = (0..n).map(|i| format!("{}if x:\n", " ".repeat(4 + i))).collect();
        kernel(&format!("{open}{}y = 1", " ".repeat(4 + n)))
    };
    assert_eq!(parse(&blocks(200)).1, Vec::<String>::new());
    assert_eq!(parse(&blocks(300)).1, ["259 E0115 blocks nest more than 256 deep"]);
    let (_, found) = parse(&kernel(&format!("    y = {}1", "- ".repeat(100_000))));
    assert_eq!(found, ["3 E0115 this expression is too long"]);
}

#[test]
fn line_ends_marks_and_blanks() {
    let body =
        "@wp.kernel\ndef k(x: int):\n\tif x:\n\t\ty = \\\n  1\n\tz = (1 +\n2)\n\n   # comment\n\x0c\n\tw = '''a\nb'''";
    for text in [
        body.to_owned(),
        body.replace('\n', "\r\n"),
        format!("\u{feff}{body}"),
        format!("{body}\n\n\n"),
        format!("{body}  # end"),
        format!("\n\n  # first\n{body}\n    "),
    ] {
        let (parsed, found) = parse(&text);
        assert_eq!(found, Vec::<String>::new(), "{text:?}");
        assert_eq!(functions(&parsed)[0].body.len(), 3, "{text:?}");
    }
    for text in ["", "\n", "\u{feff}", "    ", "#", "\\", "\\\n", "\r", "\x0c"] {
        let (parsed, found) = parse(text);
        assert_eq!((parsed.items.len(), found), (0, vec![]), "{text:?}");
    }
}

//! Mutants of kernels: texts that are nearly right, with other types, names, operators, ranks,
//! lines and blocks.

/// Types, most of which fit nowhere.
const TYPES: [&str; 22] = [
    "float",
    "int",
    "bool",
    "wp.float16",
    "wp.float64",
    "wp.int8",
    "wp.uint8",
    "wp.int64",
    "wp.uint64",
    "wp.uint32",
    "wp.vec2",
    "wp.vec3",
    "wp.vec4d",
    "wp.mat22",
    "wp.mat33",
    "wp.mat44d",
    "wp.quat",
    "wp.transform",
    "wp.spatial_vector",
    "wp.array(dtype=float)",
    "wp.array2d(dtype=wp.vec3)",
    "Any",
];

const OPERATORS: [&str; 34] = [
    "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "=", "+=", "-=",
    "*=", "/=", "&=", "|=", "^=", "@", "@=", "~", "->", ":", ",", ".", "//=",
];

const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "1000000",
    "2147483647",
    "2147483648",
    "18446744073709551616",
    "0.0",
    "1.0e-45",
    "1.0e400",
    "0x7fffffff",
    "True",
    "None",
];

const KEYWORDS: [&str; 20] = [
    "if", "else", "elif", "for", "while", "return", "break", "continue", "pass", "in", "not", "and", "or", "def",
    "class", "lambda", "import", "is", "del", "with",
];

/// Lines that fit where a statement fits.
const LINES: [&str; 12] = [
    "i = wp.tid()",
    "return",
    "break",
    "continue",
    "pass",
    "wp.breakpoint()",
    "x = x",
    "for q in range(3):",
    "while True:",
    "if i > 0:",
    "i, j = wp.tid()",
    "t = wp.zeros(shape=8, dtype=float)",
];

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        // splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 33) % n.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Name,
    Number,
    Operator,
    Text,
    Space,
}

/// A text with up to three mutations; `names` are those of the library, `other` is a text to take
/// lines from.
pub fn mutant(text: &str, other: &str, names: &[&str], random: &mut Random) -> String {
    let mut text = text.to_string();
    for _ in 0..1 + random.below(3) {
        text = if random.below(4) == 0 { lines(&text, other, random) } else { token(&text, names, random) };
    }
    text
}

fn tokens(text: &str) -> Vec<(Kind, &str)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let (kind, len) = if first == '"' || first == '\'' {
            let end = rest[1..].find([first, '\n']).map_or(rest.len(), |n| (n + 2).min(rest.len()));
            (Kind::Text, end)
        } else if first == '#' {
            (Kind::Text, rest.find('\n').unwrap_or(rest.len()))
        } else if first.is_ascii_digit() {
            (Kind::Number, rest.find(|c: char| !word(c) && c != '.').unwrap_or(rest.len()))
        } else if word(first) {
            (Kind::Name, rest.find(|c: char| !word(c)).unwrap_or(rest.len()))
        } else if first.is_whitespace() {
            (Kind::Space, rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()))
        } else {
            let two = rest.get(..2).filter(|two| OPERATORS.contains(two));
            (Kind::Operator, two.map_or(first.len_utf8(), str::len))
        };
        let len = if rest.is_char_boundary(len) { len } else { first.len_utf8() };
        out.push((kind, &rest[..len]));
        rest = &rest[len..];
    }
    out
}

/// Changes one token, or a few beside each other.
fn token(text: &str, names: &[&str], random: &mut Random) -> String {
    let all = tokens(text);
    let solid: Vec<usize> = (0..all.len()).filter(|&n| all[n].0 != Kind::Space).collect();
    let Some(&at) = random.pick(&solid) else { return text.to_string() };
    let own: Vec<&str> = all
        .iter()
        .filter(|(kind, text)| *kind == Kind::Name && !KEYWORDS.contains(text))
        .map(|(_, text)| *text)
        .collect();
    let mut new: Vec<String> = all.iter().map(|(_, text)| text.to_string()).collect();
    let some = |from: &[&str], random: &mut Random| random.pick(from).map_or(String::new(), |text| text.to_string());
    let old = new[at].clone();
    new[at] = match (all[at].0, random.below(16)) {
        (_, 0) if random.below(3) == 0 => String::new(),
        (_, 1) if random.below(4) == 0 => format!("{old} {old}"),
        (_, 2) => format!("({old})"),
        (_, 3) => format!("{old}[0]"),
        (Kind::Name, 4 | 12 | 13) => some(&TYPES, random),
        (Kind::Name, 5) if random.below(3) == 0 => some(&KEYWORDS, random),
        (Kind::Name, 6) if old.starts_with("array") => {
            some(&["array", "array2d", "array3d", "array4d", "indexedarray"], random)
        }
        (Kind::Name, 6 | 7 | 14 | 15) => format!("wp.{}", some(names, random)),
        (Kind::Name, _) => some(&own, random),
        (Kind::Number, 4) => some(&own, random),
        (Kind::Number, _) => some(&NUMBERS, random),
        (Kind::Operator, 4) if old == "[" => "[i, ".to_string(),
        (Kind::Operator, 5) if old == "]" => "][i]".to_string(),
        (Kind::Operator, 6) => some(&["(", ")", "[", "]", "{", "}", "\\", "`", "$", "\u{3b1}", ";"], random),
        // Brackets and commas hold the text together.
        (Kind::Operator, 7..) if "()[]{},.:@".contains(&old) => old,
        (Kind::Operator, _) => some(&OPERATORS, random),
        (Kind::Text, 4) if random.below(4) == 0 => "\"".to_string(),
        (Kind::Text, 5..) => old,
        (Kind::Text, _) => some(&NUMBERS, random),
        (Kind::Space, _) => old,
    };
    new.concat()
}

/// Changes whole lines or blocks.
fn lines(text: &str, other: &str, random: &mut Random) -> String {
    let mut all: Vec<String> = text.lines().map(str::to_string).collect();
    if all.is_empty() {
        return text.to_string();
    }
    let at = random.below(all.len());
    let indent = |line: &str| line.len() - line.trim_start().len();
    // The line and what is indented below it.
    let deeper =
        all[at + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line) > indent(&all[at])).count();
    let block = at..at + 1 + deeper;
    match random.below(10) {
        0 => drop(all.remove(at)),
        1 => all.insert(at, all[at].clone()),
        2 => drop(all.drain(block)),
        3 => {
            let copy = all[block.clone()].to_vec();
            let to = if random.below(2) == 0 { block.end } else { random.below(all.len()) };
            all.splice(to..to, copy);
        }
        4 => all[at].insert_str(0, "    "),
        5 => all[at] = all[at].strip_prefix("    ").unwrap_or_default().to_string(),
        6 => {
            let to = random.below(all.len());
            all.swap(at, to);
        }
        7 => {
            let from: Vec<&str> = other.lines().collect();
            let line = random.pick(&from).map_or(String::new(), |line| line.to_string());
            all.insert(at, line);
        }
        8 => {
            let line = format!("{}{}", " ".repeat(indent(&all[at])), LINES[random.below(LINES.len())]);
            all.insert(at, line);
        }
        _ => all[at] = all[at].chars().take(random.below(all[at].len() + 1)).collect(),
    }
    all.join("\n") + "\n"
}

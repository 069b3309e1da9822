//! How do two people write the same algorithm? What is in the library for a choice, and what one
//! person makes of it.
//!
//! | in a body | what it represents |
//! |---|---|
//! | `{{a \|\| b}}`, `{{name: a \|\| b}}` | one of these; choices of one name go together |
//! | `#? name`, `#\|`, `#.` around lines | the same for lines; without `#\|`: these lines or none. `_` is no name |
//! | `guard i < n` | an early return, an `if` around what follows, or nothing, where the launch has no more threads |
//! | `require c` | the same where the condition means something: it is never left out |
//! | `grid i, j` | the thread's indices: of a launch with as many dimensions, or worked out from one |
//! | `let d = e` | a value with a name, or the expression in its place |

use std::collections::HashMap;

use super::code;
use crate::dataset::random::Random;

/// What stays the same in all functions of a program.
pub struct Choices<'a> {
    pub random: &'a mut Random,
    made: HashMap<String, usize>,
    /// Of `guard`: 0 nothing, 1 a return, 2 an `if`.
    pub guards: usize,
    /// Of `require`: return or `if`.
    pub returns: bool,
    /// Whether launches have as many dimensions as their grids.
    pub grids: bool,
    /// How many of 100 values get no name.
    pub terse: u32,
    /// How many of 100 comments are written.
    pub comments: u32,
}

/// The launch of a kernel, as its body wants it.
pub struct Body {
    pub lines: Vec<String>,
    /// The launch has one dimension instead of those of the grid.
    pub is_flat: bool,
    /// Threads above the extents return.
    pub is_guarded: bool,
    /// The names of the thread's indices.
    pub threads: Vec<String>,
    /// Under which conditions a thread does anything.
    pub conditions: Vec<String>,
}

/// Stands for a comment that says what a thread is for: what that is, the whole program tells.
pub const THREADS: &str = "# @threads";

impl Choices<'_> {
    pub fn new(random: &mut Random) -> Choices<'_> {
        let guards = random.weighted(&[62, 27, 11]);
        let returns = random.chance(70);
        let grids = random.chance(76);
        let terse = *random.pick(&[10, 35, 60]);
        let comments = *random.pick(&[0, 80, 100, 100, 100]);
        Choices { random, made: HashMap::new(), guards, returns, grids, terse, comments }
    }

    /// What was chosen of `count` alternatives under a name.
    fn choose(&mut self, name: &str, count: usize) -> usize {
        if name == "_" {
            return self.random.below(count);
        }
        if let Some(made) = self.made.get(name) {
            return (*made).min(count - 1);
        }
        let made = self.random.below(count);
        self.made.insert(name.to_string(), made);
        made
    }

    /// Begins another algorithm: its names mean other choices.
    pub fn forget(&mut self) {
        self.made.clear();
    }

    /// The lines of a function without marks. `dims` are the extents of a kernel's launch.
    pub fn body(&mut self, lines: &[&str], dims: &[&str]) -> Body {
        let mut text = Vec::new();
        self.blocks(&mut lines.iter().copied().peekable(), true, &mut text);
        let lines: Vec<String> = text.iter().map(|line| self.words(line)).collect();
        let (lines_out, threads, conditions) = (Vec::new(), Vec::new(), Vec::new());
        let mut out = Body { lines: lines_out, is_flat: false, is_guarded: false, threads, conditions };
        self.statements(&lines, dims, &mut out);
        self.lets(&mut out.lines);
        tidy(&mut out.lines);
        out
    }

    /// Lines up to the end of a block of alternatives; those that were not chosen are read and left
    /// out.
    fn blocks<'t>(
        &mut self,
        lines: &mut std::iter::Peekable<impl Iterator<Item = &'t str> + Clone>,
        keep: bool,
        out: &mut Vec<&'t str>,
    ) {
        while let Some(&line) = lines.peek() {
            let mark = line.trim_start();
            if mark.starts_with("#|") || mark == "#." {
                return;
            }
            lines.next();
            let Some(name) = mark.strip_prefix("#?") else {
                if keep && !mark.starts_with("##") {
                    out.push(line);
                }
                continue;
            };
            // What is chosen must be known before the lines are read.
            let mut depth = 1;
            let mut count = 1;
            for line in lines.clone() {
                let mark = line.trim_start();
                depth += i32::from(mark.starts_with("#?")) - i32::from(mark == "#.");
                count += usize::from(depth == 1 && mark.starts_with("#|"));
                if depth == 0 {
                    break;
                }
            }
            let optional = count == 1;
            let chosen = self.choose(name.trim(), count.max(2));
            let mut number = 0;
            loop {
                let wanted = if optional { chosen == 0 } else { chosen == number };
                self.blocks(lines, keep && wanted, out);
                match lines.next() {
                    Some(mark) if mark.trim_start().starts_with("#|") => number += 1,
                    _ => break,
                }
            }
        }
    }

    /// One of the alternatives in double braces.
    pub fn words(&mut self, line: &str) -> String {
        let Some((before, rest)) = line.split_once("{{") else { return line.to_string() };
        let Some((inner, after)) = rest.split_once("}}") else { return line.to_string() };
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let (name, list) = match inner.split_once(": ") {
            Some((name, list)) if is_name(name) => (name, list),
            _ => ("_", inner),
        };
        let list: Vec<&str> = list.split("||").map(str::trim).collect();
        let chosen = self.choose(name, list.len());
        let after = self.words(after);
        format!("{before}{}{after}", list[chosen])
    }

    /// A comment of one of these texts, now and then.
    fn remark(&mut self, pad: &str, texts: &[String], percent: u32, out: &mut Vec<String>) {
        if self.random.chance(self.comments * percent / 100) && !texts.is_empty() {
            out.push(format!("{pad}# {}", self.random.pick(texts)));
        }
    }

    /// A place for what a thread is for, now and then.
    fn mark_threads(&mut self, pad: &str, out: &mut Vec<String>) {
        if self.random.chance(self.comments * 40 / 100) {
            out.push(format!("{pad}{THREADS}"));
        }
    }

    fn statements(&mut self, lines: &[String], dims: &[&str], out: &mut Body) {
        let mut shift = 0;
        for (n, line) in lines.iter().enumerate() {
            let text = line.trim_start();
            let pad = " ".repeat(code::indent(line) + shift);
            if let Some(condition) = text.strip_prefix("guard ") {
                if self.guards == 0 {
                    continue;
                }
                out.is_guarded = true;
                let rest_is_long = lines.len() - n > 12;
                let leaves = self.guards == 1 || rest_is_long;
                let texts = [
                    "the launch may be larger than the data",
                    "threads past the end have nothing to do",
                    if leaves { "out of range" } else { "in range" },
                ];
                self.remark(&pad, &texts.map(str::to_string), 45, &mut out.lines);
                match leaves {
                    true => leave(&pad, condition, &mut out.lines),
                    false => {
                        out.lines.push(format!("{pad}if {condition}:"));
                        shift += 4;
                    }
                }
            } else if let Some(condition) = text.strip_prefix("require ") {
                let stores =
                    |line: &String| line.contains("] = ") || line.contains("] += ") || line.contains("wp.atomic");
                if !out.lines.iter().any(stores) {
                    out.conditions.push(condition.to_string());
                }
                if self.returns {
                    leave(&pad, condition, &mut out.lines);
                } else {
                    out.lines.push(format!("{pad}if {condition}:"));
                    shift += 4;
                }
            } else if let Some(names) = text.strip_prefix("grid ") {
                out.is_flat = !self.grids;
                out.threads = names.split(',').map(|name| name.trim().to_string()).collect();
                self.mark_threads(&pad, &mut out.lines);
                self.grid(names, dims, &pad, &mut out.lines);
            } else if text.starts_with('#') && !self.random.chance(self.comments) {
                continue;
            } else if text.is_empty() {
                out.lines.push(String::new());
            } else {
                if let Some(names) = text.strip_suffix("= wp.tid()") {
                    out.threads = names.split(',').map(|name| name.trim().to_string()).collect();
                    self.mark_threads(&pad, &mut out.lines);
                }
                out.lines.push(format!("{pad}{text}"));
            }
        }
    }

    /// The indices of a thread, from the launch or from its number.
    fn grid(&mut self, names: &str, dims: &[&str], pad: &str, out: &mut Vec<String>) {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        if self.grids || names.len() != dims.len() || names.len() < 2 {
            out.push(format!("{pad}{} = wp.tid()", names.join(", ")));
            return;
        }
        let mut thread = "tid";
        if names.contains(&"tid") {
            thread = "index";
        }
        out.push(format!("{pad}{thread} = wp.tid()"));
        let last = names.len() - 1;
        let row = |out: &mut Vec<String>| match names.len() {
            2 => out.push(format!("{pad}{} = {thread} // {}", names[0], dims[1])),
            _ => {
                out.push(format!("{pad}{} = {thread} // ({} * {})", names[0], dims[1], dims[2]));
                out.push(format!("{pad}{} = ({thread} // {}) % {}", names[1], dims[2], dims[1]));
            }
        };
        let column = |out: &mut Vec<String>| out.push(format!("{pad}{} = {thread} % {}", names[last], dims[last]));
        match self.random.below(3) {
            0 => {
                column(out);
                row(out);
            }
            1 if names.len() == 2 => {
                row(out);
                out.push(format!("{pad}{} = {thread} - {} * {}", names[1], names[0], dims[1]));
            }
            _ => {
                row(out);
                column(out);
            }
        }
    }

    /// Values keep their names or not.
    fn lets(&mut self, lines: &mut Vec<String>) {
        let mut n = 0;
        while n < lines.len() {
            let pad = code::indent(&lines[n]);
            let Some((name, value)) =
                lines[n].trim_start().strip_prefix("let ").and_then(|rest| rest.split_once(" = "))
            else {
                n += 1;
                continue;
            };
            let (name, value) = (name.trim().to_string(), value[..code::code_end(value)].trim().to_string());
            let end = lines[n + 1..].iter().position(|line| !line.is_empty() && code::indent(line) < pad);
            let end = end.map_or(lines.len(), |at| n + 1 + at);
            let uses: usize = lines[n + 1..end].iter().map(|line| code::places(line, &name).len()).sum();
            // What is long or used often has a name.
            let is_short = !code::is_compound(&value) && value.len() < 24;
            let is_wide = |line: &&String| code::mentions(line, &name) && line.len() + value.len() > 90;
            let fits = !lines[n + 1..end].iter().any(|line| is_wide(&line));
            let may = fits && (uses == 1 && value.len() < 48 || uses == 2 && is_short);
            if uses == 0 {
                lines.remove(n);
            } else if may && self.random.chance(self.terse) {
                for line in &mut lines[n + 1..end] {
                    *line = code::inline(line, &name, &value);
                }
                lines.remove(n);
            } else {
                lines[n] = format!("{}{name} = {value}", " ".repeat(pad));
                n += 1;
            }
        }
    }
}

/// A return where the condition does not hold, and a blank line.
fn leave(pad: &str, condition: &str, out: &mut Vec<String>) {
    out.push(format!("{pad}if {}:", code::negated(condition)));
    out.push(format!("{pad}    return"));
    out.push(String::new());
}

/// No blank line at the start, at the end, after a header, or beside another one.
fn tidy(lines: &mut Vec<String>) {
    let mut out: Vec<String> = Vec::new();
    for line in lines.drain(..) {
        let opens = out.last().is_none_or(|last| last.is_empty() || last.ends_with(':'));
        if !(line.trim().is_empty() && opens) {
            out.push(line);
        }
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    *lines = out;
}

//! How is a random program written? Lines, blocks, and names of what it uses.

use crate::random::Random;

pub struct Writer {
    pub random: Random,
    pub text: String,
    pub depth: usize,
    /// Loops around the next statement.
    pub loops: Vec<String>,
    /// Names given so far.
    pub count: usize,
    pub uses: Vec<&'static str>,
    /// Statements that may still be made.
    pub left: usize,
}

impl Writer {
    pub fn new(random: Random, head: &str) -> Writer {
        Writer { random, text: head.to_string(), depth: 0, loops: Vec::new(), count: 0, uses: Vec::new(), left: 0 }
    }

    pub fn line(&mut self, text: &str) {
        self.text += &"    ".repeat(self.depth);
        self.text += text;
        self.text.push('\n');
    }

    pub fn uses(&mut self, what: &'static str) {
        if !self.uses.contains(&what) {
            self.uses.push(what);
        }
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.random.one_in(n)
    }

    pub fn one_of<'a>(&mut self, names: &[&'a str]) -> &'a str {
        self.random.pick(names)
    }

    pub fn fresh(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("{stem}{}", self.count)
    }

    /// A float32 that is written exactly.
    pub fn literal(&mut self) -> String {
        let eighths = self.below(25) as f64 / 8.0 - 1.5;
        // A minus sign is an operation of its own.
        if eighths < 0.0 { format!("({eighths:.3})") } else { format!("{eighths:.3}") }
    }
}

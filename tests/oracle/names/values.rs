//! Which values may a name get, and what is computed from names?

use crate::writer::Writer;

use super::Generator;

impl Generator {
    /// A new value for a name; the first one uses no other names of its kind.
    pub(super) fn assign(&mut self, name: &str, again: usize) {
        let other = |names: &[String], w: &mut Writer| names[w.below(names.len())].clone();
        let most = if again == 0 { 2 } else { 6 };
        let kind = self.w.below(most);
        let value = match name.chars().next() {
            Some('a') => self.float(2),
            Some('n') => {
                self.w.uses("static value");
                match kind {
                    0 => format!("{}", self.w.below(4)),
                    1 => self.w.one_of(&["wp.static(2)", "wp.static(SIZE)", "SIZE", "wp.static(SIZE - 2)"]).to_string(),
                    2 => format!("{name} + 1"),
                    3 => "j".to_string(),
                    _ => self.int(),
                }
            }
            Some('t') => {
                self.w.uses("pair");
                match kind {
                    0 | 1 => format!("({}, {})", self.float(1), self.float(0)),
                    2 => format!("({name}[1], {name}[0] + {name}[1] * 0.5)"),
                    3 if !self.pairs.is_empty() => self.pairs[0].clone(),
                    3 => format!("pair({}, {})", self.float(0), self.float(0)),
                    4 => other(&self.names.pairs, &mut self.w),
                    _ if !self.odd => format!("({}, {name}[0])", self.float(0)),
                    _ => {
                        let test = self.test();
                        format!("{name} if {test} else ({}, {name}[0])", self.float(0))
                    }
                }
            }
            Some('u') => {
                self.w.uses("pair of two types");
                match kind {
                    0 | 1 => format!("({}, {})", self.float(0), self.w.below(4)),
                    2 | 3 => format!("({name}[0] * 0.5, {name}[1] + 1)"),
                    _ => format!("({}, {})", self.float(1), self.int()),
                }
            }
            Some('r') => {
                self.w.uses("triple");
                match kind {
                    0 | 1 => format!("({}, ({}, {}))", self.float(0), self.float(0), self.float(0)),
                    2 => format!("({name}[1][1], ({name}[0], {name}[1][0]))"),
                    _ => format!("({}, {name}[1])", self.float(1)),
                }
            }
            Some('g') => {
                self.w.uses("function");
                match kind {
                    0..=2 => self.w.one_of(&["twice", "shifted", "bent", "wp.sin", "wp.cos", "wp.tanh"]).to_string(),
                    3 => other(&self.names.functions, &mut self.w),
                    _ if !self.odd => self.w.one_of(&["twice", "bent", "wp.cos"]).to_string(),
                    _ => {
                        let test = self.test();
                        format!("{} if {test} else {name}", self.w.one_of(&["twice", "shifted", "wp.sin"]))
                    }
                }
            }
            Some('T') => {
                self.w.uses("type");
                match kind {
                    0..=3 => self.w.one_of(&["int", "float", "wp.float64", "wp.int64", "wp.float32"]).to_string(),
                    _ if !self.odd => "int".to_string(),
                    _ => format!("int if {} else {name}", self.test()),
                }
            }
            Some('s') => {
                self.w.uses("shape");
                match kind {
                    0..=3 => self.w.one_of(&["x.shape[0]", "y.shape[1]", "c.shape[0]", "len(x)"]).to_string(),
                    4 => format!("{name} + 1"),
                    _ => format!("x.shape[0] if {} else {name}", self.test()),
                }
            }
            _ => {
                self.w.uses("vector");
                match kind {
                    0 | 1 => format!("wp.vec2({}, {})", self.float(0), self.float(0)),
                    2 => format!("wp.vec2({name}[1], {name}[0] * 0.5)"),
                    3 => format!("{name} * 0.5"),
                    _ => format!("{name} + wp.vec2({}, 0.5)", self.float(0)),
                }
            }
        };
        // Both names at once, or one after the other.
        if again == 1 && name.starts_with('t') && self.w.one_in(4) {
            self.w.uses("unpacking");
            self.w.line(&format!("a0, a1 = {value}"));
            return;
        }
        self.w.line(&format!("{name} = {value}"));
    }

    pub(super) fn int(&mut self) -> String {
        let mut known = vec!["j".to_string(), "q".to_string()];
        known.extend(self.names.ints.iter().cloned());
        known.extend(self.w.loops.iter().cloned());
        known.extend(self.names.mixed.iter().map(|u| format!("{u}[1]")));
        let n = self.w.below(known.len());
        known[n].clone()
    }

    pub(super) fn test(&mut self) -> String {
        let mut tests: Vec<String> =
            ["j > 1", "q > 1", "p > 0.125", "j == q", "j % 2 == 0", "q == 0"].map(String::from).to_vec();
        let body = &self.w.text[self.w.text.rfind("def ").unwrap_or(0)..];
        let set = self.names.pairs.iter().filter(|t| body.contains(&format!(" {t} =")));
        tests.extend(set.map(|t| format!("{t}[0] > 0.125")));
        tests.extend(self.w.loops.iter().map(|k| format!("{k} % 2 == 1")));
        tests.extend(self.w.loops.iter().map(|k| format!("{k} < q")));
        let n = self.w.below(tests.len());
        tests[n].clone()
    }

    pub(super) fn float(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let (a, b) = (self.float(depth - 1), self.leaf());
        match self.w.below(7) {
            0 | 1 => format!("({a} + {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("{a} * {b}"),
            4 => format!("({a} if {} else {b})", self.test()),
            5 => format!("wp.sin({a})"),
            _ => a,
        }
    }

    /// A value of some name that has one.
    pub(super) fn leaf(&mut self) -> String {
        let text = &self.w.text;
        let start = text.rfind("def ").unwrap_or(0);
        let set = |name: &&String| text[start..].contains(&format!(" {name} ="));
        let mut found: Vec<String> = vec!["p".to_string(), "p * 0.5".to_string()];
        let names = &self.names;
        found.extend(names.floats.iter().filter(set).cloned());
        found.extend(names.ints.iter().filter(set).map(|n| format!("float({n}) * 0.25")));
        found.extend(names.pairs.iter().filter(set).flat_map(|t| [format!("{t}[0]"), format!("{t}[1]")]));
        found.extend(names.mixed.iter().filter(set).map(|u| format!("{u}[0]")));
        found.extend(names.triples.iter().filter(set).map(|r| format!("{r}[1][0]")));
        found.extend(names.functions.iter().filter(set).flat_map(|g| [format!("{g}(p)"), format!("apply({g}, a0)")]));
        found.extend(names.types.iter().filter(set).map(|t| format!("float({t}(p * 4.0)) * 0.125")));
        found.extend(names.shapes.iter().filter(set).map(|s| format!("float({s}) * 0.125")));
        found.extend(names.vectors.iter().filter(set).map(|v| format!("{v}[1]")));
        found.extend(self.functions.iter().map(|f| f.replace('@', "p").replace('#', "q")));
        if self.w.one_in(5) {
            return self.w.literal();
        }
        let n = self.w.below(found.len());
        found[n].clone()
    }

    /// Of every name.
    pub(super) fn sum(&mut self) -> String {
        let names = &self.names;
        let mut terms: Vec<String> = names.floats.clone();
        terms.extend(names.ints.iter().map(|n| format!("float({n})")));
        terms.extend(names.pairs.iter().flat_map(|t| [format!("{t}[0]"), format!("{t}[1] * 0.5")]));
        terms.extend(names.mixed.iter().map(|u| format!("{u}[0] * float({u}[1])")));
        terms.extend(names.triples.iter().map(|r| format!("{r}[0] * {r}[1][1]")));
        terms.extend(names.functions.iter().map(|g| format!("{g}(p)")));
        terms.extend(names.types.iter().map(|t| format!("float({t}(p * 4.0))")));
        terms.extend(names.shapes.iter().map(|s| format!("float({s})")));
        terms.extend(names.vectors.iter().map(|v| format!("{v}[0]")));
        terms.join(" + ")
    }
}

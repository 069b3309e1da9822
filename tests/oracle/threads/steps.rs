//! What may a statement of a block's threads be?

use super::Generator;

impl Generator {
    /// What all threads do together.
    pub(super) fn collective(&mut self) {
        let e = self.float(1);
        let size = self.threads;
        let name = self.array();
        match self.w.below(17) {
            14..=16 => self.read_then_scatter(&name, &e),
            0 | 1 => {
                let t = &name;
                self.w.uses("scatter_add");
                let (at, test) = (self.index(), self.flag());
                let order = self.w.one_of(&["", "", ", False", ", True"]);
                // Without atomics, no two threads have the same element.
                let at = if order == ", False" { self.mine() } else { at };
                self.w.line(&format!("wp.tile_scatter_add({t}, {at}, {e}, {test}{order})"));
            }
            2 => {
                let t = &name;
                self.w.uses("scatter_masked");
                let (at, test) = (self.mine(), self.flag());
                self.w.line(&format!("wp.tile_scatter_masked({t}, {at}, {e}, {test})"));
            }
            3 => {
                self.w.uses("shuffle");
                let way = self.w.one_of(&["", "_up", "_down", "_xor"]);
                let by = self.w.one_of(&["1", "2", "3", "j", "lane", "0"]);
                let to = self.w.one_of(&["v", "w"]);
                self.w.line(&format!("{to} = wp.shuffle{way}({e}, {by})"));
            }
            4 => {
                self.w.uses("warp function");
                self.w.line(&format!("w = warp_sum({e}) * 0.25"));
            }
            5 => {
                self.w.uses("vote");
                let vote = if self.w.one_in(2) { "wp.ballot(j > 1)" } else { "wp.match(j)" };
                self.w.line(&format!("w = w + float(int({vote}) & 7) * 0.125"));
            }
            6 => {
                self.w.uses("tile_sum");
                self.w.line(&format!("w = w * 0.5 + wp.tile_sum(wp.tile({e}))[0] * 0.125"));
            }
            7 => {
                let op = self.w.one_of(&["min", "max"]);
                self.w.uses("extremum");
                self.w.line(&format!("w = w + wp.tile_{op}(wp.tile({e}))[0] * 0.5"));
            }
            8 => {
                self.w.uses("untile");
                let t = &name;
                self.w.line(&format!("v = wp.untile({t} * wp.tile({e}))"));
            }
            9 => {
                self.w.uses("tile again");
                // An array of the block keeps its memory.
                let t = if name == "s" { "w" } else { &name };
                let e = if name == "s" { e } else { format!("wp.tile({e})") };
                self.w.line(&format!("{t} = {e}"));
            }
            10 => {
                self.w.uses("sum of tiles");
                let t = &name;
                let op = self.w.one_of(&["+=", "-="]);
                self.w.line(&format!("{t} {op} wp.tile({e})"));
            }
            11 => {
                // A sum of the block by halves.
                self.w.uses("halves");
                self.w.line("wp.sync()");
                self.w.line(&format!("s[lane] = {e}"));
                self.w.line("wp.sync()");
                let half = size / 2;
                self.w.line(&format!("if lane < {half}:"));
                self.w.line(&format!("    s[lane] += s[lane + {half}]"));
                self.meet();
            }
            12 => {
                self.w.uses("caller's array");
                self.w.line("wp.sync()");
                self.w.line(&format!("b[at] = {e}"));
                self.w.line("wp.sync()");
                // The last block may have one thread.
                let from = if self.partial { "lane // 2" } else { self.w.one_of(&["0", "1", "lane // 2", "2"]) };
                self.w.line(&format!("w = w * 0.5 + b[at - lane + {from}]"));
                self.meet();
            }
            _ => {
                self.w.uses("exchange");
                self.w.line("wp.sync()");
                let mine = self.mine();
                self.w.line(&format!("s[{mine}] = {e}"));
                self.meet();
                let from = self.index();
                self.w.line(&format!("w = s[{from}] * 0.5"));
            }
        }
    }

    /// A read in a branch, loop, function or conditional expression, then an update of the same
    /// tile.
    pub(super) fn read_then_scatter(&mut self, t: &str, e: &str) {
        self.w.uses("read, then scatter");
        self.before();
        let (mut from, test) = (self.index(), self.test());
        if self.w.one_in(2) {
            from = format!("{}", self.w.below(4));
        }
        match self.w.below(6) {
            0 | 1 => {
                self.w.line(&format!("if {test}:"));
                self.w.line(&format!("    w = {t}[{from}] * v"));
            }
            2 => {
                let turn = self.w.fresh("k");
                let count = self.w.one_of(&["j", "2"]);
                self.w.line(&format!("for {turn} in range({count}):"));
                self.w.line(&format!("    w = w * 0.5 + {t}[({from} + {turn}) % {}]", self.threads));
            }
            3 => self.w.line(&format!("w = {t}[{from}] * v if {test} else {e}")),
            4 => self.w.line(&format!("w = pick_if({t}, {from}, {e})")),
            _ => {
                self.w.line(&format!("if {test}:"));
                self.w.line("    if j < 3:");
                self.w.line(&format!("        v = v + pick({t}, {from})"));
            }
        }
        if self.w.one_in(2) {
            self.w.line("wp.sync()");
        }
        let (mut at, flag) = (self.index(), self.flag());
        if self.w.one_in(2) {
            at = from;
        }
        match self.w.below(5) {
            0..=2 => self.w.line(&format!("wp.tile_scatter_add({t}, {at}, {e}, {flag})")),
            3 => {
                let at = self.mine();
                self.w.line(&format!("wp.tile_scatter_masked({t}, {at}, {e}, {flag})"));
            }
            _ => {
                self.w.line(&format!("{t}[{at}] += {e}"));
                self.stored = true;
            }
        }
    }

    /// What each thread does by itself.
    pub(super) fn own(&mut self) {
        let e = self.float(2);
        match self.w.below(12) {
            0 => {
                self.w.uses("atomic");
                let at = self.w.one_of(&["j", "0", "lane % 4", "i % 4"]);
                self.w.line(&format!("wp.atomic_add(a, {at}, {e} * 0.125)"));
            }
            1 => {
                self.before();
                self.w.uses("element set");
                let (array, mine) = (self.array(), self.mine());
                self.w.line(&format!("{array}[{mine}] = {e}"));
                self.stored = true;
            }
            2 => {
                self.before();
                self.w.uses("element added");
                let array = self.array();
                let at = if self.w.one_in(2) { self.index() } else { self.mine() };
                let op = self.w.one_of(&["+=", "-="]);
                self.w.line(&format!("{array}[{at}] {op} {e}"));
                self.stored = true;
            }
            3 if self.has_grid() => {
                self.before();
                let place = self.place();
                self.w.line(&format!("q[{place}] = {e}"));
                self.stored = true;
                if self.together {
                    self.meet();
                    let place = self.place();
                    self.w.line(&format!("v = v * 0.5 + q[{place}]"));
                }
            }
            4 if self.w.one_in(3) => {
                self.before();
                self.w.uses("one thread");
                let array = self.array();
                let lane = self.w.below(self.threads.min(4));
                self.w.line(&format!("if lane == {lane}:"));
                let at = self.w.below(4);
                self.w.line(&format!("    {array}[{at}] = {array}[{}] * 0.5 + {e}", (at + 1) % 4));
                self.stored = true;
            }
            5 => {
                self.w.uses("function");
                self.before();
                let array = self.array();
                let at = self.index();
                let call = match self.w.below(3) {
                    0 => format!("pick({array}, {at})"),
                    1 => format!("pick_if({array}, {at}, {})", self.leaf()),
                    _ => format!("total({array}, {})", self.w.one_of(&["j", "2", "j + 1"])),
                };
                self.w.line(&format!("w = w * 0.5 + {call}"));
            }
            _ => {
                self.before();
                let to = self.w.one_of(&["v", "w", "w"]);
                let array = self.array();
                let at = self.index();
                let test = self.test();
                let read = match self.w.below(4) {
                    0 => format!("{array}[{at}]"),
                    1 => format!("({array}[{at}] if {test} else {e})"),
                    2 => format!("{array}[{at}] * {e}"),
                    _ => e,
                };
                self.w.line(&format!("{to} = {read}"));
            }
        }
    }
}

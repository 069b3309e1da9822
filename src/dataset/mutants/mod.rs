//! Would the checks of a program notice a mistake? Its kernels are changed at random and run on the
//! same data; what then passes the comparison is a mistake that nobody would find.
//!
//! | file | question it answers |
//! |---|---|
//! | [`operators`] | how is a kernel changed? |

mod operators;

use std::path::Path;

use super::artefacts::{self, Compiled};
use super::launch::{self, Contents, Scale};
use super::plan::Plan;
use super::random::Random;
use super::reference;
use super::repair::sites::{self, Fault, Sites};
use super::verify::Case;
use crate::diag::{Diagnostic, Level};
use crate::driver::{Compiler, Gradients, Request};
use crate::ir::interp;
use crate::run::launch::Direction;

/// Instructions that a launch of a mutant may take: more, and it is taken for endless.
const STEPS: u64 = 2_000_000;

/// Programs of which fewer mutants are noticed are no rows.
pub const LEAST: f64 = 0.8;

/// Where mutants begin to be drawn.
const SALT: u64 = 0x6d75_7461_6e75;

/// What became of a program's mutants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub killed: u32,
    /// They change numbers, and the comparison does not notice.
    pub survived: u32,
    /// Two inputs give the same bits: the change means nothing.
    pub equivalent: u32,
}

impl Tally {
    pub fn judged(&self) -> u32 {
        self.killed + self.survived
    }

    /// The share of those that are no equivalents; None: there are none.
    pub fn share(&self) -> Option<f64> {
        (self.judged() > 0).then(|| f64::from(self.killed) / f64::from(self.judged()))
    }
}

/// A run of the right program at one size.
#[derive(Clone, Debug)]
pub struct Run {
    pub scale: Scale,
    pub given: Contents,
    pub found: Contents,
    /// What the references make of it; what was found, where there are none.
    pub expected: Contents,
}

/// Changes the program `count` times and judges each change.
pub fn judge(plan: &Plan, compiled: &Compiled, runs: &[Run], seed: u64, count: u32, compiler: &Compiler) -> Tally {
    let parsed = sites::parse(&plan.text);
    let places = Sites::new(&plan.text, &parsed);
    let mut groups: Vec<Vec<Fault>> = Vec::new();
    for fault in operators::all(&places).list {
        match groups.iter_mut().find(|group| group[0].kind == fault.kind) {
            Some(group) => group.push(fault),
            None => groups.push(vec![fault]),
        }
    }
    let mut random = Random::new(seed ^ SALT, 0);
    let mut trial = Trial { plan, compiled, runs, seed, second: None };
    let mut tally = Tally::default();
    // What does not compile is no mutant.
    for _ in 0..4 * count {
        if tally.killed + tally.survived + tally.equivalent >= count || groups.is_empty() {
            break;
        }
        let at = random.below(groups.len());
        let below = groups[at].len();
        let fault = groups[at].swap_remove(random.below(below));
        if groups[at].is_empty() {
            groups.swap_remove(at);
        }
        let Some(mutant) = fault.apply(&plan.text).and_then(|text| trial.compile(text, compiler)) else { continue };
        *match trial.judge(&mutant) {
            Fate::Killed => &mut tally.killed,
            Fate::Survived => &mut tally.survived,
            Fate::Equivalent => &mut tally.equivalent,
        } += 1;
    }
    tally
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Killed,
    Survived,
    Equivalent,
}

struct Trial<'a> {
    plan: &'a Plan,
    compiled: &'a Compiled,
    runs: &'a [Run],
    seed: u64,
    /// What the right program leaves of another input, at the sizes of the runs.
    second: Option<Vec<Option<Contents>>>,
}

impl Trial<'_> {
    fn compile(&self, text: String, compiler: &Compiler) -> Option<Compiled> {
        let gradients = Gradients { backward: false, ..Gradients::default() };
        let request = Request { gradients, strict: true, ..Request::default() };
        let compilation = compiler.load_text(Path::new("kernel.py"), text, &request);
        let is_fault = |found: &Diagnostic| found.level == Level::Error;
        if compilation.diagnostics.iter().any(is_fault) {
            return None;
        }
        let names: Vec<&str> = self.compiled.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        artefacts::entries(compilation, &names)
    }

    fn judge(&mut self, mutant: &Compiled) -> Fate {
        let mut is_same = true;
        for run in self.runs {
            match outcome(self.plan, mutant, run.scale, run.given.clone()) {
                Some(found) => {
                    if reference::compare(self.plan, &run.expected, &found).is_err() {
                        return Fate::Killed;
                    }
                    is_same &= found == run.found;
                }
                None => return Fate::Killed,
            }
        }
        if !is_same {
            return Fate::Survived;
        }
        let other = self.seed ^ SALT;
        let given =
            |run: &Run| launch::contents(self.plan, &self.plan.steps, &launch::values(self.plan, run.scale), other);
        if self.second.is_none() {
            let of = |run: &Run| outcome(self.plan, self.compiled, run.scale, given(run));
            self.second = Some(self.runs.iter().map(of).collect());
        }
        let second = self.second.iter().flatten();
        let is_same = self.runs.iter().zip(second).all(|(run, expected)| {
            // What the program itself does not get through says nothing.
            expected.is_none() || outcome(self.plan, mutant, run.scale, given(run)) == *expected
        });
        if is_same { Fate::Equivalent } else { Fate::Survived }
    }
}

/// What the launches leave in the arrays; None: one of them ends in an error.
fn outcome(plan: &Plan, compiled: &Compiled, scale: Scale, mut contents: Contents) -> Option<Contents> {
    let module = &compiled.program.module;
    for step in &plan.steps {
        let size = launch::size(plan, step, scale);
        let kernel = compiled.kernels.iter().find(|kernel| kernel.name == step.kernel)?;
        let case = Case { plan, step, compiled, kernel, size: &size, contents: &contents };
        let (arguments, bounds) = (case.bind(Direction::Forward).ok()?, case.bounds().ok()?);
        let mut outcome = interp::Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        let program = interp::Program::new(module, kernel.forward);
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        unsafe { program.run(&bounds, arguments.block(), 0, bounds.size, &mut outcome) };
        if outcome.trap.take().is_some() {
            return None;
        }
        drop(outcome);
        launch::keep(&mut contents, step, &arguments, &module.structs);
    }
    Some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_equivalent_mutants_out() {
        assert_eq!(Tally { killed: 3, survived: 1, equivalent: 4 }.share(), Some(0.75));
        assert_eq!(Tally { equivalent: 2, ..Tally::default() }.share(), None);
    }

    #[test]
    fn each_operator_changes_the_text() {
        let text = "import warp as wp\n\n@wp.kernel\ndef k(a: wp.array2d[float], b: wp.array2d[float], n: int, m: int):\n    \
                    i, j = wp.tid()\n    if i >= n or not j < m:\n        return\n    s = float(0.0)\n    for c in range(m):\n        \
                    s += wp.max(a[i, c], -2.5) * b[c, j] / 3.0\n    b[i, j] = wp.min(s, a[i, j] - 1.0) + 2.0\n";
        let parsed = sites::parse(text);
        let mut kinds = std::collections::BTreeSet::new();
        for fault in operators::all(&Sites::new(text, &parsed)).list {
            assert_ne!(fault.apply(text).as_deref(), Some(text), "{fault:?}");
            kinds.insert(fault.kind);
        }
        assert!(kinds.len() >= 18, "{kinds:?}");
    }

    /// The body force of a lattice Boltzmann step is a thousandth of what it is added to.
    #[test]
    fn small_terms_are_noticed() {
        use crate::dataset::{families, verify};
        use crate::driver::Timings;
        let compiler = Compiler::new();
        let family = families::find("d3q19_explicit").expect("a family");
        let term = "3.0 * w * push";
        let plans = (0..40).map(|number| families::sample(3, number, &[family]).plan);
        let plan = plans.into_iter().find(|plan| plan.text.contains(term)).expect("a program in single precision");
        let names: Vec<&str> = plan.steps.iter().map(|step| step.kernel.as_str()).collect();
        let timings = &mut Timings::default();
        let compiled =
            artefacts::compile(&plan.text, None, &names, false, true, &compiler, timings).expect("a program");
        let checked = verify::verify(&plan, None, &compiled, 1, timings).expect("a right program");
        let mut trial = Trial { plan: &plan, compiled: &compiled, runs: &checked.runs, seed: 1, second: None };
        let fate = |trial: &mut Trial, text: String| {
            let mutant = trial.compile(text, &compiler).expect("it compiles");
            trial.judge(&mutant)
        };
        assert_eq!(fate(&mut trial, plan.text.clone()), Fate::Equivalent);
        assert_eq!(fate(&mut trial, plan.text.replace(term, "0.0 * w * push")), Fate::Killed);
    }
}

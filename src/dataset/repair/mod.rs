//! What do broken kernels look like, what does kc say of them, and how are they mended? Programs of
//! the set with one fault put in, as people make them.
//!
//! | file | question it answers |
//! |---|---|
//! | [`sites`] | where can a fault be put? |
//! | [`syntax`], [`types`], [`shapes`] | which faults does the compiler find? |
//! | [`semantic`], [`memory`], [`launches`], [`gradient`] | which show when the program runs? |
//! | [`trial`] | does a fault show, and how? |
//! | [`mod@cuda`] | what does it look like in CUDA? |
//! | [`talk`] | what is said of it, turn by turn? |
//!
//! A row exists only where the fault shows: the faulty text gives the diagnostics, or fails at the
//! launch, that the row holds. The right program is that of a verified row.

mod cuda;
mod gradient;
pub mod launches;
mod memory;
mod semantic;
mod shapes;
pub mod sites;
mod syntax;
mod talk;
pub mod trial;
mod types;

use serde_json::Value;
use similar::TextDiff;

use self::sites::{Fault, Faults, Sites};
use self::talk::Told;
use self::trial::{Shown, Trial};
use super::random::Random;
use super::record::{LICENSE, origin};
use super::row::{Cell, Row};
use super::sample::Sample;
use super::{Config, Options, identity};
use crate::diag::Level;
use crate::diag::render::{Format, Style, render, render_all};
use crate::driver::Compiler;

/// What kind of mistake a fault is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The parser refuses it.
    Syntax,
    /// Names, types, calls.
    Type,
    /// Ranks, sizes, components.
    Shape,
    /// Wrong numbers.
    Semantic,
    /// Threads that meet in one element.
    Race,
    /// Indices outside arrays.
    Bounds,
    /// Gradients that are lost, wrong or refused.
    Gradient,
}

impl Class {
    pub const ALL: [Class; 7] =
        [Class::Syntax, Class::Type, Class::Shape, Class::Semantic, Class::Race, Class::Bounds, Class::Gradient];

    /// As rows spell it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Syntax => "syntax",
            Class::Type => "type",
            Class::Shape => "shape",
            Class::Semantic => "semantic",
            Class::Race => "race",
            Class::Bounds => "bounds",
            Class::Gradient => "gradient",
        }
    }

    /// How often the class is tried first, so that all come out about equally often: not every
    /// program has room for each.
    fn weight(self) -> u32 {
        match self {
            Class::Type => 8,
            Class::Race => 8,
            Class::Bounds | Class::Semantic => 11,
            Class::Syntax | Class::Shape | Class::Gradient => 10,
        }
    }
}

/// Faults of one class that are tried before another class is.
const TRIES: usize = 5;

/// The choices of a repair row are others than those of its program.
const STREAM: u64 = 0x7265_7061_6972_2121;

/// Makes the repair row of a verified program. None where no fault shows that was tried.
pub fn make(sample: &Sample, candidate: u64, options: &Options, compiler: &Compiler) -> Option<Row> {
    let text = sample.plan.text.as_str();
    let mut random = Random::new(options.seed ^ STREAM, candidate);
    let parsed = sites::parse(text);
    let sites = Sites::new(text, &parsed);
    // The arrays hold what they hold in the checks of the program.
    let seed = Random::new(options.seed, candidate).word();
    let trial =
        Trial { plan: &sample.plan, step: sample.plan.steps.first()?, seed, compiler, in_cuda: options.emit.cuda };
    // Few programs have a barrier: these often lose one.
    let loses = text.contains("wp.tile_") && options.emit.cuda && random.chance(50);
    if let Some(shown) = loses.then(|| trial.without_barrier(&mut random)).flatten() {
        let note = "a `__syncthreads()` is missing: threads read shared memory before others have written it, or \
                    write it before others have read it";
        let fault = Fault::of_cuda("missing-barrier", note);
        return Some(row(sample, text, candidate, options, Class::Race, &fault, &shown, &mut random));
    }
    let mut classes = Class::ALL.to_vec();
    while !classes.is_empty() {
        let weights: Vec<u32> = classes.iter().map(|class| class.weight()).collect();
        let class = classes.remove(random.weighted(&weights));
        if class == Class::Gradient && !options.backward {
            continue;
        }
        let mut faults = faults(class, &sites, &trial.step.kernel, &mut random);
        for _ in 0..TRIES {
            let Some(fault) = take(&mut faults, &mut random) else { break };
            let Some(faulty) = fault.apply(text) else { continue };
            if let Some(mut shown) = trial.show(class, &faulty, fault.launch) {
                // Remarks are for those who ask.
                shown.diagnostics.retain(|d| d.level > Level::Note);
                return Some(row(sample, &faulty, candidate, options, class, &fault, &shown, &mut random));
            }
        }
    }
    None
}

fn faults(class: Class, sites: &Sites, kernel: &str, random: &mut Random) -> Vec<Fault> {
    let mut out = Faults::default();
    match class {
        Class::Syntax => syntax::faults(sites, &mut out),
        Class::Type => types::faults(sites, random, &mut out),
        Class::Shape => shapes::faults(sites, &mut out),
        Class::Semantic => {
            semantic::faults(sites, random, &mut out);
            memory::wraps(sites, &mut out);
            launches::faults(sites, kernel, &mut out);
        }
        Class::Race => memory::races(sites, &mut out),
        Class::Bounds => {
            memory::bounds(sites, &mut out);
            memory::wraps(sites, &mut out);
            launches::faults(sites, kernel, &mut out);
        }
        Class::Gradient => gradient::faults(sites, &mut out),
    }
    out.list
}

/// Takes a fault out of the list: any kind is as likely as the others, however many places it has.
fn take(faults: &mut Vec<Fault>, random: &mut Random) -> Option<Fault> {
    let mut kinds: Vec<&str> = faults.iter().map(|fault| fault.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.is_empty() {
        return None;
    }
    let kind = *random.pick(&kinds);
    let places: Vec<usize> = (0..faults.len()).filter(|&n| faults[n].kind == kind).collect();
    let place = *random.pick(&places);
    Some(faults.remove(place))
}

fn row(
    sample: &Sample,
    faulty: &str,
    candidate: u64,
    options: &Options,
    class: Class,
    fault: &Fault,
    shown: &Shown,
    random: &mut Random,
) -> Row {
    let text = sample.plan.text.as_str();
    let identity = identity::of_text(text).unwrap_or_default();
    let findings: Vec<Value> = shown
        .diagnostics
        .iter()
        .filter_map(|d| serde_json::from_str(&render(d, &shown.sources, Format::Json, Style::PLAIN)).ok())
        .collect();
    let mut codes: Vec<&str> = shown.diagnostics.iter().map(|d| d.code.name()).collect();
    codes.sort_unstable();
    codes.dedup();
    let diff = |from: &str, to: &str, file: &str| {
        TextDiff::from_lines(from, to).unified_diff().header(&format!("a/{file}"), &format!("b/{file}")).to_string()
    };
    let rendered = render_all(&shown.diagnostics, &shown.sources, Format::Full, Style::PLAIN, 0);
    let kernel = sample.plan.steps.first().map_or("", |step| step.kernel.as_str());
    let launch =
        shown.threads.as_ref().map(|threads| threads.iter().map(u32::to_string).collect::<Vec<_>>().join(" x "));
    let told = Told {
        task: sample.meaning.prompt(),
        kernel,
        buggy: faulty,
        fixed: text,
        note: &fault.note,
        rendered: &rendered,
        failure: &shown.failure,
        launch,
        cuda: shown.cuda.as_ref(),
    };
    let talk = told.talk(random);
    let cuda = shown.cuda.as_ref();
    let mut row = Row::new(Config::Repair);
    row.set("split", sample.meaning.split);
    row.set("bug_class", class.name());
    row.set("bug_kind", fault.kind);
    row.set("description", fault.note.as_str());
    row.set("category", sample.category);
    row.set("domain", sample.domain);
    row.set("language", talk.language);
    row.set("messages[].role", Cell::from_iter((0..talk.turns.len()).map(|n| ["user", "assistant"][n % 2])));
    row.set("messages[].content", Cell::from_iter(talk.turns.iter().map(String::as_str)));
    row.set("buggy_source", faulty);
    row.set("fixed_source", text);
    row.set("unified_diff", diff(faulty, text, "kernel.py"));
    row.set("buggy_cuda", cuda.map(|cuda| cuda.buggy.as_str()));
    row.set("fixed_cuda", cuda.map(|cuda| cuda.fixed.as_str()));
    row.set("cuda_diff", cuda.map(|cuda| diff(&cuda.buggy, &cuda.fixed, "kernel.cu")));
    row.set("cuda_failure", cuda.map(|cuda| cuda.failure.as_str()));
    row.set("found_by", shown.found_by);
    row.set("failure", shown.failure.as_str());
    row.set("diagnostic_codes", Cell::from_iter(codes));
    row.set("diagnostics", Value::Array(findings).to_string());
    row.set("rendered_terminal", rendered);
    row.set("witness_input", shown.witness.as_ref().map(Value::to_string));
    row.set("kernel", kernel);
    row.set("ast_shape_hash", format!("{:016x}", identity.shape));
    row.set("skeleton_hash", format!("{:016x}", identity.skeleton));
    origin(&mut row, candidate, options, LICENSE);
    row
}

#[cfg(test)]
mod tests;

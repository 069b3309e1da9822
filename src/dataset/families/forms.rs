//! How is a host program built? Most are one function. Others parse arguments, step through time,
//! keep their arrays in an object, capture a graph or record a tape.

use super::facts::{self, Usage};
use super::host::{expected_name, host_name, is_float};
use super::library::{Kind, Role, Size};
use super::program::{Built, Draft, Sections};
use super::{code, print, words};
use crate::dataset::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `main` does everything, once.
    Function,
    /// Sizes, the seed and the device come from the command line.
    Arguments,
    /// The launches are repeated, and so are the references.
    Steps,
    /// The same, and what a step gives is what the next one begins with: the arrays are swapped.
    Swap,
    /// An object keeps the arrays and launches the kernels.
    Class,
    /// On a GPU, the launches are captured and replayed.
    Graph,
    /// A tape records the launch, for the gradient of what it gives.
    Tape,
}

/// How often a program that steps through time launches its kernels.
pub const STEPS: usize = 3;

/// Words of tasks that are done again and again.
const AGAIN: [&str; 8] = ["step", "advance", "integrat", "relax", "sweep", "iteration", "update", "time"];

/// Names that host programs have besides those of arrays and numbers.
const TAKEN: [&str; 14] = [
    "args",
    "parser",
    "num_steps",
    "sim",
    "tape",
    "capture",
    "launch_all",
    "dim",
    "inputs",
    "outputs",
    "block_dim",
    "self",
    "device",
    "seed",
];

impl Form {
    /// One that the draft can have.
    pub fn draw(draft: &Draft, random: &mut Random) -> Form {
        let names = || draft.roles.iter().map(|role| &role.name).chain(draft.sizes.iter().map(|size| &size.name));
        if names().any(|name| TAKEN.contains(&name.as_str())) {
            return Form::Function;
        }
        // Few algorithms can be stepped or have a gradient to ask for: these often are.
        if !swapped(draft).is_empty() && random.chance(50) {
            return Form::Swap;
        }
        if steps_again(draft) && random.chance(50) {
            return Form::Steps;
        }
        if has_plain_gradient(draft) && random.chance(45) {
            return Form::Tape;
        }
        let others = [Form::Function, Form::Arguments, Form::Class, Form::Graph];
        others[random.weighted(&[60, 16, 14, 10])]
    }
}

fn kernels(draft: &Draft) -> impl Iterator<Item = &Built> {
    draft.functions.iter().filter(|function| function.kind == Kind::Kernel)
}

/// Whether launches on what the ones before left are what the references give when they are called
/// again.
fn steps_again(draft: &Draft) -> bool {
    let is_role = |name: &String| draft.role(name).is_some_and(|role| role.is_array());
    let expected = |name: &String| {
        let references = draft.functions.iter().filter(|function| function.kind == Kind::Reference);
        references.flat_map(|function| &function.written).any(|written| written == name)
    };
    let moves = |function: &Built| {
        function.written.iter().any(|name| {
            let is_state = draft.role(name).is_some_and(|role| is_float(&role.ty) && !role.is_unordered());
            is_state && facts::usage(draft, function, name) == Usage::InPlace
        })
    };
    // Where a reference adds to what it was given and the kernel sets it, a second call differs.
    let sets = |name: &str| {
        kernels(draft).any(|function| {
            let written = function.written.iter().any(|written| written == name);
            written && facts::usage(draft, function, name) == Usage::Output
        })
    };
    let added = |line: &String| {
        let longhand = line.split_once(" = ").filter(|(to, value)| value.starts_with(&format!("{} + ", to.trim())));
        let (to, _) = line.split_once(" += ").or(longhand)?;
        to.trim().split('[').next().map(str::to_string)
    };
    let gathers = |function: &Built| {
        function.kind == Kind::Reference && function.body.iter().filter_map(added).any(|to| sets(&to))
    };
    let adds = |function: &Built| function.body.iter().any(|line| line.contains("atomic_"));
    let title = draft.title.to_lowercase();
    AGAIN.iter().any(|word| title.contains(word))
        && draft.runs.iter().all(|run| run.bound.is_empty())
        && !draft.roles.iter().any(|role| role.is_unordered())
        && !draft.functions.iter().any(gathers)
        && kernels(draft).any(moves)
        && kernels(draft)
            .all(|function| !adds(function) && function.written.iter().filter(|n| is_role(n)).all(expected))
}

/// The arrays that hold a state before and after the launches, each pair of one type and shape.
/// None where a launch leaves something that is no such state and that the next one would begin
/// with, or where references do not write all that kernels do.
pub fn swapped(draft: &Draft) -> Vec<(String, String)> {
    let arrays = || draft.roles.iter().filter(|role| role.is_array());
    let usages = |name: &str| {
        let takes = kernels(draft).filter(|function| function.params.iter().any(|param| param == name));
        takes.map(|function| facts::usage(draft, function, name)).collect::<Vec<Usage>>()
    };
    // An engine is of one array.
    let held = draft.held();
    let is_state = |role: &Role| !role.is_unordered() && !held.contains(&role.name);
    let is_set = |name: &str| {
        let usages = usages(name);
        !usages.is_empty() && usages[0] == Usage::Output && !usages.contains(&Usage::InPlace)
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for after in arrays().filter(|role| is_state(role) && role.content().0 == "zeros") {
        let Some((what, _)) = after.about.split_once(" after ") else { continue };
        let before = arrays().filter(|role| {
            let rest = role.about.strip_prefix(what);
            let same = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()));
            same && (&role.ty, &role.dims) == (&after.ty, &after.dims) && role.content().0 != "zeros"
        });
        let before: Vec<&str> = before.map(|role| role.name.as_str()).collect();
        let [before] = before.as_slice() else { return Vec::new() };
        let read = usages(before);
        if !is_set(&after.name) || read.is_empty() || read.iter().any(|usage| *usage != Usage::Input) {
            return Vec::new();
        }
        pairs.push((before.to_string(), after.name.clone()));
    }
    let references = || draft.functions.iter().filter(|function| function.kind == Kind::Reference);
    let expected = |name: &String| references().flat_map(|function| &function.written).any(|written| written == name);
    // A thread that leaves has set its element before, or has none.
    let leaves = |before: &str| {
        let sets = pairs.iter().any(|(_, after)| before.trim_start().starts_with(&format!("{after}[")));
        let is_guard = before.contains(" >= ") && draft.sizes.iter().any(|size| code::mentions(before, &size.name));
        sets || is_guard
    };
    let is_whole = |function: &Built| {
        let mut lines = function.body.windows(2).filter(|lines| lines[1].trim() == "return");
        let mut written = function.written.iter().filter(|name| draft.role(name).is_some_and(|role| role.is_array()));
        let grows = |name: &String| usages(name).iter().all(|usage| *usage == Usage::InPlace);
        lines.all(|lines| leaves(&lines[0])) && written.all(|name| expected(name) && (is_set(name) || grows(name)))
    };
    // A reference that adds to what it was given would add to what a step before has left.
    let array = |text: &str| text.trim().split('[').next().unwrap_or("").to_string();
    let adds = |line: &String| {
        let set = line.split_once(" = ").filter(|(to, from)| array(to) == array(from) && from.contains('['));
        let to = set.map(|(to, _)| to).or_else(|| line.split_once(" += ").map(|(to, _)| to));
        // One that sets a component leaves the others.
        let part = line.split_once(" = ").map(|(to, _)| to).filter(|to| to.contains("]["));
        to.or(part).is_some_and(|to| is_set(&array(to)))
    };
    let free = draft.runs.iter().all(|run| run.bound.is_empty()) && !references().flat_map(|f| &f.body).any(adds);
    if free && kernels(draft).all(is_whole) { pairs } else { Vec::new() }
}

/// Whether its gradient is that of one launch, from arrays to arrays.
fn has_plain_gradient(draft: &Draft) -> bool {
    const LEFT_OUT: [&str; 8] =
        ["atomic_", "while ", "break", "continue", "wp.rand", "wp.tile_", "wp.bvh_query", "wp.hash_grid_query"];
    let [run] = draft.runs.as_slice() else { return false };
    let Some(kernel) = kernels(draft).find(|function| function.name == run.kernel) else { return false };
    let lines = draft.functions.iter().filter(|function| function.kind != Kind::Reference).flat_map(|f| &f.body);
    let (inputs, outputs) = (floats(draft, kernel, Usage::Input), floats(draft, kernel, Usage::Output));
    run.bound.is_empty()
        && !draft.style.no_backward
        && !inputs.is_empty()
        && !outputs.is_empty()
        && kernel.params.iter().all(|name| facts::usage(draft, kernel, name) != Usage::InPlace)
        && !lines.into_iter().any(|line| LEFT_OUT.iter().any(|word| line.contains(word)))
}

/// The arrays of floats that a kernel uses so.
fn floats(draft: &Draft, kernel: &Built, usage: Usage) -> Vec<String> {
    let is_array = |name: &&String| draft.role(name).is_some_and(|role| role.is_array() && is_float(&role.ty));
    let arrays = kernel.params.iter().filter(is_array);
    arrays.filter(|name| facts::usage(draft, kernel, name) == usage).cloned().collect()
}

/// The lines in front of `main`, and those in it.
pub fn program(draft: &Draft, parts: Sections) -> (Vec<String>, Vec<String>) {
    let Sections { data, arrays, launches, checks } = parts;
    let inner =
        |lines: Vec<String>| lines.into_iter().filter(|line| !line.is_empty()).map(|line| format!("    {line}"));
    let (mut before, mut out) = (Vec::new(), Vec::new());
    match draft.form {
        Form::Function => out.extend([data, arrays, launches, checks].concat()),
        Form::Arguments => {
            let (parsing, data) = arguments(draft, data);
            out.extend([parsing, data, arrays, launches, checks].concat());
        }
        Form::Steps => {
            out.extend([data, arrays].concat());
            out.extend([String::new(), format!("num_steps = {STEPS}"), "for _ in range(num_steps):".to_string()]);
            out.extend(inner(launches));
            let is_call = |line: &String| line.starts_with("reference(") || line.starts_with("reference_");
            let first = checks.iter().position(is_call).unwrap_or(0);
            for (n, line) in checks.into_iter().enumerate() {
                if n == first {
                    out.push("for _ in range(num_steps):".to_string());
                }
                out.push(if is_call(&line) { format!("    {line}") } else { line });
            }
        }
        Form::Swap => out.extend(swapping(draft, [data, arrays].concat(), inner(launches).collect(), checks)),
        Form::Class => {
            let names = held(draft, &launches);
            before.extend(class(draft, &names, inner(launches).collect()));
            out.extend([data, arrays].concat());
            out.extend([String::new(), format!("sim = {}({})", words::class(&draft.name), names.join(", "))]);
            out.push("sim.step()".to_string());
            out.extend(checks);
        }
        Form::Graph => {
            out.extend([data, arrays].concat());
            out.extend([String::new(), "def launch_all():".to_string()]);
            out.extend(inner(launches));
            let replay = [
                "",
                "if wp.get_device().is_cuda:",
                "    with wp.ScopedCapture() as capture:",
                "        launch_all()",
                "    wp.capture_launch(capture.graph)",
                "else:",
                "    launch_all()",
            ];
            out.extend(replay.map(str::to_string));
            out.extend(checks);
        }
        Form::Tape => out.extend(tape(draft, [data, arrays].concat(), inner(launches).collect(), checks)),
    }
    (before, out)
}

/// A program that steps through time with two arrays for each state (ping-pong buffers). It
/// compares the arrays that the last step wrote.
fn swapping(draft: &Draft, data: Vec<String>, launches: Vec<String>, checks: Vec<String>) -> Vec<String> {
    let pairs = swapped(draft);
    let mut out = data;
    out.extend([String::new(), format!("num_steps = {STEPS}"), "for _ in range(num_steps):".to_string()]);
    out.extend(launches);
    out.extend(pairs.iter().map(|(before, after)| format!("    {before}, {after} = {after}, {before}")));
    let is_call = |line: &String| line.starts_with("reference(") || line.starts_with("reference_");
    let (first, last) = (checks.iter().position(is_call), checks.iter().rposition(is_call));
    for (n, line) in checks.into_iter().enumerate() {
        if Some(n) == first {
            out.push("for _ in range(num_steps):".to_string());
        }
        if is_call(&line) {
            out.push(format!("    {line}"));
        } else {
            // The newest state is where the first one was.
            let newest = |line: String, (before, after): &(String, String)| {
                let line = code::replace(&line, &expected_name(draft, after), &host_name(draft, before));
                let line = line.replace(&format!("\"{after}\""), &format!("\"{before}\""));
                code::replace(&line, after, before)
            };
            out.push(if last < Some(n) { pairs.iter().fold(line, newest) } else { line });
        }
        if Some(n) == last {
            for (before, after) in &pairs {
                let (a, b) = (host_name(draft, before), expected_name(draft, after));
                out.push(format!("    {a}, {b} = {b}, {a}"));
            }
        }
    }
    out
}

/// What a parser of arguments gives in the place of numbers: those that programs are checked with
/// several values of.
fn arguments(draft: &Draft, data: Vec<String>) -> (Vec<String>, Vec<String>) {
    let title = words::sentence(&draft.title).replace('"', "'");
    let made = format!("parser = argparse.ArgumentParser(description=\"{title}\")");
    // A text is not broken.
    let fits = made.len() + 4 <= print::WIDTH;
    let mut parsing = vec![if fits { made } else { "parser = argparse.ArgumentParser()".to_string() }];
    let mut lines = Vec::new();
    for line in data {
        let option = line.split_once(" = ").and_then(|(name, value)| {
            if value == format!("np.random.default_rng({})", draft.seed) {
                return Some((
                    name,
                    "seed".to_string(),
                    draft.seed.to_string(),
                    "np.random.default_rng(args.seed)".to_string(),
                ));
            }
            let size = draft.sizes.iter().find(|size| size.name == name && size.host.to_string() == value)?;
            if !is_free(draft, size) {
                return None;
            }
            let varies = size.values[0] != size.values[2];
            varies.then(|| (name, name.replace('_', "-"), value.to_string(), format!("args.{name}")))
        });
        match option {
            Some((name, option, value, given)) => {
                parsing.push(format!("parser.add_argument(\"--{option}\", type=int, default={value})"));
                lines.push(format!("{name} = {given}"));
            }
            None => lines.push(line),
        }
    }
    parsing.push("parser.add_argument(\"--device\", help=\"where the kernels run\")".to_string());
    parsing.push("args = parser.parse_args()".to_string());
    parsing.push("if args.device is not None:".to_string());
    parsing.push("    wp.set_device(args.device)".to_string());
    parsing.push(String::new());
    (parsing, lines)
}

/// Whether a size may be another one while all others stay: it is no square, cube or product of
/// them, they are none of it, and no launch has numbers that go with it.
fn is_free(draft: &Draft, size: &Size) -> bool {
    let scales = |size: &Size| [size.values[0], size.values[1], size.values[2], size.host];
    let is_made_of = |whole: &Size, parts: &[&Size]| {
        (0..4).all(|n| {
            parts.iter().map(|part| u64::from(scales(part)[n])).product::<u64>() == u64::from(scales(whole)[n])
        })
    };
    let of = |a: &Size, b: &Size| is_made_of(a, &[b, b]) || is_made_of(a, &[b, b, b]);
    let others = || draft.sizes.iter().filter(|other| other.name != size.name);
    let is_product = others().any(|a| {
        let b = || others().filter(|b| b.name != a.name);
        of(a, size) || of(size, a) || b().any(|b| is_made_of(size, &[a, b]) || is_made_of(a, &[size, b]))
    });
    let has_numbers = draft.runs.iter().flat_map(|run| &run.bound).any(|(_, value)| value.parse::<i64>().is_ok());
    !is_product && !has_numbers
}

/// The names that launches use, of arrays and of numbers.
fn held(draft: &Draft, launches: &[String]) -> Vec<String> {
    let sizes = draft.sizes.iter().map(|size| &size.name);
    let roles = draft.roles.iter().map(|role| &role.name).filter(|name| !draft.constants.contains(name));
    let params = (!draft.bundled.is_empty()).then(|| "params".to_string());
    let names = sizes.chain(roles).cloned().chain(params);
    names.filter(|name| launches.iter().any(|line| code::mentions(line, name))).collect()
}

fn class(draft: &Draft, names: &[String], launches: Vec<String>) -> Vec<String> {
    let mut out = ["", ""].map(str::to_string).to_vec();
    out.push(format!("class {}:", words::class(&draft.name)));
    if draft.style.docs {
        out.extend(["    \"\"\"Keeps the arrays and launches the kernels.\"\"\"", ""].map(str::to_string));
    }
    let mut header = print::broken(&format!("    def __init__(self, {})", names.join(", ")));
    header.iter_mut().last().into_iter().for_each(|line| line.push(':'));
    out.extend(header);
    out.extend(names.iter().map(|name| format!("        self.{name} = {name}")));
    out.extend(["", "    def step(self):"].map(str::to_string));
    for line in launches {
        let line = names.iter().fold(line, |line, name| code::replace(&line, name, &format!("self.{name}")));
        out.push(format!("    {line}"));
    }
    out
}

/// A program that records its launch, and asks for a gradient at the end.
fn tape(draft: &Draft, data: Vec<String>, launches: Vec<String>, checks: Vec<String>) -> Vec<String> {
    let Some(kernel) = kernels(draft).next() else { return Vec::new() };
    let (inputs, outputs) = (floats(draft, kernel, Usage::Input), floats(draft, kernel, Usage::Output));
    let is_graded = |line: &str| {
        let array = line.split_once(" = wp.array(").or_else(|| line.split_once(" = wp.zeros("));
        array.is_some_and(|(name, _)| inputs.iter().chain(&outputs).any(|other| other == name))
    };
    let graded = |line: String| match line.strip_suffix(')').filter(|_| is_graded(&line)) {
        Some(start) => format!("{start}, requires_grad=True)"),
        None => line,
    };
    let mut out: Vec<String> = data.into_iter().map(graded).collect();
    out.extend(["", "tape = wp.Tape()", "with tape:"].map(str::to_string));
    out.extend(launches);
    out.extend(checks);
    if let Some(first) = outputs.first() {
        out.extend([String::new(), format!("tape.backward(grads={{{first}: wp.ones_like({first})}})")]);
    }
    out.extend(
        inputs
            .iter()
            .map(|name| format!("print(\"largest derivative by {name}:\", np.abs({name}.grad.numpy()).max())")),
    );
    out
}

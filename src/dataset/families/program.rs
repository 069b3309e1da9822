//! Draft of a program: the functions of an algorithm and of its companions after all random
//! choices, with the parameters that they have then.

use std::collections::HashSet;

use super::code::{take_doc, writes};
use super::facts::{self, Usage};
use super::forms::{Form, STEPS, swapped};
use super::library::{self, Family, Function, Kind, Ladder, Role, Size, extent};
use super::vary::Choices;
use super::{ask, batch, claims, code, dialect, engines, fuse, habits, host, print, translations, words};
use crate::dataset::plan::{Content, Extent, Given, Param, Plan, Step, Symbol};
use crate::dataset::random::Random;
use crate::dataset::record::LICENSE;
use crate::dataset::sample::{Meaning, Sample};

/// A function after all choices.
#[derive(Clone, Debug)]
pub struct Built {
    pub kind: Kind,
    pub name: String,
    /// What a helper declares.
    pub head: String,
    pub doc: Option<String>,
    pub body: Vec<String>,
    /// The names of roles and sizes that it has as parameters.
    pub params: Vec<String>,
    /// Those of them that it writes.
    pub written: Vec<String>,
    /// The extents of its launch.
    pub dims: Vec<String>,
    pub is_guarded: bool,
    /// The names of a thread's indices.
    pub threads: Vec<String>,
    /// Under which conditions a thread does anything.
    pub conditions: Vec<String>,
    pub tags: Vec<&'static str>,
}

/// The launch of a kernel.
#[derive(Clone, Debug)]
pub struct Run {
    pub kernel: String,
    pub bound: Vec<(String, String)>,
}

/// How one person writes.
#[derive(Clone, Debug)]
pub struct Style {
    /// `wp.array[float]` or `wp.array(dtype=float)`.
    pub brackets: bool,
    /// `wp.float32` for `float`.
    pub sized: bool,
    /// `wp.int32(0)` for `int(0)`.
    pub casts: bool,
    /// `wp.vec3f` for `wp.vec3`.
    pub lettered: bool,
    /// Functions say what they return.
    pub returns: bool,
    /// In which order parameters stand.
    pub order: usize,
    pub group_comments: bool,
    pub underscore: bool,
    pub suffix: bool,
    /// Names of kernels have a verb.
    pub verb: bool,
    /// Names of kernels have that of the method in front.
    pub qualified: bool,
    /// Names of arrays say what they hold.
    pub described: bool,
    pub docs: bool,
    pub args: bool,
    pub module_doc: bool,
    pub no_backward: bool,
    pub outputs: bool,
    /// A function compares results.
    pub checks: bool,
    pub host: usize,
    /// In whose words the task is.
    pub wording: usize,
    /// How much of it a conversation begins with: a sentence, a few, or all.
    pub level: usize,
}

#[derive(Clone)]
pub struct Draft {
    pub name: String,
    pub title: String,
    pub about: String,
    pub sizes: Vec<Size>,
    pub roles: Vec<Role>,
    pub functions: Vec<Built>,
    pub runs: Vec<Run>,
    /// Names of numbers that are constants of the module.
    pub constants: Vec<String>,
    /// Kernels take them by `wp.static`.
    pub is_static: bool,
    /// Names of numbers that kernels get as one struct.
    pub bundled: Vec<String>,
    pub style: Style,
    pub form: Form,
    pub seed: usize,
    /// What is said of it elsewhere, by the names of its things.
    pub notes: Vec<String>,
}

/// The parts of a host program, line by line.
pub struct Sections {
    pub data: Vec<String>,
    pub arrays: Vec<String>,
    pub launches: Vec<String>,
    pub checks: Vec<String>,
}

/// So many of 100 programs may have a kernel that measures what the algorithm gives, or clears what
/// it adds to; it has to fit what an array holds.
const COMPANIONS: u32 = 40;

/// Makes sample number `number` of `seed`, of one of the families (not none).
pub fn sample(seed: u64, number: u64, families: &[&'static Family]) -> Sample {
    let (family, draft, meanings) = drafted(seed, number, families);
    let text = print::text(&draft);
    let mut tags: Vec<&'static str> = draft.functions.iter().flat_map(|function| function.tags.clone()).collect();
    tags.sort_unstable();
    tags.dedup();
    Sample {
        category: family.subject,
        domain: family.domain,
        meaning: Meaning {
            family: Some(family.name),
            split: family.split,
            source: family.source.to_string(),
            kinds: tags,
            level: draft.style.level,
            tasks: ask::tasks(&draft, &meanings),
            false_claim: claims::first(&draft),
            translations: translations::of(family, &draft),
            licence: LICENSE,
            mode: "family",
        },
        plan: plan(&draft, text),
    }
}

/// The program of a sample before it is text, with its algorithm and what its parts do.
pub fn drafted(seed: u64, number: u64, families: &[&'static Family]) -> (&'static Family, Draft, Vec<String>) {
    let mut random = Random::new(seed, number);
    let weights: Vec<u32> = families.iter().map(|family| family.weight).collect();
    let family = families[random.weighted(&weights)];
    let mut parts = Parts::of(family);
    let mut meanings = vec![family.task.to_string()];
    if random.chance(COMPANIONS) {
        let own = library::companions().iter().filter(|one| one.split == family.split);
        let mut all: Vec<&Family> = own.collect();
        shuffle(&mut all, &mut random);
        meanings.extend(all.into_iter().find_map(|companion| parts.attach(companion, &mut random)));
    }
    if meanings.len() == 1 {
        let texts = library::translations(family.name).unwrap_or_default();
        parts.notes = texts.into_iter().map(str::to_string).collect();
    }
    (family, parts.draft(true, &mut random), meanings)
}

/// The versions of a ladder in one program: all have the same names.
pub fn all_versions(seed: u64, number: u64, ladder: &'static Ladder) -> Draft {
    let mut random = Random::new(seed, number);
    let mut parts = Parts::of(&ladder.family);
    let kernels = ladder.family.functions.iter().filter(|function| function.kind == Kind::Kernel);
    parts.runs = kernels.map(|function| Run { kernel: function.name.clone(), bound: Vec::new() }).collect();
    parts.notes = ladder.changes.iter().map(|(_, reason)| reason.to_string()).collect();
    parts.draft(false, &mut random)
}

/// A function before any choice, with its lines and extents.
type Part = (Function, Vec<String>, Vec<String>);

/// An algorithm and its companions, before any choice.
struct Parts {
    family: &'static Family,
    sizes: Vec<Size>,
    roles: Vec<Role>,
    /// With their lines and extents: companions have those of the algorithm.
    functions: Vec<Part>,
    runs: Vec<Run>,
    notes: Vec<String>,
}

impl Parts {
    fn of(family: &'static Family) -> Parts {
        let owned = |list: &[&str]| list.iter().map(|line| line.to_string()).collect::<Vec<_>>();
        let functions = family.functions.iter().map(|f| (owner(family, f), owned(&f.body), owned(&f.dims))).collect();
        let run = |(kernel, bound): &(&str, Vec<(&str, &str)>)| Run {
            kernel: kernel.to_string(),
            bound: bound.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        };
        let (sizes, roles) = (family.sizes.clone(), family.roles.clone());
        let runs = family.run.iter().map(run).collect();
        Parts { family, sizes, roles, functions, runs, notes: Vec::new() }
    }

    fn is_taken(&self, name: &str) -> bool {
        self.roles.iter().any(|role| role.name == name)
            || self.sizes.iter().any(|size| size.name == name)
            || self.functions.iter().any(|(function, ..)| function.name == name)
            || self.functions.iter().any(|(_, body, _)| body.iter().any(|line| code::mentions(line, name)))
    }

    /// Whether functions of a kind change elements of an array.
    fn writes_in(&self, kind: Kind, name: &str) -> bool {
        let functions = self.functions.iter().filter(|(function, ..)| function.kind == kind);
        functions.flat_map(|(_, body, _)| body).any(|line| writes(line, name))
    }

    /// The array that a companion fits: one of its type, that holds what it measures.
    fn target(&self, data: &Role, companion: &Family, random: &mut Random) -> Option<Role> {
        let written =
            |role: &Role| self.writes_in(Kind::Reference, &role.name) && self.writes_in(Kind::Kernel, &role.name);
        let gathers = |role: &Role| {
            let kernels = self.functions.iter().filter(|(function, ..)| function.kind == Kind::Kernel);
            kernels.flat_map(|(_, body, _)| body).any(|line| line.contains(&format!("wp.atomic_add({},", role.name)))
        };
        let fits = |role: &&Role| {
            let is_line = role
                .dims
                .as_ref()
                .is_some_and(|dims| dims.len() == 1 && self.sizes.iter().any(|size| size.name == dims[0]));
            let state = match data.content.as_str() {
                // Only what is added to has to be cleared.
                "attach zeros" => role.content == "zeros" && gathers(role),
                _ => !role.is_unordered() && data.about.split(' ').any(|word| role.about.contains(word)),
            };
            role.ty == data.ty && is_line && state && written(role)
        };
        let pair = companion.roles.iter().any(|role| role.content == "attach before");
        let places: Vec<&Role> =
            self.roles.iter().filter(fits).filter(|role| !pair || self.before(role).is_some()).collect();
        (!places.is_empty() && self.runs.iter().all(|run| run.bound.is_empty()))
            .then(|| (*random.pick(&places)).clone())
    }

    /// What an array held before the step: `u` of `u_next`.
    fn before(&self, after: &Role) -> Option<&Role> {
        let stem = after.name.strip_suffix("_new").or(after.name.strip_suffix("_next"))?;
        let same = |role: &&Role| role.name == stem && role.ty == after.ty && role.dims == after.dims;
        self.roles.iter().find(same).filter(|role| !self.writes_in(Kind::Kernel, &role.name))
    }

    /// Adds the kernels of a companion, on an array that fits. Gives what they do; None: there is
    /// no such array, or names would meet.
    fn attach(&mut self, companion: &'static Family, random: &mut Random) -> Option<String> {
        let data = companion.roles.iter().find(|role| role.content.starts_with("attach"))?;
        let first = data.content.ends_with("zeros");
        let target = self.target(data, companion, random)?;
        let earlier = self.before(&target).map_or(String::new(), |role| role.name.clone());
        let extent = target.dims.clone().unwrap_or_default().remove(0);
        let own = |role: &&Role| !role.content.starts_with("attach");
        let others = companion.roles.iter().filter(own).map(|role| role.name.as_str());
        let sizes = companion.sizes.iter().map(|size| size.name.as_str()).filter(|name| *name != "n");
        let names =
            companion.functions.iter().map(|function| function.name.as_str()).filter(|name| *name != "reference");
        let is_taken = others.chain(sizes).chain(names).any(|name| self.is_taken(name));
        if is_taken || target.name == "data" || earlier == "before" {
            return None;
        }
        // Locals of a companion may not be names of the algorithm.
        let clash = |line: &String| {
            code::words(line).any(|word| {
                let is_bound = ["data", "before", "n"].contains(&word);
                !is_bound && (word == target.name || word == extent || self.roles.iter().any(|r| r.name == word))
            })
        };
        let lines =
            || companion.functions.iter().flat_map(|function| function.body.iter().map(|line| line.to_string()));
        if lines().any(|line| clash(&line)) {
            return None;
        }
        let bind = |text: &str| {
            let text = code::replace(text, "before", &earlier);
            code::replace(&code::replace(&text, "data", &target.name), "n", &extent)
        };
        let functions = companion.functions.iter().map(|function| {
            let body = function.body.iter().map(|line| bind(line)).collect();
            (owner(companion, function), body, function.dims.iter().map(|dim| bind(dim)).collect())
        });
        let functions: Vec<_> = functions.collect();
        for role in companion.roles.iter().filter(own) {
            let mut role = role.clone();
            let dims = role.dims.take();
            role.dims = dims.map(|dims| dims.iter().map(|dim| bind(dim)).collect());
            role.content = bind(&role.content);
            self.roles.push(role);
        }
        let sizes = companion.sizes.iter().filter(|size| size.name != "n");
        self.sizes.extend(sizes.cloned());
        let runs = companion.run.iter().map(|(kernel, _)| Run { kernel: kernel.to_string(), bound: Vec::new() });
        let meaning = words::about(companion.task, &target.about);
        match first {
            true => {
                self.runs.splice(0..0, runs);
                // The algorithm comes first in the file, whatever is launched first.
                let at = self.functions.iter().position(|(function, ..)| function.kind == Kind::Reference).unwrap_or(0);
                self.functions.splice(at..at, functions);
                let role = self.roles.iter_mut().find(|role| role.name == target.name);
                role.into_iter().for_each(|role| role.content = "full(7.0)".to_string());
            }
            false => match self.fuse(&meaning, &functions, &target.name, random) {
                true => self.functions.extend(functions.into_iter().filter(|(f, ..)| f.kind != Kind::Kernel)),
                false => {
                    self.runs.extend(runs);
                    self.functions.extend(functions);
                }
            },
        }
        Some(meaning)
    }

    /// Puts the lines of a companion's kernel behind those of the one that is launched last, where
    /// the same thread has what they need. The kernel then says of both what they do, in its name
    /// and its docstring.
    fn fuse(&mut self, meaning: &str, functions: &[Part], array: &str, random: &mut Random) -> bool {
        const LONGEST_NAME: usize = 44;
        let mut kernels = functions.iter().filter(|(function, ..)| function.kind == Kind::Kernel);
        let (Some((small, lines, dims)), None) = (kernels.next(), kernels.next()) else { return false };
        let Some(last) = self.runs.last().map(|run| run.kernel.clone()) else { return false };
        if !random.chance(65) || self.runs.iter().filter(|run| run.kernel == last).count() > 1 {
            return false;
        }
        let Some((function, body, extents)) = self.functions.iter_mut().find(|(function, ..)| function.name == last)
        else {
            return false;
        };
        let Some(mut joined) = fuse::fused((function, body, extents), (lines, dims), array) else { return false };
        let name = format!("{}_and_{}", function.name, small.name);
        if name.len() > LONGEST_NAME {
            return false;
        }
        let at = body.len() + 1;
        if joined.get(at).is_some_and(|line| !line.trim().starts_with('#')) {
            joined.insert(at, format!("    # {meaning}"));
        }
        let doc = take_doc(&mut joined).unwrap_or_default();
        joined.insert(0, format!("    \"\"\"{} Then {meaning}.\"\"\"", words::sentence(&doc)));
        *body = joined;
        self.runs.iter_mut().filter(|run| run.kernel == last).for_each(|run| run.kernel.clone_from(&name));
        function.name = name;
        function.tags.extend(&small.tags);
        true
    }

    /// What becomes of them when all choices are made. `is_free`: what an array looks like is one
    /// of them.
    fn draft(self, is_free: bool, random: &mut Random) -> Draft {
        let Parts { family, sizes, mut roles, functions, runs, notes } = self;
        let sized = random.chance(24);
        let style = Style {
            brackets: random.chance(78),
            sized,
            casts: sized && random.chance(55),
            lettered: random.chance(12),
            returns: random.chance(60),
            order: random.weighted(&[34, 16, 30, 20]),
            group_comments: random.chance(30),
            underscore: random.chance(48),
            suffix: random.chance(42),
            verb: random.chance(70),
            qualified: random.chance(55),
            described: random.chance(88),
            docs: random.chance(66),
            args: random.chance(40),
            module_doc: random.chance(68),
            no_backward: random.chance(40),
            outputs: random.chance(55),
            checks: random.chance(40),
            host: random.below(8),
            wording: random.below(ask::WORDINGS),
            level: random.weighted(&[20, 30, 50]),
        };
        let mut choices = Choices::new(random);
        let mut built: Vec<Built> = Vec::new();
        let is_single = functions.iter().filter(|(f, ..)| f.kind == Kind::Reference).count() == 1;
        for (function, lines, dims) in &functions {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
            let mut head = choices.words(function.head);
            if !style.returns {
                head = head.split_once(") ->").map_or(head.clone(), |(params, _)| format!("{params}):"));
            }
            let mut body = choices.body(&lines, &dims);
            let doc = take_doc(&mut body.lines);
            let name = match (function.kind, is_single) {
                (Kind::Reference, true) => "reference".to_string(),
                (Kind::Reference, false) => format!("reference_{}", function.name),
                _ => function.name.clone(),
            };
            let dims = match body.is_flat {
                true => vec![dims.join(" * ")],
                false => dims.iter().map(|dim| dim.to_string()).collect(),
            };
            built.push(Built {
                kind: function.kind,
                name,
                head,
                doc,
                body: body.lines,
                params: Vec::new(),
                written: Vec::new(),
                dims,
                is_guarded: body.is_guarded,
                threads: body.threads,
                conditions: body.conditions,
                tags: function.tags.clone(),
            });
            if function.kind == Kind::Reference {
                // What a description says of alternatives is what was chosen.
                for role in roles.iter_mut().filter(|role| role.about.contains("{{")) {
                    role.about = choices.words(&role.about).replace(" ,", ",").replace("  ", " ");
                }
                choices.forget();
            }
        }
        // A choice may leave a helper without a caller.
        while let Some(unused) = built.iter().position(|function| {
            let calls = |other: &Built| {
                other.name != function.name && other.body.iter().any(|line| code::mentions(line, &function.name))
            };
            function.kind == Kind::Helper && !built.iter().any(calls)
        }) {
            built.remove(unused);
        }
        let mut draft = Draft {
            name: family.name.to_string(),
            title: family.task.to_string(),
            about: family.about.to_string(),
            sizes,
            roles,
            functions: built,
            runs,
            constants: Vec::new(),
            is_static: false,
            bundled: Vec::new(),
            style,
            form: Form::Function,
            seed: random.below(100),
            notes,
        };
        if is_free && random.chance(12) {
            batch::batch(&mut draft, random);
        }
        if is_free {
            dialect::speak(&mut draft, random);
        }
        // Nobody agrees on the order of parameters of a kind.
        if random.chance(50) {
            shuffle(&mut draft.roles, random);
        }
        if is_free {
            draft.flatten(random);
        }
        draft.numbers(random);
        draft.rename(random);
        if is_free {
            draft.habits(random);
        }
        draft.shapes(random);
        draft.parameters();
        if is_free {
            draft.form = Form::draw(&draft, random);
        }
        draft
    }
}

/// The function; a reference with the name of the first kernel that it represents.
fn owner(family: &Family, function: &Function) -> Function {
    let name = match function.kind {
        Kind::Reference => family.run.first().map_or(&*function.name, |(kernel, _)| kernel),
        _ => &function.name,
    };
    let name = name.to_string();
    Function { name, ..function.clone() }
}

fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for n in (1..list.len()).rev() {
        list.swap(n, random.below(n + 1));
    }
}

/// The end of the name of an array that takes the place of another one, in half precision.
pub const HALF: &str = "__half";

/// So many of 100 programs have their arrays of several dimensions as one.
const FLAT: u32 = 4;

impl Draft {
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// What engines are made of.
    pub fn held(&self) -> HashSet<String> {
        let engines = self.roles.iter().filter(|role| role.engine().is_some());
        engines.flat_map(Role::parts).map(str::to_string).collect()
    }

    /// Arrays of two dimensions may lie as one.
    fn flatten(&mut self, random: &mut Random) {
        if !random.chance(FLAT) {
            return;
        }
        let held = self.held();
        for role in &mut self.roles {
            let Some(dims) = role.dims.clone().filter(|dims| dims.len() > 1) else { continue };
            let is_bound = self.runs.iter().flat_map(|run| &run.bound).any(|(a, b)| *a == role.name || *b == role.name);
            let is_bound = is_bound || held.contains(&role.name);
            let is_factor = |dim: &String| !dim.contains(['+', '*', '-', ' ']);
            if is_bound || !dims.iter().all(is_factor) || role.content.starts_with("ring") {
                continue;
            }
            let flat = |function: &Built| -> Option<Vec<String>> {
                function.body.iter().map(|line| code::flattened(line, &role.name, &dims)).collect()
            };
            let Some(bodies) = self.functions.iter().map(flat).collect::<Option<Vec<_>>>() else { continue };
            for (function, body) in self.functions.iter_mut().zip(bodies) {
                function.body = body;
            }
            role.dims = Some(vec![dims.join(" * ")]);
        }
    }

    /// Kernels and helpers as one person writes.
    fn habits(&mut self, random: &mut Random) {
        let Draft { functions, roles, sizes, .. } = self;
        let mut taken: HashSet<String> = roles.iter().map(|role| role.name.clone()).collect();
        taken.extend(sizes.iter().map(|size| size.name.clone()));
        taken.extend(functions.iter().map(|function| function.name.clone()));
        let device = functions.iter_mut().filter(|function| function.kind != Kind::Reference);
        let lines = device.map(|function| (&mut function.body, function.head.as_str()));
        habits::keep(lines, roles, &taken, facts::singular, random);
    }

    /// Numbers may be constants of the module, or a struct.
    fn numbers(&mut self, random: &mut Random) {
        let is_used = |name: &str, kind: Kind| {
            let of_kind = |function: &&Built| function.kind == kind;
            self.functions.iter().filter(of_kind).any(|f| f.body.iter().any(|line| code::mentions(line, name)))
        };
        let is_plain = |role: &&Role| {
            let is_number = !role.is_array() && role.engine().is_none();
            is_number && role.name.starts_with(|c: char| c.is_lowercase()) && is_used(&role.name, Kind::Kernel)
        };
        let names: Vec<String> = self.roles.iter().filter(is_plain).map(|role| role.name.clone()).collect();
        let bound: HashSet<&str> =
            self.runs.iter().flat_map(|run| &run.bound).flat_map(|(a, b)| [a.as_str(), b.as_str()]).collect();
        let names: Vec<String> = names.into_iter().filter(|name| !bound.contains(name.as_str())).collect();
        if names.len() >= 3 && random.chance(8) {
            self.bundled = names;
        } else {
            let is_scalar = |name: &&String| self.role(name).is_some_and(|role| role.ty == "float" || role.ty == "int");
            let is_upper = |role: &&Role| !role.is_array() && role.name == role.name.to_uppercase();
            let upper: Vec<String> = self.roles.iter().filter(is_upper).map(|role| role.name.clone()).collect();
            // Of things that belong together, all are constants or none.
            let chosen: Vec<String> = words::kin(&names, &upper)
                .into_iter()
                .filter(|(group, _)| group.iter().all(|name| is_scalar(&name)))
                .filter(|(_, has_constant)| random.chance(14) || *has_constant)
                .flat_map(|(names, _)| names)
                .collect();
            for name in chosen {
                let upper = name.to_uppercase();
                self.replace(&name, &upper);
            }
        }
        let constants = self.roles.iter().filter(|role| !role.is_array() && role.name == role.name.to_uppercase());
        self.constants = constants.map(|role| role.name.clone()).collect();
        // A number of Python is one of single precision for a kernel.
        let wide: Vec<String> =
            self.roles.iter().filter(|role| role.ty == "float64").map(|role| role.name.clone()).collect();
        for name in self.constants.iter().filter(|name| wide.contains(name)) {
            let kernels = self.functions.iter_mut().filter(|function| function.kind == Kind::Kernel);
            for line in kernels.flat_map(|function| &mut function.body) {
                *line = code::replace(line, name, &format!("wp.float64({name})"));
            }
        }
        // Numbers of Python that kernels take while they are compiled.
        let is_tile = |function: &Built| function.body.iter().any(|line| line.contains("wp.tile_"));
        self.is_static = !self.constants.is_empty() && random.chance(35) && !self.functions.iter().any(is_tile);
        if self.is_static {
            let kernels = self.functions.iter_mut().filter(|function| function.kind == Kind::Kernel);
            for line in kernels.flat_map(|function| &mut function.body) {
                for name in &self.constants {
                    *line = code::replace(line, name, &format!("wp.static({name})"));
                }
            }
        }
        for name in self.bundled.clone() {
            let text = format!("params.{name}");
            for function in self.functions.iter_mut().filter(|function| function.kind == Kind::Kernel) {
                function.body.iter_mut().for_each(|line| *line = code::replace(line, &name, &text));
            }
        }
    }

    /// Another name for a thing.
    pub fn replace(&mut self, from: &str, to: &str) {
        let swap = |text: &mut String| *text = code::replace(text, from, to);
        for function in &mut self.functions {
            function.body.iter_mut().for_each(swap);
            function.dims.iter_mut().for_each(swap);
            function.threads.iter_mut().for_each(swap);
            function.conditions.iter_mut().for_each(swap);
        }
        for role in &mut self.roles {
            swap(&mut role.name);
            swap(&mut role.content);
            role.dims.iter_mut().flatten().for_each(swap);
        }
        self.sizes.iter_mut().for_each(|size| swap(&mut size.name));
        for (param, array) in self.runs.iter_mut().flat_map(|run| &mut run.bound) {
            swap(param);
            swap(array);
        }
        self.bundled.iter_mut().for_each(swap);
        for note in &mut self.notes {
            let lines: Vec<String> = note.split('\n').map(|line| code::replace(line, from, to)).collect();
            *note = lines.join("\n");
        }
        // What takes the place of an array has its name.
        let half = format!("{from}{HALF}");
        if self.role(&half).is_some() {
            self.replace(&half, &format!("{to}{HALF}"));
        }
    }

    /// A kernel may ask an array for its extents instead of getting them as numbers.
    fn shapes(&mut self, random: &mut Random) {
        if !random.chance(30) {
            return;
        }
        let Draft { functions, roles, sizes, constants, .. } = self;
        for function in functions.iter_mut().filter(|function| function.kind == Kind::Kernel) {
            for size in sizes.iter().map(|size| size.name.as_str()) {
                let uses: usize = function.body.iter().map(|line| code::places(line, size).len()).sum();
                let owner = roles.iter().filter(|role| !constants.contains(&role.name)).find_map(|role| {
                    let axis = role.dims.as_ref()?.iter().position(|dim| dim == size)?;
                    let is_used = function.body.iter().any(|line| code::mentions(line, &role.name));
                    is_used.then(|| format!("{}.shape[{axis}]", role.name))
                });
                let Some(text) = owner.filter(|_| uses > 0) else { continue };
                // A loop over an extent takes it as a number: people pass those.
                if function.body.iter().any(|line| line.contains("range(") && code::mentions(line, size)) {
                    continue;
                }
                if uses > 1 || random.chance(30) {
                    let thread = function.body.iter().position(|line| line.ends_with("wp.tid()"));
                    function.body.insert(thread.map_or(0, |at| at + 1), format!("    {size} = {text}"));
                } else {
                    function.body.iter_mut().for_each(|line| *line = code::replace(line, size, &text));
                }
            }
        }
    }

    /// What each function has as parameters, in the order of the style. Arrays that are changed in
    /// place stand before those that are only written: labels and launches name them in turn.
    fn parameters(&mut self) {
        let order = self.style.order;
        for n in 0..self.functions.len() {
            if self.functions[n].kind == Kind::Helper {
                continue;
            }
            let function = &self.functions[n];
            let has = |name: &str| function.body.iter().any(|line| code::mentions(line, name));
            let mut list: Vec<(usize, String)> = Vec::new();
            for role in self.roles.iter().filter(|role| has(&role.name) && !self.constants.contains(&role.name)) {
                let is_array = role.is_array() || role.engine().is_some();
                let group = match (is_array, facts::usage(self, function, &role.name)) {
                    (true, Usage::Output) => [7, 7, 0, 7],
                    (true, Usage::InPlace) => [6, 6, 1, 6],
                    (true, Usage::Input) => [2, 4, 2, 3],
                    (false, _) => [3, 3, 2, 4],
                };
                list.push((group[order], role.name.clone()));
            }
            if !self.bundled.is_empty() && function.body.iter().any(|line| line.contains("params.")) {
                list.push(([3, 3, 2, 4][order], "params".to_string()));
            }
            for size in self.sizes.iter().filter(|size| has(&size.name)) {
                if !function.body.iter().any(|line| line.starts_with(&format!("    {} = ", size.name))) {
                    list.push(([4, 2, 2, 2][order], size.name.clone()));
                }
            }
            list.sort_by_key(|(group, _)| *group);
            let params: Vec<String> = list.into_iter().map(|(_, name)| name).collect();
            let is_written = |name: &&String| function.body.iter().any(|line| writes(line, name));
            let written = params.iter().filter(is_written).cloned().collect();
            let function = &mut self.functions[n];
            (function.params, function.written) = (params, written);
        }
    }
}

/// The launches of a draft.
pub fn plan(draft: &Draft, text: String) -> Plan {
    let mut symbols: Vec<Symbol> = Vec::new();
    let step =
        |function: &Built, kernel: String, dims: &[String], bound: &[(String, String)], symbols: &mut Vec<Symbol>| {
            let number = |name: &String| {
                let of_name = bound.iter().find(|(param, _)| param == name);
                of_name.and_then(|(_, value)| value.parse().ok()).map(Given::Int)
            };
            let param = |name: &String, symbols: &mut Vec<Symbol>| Param {
                name: name.clone(),
                ty: print::annotation(draft, name, function.kind == Kind::Reference),
                given: number(name).unwrap_or_else(|| given(draft, name, symbols)),
            };
            // The last index of a thread may be that in its block: one block along it.
            let lanes = (function.threads.len() == dims.len() + 1).then_some(Extent::Fixed(1));
            let block = function.is_guarded.then(|| crate::dataset::launch::block(dims.len()));
            Step {
                kernel,
                params: function.params.iter().map(|name| param(name, symbols)).collect(),
                dims: dims.iter().map(|dim| extent(dim, symbols, &draft.sizes)).chain(lanes).collect(),
                block: block.filter(|_| !dims.is_empty()),
                bound: bound.to_vec(),
            }
        };
    let mut steps = Vec::new();
    for run in &draft.runs {
        if let Some(function) = draft.functions.iter().find(|function| function.name == run.kernel) {
            steps.push(step(function, function.name.clone(), &function.dims, &run.bound, &mut symbols));
        }
    }
    let of_kind = |function: &&Built| function.kind == Kind::Reference;
    let one = ["1".to_string()];
    let references = draft.functions.iter().filter(of_kind);
    let references: Vec<Step> =
        references.map(|f| step(f, format!("{}_as_kernel", f.name), &one, &[], &mut symbols)).collect();
    let times = if matches!(draft.form, Form::Steps | Form::Swap) { STEPS } else { 1 };
    // Every other step goes from the second array of a state to the first.
    let pairs = if draft.form == Form::Swap { swapped(draft) } else { Vec::new() };
    let other_way: Vec<_> = pairs.iter().flat_map(|(a, b)| [(a.clone(), b.clone()), (b.clone(), a.clone())]).collect();
    let turned = |n: usize, step: &Step| {
        let bound = if n % 2 == 1 { other_way.clone() } else { Vec::new() };
        Step { bound: [step.bound.clone(), bound].concat(), ..step.clone() }
    };
    let again = |list: Vec<Step>| (0..times).flat_map(|n| list.iter().map(move |step| turned(n, step))).collect();
    let (steps, references): (Vec<Step>, Vec<Step>) = (again(steps), again(references));
    let unordered = draft.roles.iter().filter(|role| role.is_unordered()).map(|role| role.name.clone()).collect();
    let written = draft.functions.iter().filter(of_kind).flat_map(|function| function.written.iter().cloned());
    // With an odd number of steps the newest state is in the second array.
    let expected = written.collect();
    let (reference_text, recorded) = (host::as_kernels(draft), Vec::new());
    Plan { text, symbols, steps, references, reference_text, expected, unordered, recorded }
}

/// What a launch passes for a parameter.
fn given(draft: &Draft, name: &str, symbols: &mut Vec<Symbol>) -> Given {
    if name == "params" {
        let field = |name: &String| (name.clone(), given(draft, name, &mut Vec::new()));
        return Given::Struct(draft.bundled.iter().map(field).collect());
    }
    let Some(role) = draft.role(name) else { return Given::Count(extent(name, symbols, &draft.sizes)) };
    match &role.dims {
        Some(dims) => {
            let shape = dims.iter().map(|dim| extent(dim, symbols, &draft.sizes)).collect();
            let content: Content = role.filled(symbols, &draft.sizes);
            Given::Array { shape, content }
        }
        None if let Some(kind) = role.engine() => engines::given(role, kind, |part| Param {
            name: part.to_string(),
            ty: print::annotation(draft, part, true),
            given: given(draft, part, symbols),
        }),
        None if role.ty == "int" => Given::Int(role.content.parse().unwrap_or(0)),
        None => Given::Float(role.content.split_whitespace().filter_map(|number| number.parse().ok()).collect()),
    }
}

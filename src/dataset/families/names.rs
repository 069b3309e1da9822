//! What is everything in a program called? Arrays by what they hold, axes by one convention,
//! kernels by what they do.

use std::collections::{HashMap, HashSet};

use super::library::{Kind, Role};
use super::program::{Draft, HALF};
use super::{code, facts, words};
use crate::dataset::random::Random;

impl Draft {
    /// New names for all that one person names in another way.
    pub fn rename(&mut self, random: &mut Random) {
        let mut used: HashSet<String> = HashSet::new();
        for function in &self.functions {
            used.extend(function.body.iter().flat_map(|line| code::words(line)).map(str::to_string));
            used.extend(code::words(&function.head).map(str::to_string));
            used.insert(function.name.clone());
        }
        used.extend(self.roles.iter().map(|role| role.name.clone()));
        used.extend(self.sizes.iter().map(|size| size.name.clone()));
        // What helpers declare keeps its name.
        let helpers: HashSet<String> = self
            .functions
            .iter()
            .filter(|function| function.kind == Kind::Helper)
            .flat_map(|function| code::words(&function.head))
            .map(str::to_string)
            .collect();
        let bundled: HashSet<String> = self.bundled.iter().cloned().collect();
        let map: HashMap<String, String> = words::rename(random, &used);
        let mut list: Vec<(String, String)> = map.into_iter().collect();
        list.sort();
        for (from, to) in list {
            if !helpers.contains(&from) && !bundled.contains(&from) {
                self.replace(&from, &to);
            }
        }
        self.describe(&bundled, &helpers, random);
        self.rename_locals(random);
        self.rename_grids(random);
        self.rename_kernels();
    }

    fn rename_kernels(&mut self) {
        let (prefix, suffix) = (self.style.underscore, self.style.suffix);
        for n in 0..self.functions.len() {
            let name = self.functions[n].name.clone();
            if self.functions[n].kind != Kind::Kernel {
                continue;
            }
            let end = if suffix && !name.ends_with("_kernel") { "_kernel" } else { "" };
            let long = if self.style.verb { words::with_verb(&name) } else { name.clone() };
            let long = if self.style.qualified { words::qualified(&self.name, &long) } else { long };
            let is_taken = self.functions.iter().any(|other| other.name == long) || self.role(&long).is_some();
            let long = if is_taken { name.clone() } else { long };
            let new = format!("{}{long}{end}", if prefix { "_" } else { "" });
            for run in self.runs.iter_mut().filter(|run| run.kernel == name) {
                run.kernel.clone_from(&new);
            }
            self.functions[n].name = new;
        }
    }

    /// Arrays and numbers with short names may be called what they are.
    fn describe(&mut self, bundled: &HashSet<String>, helpers: &HashSet<String>, random: &mut Random) {
        if !self.style.described {
            return;
        }
        let wanted = |role: &Role, random: &mut Random| {
            let stem = role.name.split('_').next().unwrap_or_default();
            let is_short = role.name.len() <= 3 || stem.len() <= 2;
            // A constant of the module is known by its name.
            !self.constants.contains(&role.name)
                && !role.name.ends_with(HALF)
                && !["dt", "dx", "dy", "dz"].contains(&role.name.as_str())
                && (role.name.to_lowercase() == role.name || role.name.len() == 1)
                && (is_short && random.chance(92) || !role.name.contains('_') && random.chance(70))
        };
        let mut found: Vec<(String, String)> = Vec::new();
        for role in &self.roles {
            if wanted(role, random)
                && let Some(name) = words::described(&role.name, &role.about)
            {
                found.push((role.name.clone(), name));
            }
        }
        let used = |name: &str| {
            self.functions.iter().any(|f| {
                f.name == name || code::mentions(&f.head, name) || f.body.iter().any(|line| code::mentions(line, name))
            })
        };
        let is_local = |name: &str| self.functions.iter().any(|f| f.body.iter().any(|line| declares(line, name)));
        let is_free = |(from, to): &&(String, String)| {
            let is_taken = used(to) || self.role(to).is_some() || self.sizes.iter().any(|size| size.name == *to);
            let is_unique = found.iter().filter(|(_, other)| other == to).count() == 1;
            !is_taken && is_unique && !bundled.contains(from) && !helpers.contains(from) && !is_local(from)
        };
        let mut free: Vec<(String, String)> = found.iter().filter(is_free).cloned().collect();
        // Of names that belong together, all change or none.
        let names: Vec<String> =
            self.roles.iter().map(|role| role.name.clone()).filter(|name| name.len() > 1).collect();
        for (group, _) in words::kin(&names, &[]).into_iter().filter(|(group, _)| group.len() > 1) {
            if !group.iter().all(|name| free.iter().any(|(from, _)| from == name)) {
                free.retain(|(from, _)| !group.contains(from));
            }
        }
        let found = free;
        for (from, to) in found {
            self.replace(&from, &to);
        }
    }

    /// The indices of a grid have names of one convention in all kernels of a program.
    fn rename_grids(&mut self, random: &mut Random) {
        let chosen = words::GRIDS.map(|names| *random.pick(names));
        if !random.chance(70) {
            return;
        }
        let names: HashSet<String> = self.roles.iter().map(|role| role.name.clone()).collect();
        let sizes = &self.sizes;
        for function in self.functions.iter_mut().filter(|function| function.kind == Kind::Kernel) {
            let own = function.threads.clone();
            let Some(new) = chosen.iter().find(|new| new.len() == own.len()) else { continue };
            let is_axis = |dim: &String| words::is_axis(dim);
            if !function.dims.iter().all(is_axis) || own.iter().any(|name| name.len() > 2) {
                continue;
            }
            let is_taken = |name: &&str| {
                names.contains(*name)
                    || sizes.iter().any(|size| size.name == **name)
                    || function.body.iter().any(|line| code::mentions(line, name))
            };
            if new.iter().any(is_taken) {
                continue;
            }
            for (from, to) in own.iter().zip(new.iter()) {
                let swap = |text: &mut String| *text = code::replace(text, from, to);
                function.body.iter_mut().for_each(swap);
                function.threads.iter_mut().for_each(swap);
                function.conditions.iter_mut().for_each(swap);
            }
        }
    }

    /// Threads and sums have the same name in all kernels of a program.
    fn rename_locals(&mut self, random: &mut Random) {
        let has_words = random.chance(70);
        for function in self.functions.iter_mut().filter(|function| has_words && function.kind == Kind::Kernel) {
            let taken = |name: &str, body: &[String]| {
                let is_role = self.roles.iter().any(|role| role.name == name);
                is_role
                    || self.sizes.iter().any(|size| size.name == name)
                    || body.iter().any(|line| code::mentions(line, name))
            };
            for n in 0..function.body.len() {
                let Some((from, to)) = element(&function.body[n], &self.roles) else { continue };
                let is_own = function.body.iter().filter(|line| declares(line, &from)).count() == 1;
                if is_own && !taken(&to, &function.body) {
                    function.body.iter_mut().for_each(|line| *line = code::replace(line, &from, &to));
                }
            }
        }
        for (from, end, names) in words::LOCALS {
            let to = *random.pick(names);
            for function in self.functions.iter_mut().filter(|function| function.kind == Kind::Kernel) {
                let begin = format!("{from} = ");
                let has = function.body.iter().any(|own| own.trim().starts_with(&begin) && own.trim().ends_with(end));
                let is_taken = function.body.iter().any(|own| code::mentions(own, to));
                let is_role =
                    self.roles.iter().any(|role| role.name == to) || self.sizes.iter().any(|size| size.name == to);
                if has && !is_taken && !is_role {
                    let swap = |text: &mut String| *text = code::replace(text, from, to);
                    function.body.iter_mut().for_each(swap);
                    function.threads.iter_mut().for_each(swap);
                    function.conditions.iter_mut().for_each(swap);
                }
            }
        }
    }
}

/// A value with one letter for a name that is an element of an array, and what it may be called:
/// `velocity` of `velocities`.
fn element(line: &str, roles: &[Role]) -> Option<(String, String)> {
    let (name, value) = line.trim().split_once(" = ")?;
    let open = value.find('[')?;
    let is_letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let array = roles.iter().find(|role| role.is_array() && role.name == value[..open])?;
    let is_whole = code::closing(value, open) == Some(value.len() - 1);
    let one = facts::singular(&array.name.replace('_', " ")).replace(' ', "_");
    // One of three indices of a thing is none of its.
    let is_part = code::arguments(&value[open + 1..value.len() - 1])
        .last()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    let is_new = array.name.ends_with('s') && one.len() > 3 && one != array.name && !is_part;
    (is_letter && is_whole && is_new).then(|| (name.to_string(), one))
}

/// Whether a line gives a value of a function this name.
fn declares(line: &str, name: &str) -> bool {
    let text = line.trim_start();
    let target = match text.strip_prefix("for ") {
        Some(rest) => rest.split(" in ").next(),
        None => text.split_once(" = ").map(|(target, _)| target),
    };
    target.is_some_and(|target| !target.contains('[') && target.split(',').any(|one| one.trim() == name))
}

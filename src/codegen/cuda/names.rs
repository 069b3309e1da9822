//! Names of variables: the source's where there is one, else a word for what the variable holds.
//! Two variables share a name only where neither is visible to the other.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use super::TextContext;
use super::describe::{Describer, element_name};
use super::function::Body;
use super::guards::is_reverse;
use super::helpers::Helper;
use super::tree::{Expr, Stmt, Var};
use super::types::{VarData, identifier, is_reserved, type_name};
use super::vars::Variables;
use crate::ids::{IdHasher, IdMap};
use crate::ir::{AtomicOp, BinaryOp, Function, Op, ValueDef, ValueId};
use crate::types::{StructTable, Type};

/// The name that a variable should have.
pub fn hint(
    shared: &TextContext<'_>,
    function: &Function,
    variables: &Variables,
    adjoints: &IdMap<ValueId, String>,
    members: &[ValueId],
) -> String {
    if let Some(name) = members.iter().find_map(|&m| function.values[m].name.as_deref()) {
        return identifier(name);
    }
    let counts =
        |&m: &ValueId| matches!(function.values[m].def, ValueDef::Param(block, 0) if variables.is_loop_body(block));
    if members.iter().any(|&m| variables.is_loop_end(m)) && !members.iter().any(counts) {
        return "end".to_string();
    }
    if members.iter().any(|&m| variables.is_loop_start(m)) {
        return "start".to_string();
    }
    let wrap = shared.plain.values().find_map(|kernel| kernel.wrap);
    let describer = Describer { shared, function, variables, adjoints, wrap };
    let from_copy = members.iter().find_map(|&m| describer.copied_name(m));
    let is_given = |&m: &ValueId| function.def(m).is_some_and(|inst| matches!(inst.op, Op::Load(_) | Op::Call(..)));
    let adjoint = || members.iter().find_map(|m| adjoints.get(m).cloned()).filter(|_| !members.iter().any(is_given));
    // What a loop carries is more than the operation that ends an iteration.
    let carried = members.iter().any(|&m| matches!(function.values[m].def, ValueDef::Param(..)));
    let derived = || match carried {
        true => members.iter().find_map(|&m| describer.plain_word(m)),
        false => members.iter().find_map(|&m| describer.word(m)),
    };
    identifier(&from_copy.or_else(adjoint).or_else(derived).unwrap_or_else(|| "value".to_string()))
}

/// What is added to an element of an array of adjoints is called after it.
pub fn adjoints(function: &Function) -> IdMap<ValueId, String> {
    let mut found = IdMap::default();
    if !is_reverse(function) {
        return found;
    }
    function.walk(function.entry, &mut |_, inst| {
        let (access, added) = match &inst.op {
            Op::Atomic { op: AtomicOp::Add, access, value } => (access, *value),
            Op::Store { access, value } => {
                if let Some(Op::Binary(BinaryOp::Add, old, added)) = function.op(*value)
                    && function.def(*old).is_some_and(|old| matches!(&old.op, Op::Load(from) if from == access))
                {
                    (access, *added)
                } else {
                    return;
                }
            }
            // It adds to no element.
            _ => return,
        };
        let name = function.values[access.array].name.as_deref();
        let is_adjoint = name.is_some_and(|name| name.starts_with("adj_"));
        if is_adjoint && access.path.is_empty() && !found.contains_key(&added) {
            found.insert(added, element_name(function, access));
        }
    });
    found
}

/// Gives every variable of a function its name, by number.
pub fn assign(body: &Body, structs: &StructTable) -> Vec<Rc<str>> {
    // Few, and mostly the one before: a list will do.
    let mut types: Vec<Type> = Vec::new();
    for data in &body.vars {
        if types.last() != Some(&data.ty) && !types.contains(&data.ty) {
            types.push(data.ty);
        }
    }
    let types: Vec<String> = types.iter().map(|&ty| type_name(ty, structs)).collect();
    let mut taken = Words::default();
    types.iter().for_each(|name| words(name, &mut taken));
    body.stmts.iter().for_each(|stmt| global_names(stmt, &mut taken));
    // Room for all, be they all in one scope.
    let named = body.vars.iter().filter(|data| !data.hint.is_empty()).count();
    let mut namer = Namer {
        vars: &body.vars,
        taken,
        names: vec![Rc::from(""); body.vars.len()],
        declared: Vec::new(),
        visible: HashSet::with_capacity_and_hasher(named, BuildHasherDefault::default()),
        next: HashMap::with_capacity_and_hasher(named, BuildHasherDefault::default()),
    };
    for &var in body.params.iter().chain(&body.outs) {
        namer.name(var);
    }
    if let Some((task, launch)) = body.thread {
        namer.name(task);
        namer.name(launch);
    }
    if let Some(scope) = &body.plain {
        // A parameter may say an extent.
        let own = scope.variables().filter(|var| !body.params.contains(var));
        own.for_each(|var| namer.name(var));
    }
    namer.block(&body.stmts);
    namer.names
}

/// Words of the text at hand, which nobody chooses to collide.
type Words<'a> = HashSet<&'a str, BuildHasherDefault<IdHasher>>;

/// The identifiers in a piece of text.
fn words<'a>(text: &'a str, out: &mut Words<'a>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    out.extend(text.split(|c| !is_word(c)).filter(|w| !w.is_empty()));
}

/// Functions and types that a statement names: a variable of such a name would hide them.
fn global_names<'a>(stmt: &'a Stmt, out: &mut Words<'a>) {
    stmt.for_each_expr(&mut |e| global_names_in(e, out));
    stmt.bodies().iter().for_each(|body| body.iter().for_each(|s| global_names(s, out)));
}

fn global_names_in<'a>(e: &'a Expr, out: &mut Words<'a>) {
    match e {
        Expr::Var(_) => return,
        Expr::Atom(text) => {
            if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                out.insert(text);
            }
            return;
        }
        Expr::Call(name, _) | Expr::Cast(name, _) | Expr::Braces(name, _) if !out.contains(name.as_str()) => {
            words(name, out);
        }
        _ => {}
    }
    e.for_each_child(&mut |child| global_names_in(child, out));
}

struct Namer<'a> {
    vars: &'a [VarData],
    taken: Words<'a>,
    names: Vec<Rc<str>>,
    /// Names of the enclosing blocks, so far: the variables, in the order of their declarations,
    /// and their names.
    declared: Vec<(Var, u32)>,
    visible: HashSet<Rc<str>, BuildHasherDefault<IdHasher>>,
    /// For a word, the first number that may be free: those before it are visible or taken.
    next: HashMap<&'a str, u32, BuildHasherDefault<IdHasher>>,
}

impl<'a> Namer<'a> {
    fn name(&mut self, var: Var) {
        let vars = self.vars;
        let hint = vars[var.0 as usize].hint.as_str();
        let first = self.next.get(hint).copied().unwrap_or(1);
        let mut number = first;
        // `_` itself would make names with two underscores, which are the compiler's.
        let joint = if hint.ends_with('_') { "" } else { "_" };
        let name = loop {
            let name = if number == 1 { Cow::Borrowed(hint) } else { Cow::Owned(format!("{hint}{joint}{number}")) };
            number += 1;
            let free = !self.taken.contains(&*name) && !self.visible.contains(&*name);
            if free && !Helper::is_name(&name) && !is_reserved(&name) {
                break Rc::<str>::from(name);
            }
        };
        self.next.insert(hint, number);
        self.declared.push((var, first));
        self.visible.insert(name.clone());
        self.names[var.0 as usize] = name;
    }

    /// Forgets the names from the `outside`th on.
    fn leave(&mut self, outside: usize) {
        for (var, first) in self.declared.drain(outside..).rev() {
            self.visible.remove(&*self.names[var.0 as usize]);
            self.next.insert(self.vars[var.0 as usize].hint.as_str(), first);
        }
    }

    fn block(&mut self, list: &[Stmt]) {
        let outside = self.declared.len();
        for stmt in list {
            match stmt {
                Stmt::Declare(var)
                | Stmt::LocalArray { var, .. }
                | Stmt::SharedArray(var, _)
                | Stmt::Assign { var, declare: true, .. } => self.name(*var),
                Stmt::For { var, body, .. } => {
                    let before = self.declared.len();
                    self.name(*var);
                    self.block(body);
                    self.leave(before);
                }
                _ => stmt.bodies().iter().for_each(|body| self.block(body)),
            }
        }
        self.leave(outside);
    }
}

//! Which types does a `wp.launch` give to the parameters of a generic kernel? Those of its
//! arguments, where reading the file tells: arrays made by `wp.zeros(..., dtype=...)` and the like,
//! numbers, and values of kernel types. A launch with an argument of unknown type says nothing.

use std::collections::HashMap;

use crate::check::Checker;
use crate::check::messages;
use crate::check::names::member::is_warp;
use crate::check::state::definition::{ParamInfo, Signature};
use crate::check::state::globals::Global;
use crate::check::types::pattern::Pattern;
use crate::check::types::value::Operand;
use crate::source::Span;
use crate::syntax::ast::{Arg, Expr, ExprKind};
use crate::types::{ArrayType, F32, MAX_DIMS, Type};

/// The most names between an argument and the call that makes its value.
pub(crate) const MAX_STEPS: u32 = 16;

/// The kernel of a launch and what it is given.
pub(crate) fn parts_of(args: &[Arg]) -> Option<(&Expr, Vec<Expr>)> {
    let find = |name: &str, position: usize| {
        let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|n| n.text == name));
        named.or_else(|| args.get(position).filter(|arg| arg.name.is_none())).map(|arg| &arg.value)
    };
    let kernel = find("kernel", 0).filter(|kernel| matches!(kernel.kind, ExprKind::Name(_)))?;
    let given = [find("inputs", 2), find("outputs", 3)].into_iter().flatten().cloned().collect();
    Some((kernel, given))
}

impl Checker<'_> {
    /// The threads of a block, as the launches of the file have it that say a number; one, if they
    /// say several.
    pub fn stated_block_dim(&mut self) -> u32 {
        let mut stated: Option<u32> = None;
        for (scope, call) in self.host.launches.clone() {
            let ExprKind::Call { callee, args } = &call.kind else { continue };
            let given = args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name.text == "block_dim"));
            let Some(given) = given else { continue };
            let word = self.within(scope, |c| c.warp_word(callee));
            let tiled = match word.as_deref() {
                Some("launch") => 0,
                Some("launch_tiled") => 1,
                _ => continue,
            };
            let value = self.within(scope, |c| c.host_value(&given.value).or_else(|| c.default_of(&given.value)));
            let Some(Operand::Const(constant)) = value else { continue };
            let threads = constant.as_int().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=1024).contains(n));
            if threads.is_none() && given.value.span.file == self.modules.main {
                let written = self.sources.text(given.value.span).to_string();
                self.diagnostics.push(messages::host::block_dim(&written, given.value.span));
            }
            match (threads, stated) {
                (Some(threads), None) => stated = Some(threads),
                (Some(threads), Some(other)) if threads != other => return 1,
                _ => {}
            }
            let dims = self.within(scope, |c| c.dimensions(args)).map(|dims| dims + tiled);
            if let Some((kernel, _)) = parts_of(args) {
                let kernel = self.sources.text(kernel.span).to_string();
                let known = self.host.launched.entry(kernel).or_insert(dims);
                *known = known.filter(|&known| Some(known) == dims);
            }
        }
        stated.or_else(|| self.optional_block_dim()).unwrap_or(1)
    }

    /// What a parameter is where a call does not say it.
    fn default_of(&mut self, name: &Expr) -> Option<Operand> {
        let ExprKind::Name(name) = &name.kind else { return None };
        let (scope, Global::Unknown(_)) = self.lookup(name)? else { return None };
        let default = self.scopes[scope].defaults.get(name)?.clone();
        self.within(scope, |c| c.host_value(&default))
    }

    /// The threads of a block that `wp.set_module_options` says, for launches that say none.
    fn optional_block_dim(&mut self) -> Option<u32> {
        let (scope, value) = self.host.block_dim.clone()?;
        match self.within(scope, |c| c.host_value(&value))? {
            Operand::Const(constant) => {
                constant.as_int().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=1024).contains(n))
            }
            _ => None,
        }
    }

    /// Where the kernels are that the file launches, each time with one thread.
    pub fn launched_alone(&mut self) -> Vec<Span> {
        let mut alone: HashMap<Span, bool> = HashMap::new();
        for (scope, call) in self.host.launches.clone() {
            let ExprKind::Call { callee, args } = &call.kind else { continue };
            let launch = self.within(scope, |c| c.warp_word(callee)).is_some_and(|word| word.starts_with("launch"));
            let Some((kernel, _)) = parts_of(args).filter(|_| launch) else { continue };
            let ExprKind::Name(name) = &kernel.kind else { continue };
            let Some((_, Global::Kernel(kernel))) = self.within(scope, |c| c.follow(name)) else { continue };
            let dim = args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name.text == "dim"));
            let dim = dim.or_else(|| args.get(1).filter(|arg| arg.name.is_none()));
            let value = dim.and_then(|dim| self.within(scope, |c| c.host_value(&dim.value)));
            let one = |value: &Operand| matches!(value, Operand::Const(constant) if constant.as_int() == Some(1));
            let is_one = value.is_some_and(|value| match &value {
                Operand::Tuple(items) => items.iter().all(one),
                value => one(value),
            });
            *alone.entry(kernel.ast.span).or_insert(true) &= is_one;
        }
        alone.into_iter().filter(|(_, alone)| *alone).map(|(kernel, _)| kernel).collect()
    }

    /// The number of dimensions of a launch, where the file tells.
    pub fn dimensions(&mut self, args: &[Arg]) -> Option<usize> {
        let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name.text == "dim"));
        let dim = named.or_else(|| args.get(1).filter(|arg| arg.name.is_none()))?;
        match &dim.value.kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let plain = items.iter().all(|item| !matches!(item.kind, ExprKind::Starred(_)));
                plain.then_some(items.len())
            }
            ExprKind::Int(_) => Some(1),
            ExprKind::Call { callee, .. } if matches!(&callee.kind, ExprKind::Name(name) if name == "len") => Some(1),
            ExprKind::Name(_) => match self.host_value(&dim.value)? {
                Operand::Tuple(items) => Some(items.len()),
                Operand::Const(_) => Some(1),
                _ => None,
            },
            _ => None,
        }
    }

    /// The types of a kernel's parameters in a launch with these `inputs` and `outputs`.
    pub fn launch_types(&mut self, signature: &Signature, lists: &[Expr]) -> Option<Vec<Type>> {
        let mut given = Vec::new();
        for list in lists {
            given.extend(self.items_of(list, MAX_STEPS)?);
        }
        let typed = |(n, param): (usize, &ParamInfo)| match &param.pattern {
            Pattern::Exact(ty) => Some(*ty),
            pattern => self.argument_type(given.get(n)?, pattern, MAX_STEPS),
        };
        signature.params.iter().enumerate().map(typed).collect()
    }

    /// The items of a list that is written out, here or where its name is bound.
    pub fn items_of(&mut self, list: &Expr, steps: u32) -> Option<Vec<Expr>> {
        match &list.kind {
            ExprKind::List(items) | ExprKind::Tuple(items) => {
                let plain = items.iter().all(|item| !matches!(item.kind, ExprKind::Starred(_)));
                plain.then(|| items.clone())
            }
            ExprKind::Name(name) if steps > 0 => match self.follow(name)? {
                // Its items are names of the scope that binds it; only the current scope is
                // searched.
                (scope, Global::Constant(value)) if scope == self.scopes.current => self.items_of(&value, steps - 1),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type of a value of host code; `pattern` is what the kernel wants, and knows the rank of
    /// arrays.
    pub fn argument_type(&mut self, expr: &Expr, pattern: &Pattern, steps: u32) -> Option<Type> {
        match &expr.kind {
            ExprKind::Name(name) if steps > 0 => match self.follow(name)? {
                (scope, Global::Constant(value)) => {
                    return self.within(scope, |c| c.argument_type(&value, pattern, steps - 1));
                }
                (_, Global::Value(operand)) => return type_of(&operand),
                _ => return None,
            },
            ExprKind::Attribute { base, name } if let ExprKind::Name(this) = &base.kind => {
                let path = format!("{this}.{}", name.text);
                let mut known = None;
                for scope in self.bindings_of_self(this, &name.text) {
                    let Some(Global::Constant(value)) = self.scopes[scope].names.get(&path).cloned() else {
                        return None;
                    };
                    let ty = self.within(scope, |c| c.argument_type(&value, pattern, steps.saturating_sub(1)))?;
                    if known.is_some_and(|known| known != ty) {
                        return None;
                    }
                    known = Some(ty);
                }
                if known.is_some() {
                    return known;
                }
            }
            ExprKind::Call { callee, args } if steps > 0 => {
                if let Some(word) = self.warp_word(callee)
                    && let Some(made) = self.made_array(&word, args, pattern, steps)
                {
                    return made;
                }
            }
            _ => {}
        }
        self.host_value(expr).and_then(|operand| type_of(&operand))
    }

    /// `zeros` of `wp.zeros`, under any name that Warp has here.
    pub fn warp_word(&mut self, callee: &Expr) -> Option<String> {
        match &callee.kind {
            ExprKind::Attribute { base, name } => match &base.kind {
                ExprKind::Name(module) => match self.follow(module)? {
                    (_, Global::Module(path)) if is_warp(&path) => Some(name.text.clone()),
                    _ => None,
                },
                _ => None,
            },
            ExprKind::Name(name) => match self.follow(name)? {
                (_, Global::Member { module, name }) if is_warp(&module) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type of an array that a function of Warp makes. None: it is none of these functions.
    /// Some(None): the type is not known.
    fn made_array(&mut self, word: &str, args: &[Arg], pattern: &Pattern, steps: u32) -> Option<Option<Type>> {
        let (dtype_at, ndim) = match word {
            "zeros" | "empty" | "ones" => (1, None),
            "full" => (2, None),
            "array" | "from_numpy" => (1, None),
            "array1d" => (1, Some(1)),
            "array2d" => (1, Some(2)),
            "array3d" => (1, Some(3)),
            "array4d" => (1, Some(4)),
            "zeros_like" | "empty_like" | "ones_like" | "full_like" | "clone" => {
                let like = args.first().filter(|arg| arg.name.is_none())?;
                return Some(self.argument_type(&like.value, pattern, steps - 1));
            }
            _ => return None,
        };
        let find = |name: &str, position: usize| {
            let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|n| n.text == name));
            named.or_else(|| args.get(position).filter(|arg| arg.name.is_none())).map(|arg| arg.value.clone())
        };
        let element = match find("dtype", dtype_at) {
            Some(dtype) => self.quietly(|c| c.concrete_type(&dtype, false)).0.ok(),
            None => matches!(word, "zeros" | "empty" | "ones").then_some(F32),
        };
        let shape = if dtype_at == 1 && word.starts_with(['a', 'f']) { find("shape", 2) } else { find("shape", 0) };
        let rank = match (ndim, pattern) {
            (Some(ndim), _) => Some(ndim),
            (None, Pattern::Array(_, Some(ndim))) => Some(*ndim),
            _ => self.rank_of(shape.as_ref(), word),
        };
        let element = element.and_then(Type::element);
        Some(element.zip(rank).map(|(element, ndim)| Type::Array(ArrayType { element, ndim })))
    }

    /// The number of dimensions that a shape has.
    fn rank_of(&mut self, shape: Option<&Expr>, word: &str) -> Option<u8> {
        // Without a shape, a list of numbers would have to be counted.
        let shape = shape?;
        let rank = match &shape.kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => items.len(),
            _ if word == "from_numpy" => return None,
            _ => match self.host_value(shape) {
                Some(Operand::Tuple(items)) => items.len(),
                Some(Operand::Const(_)) => 1,
                _ => return None,
            },
        };
        (1..=MAX_DIMS).contains(&rank).then_some(rank as u8)
    }
}

fn type_of(operand: &Operand) -> Option<Type> {
    match operand {
        Operand::Const(constant) => Some(constant.scalar().into()),
        // `np.zeros(10)` of host code is no local array of a kernel.
        Operand::Value(expr) => Some(expr.ty).filter(|ty| !matches!(ty, Type::Local(_))),
        _ => None,
    }
}

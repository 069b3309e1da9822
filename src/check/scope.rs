//! What the module-level names of a file mean.

use std::collections::HashMap;
use std::rc::Rc;

use crate::check::habits::{self, Habit};
use crate::check::suggest::nearest;
use crate::check::value::{
    Constant, Family, FunctionName, Number, Operand, Reported, Res, ScalarClass, TypeWord, type_of_name,
};
use crate::check::{Checker, Definition};
use crate::diag::{Applicability, Code, Diagnostic};
use crate::library::Library;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind, Item, Parsed};
use crate::types::{Field, StructDef, StructId};

/// A module-level name.
#[derive(Clone, Debug)]
pub(crate) enum Global {
    /// `import warp as wp`, `import numpy as np`.
    Module(String),
    /// `from warp import vec3`: a name of a module.
    Member {
        module: String,
        name: String,
    },
    /// Functions of one name: overloads.
    Functions(Vec<Rc<Definition>>),
    Kernel(Rc<Definition>),
    Struct(StructId),
    /// A `@wp.struct` with errors.
    Broken,
    /// Not evaluated until it is used.
    Constant(ast::Expr),
    /// Under evaluation: using it is a circle.
    Evaluating,
    Value(Operand),
    Enum(HashMap<String, ast::Expr>),
    /// A plain Python function or class.
    Host(Span),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Kernel,
    Function,
    Struct,
    /// `func_grad`, `func_replay`: belongs to gradients.
    Gradient,
    /// `func_native`
    Native,
}

impl Checker<'_> {
    /// Enters every module-level name of the file.
    pub fn collect(&mut self, parsed: &Parsed) {
        // Imports first: decorators are known by the names that modules have here.
        for item in &parsed.items {
            if let Item::Import(import) = item {
                self.collect_import(import);
            }
        }
        for item in &parsed.items {
            match item {
                Item::Import(_) => {}
                Item::Call(call) => self.collect_call(call),
                Item::Constant(constant) => {
                    // `k_float = wp.overload(k, [...])`
                    self.collect_call(&constant.value);
                    self.globals.insert(constant.name.text.clone(), Global::Constant(constant.value.clone()));
                }
                Item::Class(class) => self.collect_class(class),
                Item::Function(function) => self.collect_function(function),
            }
        }
    }

    fn collect_import(&mut self, import: &ast::Import) {
        if import.names.is_empty() {
            let (name, path) = match &import.alias {
                Some(alias) => (alias.text.clone(), import.module.clone()),
                None => {
                    let first = import.module.split('.').next().unwrap_or_default().to_string();
                    (first.clone(), first)
                }
            };
            self.globals.insert(name, Global::Module(path));
            return;
        }
        for imported in &import.names {
            if imported.name == "*" {
                self.star_import |= is_warp(&import.module);
                continue;
            }
            let name = imported.alias.clone().unwrap_or_else(|| imported.name.clone());
            let global = Global::Member { module: import.module.clone(), name: imported.name.clone() };
            self.globals.insert(name, global);
        }
    }

    fn collect_function(&mut self, function: &ast::Function) {
        let name = function.name.text.clone();
        let definition = |kernel| Rc::new(Definition { ast: function.clone(), entry: None, kernel });
        match self.role(function) {
            Some(Role::Kernel) => {
                self.reserve_name(&name);
                self.globals.insert(name, Global::Kernel(definition(true)));
            }
            Some(Role::Function) => match self.globals.get_mut(&name) {
                Some(Global::Functions(overloads)) => overloads.push(definition(false)),
                _ => {
                    self.globals.insert(name, Global::Functions(vec![definition(false)]));
                }
            },
            Some(Role::Gradient) => self.collect_gradient(function),
            Some(Role::Struct) => {}
            Some(Role::Native) | None => {
                self.globals.insert(name, Global::Host(function.name.span));
            }
        }
    }

    fn collect_class(&mut self, class: &ast::Class) {
        let name = class.name.text.clone();
        if class.decorators.iter().any(|d| self.decorator_role(d) == Some(Role::Struct)) {
            let global = match self.struct_fields(class) {
                Ok(fields) => {
                    let name = self.unique_name(&name);
                    Global::Struct(self.structs.push(StructDef { name, fields }))
                }
                Err(Reported) => Global::Broken,
            };
            self.globals.insert(name, global);
        } else if !class.bases.is_empty() {
            let members = class.members.iter().filter_map(|m| Some((m.name.text.clone(), m.value.clone()?))).collect();
            self.globals.insert(name, Global::Enum(members));
        } else {
            self.globals.insert(name, Global::Host(class.name.span));
        }
    }

    fn struct_fields(&mut self, class: &ast::Class) -> Res<Vec<Field>> {
        let mut fields: Vec<Field> = Vec::new();
        let mut failed = false;
        for member in &class.members {
            let Some(annotation) = &member.annotation else { continue };
            match self.concrete_type(annotation, false) {
                Ok(ty) => fields.push(Field { name: member.name.text.clone(), ty }),
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(fields) }
    }

    /// The definition that stands at a place in the file.
    pub fn definition(&self, name: &str, span: Span) -> Option<Rc<Definition>> {
        match self.globals.get(name)? {
            Global::Kernel(definition) if definition.ast.span == span => Some(definition.clone()),
            Global::Functions(all) => all.iter().find(|d| d.ast.span == span).cloned(),
            _ => None,
        }
    }

    pub fn role(&self, function: &ast::Function) -> Option<Role> {
        function.decorators.iter().find_map(|d| self.decorator_role(d))
    }

    /// `@wp.kernel`, `@wp.kernel(...)`, or `@kernel` after `from warp import kernel`.
    fn decorator_role(&self, decorator: &ast::Decorator) -> Option<Role> {
        let path = match &decorator.expr.kind {
            ExprKind::Call { callee, .. } => callee,
            _ => &decorator.expr,
        };
        let word = match &path.kind {
            ExprKind::Attribute { base, name } => match &base.kind {
                ExprKind::Name(module) => match self.globals.get(module) {
                    Some(Global::Module(path)) if is_warp(path) => name.text.as_str(),
                    _ => return None,
                },
                _ => return None,
            },
            ExprKind::Name(name) => match self.globals.get(name) {
                Some(Global::Member { module, name }) if is_warp(module) => name.as_str(),
                _ => return None,
            },
            _ => return None,
        };
        Some(match word {
            "kernel" => Role::Kernel,
            "func" => Role::Function,
            "struct" => Role::Struct,
            "func_grad" | "func_replay" => Role::Gradient,
            "func_native" => Role::Native,
            _ => return None,
        })
    }

    /// What a module-level name means; None when there is no such name.
    pub fn global(&mut self, name: &str, span: Span) -> Option<Res<Operand>> {
        let global = self.globals.get(name)?.clone();
        Some(match global {
            Global::Module(path) => Ok(Operand::Module(path)),
            Global::Member { module, name } => self.member(&module, &name, span),
            Global::Functions(_) => Ok(Operand::Function(FunctionName::User(name.to_string()))),
            Global::Kernel(definition) => {
                let place = definition.ast.name.span;
                Err(self.report(
                    Diagnostic::new(Code::E0404, format!("kernel `{name}` cannot be used inside a kernel"))
                        .label(span, "a kernel is launched, not called")
                        .label(place, "defined here")
                        .help("move the shared code to a function with `@wp.func`"),
                ))
            }
            Global::Struct(id) => Ok(Operand::Type(TypeWord::Type(crate::types::Type::Struct(id)))),
            Global::Broken => Err(Reported),
            Global::Value(operand) => Ok(operand),
            Global::Enum(_) => Ok(Operand::Enum(name.to_string())),
            Global::Evaluating => {
                self.error(Code::E0501, span, format!("constant `{name}` depends on itself"), "used here")
            }
            Global::Constant(value) => {
                self.globals.insert(name.to_string(), Global::Evaluating);
                let known = self.diagnostics.len();
                let result = self.constant(&value, false);
                self.diagnostics.blame(known, span, "needed here");
                let after = match &result {
                    Ok(operand) => Global::Value(operand.clone()),
                    Err(Reported) => Global::Broken,
                };
                self.globals.insert(name.to_string(), after);
                result
            }
            Global::Host(place) => {
                // Once is enough.
                self.globals.insert(name.to_string(), Global::Broken);
                Err(self.report(
                    Diagnostic::new(Code::E0203, format!("`{name}` is not a kernel function"))
                        .label(span, "used inside a kernel")
                        .label(place, "this is plain Python")
                        .help("decorate it with `@wp.func` to call it from kernels"),
                ))
            }
        })
    }

    /// `module.name`
    pub fn member(&mut self, module: &str, name: &str, span: Span) -> Res<Operand> {
        // Submodules of warp hold the same words: `warp.types.vector`, `wp.math.sin`.
        if is_warp(module) || is_builtin_alias(module) {
            if module == "warp" && matches!(name, "types" | "math" | "utils") {
                return Ok(Operand::Module(format!("{module}.{name}")));
            }
            if module == "numpy" && matches!(name, "linalg" | "random") {
                return Ok(Operand::Module(format!("{module}.{name}")));
            }
            if let Some(operand) = builtin_word(module, name) {
                return Ok(operand);
            }
        }
        if let Some(number) = math_constant(name) {
            return Ok(Operand::Const(Constant::untyped(Number::Float(number))));
        }
        if self.knows_builtin(name) {
            return Ok(Operand::Function(FunctionName::Builtin(name.to_string())));
        }
        if name == "adjoint" && is_warp(module) {
            return Ok(Operand::Adjoint);
        }
        if let Some(reason) = crate::check::words::unsupported(name) {
            return self.error(Code::E0408, span, format!("`{name}` is not supported"), reason);
        }
        if let Some(habit) = habits::of_name(name) {
            let diagnostic = Diagnostic::new(Code::E0202, format!("there is no built-in `{name}`"))
                .label(span, "not a name of the kernel language");
            return Err(self.report(self.suggest(diagnostic, habit, span)));
        }
        if !is_warp(module) && !is_builtin_alias(module) {
            return self.error(
                Code::E0502,
                span,
                format!("`{module}.{name}` has no meaning inside a kernel"),
                format!("a value of the Python module `{module}`"),
            );
        }
        let mut diagnostic = Diagnostic::new(Code::E0202, format!("there is no built-in `{name}`"))
            .label(span, "not a name of the kernel language");
        if let Some(near) = nearest(name, Library::public_names().chain(crate::check::words::NAMES.iter().copied())) {
            let fixed = Span { start: span.end.saturating_sub(name.len() as u32), ..span };
            diagnostic = diagnostic.help(format!("did you mean `{near}`?")).fix(
                format!("use `{near}`"),
                fixed,
                near,
                Applicability::Maybe,
            );
        }
        Err(self.report(diagnostic))
    }

    /// Adds what the kernel language says instead of the text at `span`.
    pub fn suggest(&self, diagnostic: Diagnostic, habit: Habit, span: Span) -> Diagnostic {
        match habit {
            Habit::Name(near) => {
                let text = self.qualified(near);
                diagnostic.help(format!("it is called `{text}` here")).fix(
                    format!("use `{text}`"),
                    span,
                    text,
                    Applicability::Maybe,
                )
            }
            Habit::Say(help) => diagnostic.help(help),
        }
    }

    /// The names this file has for modules.
    pub fn module_names(&self) -> Vec<String> {
        let modules = self.globals.iter().filter(|(_, global)| matches!(global, Global::Module(_)));
        modules.map(|(name, _)| name.clone()).collect()
    }

    /// A built-in by the name this file has for it: `wp.sin`.
    pub fn qualified(&self, name: &str) -> String {
        if self.star_import {
            return name.to_string();
        }
        let mut aliases: Vec<&String> = self
            .globals
            .iter()
            .filter(|(_, global)| matches!(global, Global::Module(path) if path == "warp"))
            .map(|(alias, _)| alias)
            .collect();
        aliases.sort();
        format!("{}.{name}", aliases.first().map_or("wp", |alias| alias.as_str()))
    }

    /// A name that is neither local nor in the file: Python's and Warp's own words.
    pub fn ambient(&mut self, name: &str) -> Option<Operand> {
        if self.star_import {
            if let Some(word) = builtin_word("warp", name) {
                return Some(word);
            }
            if self.knows_builtin(name) {
                return Some(Operand::Function(FunctionName::Builtin(name.to_string())));
            }
        }
        match name {
            "float" | "int" | "bool" => type_of_name(name).map(|ty| Operand::Type(TypeWord::Type(ty))),
            "Any" => Some(Operand::Type(TypeWord::Any)),
            "abs" | "min" | "max" | "round" | "pow" | "len" | "range" | "reversed" | "print" | "type" => {
                Some(Operand::Function(FunctionName::Builtin(name.to_string())))
            }
            _ => None,
        }
    }

    /// Whether the library or the compiler itself has a built-in of this name that users may call.
    pub fn knows_builtin(&self, name: &str) -> bool {
        !name.starts_with('_') && (Library::has(name) || crate::check::words::NAMES.contains(&name))
    }
}

fn is_warp(module: &str) -> bool {
    module == "warp" || module.starts_with("warp.")
}

/// Modules whose functions are looked up among the built-ins: `math.sin(x)`, `np.float32`.
fn is_builtin_alias(module: &str) -> bool {
    matches!(module, "math" | "numpy" | "builtins" | "typing")
}

/// The numbers that `math`, `numpy` and `warp` name.
fn math_constant(name: &str) -> Option<f64> {
    use std::f64::consts;
    Some(match name {
        "pi" | "PI" => consts::PI,
        "e" | "E" => consts::E,
        "tau" | "TAU" => consts::TAU,
        "half_pi" | "HALF_PI" => consts::FRAC_PI_2,
        "inf" | "INF" | "infinity" => f64::INFINITY,
        "nan" | "NAN" => f64::NAN,
        "ln2" | "LN2" => consts::LN_2,
        "ln10" | "LN10" => consts::LN_10,
        "log2e" | "LOG2E" => consts::LOG2_E,
        "log10e" | "LOG10E" => consts::LOG10_E,
        "phi" | "PHI" => 1.618_033_988_749_895,
        _ => return None,
    })
}

/// The types and type words among Warp's names.
fn builtin_word(module: &str, name: &str) -> Option<Operand> {
    let word = match name {
        "array" | "array1d" => TypeWord::Array(if name == "array" { 0 } else { 1 }),
        "array2d" => TypeWord::Array(2),
        "array3d" => TypeWord::Array(3),
        "array4d" => TypeWord::Array(4),
        "ref" => TypeWord::Ref,
        "Any" => TypeWord::Any,
        "Function" | "Callable" => TypeWord::Function,
        "Float" | "Int" | "Scalar" => TypeWord::Class(ScalarClass::from_name(name)?),
        "vector" if module.ends_with("types") => TypeWord::Family(Family::Vector),
        "matrix" if module.ends_with("types") => TypeWord::Family(Family::Matrix),
        "quaternion" if module.ends_with("types") => TypeWord::Family(Family::Quaternion),
        "transformation" if module.ends_with("types") => TypeWord::Family(Family::Transformation),
        "vec" => TypeWord::Family(Family::Vector),
        "mat" => TypeWord::Family(Family::Matrix),
        _ => TypeWord::Type(type_of_name(name)?),
    };
    Some(Operand::Type(word))
}

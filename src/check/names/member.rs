//! What is `module.name`: a built-in, a number of `math`, or something in another file?

use super::habits;
use super::suggest::nearest;
use crate::check::Checker;
use crate::check::messages;
use crate::check::types::pattern::ScalarClass;
use crate::check::types::value::{Constant, Family, FunctionName, Number, Operand, Res, TypeWord, type_of_name};
use crate::diag::Diagnostic;
use crate::diag::explain::distance;
use crate::library::Library;
use crate::source::Span;

impl Checker<'_> {
    /// `module.name`
    pub fn member(&mut self, module: &str, name: &str, span: Span) -> Res<Operand> {
        self.member_of(module, name, false, span)
    }

    /// `module.name`, or `name` alone after `from module import name` (`imported`).
    pub fn member_of(&mut self, module: &str, name: &str, imported: bool, span: Span) -> Res<Operand> {
        if !is_core(module)
            && let Some(found) = self.member_of_file(module, name, span)
        {
            return found;
        }
        let ours = is_warp(module) || is_builtin_alias(module) || module.starts_with("numpy.");
        if !ours {
            // Not even a number: what `config.e` is only its file knows.
            if imported {
                return Err(self.missing_import(module, name, span));
            }
            if self.module(module).is_some() {
                return Err(self.missing_import(module, name, span));
            }
            return Err(self.report(messages::names::python_value(module, name, span)));
        }
        if let Some((package, class)) = module.rsplit_once('.')
            && let Some(members) = enumeration(class)
        {
            return match members.iter().find(|member| member.0 == name).filter(|_| is_warp(package)) {
                Some(&(_, number)) => Ok(Operand::Const(Constant::untyped(Number::Int(number)))),
                None => Err(self.report(messages::names::member_of_enumeration(class, name, span))),
            };
        }
        // Submodules of warp hold the same words: `warp.types.vector`, `wp.math.sin`.
        if ours {
            if module == "kc" && name == "warp" {
                return Ok(Operand::Module("kc.warp".to_string()));
            }
            let inner = matches!(name, "types" | "math" | "utils") || enumeration(name).is_some();
            if matches!(module, "warp" | "kc" | "kc.warp") && inner {
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
        if is_warp(module)
            && let Some(ty) = self.library_struct(name)
        {
            return Ok(Operand::Type(TypeWord::Type(ty)));
        }
        if self.knows_builtin(name) {
            return Ok(Operand::Function(FunctionName::Builtin(name.to_string())));
        }
        if name == "adjoint" && is_warp(module) {
            return Ok(Operand::Adjoint);
        }
        if let Some(reason) = super::words::unsupported(name) {
            let diagnostic = messages::names::unsupported_builtin(name, reason, span);
            // A long name of Warp's is near to many others; a slip of the pen is a letter or two.
            let slip = |near: &String| distance(near, name) <= 2;
            let diagnostic = self.suggest_near(diagnostic, name, span, slip);
            return Err(self.report(diagnostic));
        }
        if let Some(form) = self.known.library.statement(name, self.sources) {
            let diagnostic = messages::names::name_of_statement(name, &form, span);
            return Err(self.report(diagnostic));
        }
        if let Some(habit) = habits::of_name(name) {
            let diagnostic = messages::names::no_builtin(name, span);
            return Err(self.report(self.suggest(diagnostic, habit, span)));
        }
        let own = matches!(
            module,
            "warp" | "warp.types" | "warp.math" | "warp.utils" | "warp.constants" | "warp.optim" | "warp.render"
        );
        if imported && !own && !is_builtin_alias(module) {
            return Err(self.missing_import(module, name, span));
        }
        if is_core(module)
            && let Some(found) = self.member_of_file(module, name, span)
        {
            return found;
        }
        let diagnostic = messages::names::no_builtin(name, span);
        let diagnostic = self.suggest_near(diagnostic, name, span, |_| true);
        Err(self.report(diagnostic))
    }

    /// The help and the fix that name the built-in which is nearest to `name`, if it is near enough
    /// for `fits`.
    fn suggest_near(
        &mut self,
        diagnostic: Diagnostic,
        name: &str,
        span: Span,
        fits: impl Fn(&String) -> bool,
    ) -> Diagnostic {
        if !self.may_suggest() {
            return diagnostic;
        }
        let Some(near) = nearest(name, Library::public_names()).filter(fits) else { return diagnostic };
        let fixed = Span { start: span.end.saturating_sub(name.len() as u32), ..span };
        messages::repairs::did_you_mean(diagnostic, &near, fixed)
    }
}

/// Modules whose names are the kernel language's own, whatever their files say.
pub fn is_core(module: &str) -> bool {
    is_builtin_alias(module)
        || matches!(
            module,
            "warp" | "warp.types" | "warp.math" | "warp.constants" | "warp._src.types" | "warp._src.builtins"
        )
        || is_kc(module)
}

/// kc's own package for Python names what the kernel language has: `kc.vec3`, `kc.types.vector`.
pub fn is_kc(module: &str) -> bool {
    matches!(module, "kc" | "kc.types" | "kc.warp" | "kc.warp.types")
}

pub fn is_warp(module: &str) -> bool {
    module == "warp" || module.starts_with("warp.") || is_kc(module)
}

/// Modules whose functions are built-ins here: `math.sin(x)`, `np.float32`.
pub fn is_builtin_alias(module: &str) -> bool {
    matches!(module, "math" | "numpy" | "builtins" | "typing")
}

/// The names of numbers in a class of `wp`: what a sample of a volume or texture can be, what is
/// beside a texture, and what came of a rebuilt volume.
fn enumeration(class: &str) -> Option<&'static [(&'static str, i128)]> {
    match class {
        "Volume" => Some(&[
            ("CLOSEST", 0),
            ("LINEAR", 1),
            ("REBUILD_SUCCESS", 0),
            ("REBUILD_LEAF_CAPACITY_EXCEEDED", 1),
            ("REBUILD_LOWER_CAPACITY_EXCEEDED", 2),
            ("REBUILD_UPPER_CAPACITY_EXCEEDED", 4),
            ("REBUILD_VOXEL_CAPACITY_EXCEEDED", 8),
            ("REBUILD_INVALID_INPUT", 16),
        ]),
        "TextureFilterMode" => Some(&[("CLOSEST", 0), ("LINEAR", 1)]),
        "TextureAddressMode" => Some(&[("WRAP", 0), ("CLAMP", 1), ("MIRROR", 2), ("BORDER", 3)]),
        _ => None,
    }
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
pub fn builtin_word(module: &str, name: &str) -> Option<Operand> {
    let word = match name {
        "array" | "array1d" => TypeWord::Array(if name == "array" { 0 } else { 1 }),
        "array2d" => TypeWord::Array(2),
        "array3d" => TypeWord::Array(3),
        "array4d" => TypeWord::Array(4),
        "indexedarray" => TypeWord::IndexedArray(0),
        "indexedarray1d" => TypeWord::IndexedArray(1),
        "indexedarray2d" => TypeWord::IndexedArray(2),
        "indexedarray3d" => TypeWord::IndexedArray(3),
        "indexedarray4d" => TypeWord::IndexedArray(4),
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

//! What an editor says of what an expression denotes.

use crate::check::facts::Meaning;
use crate::check::types::value::{FunctionName, Number, Operand, TypeWord};
use crate::types::Type;

impl Operand {
    /// What an editor says of it.
    pub(in crate::check) fn meaning(&self) -> Option<Meaning> {
        Some(match self {
            Operand::Value(expr) => Meaning::Value(expr.ty),
            Operand::Const(constant) => {
                let text = match constant.number {
                    Number::Int(value) => value.to_string(),
                    Number::Float(value) => format!("{value:?}"),
                    Number::Bool(value) => if value { "True" } else { "False" }.to_string(),
                };
                Meaning::Constant(text, Type::Scalar(constant.scalar()))
            }
            Operand::Str(_) => Meaning::Text,
            Operand::Type(TypeWord::Type(ty)) => Meaning::Type(*ty),
            Operand::Function(FunctionName::User { name, .. }) => Meaning::Function(name.clone()),
            Operand::Function(FunctionName::Builtin(name)) => Meaning::Builtin(name.clone()),
            Operand::Module(path) => Meaning::Module(path.clone()),
            Operand::Results(_, types) => match types.as_slice() {
                [ty] => Meaning::Value(*ty),
                types => Meaning::Many(types.to_vec()),
            },
            Operand::Tile(elements) => Meaning::Value(Type::Local(elements.ty)),
            Operand::Enum(class) => Meaning::Enum(class.name.clone()),
            Operand::Tuple(_)
            | Operand::Dict(_)
            | Operand::Host(_)
            | Operand::Stack(_)
            | Operand::Slice(_)
            | Operand::Shape(_)
            | Operand::Adjoint
            | Operand::Gradient(_)
            | Operand::Type(_) => {
                return None;
            }
        })
    }
}

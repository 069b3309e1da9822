//! What is a variable without a name in the source called? After what it holds: `ke_times_dt`,
//! `adj_n_dot_v`, `c_below_limit`. A name is read beside its use, so it says the operands, as far
//! as [`LONGEST`] letters go, and else the operation alone.

use super::TextContext;
use super::dots;
use super::types::{component, has_named_components, type_name};
use super::vars::Variables;
use crate::ids::IdMap;
use crate::ir::{
    Access, BinaryOp, BlockId, CompareOp, Const, FuncId, Function, Inst, Op, Path, Step, UnaryOp, ValueDef, ValueId,
    effects, jumps, reports, threads, together,
};
use crate::types::{Scalar, Type};

/// The most letters of a name that is put together.
const LONGEST: usize = 24;
/// How many operations a name looks through.
const DEEPEST: u32 = 2;

/// Finds words for the values of one function.
pub struct Describer<'a> {
    pub shared: &'a TextContext<'a>,
    pub function: &'a Function,
    pub variables: &'a Variables,
    /// Names of what is added to elements of arrays of adjoints.
    pub adjoints: &'a IdMap<ValueId, String>,
    /// What indices go through that may count from the end, where parameters are plain.
    pub wrap: Option<FuncId>,
}

impl<'a> Describer<'a> {
    /// The source's name.
    pub fn name(&self, value: ValueId) -> Option<&'a str> {
        self.function.values[value].name.as_deref()
    }

    /// The source name of the result of an `if` in this value: that of a branch.
    pub fn copied_name(&self, value: ValueId) -> Option<String> {
        let ValueDef::Result(inst, n) = self.function.values[value].def else { return None };
        let Op::If { then, otherwise, .. } = self.function.insts[inst].op else { return None };
        let given = |&block: &BlockId| self.function.yielded(block).get(n as usize);
        [then, otherwise].iter().filter_map(given).find_map(|&v| self.name(v)).map(str::to_string)
    }

    /// A word for what an unnamed value is.
    pub fn word(&self, value: ValueId) -> Option<String> {
        self.composed(value, DEEPEST).or_else(|| self.plain_word(value))
    }

    /// What an operand is called in the name of an operation.
    fn operand(&self, value: ValueId, depth: u32) -> Option<String> {
        if let Some(name) = self.name(value) {
            return Some(name.trim_end_matches('_').to_string()).filter(|name| !name.is_empty());
        }
        let known = self.copied_name(value).or_else(|| self.adjoints.get(&value).cloned());
        known.or_else(|| self.composed(value, depth.checked_sub(1)?))
    }

    /// A name that says what the operation does with its operands. None: they have none, or it
    /// would be too long.
    fn composed(&self, value: ValueId, depth: u32) -> Option<String> {
        let (inst, n) = self.inst(value)?;
        let word = match &inst.op {
            Op::Load(access) if access.path.is_empty() => element_name(self.function, access),
            Op::Load(Access { array, path, .. }) => self.part(self.name(*array)?, self.element(*array), path)?,
            Op::Extract(base, path) => self.part(&self.operand(*base, depth)?, Some(self.function.ty(*base)), path)?,
            Op::Insert(base, ..) => self.operand(*base, depth)?,
            Op::Call(callee, _) if self.result_name(*callee, n).is_some() => self.result_name(*callee, n)?,
            Op::Call(callee, args) if self.wrap == Some(*callee) => self.index(args, depth)?,
            Op::Call(callee, args) if dots::NAMES.contains(&&*self.shared.module.functions[*callee].source_name) => {
                self.dot_of(*args.first()?, *args.get(1)?, depth)?
            }
            Op::Call(callee, args) => {
                let name = self.shared.module.functions[*callee].source_name.trim_end_matches('_');
                let words: Option<Vec<String>> = args.iter().map(|&arg| self.operand(arg, depth)).collect();
                let given = words.filter(|_| args.len() <= 2).map(|words| format!("{name}_{}", words.join("_")));
                first_short(given.into_iter().chain([format!("{name}_value")]))?
            }
            Op::View(array, _) => format!("{}_part", self.name(*array)?),
            Op::Extent(array, _) => format!("{}_extent", self.name(*array)?),
            Op::Cast(a) | Op::Bitcast(a) => {
                let ty = type_name(self.function.ty(value), &self.shared.module.structs);
                let short: String = ty.chars().filter(char::is_ascii_alphanumeric).collect();
                format!("{}_as_{short}", self.operand(*a, depth)?)
            }
            Op::Compare(op, a, b) => self.comparison(*op, *a, *b, depth)?,
            Op::Unary(op, a) => format!("{}_{}", unary_word(*op), self.operand(*a, depth)?),
            Op::Binary(op, a, b) => self.binary(value, *op, *a, *b, depth)?,
            Op::Fma(a, b, c) => {
                let (a, b, c) = (self.operand(*a, depth)?, self.operand(*b, depth)?, self.operand(*c, depth)?);
                first_short([format!("{a}_times_{b}_plus_{c}"), format!("{c}_plus_product")])?
            }
            Op::Select { condition, then, otherwise } => self.chosen(*condition, *then, *otherwise, depth)?,
            Op::If { condition, then, otherwise } => {
                let given = |block: &BlockId| self.function.yielded(*block).get(n).copied();
                self.chosen(*condition, given(then)?, given(otherwise)?, depth)?
            }
            Op::Construct(parts) => self.constructed(parts, depth)?,
            Op::Const(_)
            | Op::Zero
            | threads!()
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::LocalArray
            | Op::SharedArray
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | effects!()
            | Op::For { .. }
            | Op::While { .. }
            | jumps!() => return None,
        };
        // An element is called after its array, however long that name is.
        let names_memory = matches!(inst.op, Op::Load(_) | Op::View(..) | Op::Extent(..));
        Some(word).filter(|word| names_memory || word.len() <= LONGEST)
    }

    fn inst(&self, value: ValueId) -> Option<(&'a Inst, usize)> {
        match self.function.values[value].def {
            ValueDef::Result(inst, n) => Some((&self.function.insts[inst], n as usize)),
            ValueDef::Param(..) => None,
        }
    }

    fn binary(&self, value: ValueId, op: BinaryOp, a: ValueId, b: ValueId, depth: u32) -> Option<String> {
        if matches!(op, BinaryOp::Add)
            && let Some((x, y)) = self.dot(value)
        {
            return self.dot_of(x, y, depth);
        }
        let constants = (self.constant(a), self.constant(b));
        if let (None, Some(c)) = &constants {
            return self.with_constant(op, &self.operand(a, depth)?, c);
        }
        if let (Some(c), None) = &constants {
            let b = self.operand(b, depth)?;
            return match op {
                BinaryOp::Sub if c.is(1) => Some(format!("one_minus_{b}")),
                BinaryOp::Sub => Some(format!("rest_of_{b}")),
                BinaryOp::Div if c.is(1) => Some(format!("inv_{b}")),
                BinaryOp::Div => Some(format!("scaled_inv_{b}")),
                _ => self.with_constant(op, &b, c),
            };
        }
        let (x, y) = (self.operand(a, depth), self.operand(b, depth));
        let (x, y) = match (op, x, y) {
            (_, Some(x), Some(y)) => (x, y),
            // One factor or term says more than none.
            (BinaryOp::Mul, Some(x), None) | (BinaryOp::Mul, None, Some(x)) => return Some(scaled(&x)),
            (BinaryOp::Add, Some(x), None) | (BinaryOp::Add, None, Some(x)) | (BinaryOp::Sub, Some(x), None) => {
                return Some(format!("{x}_sum"));
            }
            (BinaryOp::Div, Some(x), None) => return Some(format!("{x}_quotient")),
            _ => return None,
        };
        let is_bool = self.function.ty(value) == Type::Scalar(Scalar::Bool);
        match op {
            BinaryOp::Mul if a == b => Some(format!("{x}_squared")),
            BinaryOp::Add => first_short([format!("{x}_plus_{y}"), format!("{x}_sum")]),
            BinaryOp::Sub => first_short([format!("{x}_minus_{y}"), format!("{x}_difference")]),
            BinaryOp::Mul => first_short([format!("{x}_times_{y}"), scaled(&x), scaled(&y)]),
            BinaryOp::Div | BinaryOp::FloorDiv => first_short([format!("{x}_over_{y}"), format!("{x}_quotient")]),
            BinaryOp::Rem => first_short([format!("{x}_mod_{y}"), format!("{x}_rest")]),
            BinaryOp::Min => first_short([format!("min_{x}_{y}"), format!("min_{x}")]),
            BinaryOp::Max => first_short([format!("max_{x}_{y}"), format!("max_{x}")]),
            BinaryOp::And if is_bool => first_short([format!("{x}_and_{y}")]),
            BinaryOp::Or if is_bool => first_short([format!("{x}_or_{y}")]),
            BinaryOp::Shl | BinaryOp::Shr => Some(format!("{x}_shifted")),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor if !is_bool => Some(format!("{x}_bits")),
            BinaryOp::CopySign => Some(format!("signed_{x}")),
            BinaryOp::MulHigh => Some(format!("{x}_high")),
            BinaryOp::AbsDiff => first_short([format!("{x}_from_{y}"), format!("{x}_distance")]),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => None,
        }
    }

    /// An index of an array that has gone through `wrap`: `i_in_x`.
    fn index(&self, args: &[ValueId], depth: u32) -> Option<String> {
        let &[index, extent] = args else { return None };
        let Some(Op::Extent(array, _)) = self.function.op(extent) else { return None };
        let array = self.name(*array)?;
        let index = self.operand(index, depth).map(|index| format!("{index}_in_{array}"));
        first_short(index.into_iter().chain([format!("{array}_index"), "index".to_string()]))
    }

    fn with_constant(&self, op: BinaryOp, a: &str, c: &Constant) -> Option<String> {
        let word = c.word.as_deref();
        Some(match op {
            BinaryOp::Add => word.map_or(format!("{a}_offset"), |c| format!("{a}_plus_{c}")),
            BinaryOp::Sub => word.map_or(format!("{a}_offset"), |c| format!("{a}_minus_{c}")),
            BinaryOp::Mul if c.is(2) => format!("twice_{a}"),
            BinaryOp::Mul if word == Some("half") => format!("half_{a}"),
            BinaryOp::Div if c.is(2) => format!("half_{a}"),
            BinaryOp::Mul => word.map_or(scaled(a), |c| format!("{a}_times_{c}")),
            BinaryOp::Div | BinaryOp::FloorDiv => word.map_or(format!("{a}_quotient"), |c| format!("{a}_over_{c}")),
            BinaryOp::Rem => word.map_or(format!("{a}_rest"), |c| format!("{a}_mod_{c}")),
            BinaryOp::Min | BinaryOp::Max => format!("limited_{a}"),
            BinaryOp::Shl | BinaryOp::Shr => format!("{a}_shifted"),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => format!("{a}_bits"),
            BinaryOp::CopySign => format!("signed_{a}"),
            BinaryOp::MulHigh => format!("{a}_high"),
            BinaryOp::AbsDiff => word.map_or(format!("{a}_distance"), |c| format!("{a}_from_{c}")),
        })
    }

    fn comparison(&self, op: CompareOp, a: ValueId, b: ValueId, depth: u32) -> Option<String> {
        if a == b {
            let a = self.operand(a, depth)?;
            return (op == CompareOp::Ne).then(|| format!("{a}_is_nan"));
        }
        if self.constant(a).is_some() && self.constant(b).is_none() {
            return self.comparison(op.mirrored(), b, a, depth);
        }
        let x = self.operand(a, depth)?;
        let zero = self.function.op(b) == Some(&Op::Zero) || self.constant(b).is_some_and(|c| c.is(0));
        match op {
            CompareOp::Ne if zero => return Some(format!("{x}_nonzero")),
            CompareOp::Gt if zero => return Some(format!("{x}_positive")),
            CompareOp::Lt if zero => return Some(format!("{x}_negative")),
            CompareOp::Eq if zero => return Some(format!("{x}_zero")),
            CompareOp::Ne | CompareOp::Gt | CompareOp::Lt | CompareOp::Eq | CompareOp::Ge | CompareOp::Le => {}
        }
        let word = match op {
            CompareOp::Eq => "is",
            CompareOp::Ne => "not",
            CompareOp::Lt => "below",
            CompareOp::Le => "at_most",
            CompareOp::Gt => "above",
            CompareOp::Ge => "at_least",
        };
        let y = match self.constant(b) {
            Some(c) => c.word.unwrap_or_else(|| "limit".to_string()),
            None => self.operand(b, depth).unwrap_or_else(|| "limit".to_string()),
        };
        first_short([format!("{x}_{word}_{y}"), format!("{x}_{word}_limit")])
    }

    /// A choice is called after what is chosen; one between a value and 0 or another constant after
    /// the value.
    fn chosen(&self, condition: ValueId, then: ValueId, otherwise: ValueId, depth: u32) -> Option<String> {
        let is_constant = |value| matches!(self.function.op(value), Some(Op::Zero | Op::Const(_)));
        let arm = |value| (!is_constant(value)).then(|| self.operand(value, depth)).flatten();
        match (arm(then), arm(otherwise)) {
            (Some(a), Some(b)) if a == b => Some(a),
            (Some(a), Some(b)) => first_short([format!("{a}_or_{b}"), a, b]),
            (Some(a), None) | (None, Some(a)) => Some(a),
            (None, None) => Some(format!("if_{}", self.operand(condition, depth)?)),
        }
    }

    /// The stem that the components share: `v` of `v.x` and `v.y`; or the first that has a name.
    fn constructed(&self, parts: &[ValueId], depth: u32) -> Option<String> {
        let words: Vec<String> = parts.iter().filter_map(|&part| self.operand(part, depth)).collect();
        let first = words.first()?;
        let stem = first.strip_suffix("_x").filter(|stem| words.iter().all(|word| word.starts_with(*stem)));
        Some(stem.map_or(format!("{first}_etc"), str::to_string))
    }

    fn dot_of(&self, x: ValueId, y: ValueId, depth: u32) -> Option<String> {
        let (x, y) = (self.operand(x, depth)?, self.operand(y, depth)?);
        first_short([format!("{x}_dot_{y}"), format!("{x}_sum"), format!("{y}_sum")])
    }

    /// The operands of a sum over all components of a product of two vectors, each of them perhaps
    /// only where something is not 0.
    fn dot(&self, sum: ValueId) -> Option<(ValueId, ValueId)> {
        let mut product = None;
        let mut parts = Vec::new();
        let mut open = vec![sum];
        while let Some(value) = open.pop() {
            let op = self.function.op(value)?;
            if let Op::Binary(BinaryOp::Add, a, b) = op {
                open.extend([*a, *b]);
            } else if let Op::Select { then, otherwise, .. } = op {
                self.constant(*otherwise).filter(|zero| zero.is(0))?;
                open.push(*then);
            } else if let Op::Extract(of, path) = op {
                (product.is_none_or(|known| known == *of)).then_some(())?;
                product = Some(*of);
                parts.push(path);
            } else {
                return None;
            }
        }
        let Op::Binary(BinaryOp::Mul, a, b) = self.function.op(product?)? else { return None };
        let both = self.function.ty(*a) == self.function.ty(*b);
        (both && parts.len() > 1).then_some((*a, *b))
    }

    /// The word of a constant.
    fn constant(&self, value: ValueId) -> Option<Constant> {
        self.function.as_const(value).map(Constant::of)
    }

    /// The type of an array's elements.
    fn element(&self, array: ValueId) -> Option<Type> {
        match self.function.ty(array) {
            Type::Array(array) => Some(array.element.into()),
            Type::Local(local) => Some(local.element.into()),
            _ => None,
        }
    }

    /// What a function calls the result that it gives through a reference.
    fn result_name(&self, callee: FuncId, n: usize) -> Option<String> {
        let results = &self.shared.module.functions[callee].results;
        results.get(n).filter(|_| results.len() > 1)?.name.clone()
    }

    /// A part of a value of type `ty` that is called `base`.
    fn part(&self, base: &str, ty: Option<Type>, path: &Path) -> Option<String> {
        let structs = &self.shared.module.structs;
        let mut name = format!("{base}_");
        let mut ty = ty;
        for (k, step) in path.iter().enumerate() {
            let Step::At(n) = *step else { return Some(format!("{base}_part")) };
            match ty? {
                Type::Struct(id) => {
                    name.push_str(if k > 0 { "_" } else { "" });
                    name.push_str(&structs[id].fields.get(n as usize)?.name);
                }
                of if has_named_components(of) => {
                    name.push_str(if k > 0 { "_" } else { "" });
                    name.push_str(component(n));
                }
                Type::Transform(_) => name.push_str(if n == 0 { "p" } else { "q" }),
                _ => name.push_str(&n.to_string()),
            }
            ty = ty.and_then(|ty| ty.step(Some(n), structs));
        }
        Some(name)
    }

    /// A word for the operation, where its operands have none.
    pub fn plain_word(&self, value: ValueId) -> Option<String> {
        let function = self.function;
        let inst = match function.values[value].def {
            ValueDef::Param(block, 0) if self.variables.is_loop_body(block) => return Some("k".to_string()),
            ValueDef::Param(..) => return None,
            ValueDef::Result(inst, _) => &function.insts[inst],
        };
        if matches!(inst.op, Op::Product(..)) {
            return Some("patch".to_string());
        }
        let word = match &inst.op {
            Op::Load(Access { path, .. }) if path.is_empty() => "element",
            Op::Load(_) | Op::Extract(..) => "part",
            Op::Call(callee, _) => {
                let name = self.shared.module.functions[*callee].source_name.trim_end_matches('_');
                return Some(format!("{name}_value"));
            }
            Op::Atomic { .. } | Op::AtomicCas { .. } => "old",
            Op::LocalArray => "buffer",
            Op::SharedArray => "tile",
            Op::Exchange(exchange, _) if exchange.ask.shuffles() => "shuffled",
            Op::Exchange(..) => "threads",
            Op::ThreadIndex(n) => ["i", "j", "k", "l"].get(usize::from(*n)).copied().unwrap_or("i"),
            Op::BlockDim => "block_size",
            Op::ThreadInBlock => "lane",
            Op::View(..) => "array_part",
            Op::Extent(..) => "array_extent",
            Op::Cast(_) | Op::Bitcast(_) => "converted",
            Op::Compare(..) => "test",
            Op::Unary(op, _) => unary_word(*op),
            Op::Binary(op, ..) => binary_word(*op, function.ty(value)),
            Op::Fma(..) => "sum",
            Op::Select { .. } | Op::If { .. } => "choice",
            Op::Const(_)
            | Op::Zero
            | Op::Construct(_)
            | Op::Insert(..)
            | Op::ThreadNumber
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::Store { .. }
            | together!()
            | reports!()
            | Op::For { .. }
            | Op::While { .. }
            | jumps!() => match function.ty(value) {
                Type::Struct(_) => "record",
                Type::Vec(..) => "v",
                Type::Mat(..) => "m",
                Type::Quat(_) => "q",
                _ => return None,
            },
        };
        Some(word.to_string())
    }
}

/// `x_i` for `x[i]`.
pub fn element_name(function: &Function, access: &Access) -> String {
    let named = |v: &ValueId| function.values[*v].name.as_deref();
    let array = named(&access.array).unwrap_or("element");
    match access.indices.as_slice() {
        [i] => named(i).map_or(format!("{array}_value"), |i| format!("{array}_{i}")),
        indices => {
            let names: Option<String> = indices.iter().map(named).collect::<Option<Vec<_>>>().map(|n| n.concat());
            names.filter(|n| n.len() <= 4).map_or(format!("{array}_value"), |n| format!("{array}_{n}"))
        }
    }
}

/// A constant operand.
struct Constant {
    value: Const,
    /// As a part of a name, if it has a short one.
    word: Option<String>,
}

impl Constant {
    fn of(value: Const) -> Constant {
        let whole = value.as_int().map(|n| n as f64).or_else(|| value.as_float());
        let word = whole.and_then(|number| match number {
            0.5 => Some("half".to_string()),
            _ if number.fract() == 0.0 && (0.0..1000.0).contains(&number) => Some(format!("{number}")),
            _ => None,
        });
        Constant { value, word }
    }

    fn is(&self, n: i128) -> bool {
        self.value.as_int() == Some(n) || self.value.as_float() == Some(n as f64)
    }
}

/// The first that is short enough.
fn first_short(names: impl IntoIterator<Item = String>) -> Option<String> {
    names.into_iter().find(|name| name.len() <= LONGEST)
}

/// A multiple of what is called `word`.
fn scaled(word: &str) -> String {
    if word.starts_with("scaled_") { word.to_string() } else { format!("scaled_{word}") }
}

fn unary_word(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "minus",
        UnaryOp::Sqrt => "root",
        other => other.name(),
    }
}

fn binary_word(op: BinaryOp, ty: Type) -> &'static str {
    match op {
        BinaryOp::Add => "sum",
        BinaryOp::Sub => "difference",
        BinaryOp::Mul => "product",
        BinaryOp::Div | BinaryOp::FloorDiv => "quotient",
        BinaryOp::Rem => "rest",
        BinaryOp::Min => "lower",
        BinaryOp::Max => "upper",
        BinaryOp::Shl | BinaryOp::Shr => "shifted",
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor if ty == Type::Scalar(Scalar::Bool) => "test",
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => "bits",
        BinaryOp::CopySign => "signed_value",
        BinaryOp::MulHigh => "high",
        BinaryOp::AbsDiff => "distance",
    }
}

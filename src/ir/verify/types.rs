//! The type rule of every operation without blocks.

use smallvec::{SmallVec, smallvec};

use super::super::*;
use super::Within;
use crate::types::{ArrayType, BOOL, Element, I32, MAX_DIMS, Scalar, U64};

pub(super) fn check(condition: bool, message: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message.to_string()) }
}

/// Few enough for most instructions: nothing is allocated.
pub(super) type Types = SmallVec<[Type; 2]>;

pub(super) fn same(
    given: impl IntoIterator<Item = Type>,
    expected: impl IntoIterator<Item = Type>,
    what: &str,
) -> Result<(), String> {
    if given.into_iter().eq(expected) {
        return Ok(());
    }
    Err(format!("the values differ in number or type from {what}"))
}

/// Whether two types are of one form, apart from the scalar in them.
fn same_form(a: Type, b: Type) -> bool {
    match (a, b) {
        (Type::Scalar(_), Type::Scalar(_)) | (Type::Quat(_), Type::Quat(_)) => true,
        (Type::Transform(_), Type::Transform(_)) => true,
        (Type::Vec(n, _), Type::Vec(m, _)) => n == m,
        (Type::Mat(r, c, _), Type::Mat(s, d, _)) => (r, c) == (s, d),
        _ => false,
    }
}

/// Whether the operation exists on a scalar type.
fn unary_has(op: UnaryOp, s: Scalar) -> bool {
    match op {
        UnaryOp::Not => s == Scalar::Bool,
        UnaryOp::Neg | UnaryOp::Abs => s != Scalar::Bool,
        UnaryOp::BitNot | UnaryOp::PopCount | UnaryOp::LeadingZeros => s.is_int(),
        UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven | UnaryOp::Round => {
            s.is_float()
        }
        UnaryOp::Tf32 => s == Scalar::F32,
    }
}

fn binary_has(op: BinaryOp, s: Scalar) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Min | BinaryOp::Max => {
            s != Scalar::Bool
        }
        BinaryOp::FloorDiv | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::AbsDiff => s.is_int(),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !s.is_float(),
        BinaryOp::CopySign => s.is_float(),
        BinaryOp::MulHigh => matches!(s, Scalar::U32 | Scalar::U64),
    }
}

fn atomic_has(op: AtomicOp, s: Scalar) -> bool {
    match op {
        AtomicOp::Add | AtomicOp::Sub | AtomicOp::Min | AtomicOp::Max => s != Scalar::Bool,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => s.is_int(),
        AtomicOp::Exchange => true,
    }
}

/// The type rules of the operations without blocks.
pub(super) struct Typing<'a> {
    pub within: Within<'a>,
    pub function: &'a Function,
    /// Where the operands do not fix the result's type, it is checked against them.
    pub result: Option<Type>,
}

impl Typing<'_> {
    fn ty(&self, value: ValueId) -> Type {
        self.function.ty(value)
    }

    /// The types that the results must have. One arm per operation.
    pub fn results(&self, op: &Op) -> Result<Types, String> {
        let given = || self.result.ok_or_else(|| "there is no result".to_string());
        let one = |ty: Type| Ok(smallvec![ty]);
        match op {
            Op::Const(c) => one(Type::Scalar(c.scalar)),
            Op::Zero => one(given()?),
            Op::Unary(op, a) => {
                let ty = self.ty(*a);
                check(ty.scalar_part().is_some_and(|s| unary_has(*op, s)), "the operand's type does not have it")?;
                one(ty)
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.ty(*a), self.ty(*b));
                check(a.scalar_part().is_some_and(|s| binary_has(*op, s)), "the operands' type does not have it")?;
                check(a.scalar_part() == b.scalar_part(), "the operands differ in scalar type")?;
                match (op, a.is_composite(), b.is_composite()) {
                    (BinaryOp::Mul, false, true) => one(b),
                    (BinaryOp::Mul | BinaryOp::Div, true, false) => one(a),
                    _ if a == b => one(a),
                    _ => Err("the operands differ in type".into()),
                }
            }
            Op::Compare(op, a, b) => {
                let (a, b) = (self.ty(*a), self.ty(*b));
                check(a == b && a.scalar_part().is_some(), "the operands cannot be compared")?;
                let orders = !matches!(op, CompareOp::Eq | CompareOp::Ne);
                check(!orders || a.is_int() || a.is_float(), "only numbers have an order")?;
                one(BOOL)
            }
            Op::Fma(a, b, c) => {
                let ty = self.ty(*a);
                check(ty.scalar_part().is_some_and(Scalar::is_float), "the operands are not floats")?;
                check(self.ty(*b) == ty && self.ty(*c) == ty, "the operands differ in type")?;
                one(ty)
            }
            Op::Cast(a) => {
                check(same_form(self.ty(*a), given()?), "a cast changes only the scalar type")?;
                one(given()?)
            }
            Op::Bitcast(a) => {
                let pair = self.ty(*a).as_scalar().zip(given()?.as_scalar());
                let fits = pair.is_some_and(|(a, b)| a.size() == b.size() && a != Scalar::Bool && b != Scalar::Bool);
                check(fits, "a bitcast is between number types of one size")?;
                one(given()?)
            }
            Op::Select { condition, then, otherwise } => {
                check(self.ty(*condition) == BOOL, "the condition is not bool")?;
                check(self.ty(*then) == self.ty(*otherwise), "the two values differ in type")?;
                one(self.ty(*then))
            }
            Op::Construct(args) => {
                let ty = given()?;
                let args = args.iter().map(|&a| self.ty(a));
                let what = "the parts of the type";
                match (ty, ty.scalar_part(), ty.scalar_count()) {
                    (Type::Struct(id), ..) => same(args, self.within.structs()[id].fields.iter().map(|f| f.ty), what)?,
                    (_, Some(s), Some(count)) if ty.is_composite() => {
                        same(args, std::iter::repeat_n(Type::Scalar(s), count as usize), what)?;
                    }
                    _ => return Err("only composites and structs are constructed".into()),
                }
                one(ty)
            }
            Op::Extract(a, path) => {
                check(!path.is_empty(), "the path is empty")?;
                one(self.part(self.ty(*a), path)?)
            }
            Op::Insert(a, path, b) => {
                check(!path.is_empty(), "the path is empty")?;
                check(self.part(self.ty(*a), path)? == self.ty(*b), "the new part has another type")?;
                one(self.ty(*a))
            }
            Op::Call(callee, args) => {
                let callee = self.within.function(*callee).ok_or("the function is not in the module")?;
                check(callee.kind == FunctionKind::Device, "a kernel cannot be called")?;
                let params = callee.params().iter().filter_map(|&p| callee.values.get(p)).map(|v| v.ty);
                same(args.iter().map(|&a| self.ty(a)), params, "the function's parameters")?;
                Ok(callee.results.iter().map(|r| r.ty).collect())
            }
            Op::ThreadIndex(n) => {
                let rank = match self.function.kind {
                    FunctionKind::Kernel { rank } => rank,
                    FunctionKind::Device => MAX_DIMS as u8,
                };
                check(*n < rank, "the thread has fewer coordinates")?;
                one(I32)
            }
            Op::ThreadNumber => {
                check(self.function.is_kernel(), "only kernels know the number of the thread")?;
                one(I32)
            }
            Op::BlockDim | Op::ThreadInBlock => one(I32),
            Op::Extent(a, dim) => {
                let (_, ndim) = self.array(*a)?;
                check(*dim < ndim, "the array has fewer dimensions")?;
                one(I32)
            }
            Op::IsSet(a) | Op::Address(a) => {
                check(matches!(self.ty(*a), Type::Array(_)), "the operand is not an array")?;
                one(if matches!(op, Op::IsSet(_)) { BOOL } else { U64 })
            }
            Op::Gradient(a) => {
                self.array(*a)?;
                check(matches!(self.ty(*a), Type::Array(_)), "the operand is not an array")?;
                one(self.ty(*a))
            }
            Op::ArrayAt { args, .. } => {
                let Type::Array(array) = given()? else { return Err("the result is not an array".into()) };
                let wanted = [U64, U64].into_iter().chain(std::iter::repeat_n(I32, usize::from(array.ndim)));
                same(args.iter().map(|&a| self.ty(a)), wanted, "an address, one of adjoints, and the extents")?;
                one(given()?)
            }
            Op::View(a, dims) => self.view(*a, dims),
            Op::LocalArray => {
                check(matches!(given()?, Type::Local(_)), "the result is not a local array")?;
                one(given()?)
            }
            Op::SharedArray => {
                check(given()?.is_tile(), "the result is not an array of the block")?;
                one(given()?)
            }
            Op::Load(access) => one(self.access(access)?),
            Op::Store { access, value } => {
                check(self.access(access)? == self.ty(*value), "the value has another type")?;
                Ok(Types::new())
            }
            Op::Atomic { op, access, value } => {
                let ty = self.access(access)?;
                check(ty.scalar_part().is_some_and(|s| atomic_has(*op, s)), "the type does not have it")?;
                check(ty == self.ty(*value), "the value has another type")?;
                one(ty)
            }
            Op::AtomicCas { access, expected, new } => {
                let ty = self.access(access)?;
                check(ty.scalar_part().is_some(), "the type does not have it")?;
                check(ty == self.ty(*expected) && ty == self.ty(*new), "a value has another type")?;
                one(ty)
            }
            Op::Barrier | Op::GridSync => Ok(Types::new()),
            Op::Product(product, args) => self.product(product, args),
            Op::Copy(size, args) => {
                let &[tile, array, row, column] = &args[..] else {
                    return Err("it has another number of operands".into());
                };
                let (Type::Local(to), Type::Array(from)) = (self.ty(tile), self.ty(array)) else {
                    return Err("the operands are no tile and no array".into());
                };
                let fits = to.ndim == 2 && from.ndim == 2 && to.extents().iter().zip(size).all(|(a, b)| a >= b);
                check(to.block && fits && to.element == from.element, "the tile does not fit the array")?;
                check(to.element != Element::Scalar(Scalar::Bool), "the elements are not numbers")?;
                check(matches!(to.element, Element::Scalar(_)), "the elements are not numbers")?;
                check(self.ty(row) == I32 && self.ty(column) == I32, "an index is not int32")?;
                Ok(Types::new())
            }
            Op::Exchange(exchange, args) => {
                let names_thread = exchange.ask.shuffles();
                check((1..=1024).contains(&exchange.threads), "a block has 1 to 1024 threads")?;
                check(args.len() == 1 + usize::from(names_thread), "it has another number of operands")?;
                let ty = self.ty(args[0]);
                match exchange.ask {
                    Ask::Ballot => check(ty == BOOL, "the condition is not bool")?,
                    Ask::Match => check(ty.is_int() && ty != BOOL, "the value is not an integer")?,
                    _ => check(ty.element().is_some(), "the value is no element of an array")?,
                }
                check(args[1..].iter().all(|&v| self.ty(v) == I32), "the thread is not int32")?;
                one(if names_thread { ty } else { Type::Scalar(Scalar::U32) })
            }
            Op::Print { args, .. } => {
                check(args.iter().all(|&a| self.ty(a).as_scalar().is_some()), "only scalars are printed")?;
                Ok(Types::new())
            }
            Op::Assert { condition, .. } => {
                check(self.ty(*condition) == BOOL, "the condition is not bool")?;
                Ok(Types::new())
            }
            Op::Check(what, operands) => {
                let ty = operands.first().map(|&first| self.ty(first));
                match what {
                    Check::Component { .. } | Check::Element { .. } => {
                        check(ty.is_some_and(Type::is_int), "the index is not an integer")?
                    }
                    Check::Together { .. } => check(operands.is_empty(), "it has an operand")?,
                    Check::Degenerate { .. } | Check::Visit => check(ty == Some(BOOL), "the test is not bool")?,
                }
                Ok(Types::new())
            }
            // Checked by `Verifier::control`.
            Op::If { .. } | Op::For { .. } | Op::While { .. } => Ok(Types::new()),
            Op::Yield(_) | Op::Break(_) | Op::Continue(_) | Op::Return(_) => Ok(Types::new()),
        }
    }

    fn product(&self, product: &Product, args: &[ValueId]) -> Result<Types, String> {
        let Product { part, unit, size: [rows, columns, inner], turned: [left, right] } = *product;
        let turn = |turned: bool, [a, b]: [u32; 2]| if turned { [b, a] } else { [a, b] };
        check(unit.fits(product.size), "no such fragments fill the matrices")?;
        let mut matrices = vec![[rows, columns]];
        if part.has_factors() {
            matrices.extend([turn(left, [rows, inner]), turn(right, [inner, columns])]);
        }
        check(args.len() == matrices.len() + usize::from(part.is_given()), "it has another number of operands")?;
        for (&array, least) in args.iter().zip(matrices) {
            let Type::Local(ty) = self.ty(array) else { return Err("an operand is not a tile".into()) };
            let Element::Scalar(scalar) = ty.element else { return Err("the elements are not numbers".into()) };
            check(ty.block && ty.ndim == 2 && scalar.is_float(), "an operand is not a tile of floats")?;
            let fits = ty.extents().iter().zip(least).all(|(&extent, least)| extent >= least);
            check(fits, "an operand is smaller than the matrix")?;
        }
        let given = args.last().filter(|_| part.is_given());
        check(given.is_none_or(|&given| self.ty(given) == product.kept()), "what is given is no patch")?;
        Ok(if part.gives() { smallvec![product.kept()] } else { Types::new() })
    }

    /// Element and number of dimensions of an array or local array.
    fn array(&self, array: ValueId) -> Result<(Element, u8), String> {
        match self.ty(array) {
            Type::Array(a) => Ok((a.element, a.ndim)),
            Type::Local(a) => Ok((a.element, a.ndim)),
            _ => Err("the operand is not an array".into()),
        }
    }

    /// The type of the element part that a load, store or atomic names.
    fn access(&self, access: &Access) -> Result<Type, String> {
        let (element, ndim) = self.array(access.array)?;
        check(access.indices.len() == usize::from(ndim), "one index per dimension is needed")?;
        check(access.indices.iter().all(|&i| self.ty(i).is_int()), "an index is not an integer")?;
        self.part(element.into(), &access.path)
    }

    fn part(&self, mut ty: Type, path: &Path) -> Result<Type, String> {
        for step in path {
            let index = match step {
                Step::At(n) => Some(*n),
                Step::Dynamic(v) => {
                    check(self.ty(*v).is_int(), "a step is not an integer")?;
                    None
                }
            };
            ty = ty.step(index, self.within.structs()).ok_or("the path leads to no part")?;
        }
        Ok(ty)
    }

    fn view(&self, array: ValueId, dims: &[ViewIndex]) -> Result<Types, String> {
        let Type::Array(ArrayType { element, ndim }) = self.ty(array) else {
            return Err("the operand is not an array".into());
        };
        check(dims.len() <= usize::from(ndim), "the array has fewer dimensions")?;
        let mut kept = ndim;
        for dim in dims {
            let ints = match dim {
                ViewIndex::At(v) => {
                    kept = kept.saturating_sub(1);
                    [v, v, v]
                }
                ViewIndex::Range { start, stop, step } => [start, stop, step],
            };
            check(ints.iter().all(|&&v| self.ty(v) == I32), "an index of a view is not int32")?;
        }
        check(kept > 0, "a view keeps at least one dimension")?;
        Ok(smallvec![Type::Array(ArrayType { element, ndim: kept })])
    }
}

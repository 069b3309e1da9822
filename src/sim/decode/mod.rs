//! What does a kernel's PTX mean? Each instruction becomes an [`Op`] through tables of operation,
//! modifiers and types; what has no row there is an error with its place.

mod arithmetic;
mod bulk;
mod compare;
mod control;
mod convert;
mod layout;
mod mbarrier;
mod memory;
mod modifiers;
mod operands;
mod packed;
mod tensor;
mod texture;
mod wgmma;
mod words;

use std::collections::HashMap;

use self::layout::Layout;
pub use self::layout::{Loaded, RED_ZONE, Wanted, load};
pub use self::memory::added_flushed;
use self::modifiers::Modifiers;
use super::code::{Class, Code, Inst, Logic, Math, NOWHERE, Op, PredIn, Reg, Special};
use super::value::{LANES, Lanes};
use super::{dropped, graph};
use crate::ptx::{Error, Instruction, Kind, Module, Operand, Register, Result, Space, Type, stand_alone};

/// The two predicates that always stand.
const TRUE: PredIn = PredIn { pred: 0, negated: false };
const FALSE: PredIn = PredIn { pred: 0, negated: true };

/// Decodes the kernel `entry` and all that it calls.
pub fn decode(module: &Module, entry: &str) -> Result<Code> {
    decode_loaded(module, entry, &Loaded::default())
}

/// The same of a module whose variables have their places already.
pub fn decode_loaded(module: &Module, entry: &str, loaded: &Loaded) -> Result<Code> {
    let functions = control::reached(module, entry)?;
    let layout = Layout::of(module, &functions, loaded)?;
    let mut decoder = Decoder {
        module,
        layout: &layout,
        function: 0,
        registers: Vec::new(),
        unread: Vec::new(),
        regs: 0,
        preds: 1,
        constants: HashMap::new(),
        constant_list: Vec::new(),
        pointed: None,
        specials: HashMap::new(),
    };
    let mut starts = HashMap::new();
    let mut next = 0;
    for &f in &functions {
        starts.insert(f, next);
        // Every function ends with a return, also where the text has none.
        next += module.functions[f].body.as_ref().map_or(0, |body| body.instructions.len() as u32) + 1;
    }
    let slots: Vec<_> = functions.iter().map(|&f| decoder.number(&module.functions[f])).collect();
    // Constants and special registers follow; at most one each for every operand.
    let mut insts = Vec::with_capacity(next as usize);
    for (&f, slots) in functions.iter().zip(slots) {
        let Some(body) = &module.functions[f].body else { continue };
        decoder.function = f;
        decoder.registers = slots;
        decoder.unread = stand_alone(body);
        let start = insts.len();
        for instruction in &body.instructions {
            insts.push(decoder.instruction(instruction, start as u32, &starts)?);
        }
        let end = body.instructions.last().map_or(module.functions[f].at, |last| last.at);
        insts.push(Inst {
            op: Op::Return,
            guard: None,
            meet: NOWHERE,
            at: end,
            source: None,
            class: Class::Control,
            math: None,
        });
        graph::find_meetings(&mut insts, start..next_start(&starts, start as u32, next) as usize);
        memory::mark_swapped(&mut insts[start..], &body.instructions);
    }
    let kernel = &module.functions[functions[0]];
    let constants = decoder.constant_list.iter().map(|&(reg, bits)| (reg, [bits; LANES] as Lanes)).collect();
    let has_fences = insts.iter().any(|inst| matches!(inst.op, Op::Fence { device: true }) || is_ordering(&inst.op));
    let is_partial = |op: &Op| matches!(op, Op::BlockBarrier(barrier) if barrier.count.is_some() || barrier.arrives);
    let has_partial_barriers = insts.iter().any(|inst| is_partial(&inst.op));
    let specials = decoder.specials.iter().map(|(&special, &reg)| (reg, special)).collect();
    Ok(Code {
        entry: entry.to_string(),
        regs: decoder.regs,
        preds: decoder.preds,
        constants,
        specials,
        params: layout.params.clone(),
        param_bytes: layout.param_bytes,
        call_bytes: layout.call_bytes,
        local_bytes: layout.local_bytes,
        shared_bytes: layout.shared_bytes,
        uses_dynamic_shared: layout.dynamic_shared,
        globals: layout.globals.clone(),
        variables: layout.variables.clone(),
        files: module.files.clone(),
        max_threads: kernel.max_threads,
        required_threads: kernel.required_threads,
        cluster: kernel.cluster,
        has_fences,
        has_partial_barriers,
        allocates: insts.iter().any(|inst| matches!(inst.op, Op::Allocate(_))),
        has_pointer_calls: insts.iter().any(|inst| matches!(inst.op, Op::CallPointer(_))),
        guarded_loads: dropped::guarded_loads(&insts),
        insts,
    })
}

fn next_start(starts: &HashMap<usize, u32>, start: u32, end: u32) -> u32 {
    starts.values().copied().filter(|&s| s > start).min().unwrap_or(end)
}

fn is_ordering(op: &Op) -> bool {
    use super::code::Order::{Acquire, Both, Release};
    match op {
        Op::Mbarrier(_) | Op::ClusterArrive { .. } => true,
        Op::Load(access) | Op::Store(access) => matches!(access.order, Acquire | Release | Both),
        Op::Atomic(atomic) => matches!(atomic.order, Acquire | Release | Both),
        _ => false,
    }
}

/// Where a register of PTX is kept.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Reg(Reg, Type),
    Pred(u32),
}

struct Decoder<'m, 't> {
    module: &'m Module<'t>,
    layout: &'m Layout,
    /// The function that is decoded.
    function: usize,
    registers: Vec<Slot>,
    /// Its registers whose values nothing comes of.
    unread: Vec<bool>,
    regs: u32,
    preds: u32,
    constants: HashMap<u64, Reg>,
    constant_list: Vec<(Reg, u64)>,
    specials: HashMap<Special, Reg>,
    /// The functions that pointers may lead to, once a call needs them.
    pointed: Option<Vec<usize>>,
}

impl<'t> Decoder<'_, 't> {
    fn number(&mut self, function: &crate::ptx::Function) -> Vec<Slot> {
        let Some(body) = &function.body else { return Vec::new() };
        let slot = |ty: &Type| match ty.kind {
            Kind::Predicate => {
                self.preds += 1;
                Slot::Pred(self.preds - 1)
            }
            _ => {
                self.regs += 1;
                Slot::Reg(self.regs - 1, *ty)
            }
        };
        body.registers.iter().map(slot).collect()
    }

    fn instruction(&mut self, i: &Instruction<'t>, start: u32, starts: &HashMap<usize, u32>) -> Result<Inst> {
        let guard = match i.guard {
            Some((register, negated)) => match self.registers.get(register as usize) {
                Some(&Slot::Pred(pred)) => Some(PredIn { pred, negated }),
                _ => return Err(Error::malformed(i.at, "a guard that is no predicate")),
            },
            None => None,
        };
        let mut m = Modifiers::new(&i.modifiers);
        let (op, class) = self.operation(i, &mut m, start, starts)?;
        if let Some(word) = m.rest() {
            return Err(Error::unknown(i.at, format!("`{i}`: the modifier `.{word}`")));
        }
        Ok(Inst { op, guard, meet: NOWHERE, at: i.at, source: i.source, class, math: math(i.opcode, class) })
    }

    fn operation(
        &mut self,
        i: &Instruction<'t>,
        m: &mut Modifiers<'t>,
        start: u32,
        starts: &HashMap<usize, u32>,
    ) -> Result<(Op, Class)> {
        match i.opcode {
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => {
                return Ok((self.control(i, m, start, starts)?, Class::Control));
            }
            "bar" | "barrier" | "membar" | "fence" | "nanosleep" => {
                return Ok((self.synchronise(i, m)?, Class::Control));
            }
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => {
                return Ok((self.exchange(i, m)?, Class::Exchange));
            }
            "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" => {
                return Ok((self.memory(i, m)?, Class::Memory));
            }
            "cp" => return Ok((self.copy(i, m)?, Class::Memory)),
            "ldmatrix" | "stmatrix" => return Ok((self.load_matrix(i, m)?, Class::Memory)),
            "tex" => return Ok((self.texture(i, m)?, Class::Memory)),
            "suld" | "sust" => return Ok((self.surface(i, m)?, Class::Memory)),
            "mbarrier" => return Ok((self.mbarrier(i, m)?, Class::Memory)),
            "tensormap" => return Ok((self.tensor_map(i, m)?, Class::Memory)),
            "wgmma" => return Ok((self.warpgroup(i, m)?, Class::Other)),
            // Registers and the order of launches are nothing that shows in results.
            "setmaxnreg" | "griddepcontrol" => {
                m.ignore(&["inc", "dec", "sync", "aligned", "u32", "launch_dependents", "wait"]);
                return Ok((Op::Nothing, Class::Control));
            }
            "mapa" | "getctarank" => return Ok((self.in_cluster(i, m)?, Class::Integer)),
            "mma" => return Ok((self.multiply(i, m)?, Class::Other)),
            "cvta" | "isspacep" => return Ok((self.address(i, m)?, Class::Integer)),
            "setp" | "set" | "selp" => return self.comparison(i, m),
            "cvt" => return self.convert(i, m),
            "mov" => {
                if let Some(op) = self.special_move(i, m)? {
                    return Ok((op, Class::Other));
                }
            }
            _ => {}
        }
        if let Some(found) = self.of_parts(i, m)? {
            return Ok(found);
        }
        let types = m.types();
        let &[ty] = types.as_slice() else {
            match i.opcode {
                "dp4a" => return self.dot(i, None, &types),
                "dp2a" if m.take("lo") => return self.dot(i, Some(false), &types),
                "dp2a" if m.take("hi") => return self.dot(i, Some(true), &types),
                "slct" => return self.by_sign(i, m, &types),
                _ => {}
            }
            return Err(unknown(i));
        };
        if ty.kind == Kind::Predicate {
            return Ok((self.logic(i)?, Class::Other));
        }
        // To copy is no arithmetic.
        let class = if i.opcode == "mov" { Class::Other } else { class(ty) };
        if m.take("cc") || matches!(i.opcode, "addc" | "subc" | "madc") {
            return Ok((self.carry(i, m, ty)?, class));
        }
        match i.opcode {
            "bfi" if matches!(ty.bits, 32 | 64) => {
                let [d, a, b, start, length] = self.all(i)?;
                let f = arithmetic::insert(ty.bits);
                let (a, b) = (self.read(i, a, ty)?, self.read(i, b, ty)?);
                let (start, length) = (self.read(i, start, U32)?, self.read(i, length, U32)?);
                return Ok((Op::Alu4 { f, d: self.write(i, d, ty)?, a, b, c: start, e: length }, class));
            }
            // With a predicate beside the result.
            "lop3" if i.modifiers.iter().any(|m| matches!(*m, "and" | "or")) => return Err(unknown(i)),
            "min" | "max" if i.operands.len() == 4 => return Err(unknown(i)),
            "lop3" if ty.bits == 32 => {
                let [d, a, b, c, table] = self.all(i)?;
                let f = |a: u64, b: u64, c: u32, e: u32| arithmetic::looked_up(a as u32, b as u32, c, e).into();
                let (a, b, c) = (self.read(i, a, ty)?, self.read(i, b, ty)?, self.read(i, c, ty)?);
                let e = self.read(i, table, U32)?;
                return Ok((Op::Alu4 { f, d: self.write(i, d, ty)?, a, b, c, e }, class));
            }
            _ => {}
        }
        let wide = i.modifiers.contains(&"wide");
        let f = arithmetic::function(i.opcode, m, ty).ok_or_else(|| unknown(i))?;
        let result = match i.opcode {
            "popc" | "clz" | "bfind" => U32,
            _ if wide => Type { kind: ty.kind, bits: 2 * ty.bits },
            _ => ty,
        };
        let (operands, count) = (&i.operands, operand_count(i.opcode));
        if operands.len() != count + 1 {
            return Err(Error::malformed(i.at, format!("`{i}` takes {} operands, not {}", count + 1, operands.len())));
        }
        // A missing operand reads as a constant, so that nothing depends on it.
        let mut sources = [self.constant(0); 3];
        for (n, operand) in operands[1..].iter().enumerate() {
            let of = match (i.opcode, n) {
                ("shl" | "shr", 1) | ("bfe", 1 | 2) | ("shf", 2) | ("prmt", 2) => U32,
                ("mad", 2) if wide => result,
                ("sad", 2) => Type { kind: Kind::Unsigned, ..ty },
                _ => ty,
            };
            sources[n] = self.read(i, operand, of)?;
        }
        let [a, b, c] = sources;
        Ok((Op::Alu { f, d: self.write(i, &operands[0], result)?, a, b, c }, class))
    }

    /// `mov` of what is no plain register: parts, predicates, clocks.
    fn special_move(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Option<Op>> {
        if i.modifiers.iter().any(|m| matches!(*m, "v2" | "v4")) {
            return Err(unknown(i));
        }
        let [to, from] = self.all(i)?;
        if let Operand::Special(name) = from
            && matches!(*name, "clock" | "clock64" | "clock_hi" | "globaltimer" | "globaltimer_lo" | "globaltimer_hi")
        {
            let ty = m.types().first().copied().ok_or_else(|| unknown(i))?;
            return Ok(Some(Op::Clock { d: self.write(i, to, ty)? }));
        }
        let parts = |list: &[Operand], bits: u32| match list.len() as u32 {
            n @ (2 | 4 | 8) if bits.is_multiple_of(n) => Ok(Type { kind: Kind::Bits, bits: bits / n }),
            _ => Err(unknown(i)),
        };
        match (to, from) {
            (Operand::Vector(list), _) => {
                let ty = m.types().first().copied().ok_or_else(|| unknown(i))?;
                let part = parts(list, ty.bits)?;
                let a = self.read(i, from, ty)?;
                let written: Result<Vec<_>> = list
                    .iter()
                    .map(|o| if *o == Operand::Sink { Ok(None) } else { self.write(i, o, part).map(Some) })
                    .collect();
                Ok(Some(Op::Unpack { a, parts: written?.into(), bits: part.bits }))
            }
            (_, Operand::Vector(list)) => {
                let ty = m.types().first().copied().ok_or_else(|| unknown(i))?;
                let part = parts(list, ty.bits)?;
                let read: Result<Vec<_>> = list.iter().map(|o| self.read(i, o, part)).collect();
                Ok(Some(Op::Pack { d: self.write(i, to, ty)?, parts: read?.into(), bits: part.bits }))
            }
            _ => Ok(None),
        }
    }

    fn carry(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>, ty: Type) -> Result<Op> {
        let high = m.take("hi");
        m.take("lo");
        let writes = i.modifiers.contains(&"cc");
        let f = arithmetic::with_carry(i.opcode, high, ty).ok_or_else(|| unknown(i))?;
        let count = if i.opcode.starts_with("mad") { 4 } else { 3 };
        if i.operands.len() != count {
            return Err(Error::malformed(i.at, format!("`{i}` takes {count} operands")));
        }
        let (a, b) = (self.read(i, &i.operands[1], ty)?, self.read(i, &i.operands[2], ty)?);
        let c = if count == 4 { self.read(i, &i.operands[3], ty)? } else { self.constant(0) };
        Ok(Op::Carry { f, d: self.write(i, &i.operands[0], ty)?, a, b, c, writes })
    }

    /// `halves`: of halves and two of the bytes, the upper ones if so.
    fn dot(&mut self, i: &Instruction<'t>, halves: Option<bool>, types: &[Type]) -> Result<(Op, Class)> {
        macro_rules! by_signs {
            (|$a:ident, $b:ident, $c:ident, $signed:ident| $e:expr) => {
                by_signs!(@ $a, $b, $c, $signed, $e, (true, true), (true, false), (false, true), (false, false))
            };
            (@ $a:ident, $b:ident, $c:ident, $signed:ident, $e:expr, $($signs:expr),*) => {
                [$(|$a, $b, $c, _| {
                    let ($a, $b, $signed) = ($a as u32, $b as u32, $signs);
                    ($e).into()
                }),*]
            };
        }
        type Alu4 = fn(u64, u64, u32, u32) -> u64;
        let &[first, second] = types else { return Err(unknown(i)) };
        let [d, a, b, c] = self.all(i)?;
        let all: [Alu4; 4] = match halves {
            None => by_signs!(|a, b, c, signed| arithmetic::dot(a, b, c, signed)),
            Some(false) => by_signs!(|a, b, c, signed| arithmetic::dot_of_halves(a, b, c, signed, false)),
            Some(true) => by_signs!(|a, b, c, signed| arithmetic::dot_of_halves(a, b, c, signed, true)),
        };
        let f = match (first.kind, second.kind) {
            (Kind::Signed, Kind::Signed) => all[0],
            (Kind::Signed, _) => all[1],
            (_, Kind::Signed) => all[2],
            _ => all[3],
        };
        let (a, b, c) = (self.read(i, a, U32)?, self.read(i, b, U32)?, self.read(i, c, U32)?);
        Ok((Op::Alu4 { f, d: self.write(i, d, U32)?, a, b, c, e: c }, Class::Integer))
    }

    /// `slct`: by the sign of the third operand.
    fn by_sign(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>, types: &[Type]) -> Result<(Op, Class)> {
        let &[ty, sign] = types else { return Err(unknown(i)) };
        let ftz = m.take("ftz");
        let f: fn(u64, u64, u32, u32) -> u64 = match (sign.kind, sign.bits, ftz) {
            (Kind::Signed, 32, false) => |a, b, c, _| if c as i32 >= 0 { a } else { b },
            (Kind::Float, 32, false) => |a, b, c, _| if f32::from_bits(c) >= 0.0 { a } else { b },
            (Kind::Float, 32, true) => |a, b, c, _| if super::value::flush(f32::from_bits(c)) >= 0.0 { a } else { b },
            _ => return Err(unknown(i)),
        };
        let [d, a, b, c] = self.all(i)?;
        let (a, b, c) = (self.read(i, a, ty)?, self.read(i, b, ty)?, self.read(i, c, sign)?);
        Ok((Op::Alu4 { f, d: self.write(i, d, ty)?, a, b, c, e: c }, Class::Other))
    }

    fn logic(&mut self, i: &Instruction<'t>) -> Result<Op> {
        let (f, count, inverts) = match i.opcode {
            "mov" => (Logic::First, 2, false),
            "not" => (Logic::First, 2, true),
            "and" => (Logic::And, 3, false),
            "or" => (Logic::Or, 3, false),
            "xor" => (Logic::Xor, 3, false),
            _ => return Err(unknown(i)),
        };
        if i.operands.len() != count {
            return Err(Error::malformed(i.at, format!("`{i}` takes {count} operands")));
        }
        let mut a = self.predicate(i, &i.operands[1])?;
        a.negated ^= inverts;
        let b = if count == 3 { self.predicate(i, &i.operands[2])? } else { FALSE };
        Ok(Op::Logic { f, d: self.write_predicate(i, &i.operands[0])?, a, b })
    }

    fn comparison(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<(Op, Class)> {
        if i.opcode == "selp" {
            let types = m.types();
            let &[ty] = types.as_slice() else { return Err(unknown(i)) };
            let [d, a, b, p] = self.all(i)?;
            let (a, b, p) = (self.read(i, a, ty)?, self.read(i, b, ty)?, self.predicate(i, p)?);
            return Ok((Op::Select { d: self.write(i, d, ty)?, a, b, p }, Class::Other));
        }
        let name = m.find(|m| compare::is_name(m).then(|| m.to_string())).ok_or_else(|| unknown(i))?;
        let logic = m.find(|m| match m {
            "and" => Some(Logic::And),
            "or" => Some(Logic::Or),
            "xor" => Some(Logic::Xor),
            _ => None,
        });
        let ftz = m.take("ftz");
        let types = m.types();
        let Some(&ty) = types.last() else { return Err(unknown(i)) };
        let f = compare::comparison(&name, ty, ftz).ok_or_else(|| unknown(i))?;
        let expected = 3 + usize::from(logic.is_some());
        if i.operands.len() != expected {
            return Err(Error::malformed(i.at, format!("`{i}` takes {expected} operands")));
        }
        let (a, b) = (self.read(i, &i.operands[1], ty)?, self.read(i, &i.operands[2], ty)?);
        let with = match logic {
            Some(logic) => Some((logic, self.predicate(i, &i.operands[3])?)),
            None => None,
        };
        if i.opcode == "set" {
            let &[to, _] = types.as_slice() else { return Err(unknown(i)) };
            let yes = match (to.kind, to.bits) {
                (Kind::Unsigned | Kind::Signed, 32) => u32::MAX.into(),
                (Kind::Float, 32) => 1f32.to_bits().into(),
                (Kind::Unsigned | Kind::Signed, 16) => u16::MAX.into(),
                (Kind::Float, 16) => half::f16::ONE.to_bits().into(),
                (Kind::Brain, _) => half::bf16::ONE.to_bits().into(),
                _ => return Err(unknown(i)),
            };
            return Ok((Op::Set { f, d: self.write(i, &i.operands[0], to)?, a, b, yes, with }, class(ty)));
        }
        let (p, q) = match &i.operands[0] {
            Operand::Pair(p, q) => (Some(self.pred(i, *p)?), Some(self.pred(i, *q)?)),
            Operand::Sink => (None, None),
            Operand::Second(q) => (None, Some(self.pred(i, *q)?)),
            operand => (Some(self.write_predicate(i, operand)?), None),
        };
        Ok((Op::Test { f, a, b, p, q, with }, class(ty)))
    }

    fn convert(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<(Op, Class)> {
        let types = m.types();
        if m.take("tf32") {
            let (true, [Type { kind: Kind::Float, bits: 32 }]) = (m.take("rna"), types.as_slice()) else {
                return Err(unknown(i));
            };
            let [d, a] = self.all(i)?;
            let a = self.read(i, a, types[0])?;
            return Ok((Op::Alu { f: words::to_tf32(), d: self.write(i, d, U32)?, a, b: a, c: a }, Class::Conversion));
        }
        if m.take("pack") {
            return Err(unknown(i));
        }
        let &[to, from] = types.as_slice() else { return Err(unknown(i)) };
        // A register may be wider than what is taken from it or put into it.
        let Some((d, sources)) = i.operands.split_first() else { return Err(unknown(i)) };
        let (d, width) = self.write_at_least(i, d, to.bits)?;
        // Two numbers become a pair, or one pair another.
        let pairs = to.kind.is_pair() && !from.kind.is_pair();
        if sources.len() != 1 + usize::from(pairs) {
            return Err(Error::malformed(i.at, format!("`{i}` takes {} operands", 2 + usize::from(pairs))));
        }
        let a = self.read_at_least(i, &sources[0], from)?;
        let b = if pairs { self.read_at_least(i, &sources[1], from)? } else { a };
        let f = convert::conversion(m, to, from, width).ok_or_else(|| unknown(i))?;
        Ok((Op::Alu { f, d, a, b, c: a }, Class::Conversion))
    }

    fn address(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let inward = m.take("to");
        let space = m.space();
        m.types();
        let [d, a] = self.all(i)?;
        if i.opcode == "isspacep" {
            let f: crate::sim::value::Test = match space {
                Space::Global | Space::Const => memory::in_space!(Space::Global),
                Space::Shared => memory::in_space!(Space::Shared),
                Space::Local => memory::in_space!(Space::Local),
                Space::Param => memory::in_space!(Space::Param),
                _ => return Err(unknown(i)),
            };
            let a = self.read(i, a, U64)?;
            return Ok(Op::Test { f, a, b: a, p: Some(self.write_predicate(i, d)?), q: None, with: None });
        }
        let a = self.read(i, a, U64)?;
        if space == Space::Param {
            // The address of a parameter may have come through a register of 32 bits.
            let (f, by) = (arithmetic::function("or", &mut Modifiers::new(&[]), U64), super::windows::PARAM);
            let (f, by) = (f.ok_or_else(|| unknown(i))?, self.constant(by));
            return Ok(Op::Alu { f, d: self.write(i, d, U64)?, a, b: by, c: a });
        }
        let by = super::windows::base(space);
        let by = self.constant(if inward { by.wrapping_neg() } else { by });
        let f = arithmetic::function("add", &mut Modifiers::new(&[]), U64).ok_or_else(|| unknown(i))?;
        Ok(Op::Alu { f, d: self.write(i, d, U64)?, a, b: by, c: a })
    }
}

const U32: Type = Type { kind: Kind::Unsigned, bits: 32 };
const U64: Type = Type { kind: Kind::Unsigned, bits: 64 };

/// kc does not know this instruction.
fn unknown(i: &Instruction) -> Error {
    Error::unknown(i.at, format!("the instruction `{i}`"))
}

fn class(ty: Type) -> Class {
    match (ty.kind, ty.bits) {
        (Kind::Float, 32) => Class::Float32,
        (Kind::Float, 64) => Class::Float64,
        _ if arithmetic::is_half(ty) => Class::Float16,
        _ => Class::Integer,
    }
}

fn math(opcode: &str, class: Class) -> Option<Math> {
    if !matches!(class, Class::Float16 | Class::Float32 | Class::Float64) {
        return None;
    }
    match opcode {
        "add" | "sub" => Some(Math::Add),
        "mul" => Some(Math::Multiply),
        "fma" | "mad" => Some(Math::Fused),
        _ => None,
    }
}

/// How many registers an operation of the arithmetic table reads.
fn operand_count(opcode: &str) -> usize {
    match opcode {
        "fma" | "mad" | "mad24" | "sad" | "bfe" | "prmt" | "shf" => 3,
        "neg" | "abs" | "not" | "cnot" | "mov" | "popc" | "clz" | "brev" | "bfind" | "rcp" | "sqrt" | "rsqrt"
        | "sin" | "cos" | "ex2" | "lg2" | "tanh" => 1,
        _ => 2,
    }
}

/// The register of PTX in the function that is decoded.
impl Decoder<'_, '_> {
    fn slot(&self, i: &Instruction, register: Register) -> Result<Slot> {
        let found = self.registers.get(register as usize).copied();
        found.ok_or_else(|| Error::malformed(i.at, "a register of another function"))
    }
}

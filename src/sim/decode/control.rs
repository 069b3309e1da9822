//! Where does control go, who waits for whom, and what do the lanes of a warp tell each other?

use std::collections::{HashMap, HashSet};

use super::modifiers::Modifiers;
use super::{Decoder, U32, U64, arithmetic, unknown};
use crate::ir::{DEGENERATE, NO_COMPONENT, NO_ELEMENT, VISIT};
use crate::ptx::{Error, Function, Init, Instruction, Kind, Module, Operand, Result, Type};
use crate::sim::code::{self, Barrier, Call, Copied, Op, PointerCall, Print, Reg, Shuffle, Vote, Way};
use crate::sim::windows;

/// Of CUDA's device runtime: a thread gives a condition of a graph its number.
const SET_CONDITION: &str = "cudaGraphSetConditional";

/// The functions that a kernel calls, itself first.
pub fn reached(module: &Module, entry: &str) -> Result<Vec<usize>> {
    let at = |name: &str| module.functions.iter().position(|f| f.name == name && f.body.is_some());
    let Some(kernel) = at(entry).filter(|&f| module.functions[f].is_entry) else {
        let all: Vec<&str> = module.entries().map(|f| f.name).collect();
        let known = if all.is_empty() { "it has none".to_string() } else { format!("it has {}", all.join(", ")) };
        return Err(Error::malformed(Default::default(), format!("there is no kernel `{entry}`; {known}")));
    };
    let mut found = vec![kernel];
    let mut done = 0;
    let mut calls = Vec::new();
    let mut by_pointer = false;
    while let Some(&f) = found.get(done) {
        done += 1;
        if !by_pointer && pointer_calls(&module.functions[f]).next().is_some() {
            // Recursion through pointers is found at run time.
            by_pointer = true;
            let new: Vec<usize> = pointed_to(module).into_iter().filter(|f| !found.contains(f)).collect();
            found.extend(new);
        }
        for i in module.functions[f].body.iter().flat_map(|body| &body.instructions).filter(|i| i.opcode == "call") {
            let Some(callee) = callee(i).and_then(at) else { continue };
            calls.push((f, callee, i.at));
            if !found.contains(&callee) {
                found.push(callee);
            }
        }
    }
    // Functions whose callees are all known to end; what is left calls itself.
    let mut ends: Vec<usize> = Vec::new();
    loop {
        let next = found.iter().copied().find(|f| {
            !ends.contains(f) && calls.iter().filter(|(from, ..)| from == f).all(|(_, to, _)| ends.contains(to))
        });
        match next {
            Some(f) => ends.push(f),
            None => break,
        }
    }
    match calls.iter().find(|(from, to, _)| !ends.contains(from) && !ends.contains(to)) {
        Some(&(_, to, at)) => {
            Err(Error::unknown(at, format!("`{}`: a function that calls itself", module.functions[to].name)))
        }
        None => Ok(found),
    }
}

/// The function that a call names before its arguments. A call through a pointer has its prototype
/// behind them.
fn callee<'t>(i: &Instruction<'t>) -> Option<&'t str> {
    match i.operands.iter().find(|o| !matches!(o, Operand::List(_))) {
        Some(Operand::Function(name)) => Some(*name),
        _ => None,
    }
}

/// The calls of a function through pointers.
fn pointer_calls<'m, 't>(function: &'m Function<'t>) -> impl Iterator<Item = &'m Instruction<'t>> {
    let instructions = function.body.iter().flat_map(|body| &body.instructions);
    instructions.filter(|i| i.opcode == "call" && callee(i).is_none())
}

/// The functions whose addresses the text takes, as values or in the first contents of variables.
fn pointed_to(module: &Module) -> Vec<usize> {
    let instructions = module.functions.iter().flat_map(|f| &f.body).flat_map(|body| &body.instructions);
    let values = instructions.filter(|i| i.opcode != "call").flat_map(|i| &i.operands).filter_map(|o| match o {
        Operand::Function(name) => Some(*name),
        _ => None,
    });
    let contents = module.variables.iter().flat_map(|v| &v.init).filter_map(|(_, init)| match init {
        Init::Function(name) => Some(name.as_str()),
        _ => None,
    });
    let names: HashSet<&str> = values.chain(contents).collect();
    let is_pointed = |f: &Function| f.body.is_some() && !f.is_entry && names.contains(f.name);
    (0..module.functions.len()).filter(|&f| is_pointed(&module.functions[f])).collect()
}

/// The address of a function. The error says that there is none, or that it is a kernel.
pub fn function_address(module: &Module, name: &str) -> std::result::Result<u64, String> {
    let function = module.functions.iter().position(|f| f.name == name && f.body.is_some());
    let function = function.ok_or_else(|| format!("`{name}` as a value: no function or variable of this text"))?;
    match module.functions[function].is_entry {
        true => Err(format!("`{name}` as a value: launches that kernels make")),
        false => Ok(address_of(function)),
    }
}

fn address_of(function: usize) -> u64 {
    windows::FUNCTIONS + 16 * (function as u64 + 1)
}

impl<'t> Decoder<'_, 't> {
    pub fn control(
        &mut self,
        i: &Instruction<'t>,
        m: &mut Modifiers<'t>,
        start: u32,
        starts: &HashMap<usize, u32>,
    ) -> Result<Op> {
        let uniform = m.take("uni");
        match i.opcode {
            "bra" => match i.operands.as_slice() {
                [Operand::Label(target)] => Ok(Op::Branch { target: start + *target as u32, uniform }),
                _ => Err(Error::malformed(i.at, "`bra` takes a label")),
            },
            "brx" => {
                m.take("idx");
                match i.operands.as_slice() {
                    [index, Operand::Targets(targets)] => {
                        let targets = targets.iter().map(|&t| start + t as u32).collect();
                        Ok(Op::Switch { index: self.read(i, index, U32)?, targets })
                    }
                    _ => Err(Error::malformed(i.at, "`brx.idx` takes an index and a list of labels")),
                }
            }
            "ret" => Ok(Op::Return),
            "exit" => Ok(Op::Exit),
            "trap" | "brkpt" => Ok(Op::Trap),
            _ => self.call(i, starts),
        }
    }

    /// The parameter of a call that an operand names: offset and bytes.
    fn handed(&self, i: &Instruction<'t>, operand: &Operand<'t>) -> Result<(u32, u32)> {
        let Operand::Variable { variable, offset: 0 } = *operand else {
            return Err(Error::unknown(i.at, "a parameter of a call that is no variable"));
        };
        self.parameter(i, variable)
    }

    fn parameter(&self, i: &Instruction<'t>, variable: usize) -> Result<(u32, u32)> {
        let address = self.layout.addresses[variable].and_then(|a| a.checked_sub(windows::PARAM));
        let address = address.ok_or_else(|| Error::malformed(i.at, "a parameter of a call that is no parameter"))?;
        Ok((address as u32, self.module.variables[variable].bytes as u32))
    }

    fn call(&mut self, i: &Instruction<'t>, starts: &HashMap<usize, u32>) -> Result<Op> {
        let position = i.operands.iter().position(|o| !matches!(o, Operand::List(_))).unwrap_or(0);
        let list = |o: Option<&Operand<'t>>| match o {
            Some(Operand::List(list)) => list.clone(),
            _ => Vec::new(),
        };
        let returned = list(i.operands[..position].first());
        let given = list(i.operands.get(position + 1));
        let given: Result<Vec<_>> = given.iter().map(|o| self.handed(i, o)).collect();
        let returned: Result<Vec<_>> = returned.iter().map(|o| self.handed(i, o)).collect();
        let (given, returned) = (given?, returned?);
        let Some(name) = callee(i) else {
            let pointer = i.operands.get(position).ok_or_else(|| unknown(i))?;
            let pointer = self.read(i, pointer, U64)?;
            let pointed = self.pointed.take().unwrap_or_else(|| pointed_to(self.module));
            let call = |&f: &usize| Some((address_of(f), self.call_of(i, f, starts, &given, &returned).ok()?));
            let calls = pointed.iter().filter_map(call).collect();
            self.pointed = Some(pointed);
            return Ok(Op::CallPointer(Box::new(PointerCall { pointer, calls })));
        };
        match (name, given.as_slice()) {
            ("vprintf", &[(format, 8), (values, 8)]) => {
                return Ok(Op::Print(Box::new(Print { format, values, result: returned.first().map(|r| r.0) })));
            }
            ("malloc", &[(size, 8)]) if self.is_of_driver(name) => {
                let result = returned.first().ok_or_else(|| unknown(i))?.0;
                return Ok(Op::Allocate(Box::new([size, result])));
            }
            ("free", &[(address, 8)]) if self.is_of_driver(name) => return Ok(Op::Release(Box::new([address]))),
            ("__assertfail", &[(message, 8), ..]) => return Ok(Op::Assert(Box::new([message.into()]))),
            (SET_CONDITION, &[(condition, 8), (value, 4)]) if self.is_of_driver(name) => {
                return Ok(Op::SetCondition(Box::new([condition, value])));
            }
            (DEGENERATE, &[(why, 8)]) => return Ok(Op::Degenerate(Box::new([why]))),
            (VISIT, &[(_, 8)]) => return Ok(Op::Visit),
            (NO_COMPONENT, &[(name, 8), (index, 8), (count, 4)]) => {
                return Ok(Op::NoComponent(Box::new([name, index, count])));
            }
            (NO_ELEMENT, &[(name, 8), (dim, 4), (index, 8), (extent, 4)]) => {
                return Ok(Op::NoElement(Box::new([name, dim, index, extent])));
            }
            _ => {}
        }
        let Some(function) = self.module.functions.iter().position(|f| f.name == name && f.body.is_some()) else {
            return Err(Error::unknown(i.at, format!("`{name}`: a function of another module")));
        };
        Ok(Op::Call(Box::new(self.call_of(i, function, starts, &given, &returned)?)))
    }

    /// Whether the text leaves a function to the driver.
    fn is_of_driver(&self, name: &str) -> bool {
        !self.module.functions.iter().any(|f| f.name == name && f.body.is_some())
    }

    /// A call of a function with what is handed over: parameters of the caller, offset and bytes.
    fn call_of(
        &self,
        i: &Instruction<'t>,
        function: usize,
        starts: &HashMap<usize, u32>,
        given: &[(u32, u32)],
        returned: &[(u32, u32)],
    ) -> Result<Call> {
        let target = *starts.get(&function).ok_or_else(|| unknown(i))?;
        let callee = &self.module.functions[function];
        let name = callee.name;
        let pair = |handed: &[(u32, u32)], own: &[usize], back: bool| -> Result<Box<[Copied]>> {
            // A declaration may promise a result that the function of another text lacks:
            // linkers let that pass, and nothing comes back.
            if back && own.is_empty() {
                return Ok(Box::default());
            }
            if handed.len() != own.len() {
                let message = format!("`{name}` has {} parameters, and this call {}", own.len(), handed.len());
                return Err(Error::malformed(i.at, message));
            }
            let copied = handed.iter().zip(own).map(|(&(here, bytes), &variable)| {
                let (there, expected) = self.parameter(i, variable)?;
                if bytes != expected {
                    let message = format!("a parameter of `{name}` has {expected} bytes, and {bytes} are given");
                    return Err(Error::malformed(i.at, message));
                }
                let (from, to) = if back { (there, here) } else { (here, there) };
                Ok(Copied { from, to, bytes })
            });
            copied.collect()
        };
        let given = pair(given, &callee.params, false)?;
        let returned = pair(returned, &callee.returns, true)?;
        let end = target + callee.body.as_ref().map_or(0, |body| body.instructions.len() as u32) + 1;
        Ok(Call { target, end, function: function as u32, given, returned })
    }

    pub fn synchronise(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        match i.opcode {
            "nanosleep" => {
                m.types();
                return Ok(Op::Nothing);
            }
            "membar" | "fence" => {
                // Between the ways that memory is reached by: there is one here.
                if m.take("proxy") {
                    m.ignore(&["alias", "async", "global", "shared::cta", "shared::cluster"]);
                    m.ignore(&["async::generic", "tensormap::generic", "acquire", "release", "cta", "cluster", "gpu"]);
                    m.ignore(&["sys", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"]);
                    return Ok(Op::Nothing);
                }
                m.ignore(&["mbarrier_init", "acquire", "release"]);
                let of_block = m.take("cta");
                m.ignore(&["gl", "sys", "gpu", "cluster", "sc", "acq_rel"]);
                return Ok(Op::Fence { device: !of_block });
            }
            _ => {}
        }
        if m.take("warp") {
            if !m.take("sync") {
                return Err(unknown(i));
            }
            let [members] = self.all(i)?;
            return Ok(Op::WarpBarrier { members: self.read(i, members, U32)? });
        }
        if m.take("cluster") {
            let (relaxed, aligned) = (m.take("relaxed"), m.take("aligned"));
            m.ignore(&["release", "acquire"]);
            return match (m.take("arrive"), m.take("wait")) {
                (true, false) => Ok(Op::ClusterArrive { releases: !relaxed, aligned }),
                (false, true) => Ok(Op::ClusterWait { acquires: !relaxed, aligned }),
                _ => Err(unknown(i)),
            };
        }
        let aligned = m.take("aligned") || i.opcode == "bar";
        m.ignore(&["cta"]);
        let how =
            m.find(|m| matches!(m, "sync" | "arrive" | "red").then(|| m.to_string())).ok_or_else(|| unknown(i))?;
        let (mut operands, mut vote) = (&i.operands[..], None);
        if how == "red" {
            let kind = m.find(|m| match m {
                "popc" => Some(Vote::Count),
                "and" => Some(Vote::All),
                "or" => Some(Vote::Any),
                _ => None,
            });
            let kind = kind.ok_or_else(|| unknown(i))?;
            m.types();
            let (Some(d), Some(p)) = (operands.first(), operands.last()) else { return Err(unknown(i)) };
            let result = match kind {
                Vote::Count => code::Result::Register(self.write(i, d, U32)?),
                _ => code::Result::Predicate(self.write_predicate(i, d)?),
            };
            vote = Some((kind, self.predicate(i, p)?, result));
            operands = operands.get(1..operands.len() - 1).unwrap_or_default();
        }
        let (number, count) = match operands {
            [number] if how != "arrive" => (number, None),
            [number, count] => (number, Some(self.read(i, count, U32)?)),
            _ => return Err(Error::malformed(i.at, format!("`{i}` has another number of operands"))),
        };
        let number = self.read(i, number, U32)?;
        Ok(Op::BlockBarrier(Box::new(Barrier { number, count, aligned, arrives: how == "arrive", vote })))
    }

    pub fn exchange(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let synchronises = m.take("sync");
        match i.opcode {
            "activemask" => {
                m.types();
                let [d] = self.all(i)?;
                Ok(Op::ActiveMask { d: self.write(i, d, U32)? })
            }
            "elect" if synchronises => {
                let [d, members] = self.all(i)?;
                let (d, p) = self.with_predicate(i, d)?;
                let p = p.ok_or_else(|| Error::malformed(i.at, format!("`{i}` takes a predicate")))?;
                Ok(Op::Elect { d, p, members: self.read(i, members, U32)? })
            }
            "shfl" if synchronises => self.shuffle(i, m),
            "vote" => self.vote(i, m, synchronises),
            "match" if synchronises => {
                let all = m.take("all");
                if !all && !m.take("any") {
                    return Err(unknown(i));
                }
                let types = m.types();
                let &[ty] = types.as_slice() else { return Err(unknown(i)) };
                let [d, a, members] = self.all(i)?;
                let (d, p) = self.with_predicate(i, d)?;
                let (a, members) = (self.read(i, a, ty)?, self.read(i, members, U32)?);
                Ok(Op::Match { all, wide: ty.bits == 64, d, p, a, members })
            }
            "redux" if synchronises => {
                let name = m.find(|m| matches!(m, "add" | "min" | "max" | "and" | "or" | "xor").then(|| m.to_string()));
                let types = m.types();
                let (Some(name), &[ty]) = (name, types.as_slice()) else { return Err(unknown(i)) };
                let f = arithmetic::function(&name, &mut Modifiers::new(&[]), ty).ok_or_else(|| unknown(i))?;
                let [d, a, members] = self.all(i)?;
                let (a, members) = (self.read(i, a, ty)?, self.read(i, members, U32)?);
                Ok(Op::Reduce { f, d: self.write(i, d, ty)?, a, members })
            }
            _ => Err(unknown(i)),
        }
    }

    /// `%r1|%p1`, or `%r1`.
    fn with_predicate(&mut self, i: &Instruction<'t>, d: &Operand<'t>) -> Result<(Reg, Option<u32>)> {
        match *d {
            Operand::Pair(d, p) => Ok((self.write(i, &Operand::Register(d), U32)?, Some(self.pred(i, p)?))),
            Operand::Second(p) => Ok((self.write(i, &Operand::Sink, U32)?, Some(self.pred(i, p)?))),
            ref d => Ok((self.write(i, d, U32)?, None)),
        }
    }

    fn shuffle(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let way = m.find(|m| match m {
            "up" => Some(Way::Up),
            "down" => Some(Way::Down),
            "bfly" => Some(Way::Butterfly),
            "idx" => Some(Way::Index),
            _ => None,
        });
        let way = way.ok_or_else(|| unknown(i))?;
        m.types();
        let [d, a, distance, clamp, members] = self.all(i)?;
        let (d, p) = self.with_predicate(i, d)?;
        let (a, distance) = (self.read(i, a, U32)?, self.read(i, distance, U32)?);
        let (clamp, members) = (self.read(i, clamp, U32)?, self.read(i, members, U32)?);
        Ok(Op::Shuffle(Box::new(Shuffle { way, d, p, a, distance, clamp, members })))
    }

    fn vote(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>, synchronises: bool) -> Result<Op> {
        let how = m.find(|m| match m {
            "all" => Some(Vote::All),
            "any" => Some(Vote::Any),
            "uni" => Some(Vote::Uniform),
            "ballot" => Some(Vote::Ballot),
            _ => None,
        });
        let how = how.ok_or_else(|| unknown(i))?;
        m.types();
        let (d, of, members) = match (i.operands.as_slice(), synchronises) {
            ([d, of, members], true) => (d, of, Some(self.read(i, members, U32)?)),
            ([d, of], false) => (d, of, None),
            _ => return Err(Error::malformed(i.at, format!("`{i}` has another number of operands"))),
        };
        let of = self.predicate(i, of)?;
        let (d, p) = match how {
            Vote::Ballot => (Some(self.write(i, d, Type { kind: Kind::Bits, bits: 32 })?), None),
            _ => (None, Some(self.write_predicate(i, d)?)),
        };
        Ok(Op::Vote { how, d, p, of, members })
    }
}

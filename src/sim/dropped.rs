//! Which threads load what they drop? Compilers of whole blocks, as Triton is, have threads that
//! hold the same elements as others: all load them, and the stores are guarded, so that one of them
//! stores. What the others read changes nothing, whoever writes there meanwhile: it is no race.

use std::collections::HashMap;

use super::code::{Code, GuardedLoad, Inst, Logic, Op, Order, Pred, PredIn, Reg, Special};
use super::value::{LANES, Lanes};
use crate::ptx::Space;

/// What an instruction reads, and what depends on that.
struct Flow {
    reads: Vec<Reg>,
    tests: Vec<Pred>,
    /// None: it does something with what it reads.
    gives: Option<(Vec<Reg>, Vec<Pred>)>,
    exchanges: bool,
}

/// None: it may read anything.
fn flow(op: &Op) -> Option<Flow> {
    let pure = |reads: &[Reg], tests: &[Pred], regs: &[Reg], preds: &[Pred]| {
        let gives = Some((regs.to_vec(), preds.to_vec()));
        Some(Flow { reads: reads.to_vec(), tests: tests.to_vec(), gives, exchanges: false })
    };
    let does = |reads: Vec<Reg>| Some(Flow { reads, tests: Vec::new(), gives: None, exchanges: false });
    let given = |list: &[Option<Reg>]| list.iter().flatten().copied().collect::<Vec<Reg>>();
    match op {
        Op::Alu { d, a, b, c, .. } => pure(&[*a, *b, *c], &[], &[*d], &[]),
        Op::Alu4 { d, a, b, c, e, .. } => pure(&[*a, *b, *c, *e], &[], &[*d], &[]),
        Op::Test { a, b, p, q, with, .. } => {
            let tests: Vec<Pred> = with.iter().map(|(_, other)| other.pred).collect();
            let preds: Vec<Pred> = p.iter().chain(q).copied().collect();
            pure(&[*a, *b], &tests, &[], &preds)
        }
        Op::Set { d, a, b, with, .. } => {
            let tests: Vec<Pred> = with.iter().map(|(_, other)| other.pred).collect();
            pure(&[*a, *b], &tests, &[*d], &[])
        }
        Op::Select { d, a, b, p } => pure(&[*a, *b], &[p.pred], &[*d], &[]),
        Op::Logic { d, a, b, .. } => pure(&[], &[a.pred, b.pred], &[], &[*d]),
        Op::Pack { d, parts, .. } => pure(parts, &[], &[*d], &[]),
        Op::Unpack { a, parts, .. } => pure(&[*a], &[], &given(parts), &[]),
        Op::Shuffle(s) => {
            let preds: Vec<Pred> = s.p.iter().copied().collect();
            let found = pure(&[s.a, s.distance, s.clamp, s.members], &[], &[s.d], &preds)?;
            Some(Flow { exchanges: true, ..found })
        }
        Op::Load(access) => does(vec![access.base]),
        Op::Store(access) => does([vec![access.base], given(&access.values)].concat()),
        Op::Atomic(atomic) => does([&[atomic.base, atomic.a, atomic.b], &*atomic.more].concat()),
        Op::LoadMatrix(matrix) => does(vec![matrix.base]),
        Op::StoreMatrix(matrix) => does([&[matrix.base], &*matrix.regs].concat()),
        Op::MultiplyMatrices(m) => does([&*m.a, &*m.b, &*m.c].concat()),
        Op::Switch { index, .. } => does(vec![*index]),
        Op::CallPointer(call) => does(vec![call.pointer]),
        Op::Branch { .. } | Op::Call(_) | Op::Return | Op::Exit | Op::Trap | Op::Nothing => does(Vec::new()),
        Op::Clock { .. } | Op::ActiveMask { .. } | Op::Fence { .. } => does(Vec::new()),
        Op::ClusterArrive { .. } | Op::ClusterWait { .. } => does(Vec::new()),
        Op::BlockBarrier(barrier) => does([barrier.number].into_iter().chain(barrier.count).collect()),
        Op::WarpBarrier { members } => does(vec![*members]),
        _ => None,
    }
}

/// The instructions that read each register and test each predicate.
struct Users {
    of_regs: HashMap<Reg, Vec<usize>>,
    of_preds: HashMap<Pred, Vec<usize>>,
    flows: Vec<Flow>,
}

impl Users {
    /// None: some instruction may read anything.
    fn of(insts: &[Inst]) -> Option<Users> {
        let flows: Vec<Flow> = insts.iter().map(|inst| flow(&inst.op)).collect::<Option<_>>()?;
        let mut users = Users { of_regs: HashMap::new(), of_preds: HashMap::new(), flows };
        for (n, (inst, flow)) in insts.iter().zip(&users.flows).enumerate() {
            flow.reads.iter().for_each(|&reg| users.of_regs.entry(reg).or_default().push(n));
            let guard = inst.guard.map(|guard| guard.pred);
            flow.tests.iter().copied().chain(guard).for_each(|p| users.of_preds.entry(p).or_default().push(n));
        }
        Some(users)
    }

    /// What becomes of the values of a load; None: somebody uses them in any case.
    fn follow(&self, insts: &[Inst], pc: usize, values: Vec<Reg>) -> Option<GuardedLoad> {
        let mut found = GuardedLoad { pc: pc as u32, guards: Vec::new(), is_exchanged: false };
        let (mut regs, mut preds) = (values, Vec::<Pred>::new());
        let (mut next_reg, mut next_pred) = (0, 0);
        loop {
            let users = if let Some(reg) = regs.get(next_reg) {
                next_reg += 1;
                self.of_regs.get(reg)
            } else if let Some(pred) = preds.get(next_pred) {
                next_pred += 1;
                self.of_preds.get(pred)
            } else {
                return (!found.guards.is_empty()).then_some(found);
            };
            for &n in users.into_iter().flatten() {
                let (inst, flow) = (&insts[n], &self.flows[n]);
                if inst.guard.is_some_and(|guard| preds.contains(&guard.pred)) {
                    return None;
                }
                match &flow.gives {
                    Some((to, tests)) => {
                        found.is_exchanged |= flow.exchanges;
                        regs.extend(to.iter().filter(|reg| !regs.contains(reg)).copied().collect::<Vec<_>>());
                        preds.extend(tests.iter().filter(|p| !preds.contains(p)).copied().collect::<Vec<_>>());
                    }
                    None => found.guards.push(inst.guard?),
                }
            }
        }
    }
}

/// The loads of plain memory whose values lead to guarded instructions only.
pub fn guarded_loads(insts: &[Inst]) -> Vec<GuardedLoad> {
    if !insts.iter().any(|inst| inst.guard.is_some() && matches!(inst.op, Op::Store(_) | Op::Atomic(_))) {
        return Vec::new();
    }
    let Some(users) = Users::of(insts) else { return Vec::new() };
    let loads = insts.iter().enumerate().filter_map(|(pc, inst)| match &inst.op {
        Op::Load(access)
            if access.order == Order::Weak
                && matches!(access.space, Space::Global | Space::Shared | Space::Generic) =>
        {
            users.follow(insts, pc, access.values.iter().flatten().copied().collect())
        }
        _ => None,
    });
    loads.collect()
}

/// The lanes, by instruction and by warp of a block, that drop what they load; of instructions of
/// which no lane does, no warps.
#[derive(Default, Debug)]
pub struct Dropped(Vec<Vec<u32>>);

impl Dropped {
    /// Of a launch with blocks of this form.
    pub fn of(code: &Code, block: [u32; 3]) -> Dropped {
        if code.guarded_loads.is_empty() {
            return Dropped::default();
        }
        let definitions = Definitions::of(code);
        let mut all: HashMap<u32, Vec<u32>> = HashMap::new();
        for warp in 0..block.iter().product::<u32>().div_ceil(LANES as u32) {
            let mut values = Values { definitions: &definitions, block, warp, regs: HashMap::new() };
            for load in &code.guarded_loads {
                let mut lanes = load.guards.iter().fold(u32::MAX, |lanes, &guard| {
                    let (known, value) = values.predicate(guard, DEEPEST);
                    lanes & known & !value
                });
                if load.is_exchanged && lanes != u32::MAX {
                    lanes = 0;
                }
                all.entry(load.pc).or_default().push(lanes);
            }
        }
        all.retain(|_, warps| warps.iter().any(|&lanes| lanes != 0));
        let mut of = vec![Vec::new(); all.keys().max().map_or(0, |&pc| pc as usize + 1)];
        all.into_iter().for_each(|(pc, warps)| of[pc as usize] = warps);
        Dropped(of)
    }

    /// The lanes of a warp that drop what the instruction loads.
    #[inline(always)]
    pub fn lanes(&self, pc: u32, warp: u32) -> u32 {
        self.0.get(pc as usize).and_then(|warps| warps.get(warp as usize)).copied().unwrap_or(0)
    }
}

/// Where registers and predicates get their values; those that get them at one place only.
struct Definitions<'c> {
    code: &'c Code,
    regs: HashMap<Reg, Option<usize>>,
    preds: HashMap<Pred, Option<usize>>,
}

impl Definitions<'_> {
    fn of(code: &Code) -> Definitions<'_> {
        let (mut regs, mut preds) = (HashMap::new(), HashMap::new());
        for (n, inst) in code.insts.iter().enumerate() {
            // What a load or a guarded instruction gives is not known.
            let place = Some(n).filter(|_| inst.guard.is_none());
            let gives = flow(&inst.op).and_then(|flow| flow.gives).unwrap_or_default();
            let loaded = match &inst.op {
                Op::Load(access) => access.values.iter().flatten().copied().collect(),
                Op::Atomic(atomic) => atomic.d.into_iter().collect(),
                Op::LoadMatrix(matrix) => matrix.regs.to_vec(),
                Op::MultiplyMatrices(matrix) => matrix.d.to_vec(),
                Op::Clock { d } | Op::ActiveMask { d } => vec![*d],
                _ => Vec::new(),
            };
            regs.extend(loaded.into_iter().map(|reg| (reg, None)));
            for reg in gives.0 {
                regs.entry(reg).and_modify(|known| *known = None).or_insert(place);
            }
            for pred in gives.1 {
                preds.entry(pred).and_modify(|known| *known = None).or_insert(place);
            }
        }
        Definitions { code, regs, preds }
    }
}

/// Values that follow from a thread's place in its block.
struct Values<'a> {
    definitions: &'a Definitions<'a>,
    block: [u32; 3],
    warp: u32,
    regs: HashMap<Reg, Option<Lanes>>,
}

/// More instructions on the way to a value are not followed.
const DEEPEST: u32 = 32;

impl Values<'_> {
    /// The lanes in which a predicate is known, and in which of these it holds.
    fn predicate(&mut self, p: PredIn, depth: u32) -> (u32, u32) {
        let (known, value) = match p.pred {
            // The one that always holds.
            0 => (u32::MAX, u32::MAX),
            pred => self.defined(pred, depth).unwrap_or((0, 0)),
        };
        (known, if p.negated { !value & known } else { value & known })
    }

    fn defined(&mut self, pred: Pred, depth: u32) -> Option<(u32, u32)> {
        let depth = depth.checked_sub(1)?;
        let definitions = self.definitions;
        let place = (*definitions.preds.get(&pred)?)?;
        match &definitions.code.insts[place].op {
            Op::Test { f, a, b, p, with, .. } => {
                let found = self.register(*a, depth).zip(self.register(*b, depth));
                let (known, value) = found.map_or((0, 0), |(a, b)| (u32::MAX, f.run(&a, &b)));
                let value = if *p == Some(pred) { value } else { !value };
                match with {
                    None => Some((known, value)),
                    Some((logic, other)) => {
                        let other = self.predicate(*other, depth);
                        Some(joined(*logic, (known, value & known), other))
                    }
                }
            }
            Op::Logic { f, a, b, .. } => {
                let (a, b) = (self.predicate(*a, depth), self.predicate(*b, depth));
                Some(joined(*f, a, b))
            }
            _ => None,
        }
    }

    fn register(&mut self, reg: Reg, depth: u32) -> Option<Lanes> {
        if let Some(known) = self.regs.get(&reg) {
            return *known;
        }
        let found = self.computed(reg, depth);
        self.regs.insert(reg, found);
        found
    }

    fn computed(&mut self, reg: Reg, depth: u32) -> Option<Lanes> {
        let depth = depth.checked_sub(1)?;
        let definitions = self.definitions;
        let code = definitions.code;
        if let Some((_, lanes)) = code.constants.iter().find(|(constant, _)| *constant == reg) {
            return Some(*lanes);
        }
        if let Some(&(_, special)) = code.specials.iter().find(|(known, _)| *known == reg) {
            return self.special(special);
        }
        let place = (*definitions.regs.get(&reg)?)?;
        match &code.insts[place].op {
            Op::Alu { f, a, b, c, .. } => {
                let [a, b, c] = [self.register(*a, depth)?, self.register(*b, depth)?, self.register(*c, depth)?];
                let mut out = [0; LANES];
                f.run(&mut out, &a, &b, &c);
                Some(out)
            }
            Op::Alu4 { f, a, b, c, e, .. } => {
                let [a, b] = [self.register(*a, depth)?, self.register(*b, depth)?];
                let [c, e] = [self.register(*c, depth)?, self.register(*e, depth)?];
                Some(std::array::from_fn(|l| f(a[l], b[l], c[l] as u32, e[l] as u32)))
            }
            _ => None,
        }
    }

    fn special(&self, special: Special) -> Option<Lanes> {
        let [x, y, _] = self.block;
        let of = |lane: u32| {
            let n = self.warp * LANES as u32 + lane;
            Some(match special {
                Special::Tid(0) => n % x,
                Special::Tid(1) => n / x % y,
                Special::Tid(_) => n / (x * y),
                Special::Ntid(axis) => self.block[axis],
                Special::Lane => lane,
                Special::Warp => self.warp,
                Special::Zero => 0,
                _ => return None,
            })
        };
        of(0)?;
        Some(std::array::from_fn(|lane| of(lane as u32).unwrap_or(0).into()))
    }
}

/// Two predicates of which parts are known: the result is where both are, or where one decides it.
fn joined(logic: Logic, a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    let decided = match logic {
        Logic::First => a.0,
        Logic::And => a.0 & !a.1 | b.0 & !b.1,
        Logic::Or => a.0 & a.1 | b.0 & b.1,
        Logic::Xor => 0,
    };
    let known = a.0 & b.0 | decided;
    (known, logic.of(a.1, b.1) & known)
}

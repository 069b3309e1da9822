//! How does one object run on several processors? It holds a version of each entry for each of
//! [`Cpu::VERSIONS`]; the entry that callers see goes to the one that fits.
//!
//! Which fits is asked of the processor by `cpuid` and `xgetbv` when an entry is first called, and
//! kept in `kc_cpu_level`. Threads that ask at once find the same. The number and `kc_cpu_use`, by
//! which a program can ask for less, are weak symbols, so that all objects of a program share them;
//! there are neither constructors nor indirect functions, so that objects work in programs and
//! libraries of any kind.

use super::builder::{AtomicRMWBinOp, Attribute, AttributeLoc, Func, IntPredicate, Llvm, Val};
use super::processor::Processor;

/// The level in use, of x86-64: 2 to 4; 0 while nobody has asked.
const LEVEL: &str = "kc_cpu_level";

/// `unsigned kc_cpu_use(unsigned level)`: from now on entries run as this level has them, if the
/// processor does, or else as the best that it has; 0: the best. Gives the level.
const USE: &str = "kc_cpu_use";

/// What decides for which processor LLVM makes a function.
const TARGET: &str = "target-cpu";

/// The level of a processor that none of the others fits.
const LEAST: i32 = 2;

/// What each level needs beyond the one before it.
///
/// Bits of the registers that `cpuid` gives, Intel's manual, volume 2, "CPUID": leaf 1, ECX: FMA,
/// MOVBE, OSXSAVE, AVX, F16C.
const LEAF_1: i32 = 1 << 12 | 1 << 22 | OSXSAVE | 1 << 28 | 1 << 29;
const OSXSAVE: i32 = 1 << 27;
/// Leaf 7, EBX: BMI1, AVX2, BMI2.
const LEAF_7: i32 = 1 << 3 | 1 << 5 | 1 << 8;
/// Leaf 0x80000001, ECX: LZCNT.
const LEAF_EXTENDED: i32 = 1 << 5;
/// The registers that the system saves, of XCR0: XMM and YMM.
const SAVED: i32 = 0b110;
/// Leaf 7, EBX: AVX-512 F, DQ, CD, BW and VL; of XCR0 also the masks and both parts of ZMM.
const LEAF_7_512: i32 = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31;
const SAVED_512: i32 = 0b1110_0110;

/// The versions of a module's entries, in the making.
#[derive(Default)]
pub struct Versions<'ctx> {
    /// Each entry by its name, in the order of the levels.
    entries: Vec<(String, Vec<Func<'ctx>>)>,
}

impl<'ctx> Versions<'ctx> {
    /// What was defined since the last version is the one for this processor.
    pub fn close(&mut self, ll: &Llvm<'ctx>, processor: &Processor) {
        for function in ll.defined().into_iter().filter(|&function| !ll.has_text(function, TARGET)) {
            let name = ll.name_of(function);
            if ll.is_external(function) {
                match self.entries.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, versions)) => versions.push(function),
                    None => self.entries.push((name.clone(), vec![function])),
                }
            }
            ll.set_internal(function);
            ll.add_attribute(function, AttributeLoc::Function, Attribute::Text(TARGET, processor.llvm));
            // The next version has its own of every function, also of those that are known by their
            // names.
            ll.rename(function, &format!("{name}.{}", processor.name));
        }
    }

    /// Makes the entries that choose.
    pub fn define_entries(self, ll: &Llvm<'ctx>) {
        let level = ll.shared_number(LEVEL);
        let ask = define_use(ll, level);
        for (name, versions) in self.entries {
            let (i64, ptr) = (ll.i64(), ll.ptr(0));
            let made = ll.add_function(&name, None, &[ptr, ptr, i64, i64, ptr], false);
            ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag("nounwind"));
            let (start, unknown, known) = (ll.block(made, "start"), ll.block(made, "unknown"), ll.block(made, "known"));
            ll.position_at_end(start);
            let read = ll.load_atomic(ll.i32(), level, 4);
            ll.likely_br(ll.icmp(IntPredicate::NE, read, ll.const_i32(0)), known, unknown);
            ll.position_at_end(unknown);
            let asked = ll.call(ask, &[ll.const_i32(0)]);
            ll.br(known);
            ll.position_at_end(known);
            let used = ll.phi(ll.i32());
            ll.add_incoming(used, read, start);
            ll.add_incoming(used, asked, unknown);
            let args: Vec<Val> = (0..5).map(|n| ll.param(made, n)).collect();
            let run = |version| {
                ll.tail_call_void(version, &args);
                ll.ret(None);
            };
            for (n, &version) in versions.iter().enumerate().skip(1).rev() {
                let (this, less) = (ll.block(made, "version"), ll.block(made, "less"));
                ll.cond_br(ll.icmp(IntPredicate::UGE, used, ll.const_i32(LEAST + n as i32)), this, less);
                ll.position_at_end(this);
                run(version);
                ll.position_at_end(less);
            }
            run(versions[0]);
        }
    }
}

/// [`USE`].
fn define_use<'ctx>(ll: &Llvm<'ctx>, level: Val<'ctx>) -> Func<'ctx> {
    let detect = define_detect(ll);
    let made = ll.add_function(USE, Some(ll.i32()), &[ll.i32()], false);
    ll.set_shared(made);
    ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag("nounwind"));
    let start = ll.block(made, "start");
    ll.position_at_end(start);
    let (wanted, least) = (ll.param(made, 0), ll.const_i32(LEAST));
    let found = ll.call(detect, &[]);
    let any = ll.eq(wanted, ll.const_i32(0));
    let at_most = ll.select(any, found, ll.intrinsic("llvm.umin", &[ll.i32()], &[wanted, found]));
    let used = ll.intrinsic("llvm.umax", &[ll.i32()], &[at_most, least]);
    ll.atomic_rmw(AtomicRMWBinOp::Xchg, level, used, 4);
    ll.ret(Some(used));
    made
}

/// `kc_cpu_detect()`: the level that the processor and the system have.
fn define_detect<'ctx>(ll: &Llvm<'ctx>) -> Func<'ctx> {
    let i32 = ll.i32();
    let made = ll.add_function("kc_cpu_detect", Some(i32), &[], false);
    ll.set_internal(made);
    for flag in ["noinline", "nounwind", "cold"] {
        ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag(flag));
    }
    let (start, leaves, system, none) =
        (ll.block(made, "start"), ll.block(made, "leaves"), ll.block(made, "system"), ll.block(made, "none"));
    // EAX, EBX, ECX and EDX.
    let cpuid = |leaf: u32, register: u32| {
        let four = ll.struct_ty(&[i32; 4]);
        let constraints = "={ax},={bx},={cx},={dx},{ax},{cx}";
        let given = ll.x86("cpuid", constraints, four, &[ll.const_i32(leaf as i32), ll.const_i32(0)]);
        ll.extract_field(given, register)
    };
    let has = |value: Val<'ctx>, bits: i32| ll.eq(ll.and(value, ll.const_i32(bits)), ll.const_i32(bits));
    let reaches = |first: u32, last: u32| ll.icmp(IntPredicate::UGE, cpuid(first, 0), ll.const_i32(last as i32));

    ll.position_at_end(start);
    let has_leaves = ll.and(reaches(0, 7), reaches(0x8000_0000, 0x8000_0001));
    ll.cond_br(has_leaves, leaves, none);
    ll.position_at_end(leaves);
    let first = cpuid(1, 2);
    // Without this there is no `xgetbv`.
    ll.cond_br(has(first, OSXSAVE), system, none);
    ll.position_at_end(system);
    let two = ll.struct_ty(&[i32; 2]);
    // By its bytes: the assembler takes the name on processors only that are known to have it.
    let saved = ll.x86(".byte 0x0f, 0x01, 0xd0", "={ax},={dx},{cx}", two, &[ll.const_i32(0)]);
    let saved = ll.extract_field(saved, 0);
    let (seventh, extended) = (cpuid(7, 1), cpuid(0x8000_0001, 2));
    let needs = [(first, LEAF_1), (seventh, LEAF_7), (extended, LEAF_EXTENDED), (saved, SAVED)];
    let third = needs.into_iter().map(|(value, bits)| has(value, bits)).reduce(|a, b| ll.and(a, b));
    let third = third.unwrap_or(ll.bool(false));
    let fourth = ll.and(third, ll.and(has(seventh, LEAF_7_512), has(saved, SAVED_512)));
    let level = |n: i32| ll.const_i32(n);
    ll.ret(Some(ll.select(fourth, level(4), ll.select(third, level(3), level(LEAST)))));
    ll.position_at_end(none);
    ll.ret(Some(level(LEAST)));
    made
}

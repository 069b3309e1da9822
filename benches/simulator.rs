//! How fast does the simulator run? `cargo bench --bench simulator [NAME]`: lane instructions a
//! second of one core (32 for each instruction of a warp), by what is watched; and how fast PTX is
//! read. Loops of 12 instructions: arithmetic, with three coalesced accesses, with three scattered
//! ones, with two sides of a branch. Time is that of the thread, so that a busy machine counts
//! little.

use kc::ptx;
use kc::sim::{self, Checks, Form, How};

/// Nine instructions each; the loop adds three.
const BODIES: [(&str, &str); 4] = [
    (
        "arithmetic",
        "fma.rn.f32 %f1, %f1, %f2, %f3; mad.lo.s32 %r6, %r6, %r5, %r4; fma.rn.f32 %f4, %f1, %f2, %f3;
         add.f32 %f5, %f4, %f1; mul.f32 %f1, %f5, %f3; fma.rn.f32 %f4, %f1, %f2, %f3; xor.b32 %r6, %r6, %r5;
         add.f32 %f1, %f4, %f3; fma.rn.f32 %f1, %f1, %f2, %f3;",
    ),
    (
        "coalesced",
        "ld.global.f32 %f4, [%rd4]; ld.global.f32 %f5, [%rd5]; fma.rn.f32 %f1, %f4, %f2, %f5;
         add.s32 %r6, %r6, %r5; fma.rn.f32 %f4, %f1, %f2, %f3; mul.wide.s32 %rd6, %r6, 4;
         add.s64 %rd7, %rd1, %rd6; st.global.f32 [%rd5], %f4; add.f32 %f1, %f4, %f3;",
    ),
    (
        "scattered",
        "mad.lo.s32 %r6, %r6, 1664525, 1013904223; shr.u32 %r7, %r6, 9; and.b32 %r7, %r7, 65535;
         mul.wide.s32 %rd6, %r7, 4; add.s64 %rd7, %rd1, %rd6; ld.global.f32 %f4, [%rd7];
         ld.global.f32 %f5, [%rd7+262144]; fma.rn.f32 %f1, %f4, %f2, %f5; st.global.f32 [%rd5], %f1;",
    ),
    (
        "divergent",
        "and.b32 %r7, %r4, 1; setp.eq.s32 %p2, %r7, 0; @%p2 bra ODD; fma.rn.f32 %f1, %f1, %f2, %f3;
         add.f32 %f1, %f1, %f2; bra.uni MEET; ODD: mul.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f3; MEET:
         add.f32 %f1, %f1, %f3; mad.lo.s32 %r6, %r6, %r5, %r4; add.f32 %f1, %f1, %f3;",
    ),
];

const HEAD: &str = ".version 7.8\n.target sm_90\n.address_size 64\n";
const ROUNDS: usize = 3;
const TRIPS: u32 = 200;
const ARRAY: usize = 4 << 20;
const PARSED: usize = 4 << 20;

fn kernel(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 x, .param .u64 y, .param .u32 trips) {{
         .reg .pred %p<4>; .reg .b32 %r<10>; .reg .f32 %f<6>; .reg .b64 %rd<8>;
         ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r9, [trips];
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;
         mov.u32 %r5, 0; cvt.rn.f32.s32 %f1, %r4; mov.f32 %f2, 0f3F800001; mov.f32 %f3, 0f3F000000;
         mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; mov.u32 %r6, %r4;
         LOOP: {body}
         add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r9; @%p1 bra LOOP; st.global.f32 [%rd5], %f1; ret; }}\n"
    )
}

/// What is watched: nothing, counters, checks, both.
const WATCHED: [(&str, bool, bool); 4] =
    [("bare", false, false), ("counters", true, false), ("checks", false, true), ("both", true, true)];

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    println!("{:<12} {:>9} {:>9} {:>9} {:>9}  G lane instructions/s", "", "bare", "counters", "checks", "both");
    let (mut logs, mut kernels) = ([0.0; 4], 0);
    for (name, body) in BODIES.iter().filter(|(name, _)| name.starts_with(&wanted)) {
        let speeds = WATCHED.map(|(_, counts, checks)| speed(&format!("{HEAD}{}", kernel("k", body)), counts, checks));
        println!("{name:<12} {:>9.3} {:>9.3} {:>9.3} {:>9.3}", speeds[0], speeds[1], speeds[2], speeds[3]);
        logs.iter_mut().zip(speeds).for_each(|(log, speed)| *log += speed.ln());
        kernels += 1;
    }
    if kernels > 0 {
        let [bare, counted, checked, both] = logs.map(|log: f64| (log / f64::from(kernels)).exp());
        println!("{:<12} {bare:>9.3} {counted:>9.3} {checked:>9.3} {both:>9.3}", "geometric");
        println!("checks cost {:.2} times", bare / checked);
    }
    println!("PTX is read at {:.0} MB/s", reading());
}

/// The best of some rounds.
fn speed(text: &str, counts: bool, checks: bool) -> f64 {
    let parsed = ptx::parse(text).expect("PTX");
    let code = sim::decode(&parsed, "k").expect("known instructions");
    let how = How { checks: Checks { races: checks, uninitialised: checks }, counts, ..How::default() };
    let form = Form::new([32, 1, 1], [128, 1, 1], 0);
    let round = || {
        let mut memory = sim::memory(&code);
        let mut params = Vec::new();
        for _ in 0..2 {
            params.extend_from_slice(&memory.give(&vec![0; ARRAY], 0).to_le_bytes());
        }
        params.extend_from_slice(&TRIPS.to_le_bytes());
        params.resize(code.param_bytes as usize, 0);
        let start = seconds();
        let outcome = sim::run(&code, &form, params, memory, &how, &mut || true);
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        outcome.steps as f64 * 32e-9 / (seconds() - start)
    };
    (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
}

/// Megabytes of PTX a second.
fn reading() -> f64 {
    let mut text = HEAD.to_string();
    for n in 0.. {
        if text.len() > PARSED {
            break;
        }
        let (_, body) = BODIES[n % BODIES.len()];
        text += &kernel(&format!("k{n}"), body).replace("; ", ";\n\t");
    }
    let round = || {
        let start = seconds();
        let module = ptx::parse(&text).expect("PTX");
        assert!(module.entries().count() > 1000);
        text.len() as f64 * 1e-6 / (seconds() - start)
    };
    (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
}

/// Processor time of this thread, where Linux tells it.
fn seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 =
        told.split(' ').next().and_then(|word| word.parse().ok()).expect("Linux tells processor time");
    nanoseconds * 1e-9
}

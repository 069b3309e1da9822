//! No pass drops or repeats a barrier, or moves an access to memory across one.

use crate::analysis::effects::effects;
use crate::ir::parse::parse;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{Module, Op};
use crate::passes::pipelines::simplify;
use crate::passes::{adjacent, code_sinking, forward_loads, inline, loop_exits};

/// A kernel on `%a` and `%b` with a function that holds a barrier.
fn kernel(body: &str) -> Module {
    let text = format!(
        "func @meet() {{\nbarrier\nreturn\n}}\n\
         func @quiet(%x: float32) -> (float32) {{\n%y: float32 = sqrt %x\nreturn %y\n}}\n\
         kernel @k(%a: array(dtype=float32), %b: array(dtype=float32), %c: bool) rank 1 {{\n\
         %i: int32 = thread_index 0\n%zero: int32 = const 0\n%one: int32 = const 1\n%four: int32 = const 4\n\
         %x: float32 = load %a[%i]\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&module), Ok(()), "{text}");
    module
}

/// Runs a pass on the kernel.
fn after(body: &str, pass: impl Fn(&mut Module, crate::ir::FuncId)) -> Module {
    let mut module = kernel(body);
    let id = module.find("k").unwrap();
    pass(&mut module, id);
    assert_eq!(verify(&module), Ok(()), "{}", print(&module));
    module
}

/// The words that begin the kernel's memory operations, calls and barriers, in order.
fn order(module: &Module) -> Vec<&'static str> {
    let function = &module.functions[module.find("k").unwrap()];
    let mut found = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        found.extend(match inst.op {
            Op::Load(_) => Some("load"),
            Op::Store { .. } => Some("store"),
            Op::Barrier => Some("barrier"),
            Op::Call(..) => Some("call"),
            Op::If { .. } => Some("if"),
            _ => None,
        });
    });
    found
}

#[test]
fn simplification_keeps_barriers_and_calls_to_them() {
    let module = after("barrier\nbarrier\ncall @meet()\nstore %b[%i], %x", |module, _| simplify(module));
    assert_eq!(order(&module), ["load", "barrier", "barrier", "call", "store"]);
    // A branch and a loop that do nothing else.
    let module = after(
        "if %c {\nbarrier\n}\nfor %k: int32 = %zero to %four step %one {\nbarrier\n}\nstore %b[%i], %x",
        |module, _| simplify(module),
    );
    assert_eq!(order(&module), ["load", "if", "barrier", "barrier", "store"]);
}

#[test]
fn what_was_stored_before_a_barrier_is_read_again_behind_it() {
    let run = |module: &mut Module, id| {
        let effects = effects(module);
        forward_loads::run(&mut module.functions[id], &effects);
    };
    let stored = "store %b[%i], %x\nFENCE\n%y: float32 = load %b[%i]\nstore %a[%i], %y";
    for (fence, expected) in [
        ("", &["load", "store", "store"][..]),
        ("barrier", &["load", "store", "barrier", "load", "store"]),
        ("call @meet()", &["load", "store", "call", "load", "store"]),
        ("if %c {\nbarrier\n}", &["load", "store", "if", "barrier", "load", "store"]),
    ] {
        assert_eq!(order(&after(&stored.replace("FENCE", fence), run)), expected, "{fence}");
    }
    // A loop: what the first iteration read, the second reads again behind the barrier.
    let looped = "for %k: int32 = %zero to %four step %one {\n%y: float32 = load %a[%i]\nstore %b[%i], %y\nbarrier\n}";
    assert_eq!(order(&after(looped, run)), ["load", "load", "store", "barrier"]);
}

#[test]
fn branches_are_not_joined_across_a_barrier() {
    let run = |module: &mut Module, id| {
        let effects = effects(module);
        adjacent::run(&mut module.functions[id], &effects);
    };
    let two = "if %c {\nstore %b[%i], %x\n}\nFENCE\nif %c {\nstore %a[%i], %x\n}";
    for (fence, expected) in [
        ("%s: float32 = call @quiet(%x)", &["load", "call", "if", "store", "store"][..]),
        ("barrier", &["load", "if", "store", "barrier", "if", "store"]),
        ("call @meet()", &["load", "if", "store", "call", "if", "store"]),
    ] {
        assert_eq!(order(&after(&two.replace("FENCE", fence), run)), expected, "{fence}");
    }
}

#[test]
fn reads_do_not_sink_across_a_barrier() {
    let run = |module: &mut Module, id| {
        let effects = effects(module);
        code_sinking::into_branches(&mut module.functions[id], &effects);
    };
    let body = "%y: float32 = load %b[%i]\nFENCE\nif %c {\nstore %a[%i], %y\n}";
    for (fence, expected) in [
        ("", &["load", "if", "load", "store"][..]),
        ("barrier", &["load", "load", "barrier", "if", "store"]),
        ("call @meet()", &["load", "load", "call", "if", "store"]),
    ] {
        assert_eq!(order(&after(&body.replace("FENCE", fence), run)), expected, "{fence}");
    }
    // A call that reads nothing may sink, past the barrier too; one that waits may not.
    let body = "%y: float32 = call @quiet(%x)\nbarrier\nif %c {\nstore %a[%i], %y\n}";
    assert_eq!(order(&after(body, run)), ["load", "barrier", "if", "call", "store"]);
}

#[test]
fn other_forms_keep_barriers() {
    let inlined = after("call @meet()\ncall @meet()", |module, id| {
        let mut function = module.functions[id].clone();
        inline::run(&mut function, module, &|_| true).expect("small");
        module.functions[id] = function;
    });
    assert_eq!(order(&inlined), ["load", "barrier", "barrier"]);
    let single = after("if %c {\nreturn\n}\nbarrier\nstore %b[%i], %x", |module, id| {
        loop_exits::run(&mut module.functions[id]);
    });
    assert_eq!(order(&single).iter().filter(|word| **word == "barrier").count(), 1, "{}", print(&single));
}

//! What makes LLVM end the process is an error in a program that kc is only a part of. Alone in its
//! process, which compiles nothing afterwards.

use kc::driver::{abandon, guard};
use kc::{Arg, Compiler};

const ADD: &str = "import warp as wp\n@wp.kernel\ndef add(x: wp.array(dtype=float)):\n    x[wp.tid()] += 1.0\n";

#[test]
fn the_end_of_llvm_is_an_error_and_kernels_still_run() {
    let add = Compiler::new().compile_text("add.py", ADD).expect("a good text").kernel("add").expect("the kernel");
    let mut x = [0.0f32; 4];
    add.launch(4, &mut [Arg::write(&mut x)]).expect("it runs");

    // Others that wait for a compilation hear of it as well.
    let other = std::thread::spawn(|| guard(|| std::thread::sleep(std::time::Duration::from_secs(600))));
    let fault = guard(|| abandon("out of registers")).expect_err("no result");
    assert_eq!(fault.message, "LLVM gave up: out of registers");
    assert_eq!(other.join().expect("no panic"), Err(fault));

    let error = Compiler::new().compile_text("again.py", ADD).expect_err("nothing is compiled any more");
    assert_eq!(error.code(), "E0999");
    assert!(error.to_string().contains("LLVM gave up: out of registers"), "{error}");
    add.launch(4, &mut [Arg::write(&mut x)]).expect("it still runs");
    assert_eq!(x, [2.0; 4]);
}

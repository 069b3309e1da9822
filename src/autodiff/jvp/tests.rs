use super::jvp;
use crate::abi::{ArrayDescriptor, LaunchBounds};
use crate::ir::interp::{Outcome, run_kernel};
use crate::ir::parse::parse;
use crate::ir::verify::verify;
use crate::ir::{Derivative, FuncId, Module};

const THREADS: u32 = 4;

fn descriptor(data: &mut [f64]) -> ArrayDescriptor {
    let address = data.as_mut_ptr().expose_provenance() as u64;
    ArrayDescriptor {
        data: if data.is_empty() { 0 } else { address },
        grad: 0,
        shape: [data.len() as i32, 1, 1, 1],
        strides: [8, 0, 0, 0],
        ndim: 1,
        flags: 0,
    }
}

/// Runs a kernel whose parameters are one-dimensional float64 arrays, an empty one being null.
fn run(module: &Module, kernel: FuncId, arrays: &mut [Vec<f64>]) {
    let args: Vec<ArrayDescriptor> = arrays.iter_mut().map(|a| descriptor(a)).collect();
    let bounds = LaunchBounds::new(&[THREADS]).unwrap();
    let mut outcome = Outcome::new(|_| {});
    outcome.steps = Some(1_000_000);
    // SAFETY: the arrays live on.
    unsafe { run_kernel(module, kernel, &bounds, args.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
    assert_eq!(outcome.trap, None);
}

/// Some numbers, never near a kink of the tests.
fn numbers(n: usize, from: u64) -> Vec<f64> {
    (0..n as u64).map(|k| 0.25 + ((k * 7 + from * 3) % 11) as f64 / 10.0).collect()
}

/// Compares the tangents of all arrays of kernel `@k` with central differences.
fn agrees(module: &mut Module, arrays: usize) {
    assert_eq!(verify(module), Ok(()));
    let kernel = module.find("k").unwrap();
    let forward = jvp(module, kernel).unwrap();
    assert_eq!(verify(module), Ok(()), "{}", crate::ir::print::print(module));
    let x: Vec<Vec<f64>> = (0..arrays).map(|a| numbers(2 * THREADS as usize, a as u64 + 1)).collect();
    let d: Vec<Vec<f64>> = (0..arrays).map(|a| numbers(2 * THREADS as usize, a as u64 + 5)).collect();
    let mut both = [x.clone(), d.clone()].concat();
    run(module, forward, &mut both);
    let at = |h: f64| {
        let mut moved: Vec<Vec<f64>> =
            x.iter().zip(&d).map(|(x, d)| x.iter().zip(d).map(|(x, d)| x + h * d).collect()).collect();
        run(module, kernel, &mut moved);
        moved
    };
    const H: f64 = 1e-5;
    let (up, here, down) = (at(H), at(0.0), at(-H));
    assert_eq!(here, both[..arrays], "the values themselves");
    for a in 0..arrays {
        for n in 0..x[a].len() {
            let (difference, tangent) = ((up[a][n] - down[a][n]) / (2.0 * H), both[arrays + a][n]);
            let scale = difference.abs().max(1.0);
            assert!((difference - tangent).abs() < 1e-8 * scale, "array {a}[{n}]: {tangent}, but {difference}");
        }
    }
}

fn kernel(params: &str, body: &str) -> String {
    let params: Vec<String> = params.split(' ').map(|p| format!("%{p}: array(dtype=float64)")).collect();
    format!(
        "kernel @k({}) rank 1 {{
           %i: int32 = thread_index 0
           %c0: int32 = const 0
           %c1: int32 = const 1
           %c3: int32 = const 3
           %one: float64 = const 1
           %half: float64 = const 0.5
           {body}
           return
         }}",
        params.join(", ")
    )
}

fn check(params: &str, body: &str) {
    agrees(&mut parse(&kernel(params, body)).unwrap(), params.split(' ').count());
}

#[test]
fn arithmetic() {
    check(
        "x y out",
        "%a: float64 = load %x[%i]
         %b: float64 = load %y[%i]
         %s: float64 = sqrt %a
         %q: float64 = div %s, %b
         %m: float64 = max %q, %a
         %n: float64 = min %m, %b
         %d: float64 = sub %n, %half
         %p: float64 = abs %d
         %r: float64 = fma %p, %a, %q
         %g: float64 = neg %r
         %t: float64 = copy_sign %a, %g
         %u: float64 = mul %t, %r
         %big: bool = gt %u, %one
         %v: float64 = select %big, %u, %p
         %w: float32 = cast %one
         %z: float64 = cast %w
         %e: int32 = cast %a
         %j: int32 = abs_diff %e, %c3
         %k: float64 = cast %j
         %l: float64 = mul %k, %b
         %o: float64 = add %v, %l
         %out0: float64 = mul %o, %z
         store %out[%i], %out0",
    );
}

#[test]
fn control_flow_and_overwrites() {
    check(
        "x y",
        "%a: float64 = load %x[%i]
         %p: float64, %q: float64 = for %k: int32 = %c0 to %c3 step %c1 carry %u: float64 = %a, %v: float64 = %one {
           %w: float64 = mul %u, %v
           store %x[%i], %w
           %skip: bool = eq %k, %i
           if %skip {
             continue %w, %u
           }
           %b: float64 = load %x[%k]
           %far: bool = gt %b, %one
           if %far {
             %c: float64 = mul %b, %u
             break %c, %w
           }
           %d: float64 = add %u, %b
           yield %d, %w
         }
         %r: float64 = while carry %s: float64 = %p {
           %more: bool = lt %s, %one
           yield %more
         } do carry %s1: float64 {
           %s2: float64 = mul %s1, %s1
           %s3: float64 = add %s2, %half
           yield %s3
         }
         store %y[%i], %r
         %big: bool = gt %r, %q
         if %big {
           return
         }
         store %y[%i], %q",
    );
}

#[test]
fn composites_and_local_arrays() {
    check(
        "x out",
        "%a: float64 = load %x[%i]
         %b: float64 = mul %a, %a
         %v: vec3d = construct %a, %b, %half
         %w: vec3d = insert %v[%c1], %a
         %s: vec3d = mul %a, %w
         %m: vec3d = max %s, %v
         %d: vec3d = div %m, %b
         %e: vec3d = div %m, %s
         %f: vec3d = add %d, %e
         %t: local(float64, 4) = local_array
         %g: float64 = extract %f[%i]
         store %t[%c1], %g
         store %t[%c3], %a
         %h: float64 = load %t[%c1]
         %l: float64 = load %t[%i]
         %n: float64 = add %h, %l
         store %out[%i], %n",
    );
}

#[test]
fn atomics_in_the_order_of_threads() {
    check(
        "x low sum",
        "%a: float64 = load %x[%i]
         %b: float64 = atomic min %low[%c0], %a
         %c: float64 = atomic max %low[%c1], %a
         %d: float64 = atomic add %sum[%c0], %b
         %e: float64 = mul %d, %a
         %f: float64 = atomic sub %sum[%c1], %e
         %g: float64 = atomic exchange %sum[%c3], %f
         store %x[%i], %g",
    );
}

#[test]
fn functions_and_rules() {
    let text = format!(
        "func @cube(%x: float64) -> (float64) {{
           %y: float64 = mul %x, %x
           %z: float64 = mul %y, %x
           return %z
         }}
         func @square(%x: float64, %s: float64) -> (float64) {{
           %y: float64 = mul %x, %x
           %z: float64 = mul %y, %s
           return %z
         }}
         func @square_rule(%x: float64, %s: float64, %adj: float64) -> (float64, float64) {{
           %t: float64 = add %x, %x
           %u: float64 = mul %t, %s
           %v: float64 = mul %u, %adj
           %w: float64 = mul %x, %x
           %o: float64 = mul %w, %adj
           return %v, %o
         }}
         {}",
        kernel(
            "x out",
            "%a: float64 = load %x[%i]
             %b: float64 = call @cube(%a)
             %c: float64 = call @square(%b, %a)
             %d: float64 = call @cube(%c)
             store %out[%i], %d"
        )
    );
    let mut module = parse(&text).unwrap();
    let square = module.find("square").unwrap();
    let adjoint = module.find("square_rule").unwrap();
    module.functions[square].derivative = Derivative::Rule { adjoint, replay: None };
    agrees(&mut module, 2);
    module.functions[square].derivative = Derivative::None("it rolls dice".to_string());
    let kernel = module.find("k").unwrap();
    assert_eq!(jvp(&mut module, kernel).unwrap_err().reason, "`square` has no derivative: it rolls dice");
    module.functions[square].derivative = Derivative::Zero("so it is meant".to_string());
    let forward = jvp(&mut module, kernel).unwrap();
    let mut arrays = vec![numbers(4, 1), numbers(4, 2), numbers(4, 3), numbers(4, 4)];
    run(&module, forward, &mut arrays);
    assert_eq!(arrays[3], [0.0; 4]);
}

#[test]
fn null_tangents_are_zero() {
    let text = kernel(
        "x out",
        "%a: float64 = load %x[%i]
         %b: float64 = mul %a, %a
         store %out[%i], %b
         store %x[%i], %b",
    );
    let mut module = parse(&text).unwrap();
    let kernel = module.find("k").unwrap();
    let forward = jvp(&mut module, kernel).unwrap();
    let mut arrays = vec![numbers(4, 1), numbers(4, 2), vec![], numbers(4, 4)];
    run(&module, forward, &mut arrays);
    assert_eq!(arrays[3], [0.0; 4]);
}

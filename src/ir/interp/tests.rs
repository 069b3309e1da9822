use super::*;
use crate::abi::ArrayDescriptor;
use crate::ir::parse::parse;
use crate::ir::verify::verify;

/// A dense array over a vector's memory.
fn descriptor<T>(data: &mut [T], shape: &[i32]) -> ArrayDescriptor {
    let (mut extents, mut strides) = ([0; 4], [0; 4]);
    extents[..shape.len()].copy_from_slice(shape);
    let mut stride = size_of::<T>() as i32;
    for n in (0..shape.len()).rev() {
        strides[n] = stride;
        stride *= shape[n];
    }
    let data = data.as_mut_ptr().expose_provenance() as u64;
    ArrayDescriptor { data, grad: 0, shape: extents, strides, ndim: shape.len() as i32, flags: 0 }
}

/// Runs kernel `@k` with an argument struct; gives the trap and what was printed.
fn run<A>(text: &str, dims: &[u32], args: &A, steps: Option<u64>) -> (Option<Trap>, String) {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&module), Ok(()));
    let launch = LaunchBounds::new(dims).unwrap();
    let mut printed = String::new();
    let mut outcome = Outcome::new(|text| printed.push_str(text));
    outcome.steps = steps;
    let kernel = module.find("k").unwrap();
    // SAFETY: the tests pass arrays over vectors that live on.
    unsafe { run_kernel(&module, kernel, &launch, std::ptr::from_ref(args).cast(), 0, u64::MAX, &mut outcome) };
    let trap = outcome.trap.take();
    drop(outcome);
    (trap, printed)
}

/// Runs a kernel of `%in` and `%out`, both one-dimensional `int32` arrays, with one thread per
/// output element. The text starts with constants that are handy: `%m1`, `%c0` to `%c5`, the thread
/// `%i` and the extent `%n` of `%in`.
fn ints(body: &str, input: &[i32], out: usize) -> (Vec<i32>, Option<Trap>) {
    ints_with("", body, input, out)
}

fn ints_with(functions: &str, body: &str, input: &[i32], out: usize) -> (Vec<i32>, Option<Trap>) {
    let constants: String = (0..=5).map(|n| format!("%c{n}: int32 = const {n}\n")).collect();
    let text = format!(
        "{functions}kernel @k(%in: array(dtype=int32), %out: array(dtype=int32)) rank 1 {{\n{constants}\
         %m1: int32 = const -1\n%i: int32 = thread_index 0\n%n: int32 = extent %in, 0\n{body}\nreturn\n}}"
    );
    let (mut input, length) = (input.to_vec(), input.len() as i32);
    let mut output = vec![0; out];
    let args = [descriptor(&mut input, &[length]), descriptor(&mut output, &[out as i32])];
    let (trap, _) = run(&text, &[out as u32], &args, Some(100_000));
    (output, trap)
}

#[test]
fn loops_break_continue_and_nest() {
    // For each thread: the sum over k < n of in[k] while k != 4, skipping those equal to i, doubled
    // by an inner loop.
    let body = "
        %sum: int32 = for %k: int32 = %c0 to %n step %c1 carry %s: int32 = %c0 {
          %stop: bool = eq %k, %c4
          if %stop {
            break %s
          }
          %x: int32 = load %in[%k]
          %skip: bool = eq %x, %i
          if %skip {
            continue %s
          }
          %t: int32 = for %j: int32 = %c0 to %c5 step %c1 carry %u: int32 = %s {
            %two: bool = ge %j, %c2
            if %two {
              break %u
            }
            %v: int32 = add %u, %x
            yield %v
          }
          yield %t
        }
        store %out[%i], %sum";
    let (out, trap) = ints(body, &[0, 1, 2, 3, 100], 5);
    assert_eq!(out, [12, 10, 8, 6, 12]);
    assert_eq!(trap, None);
}

#[test]
fn return_inside_nested_loops() {
    let body = "
        store %out[%i], %m1
        for %k: int32 = %c0 to %n step %c1 {
          while {
            %true: bool = const true
            yield %true
          } do {
            %x: int32 = load %in[%k]
            %hit: bool = eq %x, %i
            if %hit {
              store %out[%i], %k
              return
            } else {
              break
            }
            yield
          }
        }
        store %out[%i], %c5";
    // An `if` whose branches both leave is followed by a `yield` that is never reached.
    let (out, trap) = ints(body, &[2, 0, 7], 4);
    assert_eq!(out, [1, 5, 0, 5]);
    assert_eq!(trap, None);
}

#[test]
fn carried_values_swap_at_once() {
    // Fibonacci with a swap, and by a while loop.
    let body = "
        %a: int32, %b: int32 = for %k: int32 = %c0 to %i step %c1 carry %x: int32 = %c0, %y: int32 = %c1 {
          %z: int32 = add %x, %y
          yield %y, %z
        }
        %p: int32, %q: int32, %left: int32 = while carry %r: int32 = %c1, %s: int32 = %c2, %l: int32 = %i {
          %more: bool = gt %l, %c0
          yield %more
        } do carry %r.1: int32, %s.1: int32, %l.1: int32 {
          %l.2: int32 = sub %l.1, %c1
          continue %s.1, %r.1, %l.2
        }
        %p.1: int32 = mul %p, %in0
        %t: int32 = add %a, %p.1
        store %out[%i], %t";
    let body = format!("%in0: int32 = load %in[%c0]{body}");
    let (out, _) = ints(&body, &[100], 7);
    assert_eq!(out, [100, 201, 101, 202, 103, 205, 108]);
}

#[test]
fn counters_stop_at_the_end_of_their_type() {
    let text = "kernel @k(%out: array(dtype=int32)) rank 1 {
        %from: int8 = const 125
        %to: int8 = const 127
        %step: int8 = const 2
        %down: int8 = const -100
        %min: int8 = const -128
        %none: int8 = const 0
        %c0: int32 = const 0
        %c1: int32 = const 1
        %a: int32 = for %k: int8 = %from to %to step %step carry %x: int32 = %c0 {
          %y: int32 = add %x, %c1
          yield %y
        }
        %b: int32 = for %k.1: int8 = %to to %min step %down carry %x.1: int32 = %a {
          %y.1: int32 = add %x.1, %c1
          yield %y.1
        }
        %c: int32 = for %k.2: int8 = %min to %to step %none carry %x.2: int32 = %b {
          %y.2: int32 = add %x.2, %c1
          yield %y.2
        }
        store %out[%c0], %c
        return
      }";
    let mut out = [0];
    run(text, &[1], &descriptor(&mut out, &[1]), Some(1000));
    // One iteration up (125), three down (127, 27, -73), none with step 0.
    assert_eq!(out, [4]);
}

#[test]
fn index_out_of_bounds_traps_once_and_goes_on() {
    let (out, trap) = ints(
        "%j: int32 = sub %i, %c2
         %x: int32 = load %in[%j]
         %y: int32 = add %x, %c1
         store %out[%i], %y
         store %out[%n], %c5",
        &[10, 20, 30],
        5,
    );
    // Indices -2, -1, 0, 1, 2.
    assert_eq!(out, [21, 31, 11, 5, 31]);
    assert_eq!(trap, None, "index 3 is inside `out`");
    let (out, trap) = ints("%x: int32 = load %in[%i]\nstore %out[%i], %x", &[10, 20], 4);
    assert_eq!(out, [10, 20, 0, 0]);
    let trap = trap.unwrap();
    assert_eq!((trap.kind, trap.thread, trap.dim, trap.index, trap.extent), (TrapKind::OutOfBounds, 2, 0, 2, 2));
    let (_, trap) = ints("%j: int32 = sub %m1, %n\nstore %in[%j], %c0", &[1], 1);
    assert_eq!(trap.map(|t| t.index), Some(-2));
    let (_, trap) = ints("%null: array(dtype=int32) = zero\n%x: int32 = load %null[%c0]", &[1], 1);
    assert_eq!(trap.map(|t| (t.index, t.extent)), Some((0, 0)));
}

#[test]
fn asserts_prints_and_the_step_limit() {
    let text = "kernel @k(%n: int32, %f: float16) rank 2 {
        %i: int32 = thread_index 0
        %j: int32 = thread_index 1
        %dim: int32 = block_dim
        print \"%d,%d of %d: %.2f %d\\n\", %i, %j, %n, %f, %dim
        %ok: bool = ne %i, %j
        assert %ok, \"i is j\"
        return
      }";
    #[repr(C)]
    struct Args {
        n: i32,
        f: u16,
    }
    let args = Args { n: 7, f: 0x3e00 };
    let (trap, printed) = run(text, &[2, 2], &args, None);
    assert_eq!(printed, "0,0 of 7: 1.50 1\n0,1 of 7: 1.50 1\n1,0 of 7: 1.50 1\n1,1 of 7: 1.50 1\n");
    let trap = trap.unwrap();
    assert_eq!((trap.kind, trap.thread, &*trap.message), (TrapKind::Assert, 0, "i is j"));
    let endless = "kernel @k() rank 1 {
        %t: bool = const true
        while {
          yield %t
        } do {
          continue
        }
        return
      }";
    let (trap, _) = run(endless, &[1], &(), Some(10_000));
    assert_eq!(trap.map(|t| t.kind), Some(TrapKind::StepLimit));
}

#[test]
fn a_launch_with_more_dimensions_repeats_threads() {
    let text = "kernel @k(%out: array(dtype=int32)) rank 1 {
        %i: int32 = thread_index 0
        %c1: int32 = const 1
        %old: int32 = atomic add %out[%i], %c1
        return
      }";
    let mut out = [0; 3];
    run(text, &[3, 4], &descriptor(&mut out, &[3]), None);
    assert_eq!(out, [4, 4, 4]);
}

#[test]
fn views_fix_and_cut_dimensions() {
    let text = "kernel @k(%a: array3d(dtype=int32), %out: array(dtype=int32)) rank 1 {
        %c0: int32 = const 0
        %c1: int32 = const 1
        %c2: int32 = const 2
        %c4: int32 = const 4
        %m1: int32 = const -1
        %u: uint8 = const 1
        %v: array2d(dtype=int32) = view %a[%m1]
        %e0: int32 = extent %v, 0
        %e1: int32 = extent %v, 1
        store %out[%c0], %e0
        store %out[%c1], %e1
        %x: int32 = load %v[%c2, %m1]
        store %out[%c2], %x
        %w: array(dtype=int32) = view %a[%c0, %m1, %c1:%c4:%c2]
        %ew: int32 = extent %w, 0
        %c3: int32 = const 3
        store %out[%c3], %ew
        %y: int32 = load %w[%u]
        store %out[%c4], %y
        %c100: int32 = const 100
        store %w[%m1], %c100
        %s: bool = is_set %w
        %pw: uint64 = address %w
        %pa: uint64 = address %a
        %d: uint64 = sub %pw, %pa
        %d.1: int32 = cast %d
        %c5: int32 = const 5
        store %out[%c5], %d.1
        %bad: array2d(dtype=int32) = view %a[%c2]
        %set: bool = is_set %bad
        %set.1: int32 = cast %set
        %c6: int32 = const 6
        store %out[%c6], %set.1
        return
      }";
    let (mut a, mut out) = ((0..24).collect::<Vec<i32>>(), vec![-1; 7]);
    let args = [descriptor(&mut a, &[2, 3, 4]), descriptor(&mut out, &[7])];
    let (trap, _) = run(text, &[1], &args, None);
    // a[1] is 3 x 4 and ends in 23; a[0, 2, 1:4:2] is [9, 11], at byte 4 * 9.
    assert_eq!(out, [3, 4, 23, 2, 11, 36, 0]);
    assert_eq!(a[11], 100);
    assert_eq!(trap.map(|t| (t.dim, t.index, t.extent)), Some((0, 2, 2)));
}

#[test]
fn atomics_give_the_old_value() {
    let body = "
        %old: int32 = atomic add %in[%c0], %i
        store %out[%i], %old
        %mx: int32 = atomic max %in[%c1], %i
        %ex: int32 = atomic exchange %in[%c2], %i
        %cas: int32 = atomic_cas %in[%c3], %c1, %c5
        %or: int32 = atomic or %in[%c4], %i
        %sub: int32 = atomic sub %in[%c5], %c1
        %ok: bool = eq %i, %c3
        if %ok {
          store %out[%c0], %cas
          store %out[%c1], %ex
          store %out[%c2], %mx
        }";
    let (out, trap) = ints(body, &[10, 2, 9, 1, 0, 50], 4);
    assert_eq!(trap, None);
    assert_eq!(out, [5, 2, 2, 13]);
    // Floats and vectors, component by component.
    let text = "kernel @k(%a: array(dtype=vec2f), %v: vec2f) rank 1 {
        %c0: int32 = const 0
        %old: vec2f = atomic add %a[%c0], %v
        %x: float32 = atomic min %a[%c0][1], %y
        return
      }"
    .replace("%x:", "%y: float32 = const 1.5\n%x:");
    #[repr(C)]
    struct Args {
        a: ArrayDescriptor,
        v: [f32; 2],
    }
    let mut data = [1.0f32, 2.0];
    let args = Args { a: descriptor(&mut data, &[1]), v: [0.25, 0.5] };
    let args = Args { a: ArrayDescriptor { strides: [8, 0, 0, 0], ..args.a }, ..args };
    run(&text, &[4], &args, None);
    assert_eq!(data, [2.0, 1.5]);
}

#[test]
fn local_arrays_are_zeroed_and_separate() {
    let functions = "func @sum(%a: local(int32, 2, 3)) -> (int32) {
          %c0: int32 = const 0
          %c1: int32 = const 1
          %m1: int32 = const -1
          %own: local(int32, 2) = local_array
          store %own[%c1], %c1
          %x: int32 = load %a[%c1, %m1]
          %y: int32 = load %own[%c1]
          %z: int32 = add %x, %y
          return %z
        }
        ";
    let body = "
        for %k: int32 = %c0 to %c2 step %c1 {
          %a: local(int32, 2, 3) = local_array
          %x: int32 = load %a[%c1, %c2]
          %x.1: int32 = add %x, %i
          store %a[%c1, %c2], %x.1
          %s: int32 = call @sum(%a)
          store %out[%i], %s
          %e: int32 = extent %a, 1
          %old: int32 = atomic add %out[%i], %e
        }";
    let (out, trap) = ints_with(functions, body, &[0], 3);
    assert_eq!((out, trap), (vec![4, 5, 6], None));
    let (_, trap) = ints("%a: local(int32, 2) = local_array\nstore %a[%c2], %c1", &[0], 1);
    assert_eq!(trap.map(|t| (t.index, t.extent)), Some((2, 2)));
}

#[test]
fn run_time_components() {
    let body = "
        %v: vec3i = construct %c1, %c2, %c3
        %j: int32 = sub %i, %c2
        %x: int32 = extract %v[%j]
        %w: vec3i = insert %v[%j], %c5
        %y: int32 = extract %w[0]
        %z: int32 = add %x, %y
        %m: mat22i = construct %c1, %c2, %c3, %c4
        %r: vec2i = extract %m[%m1]
        %q: int32 = extract %m[%m1][%c0]
        %q.1: int32 = extract %r[0]
        %same: bool = eq %q, %q.1
        assert %same, \"row\"
        %big: uint64 = const 18446744073709551615
        %none: int32 = extract %v[%big]
        %z.1: int32 = add %z, %none
        store %out[%i], %z.1";
    // j = -2, -1, 0, 1, 2, 3: the part (0 outside) plus v[0] after the insertion.
    let (out, trap) = ints(body, &[0], 6);
    assert_eq!((out, trap), (vec![3, 4, 6, 3, 4, 1], None));
}

#[test]
fn arrays_of_structs() {
    let text = "struct Body {
        alive: bool
        x: vec3d
        id: int16
      }
      kernel @k(%b: array(dtype=Body), %shift: Body) rank 1 {
        %i: int32 = thread_index 0
        %old: Body = load %b[%i]
        %x: vec3d = load %b[%i].x
        %dx: vec3d = extract %shift.x
        %x.1: vec3d = add %x, %dx
        store %b[%i].x, %x.1
        %j: int32 = const 1
        %y: float64 = extract %old.x[%j]
        store %b[%i].x[%j], %y
        %id: int16 = extract %old.id
        %id.1: int16 = neg %id
        store %b[%i].id, %id.1
        %f: bool = zero
        %t: bool = extract %old.alive
        %both: Body = insert %shift.alive, %f
        %last: int32 = const -1
        %same: bool = eq %x, %x
        if %t {
          store %b[%last], %both
        }
        return
      }";
    #[repr(C)]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Body {
        alive: bool,
        x: [f64; 3],
        id: i16,
    }
    #[repr(C)]
    struct Args {
        b: ArrayDescriptor,
        shift: Body,
    }
    let body = |alive, x, id| Body { alive, x, id };
    let mut data = [body(false, [1.0, 2.0, 3.0], 5), body(true, [4.0; 3], -6), body(false, [0.0; 3], 9)];
    let shift = body(true, [0.5; 3], 77);
    let args = Args { b: descriptor(&mut data, &[3]), shift };
    let (trap, _) = run(text, &[2], &args, None);
    assert_eq!(trap, None);
    assert_eq!(data, [body(false, [1.5, 2.0, 3.5], -5), body(true, [4.5, 4.0, 4.5], 6), body(false, [0.5; 3], 77)]);
}

#[test]
fn by_reference_results_rebind() {
    let functions = "func @bump(%x: int32, %by: int32) -> (int32, ref 0 int32) {
          %y: int32 = add %x, %by
          return %by, %y
        }
        func @twice(%x: int32) -> (ref 0 int32) {
          %c3: int32 = const 3
          %r: int32, %x.1: int32 = call @bump(%x, %c3)
          %r.1: int32, %x.2: int32 = call @bump(%x.1, %r)
          return %x.2
        }
        ";
    let (out, _) = ints_with(functions, "%v: int32 = call @twice(%i)\nstore %out[%i], %v", &[0], 3);
    assert_eq!(out, [6, 7, 8]);
}

#[test]
fn composites_work_by_component() {
    let body = "
        %v: vec2i = construct %i, %c2
        %a: vec2i = mul %v, %c3
        %b: vec2i = mul %c3, %v
        %eq: bool = eq %a, %b
        %w: vec2i = construct %i, %c3
        %ne: bool = ne %v, %w
        %eq.1: bool = eq %v, %w
        %eq.2: int32 = cast %eq.1
        %both: bool = and %eq, %ne
        %f: vec2f = cast %a
        %g: vec2f = neg %f
        %h: vec2i = cast %g
        %x: int32 = extract %h[0]
        %y: int32 = extract %h[1]
        %z: int32 = select %both, %x, %y
        %z.1: int32 = add %z, %eq.2
        store %out[%i], %z.1";
    let (out, _) = ints(body, &[0], 3);
    assert_eq!(out, [0, -3, -6]);
}

//! Every scalar operation on every scalar type, with the values at the edges.

use kc::codegen::llvm::{ArrayLayout, Grid, HostModule, Opt, Parts, PtxOptions, emit_ptx};
use kc::ir::eval;
use kc::ir::{BinaryOp, CompareOp, Const, UnaryOp};
use kc::types::Scalar;

use crate::common;
use crate::harness::*;

/// Values around which operations change their behaviour.
fn edges(s: Scalar) -> Vec<Const> {
    if s == Scalar::Bool {
        return vec![Const::bool(false), Const::bool(true)];
    }
    if s.is_int() {
        let bits = s.bits();
        let (least, most) = if s.is_signed_int() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        let mut values = vec![0, 1, 2, 3, 5, 7, 8, -1, -2, -3, -7, -8, least, least + 1, most, most - 1];
        values.extend([bits - 1, bits, bits + 1].map(i128::from));
        values.extend([most / 3, least / 3 * 2, most / 2, most / 2 + 1]);
        return values.into_iter().map(|v| Const::int(s, v)).collect();
    }
    let mut values: Vec<Const> = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.0,
        1.5,
        2.5,
        -2.5,
        3.0,
        0.1,
        -0.7,
        127.5,
        -128.5,
        255.7,
        65504.0,
        65520.0,
        1e5,
        2147483647.0,
        -2147483648.0,
        4294967296.0,
        9.3e18,
        -9.3e18,
        1.9e19,
        1e-5,
        6e-8,
        3e-8,
        -1e-40,
        1e30,
        -1e38,
        0.49999997,
        8388609.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]
    .map(|v| Const::float(s, v))
    .to_vec();
    // The least subnormal, the least normal, the greatest, and neighbours of 1 in the type itself.
    let patterns: &[u64] = match s {
        Scalar::F16 => &[1, 0x400, 0x7bff, 0x3c01, 0x3bff, 0x8001, 0x3ff, 0x0201],
        Scalar::BF16 => &[1, 0x80, 0x7f7f, 0x3f81, 0x3f7f, 0x8001, 0x7f, 0x0041],
        Scalar::F32 => &[1, 0x80_0000, 0x7f7f_ffff, 0x3f80_0001, 0x3f7f_ffff, 0x8000_0001, 0x4b7f_ffff, 0x33000001],
        _ => {
            &[1, 0x10_0000_0000_0000, 0x7fef_ffff_ffff_ffff, 0x3ff0_0000_0000_0001, 0x3fef_ffff_ffff_ffff, 1 << 63 | 1]
        }
    };
    values.extend(patterns.iter().map(|&bits| Const::new(s, bits)));
    values
}

const UNARY: &[UnaryOp] = UnaryOp::ALL;

/// A kernel with one row of `%o` per operation that the type has, `%c` for comparisons. Gives the
/// text and both row counts.
fn kernel(s: Scalar) -> (String, Vec<String>, Vec<CompareOp>) {
    let (t, sample) = (s.name(), Const::int(s, 1));
    let mut rows = Vec::new();
    for op in UNARY {
        if eval::unary(*op, sample).is_some() {
            rows.push(format!("{} %x", op.name()));
        }
    }
    for op in BinaryOp::ALL {
        if eval::binary(*op, sample, sample).is_some() {
            rows.push(format!("{} %x, %y", op.name()));
        }
    }
    if eval::fma(sample, sample, sample).is_some() {
        rows.push("fma %x, %y, %z".to_string());
    }
    let compares: Vec<CompareOp> =
        CompareOp::ALL.iter().copied().filter(|op| eval::compare(*op, sample, sample).is_some()).collect();
    let mut text = format!(
        "kernel @k(%a: array(dtype={t}), %b: array(dtype={t}), %d: array(dtype={t}), %o: array2d(dtype={t}), \
         %c: array2d(dtype=bool)) rank 1 {{\n%i: int32 = thread_index 0\n\
         %x: {t} = load %a[%i]\n%y: {t} = load %b[%i]\n%z: {t} = load %d[%i]\n"
    );
    for (n, row) in rows.iter().enumerate() {
        text += &format!("%n{n}: int32 = const {n}\n%r{n}: {t} = {row}\nstore %o[%n{n}, %i], %r{n}\n");
    }
    for (n, op) in compares.iter().enumerate() {
        let name = op.name();
        text += &format!("%m{n}: int32 = const {n}\n%q{n}: bool = {name} %x, %y\nstore %c[%m{n}, %i], %q{n}\n");
    }
    (text + "return\n}\n", rows, compares)
}

fn bits(values: &[Const]) -> Vec<u64> {
    values.iter().map(|c| c.bits).collect()
}

#[track_caller]
fn check(s: Scalar) {
    let (text, rows, compares) = kernel(s);
    let values = edges(s);
    let (mut a, mut b, mut d) = (Vec::new(), Vec::new(), Vec::new());
    for (i, x) in values.iter().enumerate() {
        for (j, y) in values.iter().enumerate() {
            a.push(*x);
            b.push(*y);
            d.push(values[(i * 7 + j * 3) % values.len()]);
        }
    }
    let n = a.len() as i32;
    let input = |v: &[Const]| Arg::Array(Array::new(s, 1, &[n], &bits(v)));
    let args = [
        input(&a),
        input(&b),
        input(&d),
        zeros(s, &[rows.len() as i32, n]),
        zeros(Scalar::Bool, &[compares.len() as i32, n]),
    ];
    compare(&text, &[n as u32], &args);
}

macro_rules! each_scalar {
    ($($name:ident $scalar:ident;)*) => {
        $(#[test] fn $name() { check(Scalar::$scalar); })*
    };
}

each_scalar! {
    bool_ops Bool; int8_ops I8; int16_ops I16; int32_ops I32; int64_ops I64; uint8_ops U8; uint16_ops U16;
    uint32_ops U32; uint64_ops U64; float16_ops F16; bfloat16_ops BF16; float32_ops F32; float64_ops F64;
}

#[test]
fn casts_and_bitcasts() {
    for from in Scalar::ALL {
        let mut params = format!("%a: array(dtype={})", from.name());
        let mut body = format!("%i: int32 = thread_index 0\n%x: {} = load %a[%i]\n", from.name());
        let mut values = edges(from);
        if from.bits() == 64 && from.is_int() {
            // Halfway cases of the narrow floats with something below.
            for shift in [30, 40, 55, 60] {
                for low in [0, 1, 2] {
                    values.push(Const::int(from, (257i128 << shift) + low - 1));
                    values.push(Const::int(from, (259i128 << shift) + low - 1));
                }
            }
        }
        if from == Scalar::F64 {
            for base in
                [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 1.0 + 1.0 / 2048.0, 5.5 * 2f64.powi(-25), 1.5 * 2f64.powi(-133)]
            {
                for off in [0.0, 1e-16, -1e-16] {
                    values.push(Const::float(from, base * (1.0 + off * 2.0)));
                }
            }
        }
        let n = values.len() as i32;
        let mut args = vec![Arg::Array(Array::new(from, 1, &[n], &bits(&values)))];
        for (k, to) in Scalar::ALL.into_iter().enumerate() {
            params += &format!(", %o{k}: array(dtype={})", to.name());
            if to == from {
                body += &format!("store %o{k}[%i], %x\n");
            } else {
                body += &format!("%r{k}: {} = cast %x\nstore %o{k}[%i], %r{k}\n", to.name());
            }
            args.push(zeros(to, &[n]));
            if to.size() == from.size() && to != from && to != Scalar::Bool && from != Scalar::Bool {
                params += &format!(", %p{k}: array(dtype={})", to.name());
                body += &format!("%s{k}: {} = bitcast %x\nstore %p{k}[%i], %s{k}\n", to.name());
                args.push(zeros(to, &[n]));
            }
        }
        compare(&format!("kernel @k({params}) rank 1 {{\n{body}return\n}}\n"), &[n as u32], &args);
    }
}

/// All operations of all types in one module: every supported architecture, both efforts.
#[test]
fn ptxas_takes_every_operation() {
    let text: String =
        Scalar::ALL.into_iter().map(|s| kernel(s).0.replace("@k(", &format!("@k_{}(", s.name()))).collect();
    let module = parse(&text);
    let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
    for arch in common::ARCHITECTURES {
        let full = assert_ptx(&module, &kernels, arch, Opt::Full);
        assert_eq!(full.matches(".visible .entry").count(), kernels.len());
        assert!(!full.contains("callseq"));
        assert_ptx(&module, &kernels, arch, Opt::Lean);
    }
    let contiguous = PtxOptions {
        fmad: false,
        layout: ArrayLayout::Contiguous,
        grid: Grid::Covering,
        ..ptx_options("sm_80", Opt::Full)
    };
    let some = &kernels[..2];
    let ptx = emit_ptx(&module, some, &contiguous, &Parts::new(0)).unwrap();
    common::assert_ptx(&ptx, "sm_80");
    assert_eq!(ptx.matches(".visible .entry").count(), 2);
}

/// Narrow floats on many random operands: rounding is where they go wrong.
#[test]
fn narrow_floats_round_once() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for s in [Scalar::F16, Scalar::BF16] {
        let (text, rows, compares) = kernel(s);
        let n = 50_000;
        let mut input = || Arg::Array(Array::new(s, 1, &[n], &(0..n).map(|_| random() & 0xffff).collect::<Vec<_>>()));
        let args = [
            input(),
            input(),
            input(),
            zeros(s, &[rows.len() as i32, n]),
            zeros(Scalar::Bool, &[compares.len() as i32, n]),
        ];
        let module = parse(&text);
        let id = module.find("k").unwrap();
        let expected = interpret(&module, id, &[n as u32], &args);
        for options in HOST_OPTIONS {
            let host = HostModule::compile(&module, &[id], &options).unwrap();
            let run = run_host(&host, &module, id, &[n as u32], &args, u64::MAX);
            assert_same(&format!("{s:?} {options:?}, rows {rows:?}"), &expected.args, &run.args);
        }
    }
}

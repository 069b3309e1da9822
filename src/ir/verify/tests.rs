use super::super::build::Builder;
use super::*;
use crate::ir::print::print;
use crate::source::FileId;
use crate::types::{ArrayType, Element, I32};

fn span() -> Span {
    Span::new(FileId(0), 0, 0)
}

/// A kernel that sums `data[i..n]` into `out[i]`.
fn sum_kernel() -> Module {
    let ints = Type::Array(ArrayType { element: Element::Scalar(Scalar::I32), ndim: 1 });
    let params = [("data".to_string(), ints), ("out".to_string(), ints)];
    let mut b = Builder::new("sum", FunctionKind::Kernel { rank: 1 }, &params, span());
    let (data, out) = (b.function.params()[0], b.function.params()[1]);
    let i = b.one(Op::ThreadIndex(0), I32);
    b.name(i, "i");
    let zero = b.int(Scalar::I32, 0);
    let one = b.int(Scalar::I32, 1);
    let n = b.extent(data, 0);
    let body = b.new_block(&[I32, I32]);
    let outer = b.switch_to(body);
    let [k, total] = *b.params(body) else { panic!("two parameters") };
    b.name(total, "total");
    let x = b.one(Op::Load(Access::element(data, &[k])), I32);
    let next = b.binary(BinaryOp::Add, total, x);
    b.name(next, "total");
    b.yield_(&[next]);
    b.switch_to(outer);
    let sum = b.push(Op::For { start: i, end: n, step: one, init: smallvec::smallvec![zero], body }, &[I32])[0];
    b.effect(Op::Store { access: Access::element(out, &[i]), value: sum });
    b.effect(Op::Return(Values::new()));
    let mut module = Module::default();
    module.functions.push(b.finish());
    module
}

#[test]
fn a_built_kernel_verifies_and_prints() {
    let module = sum_kernel();
    assert_eq!(verify(&module), Ok(()));
    let expected = "\
kernel @sum(%data: array(dtype=int32), %out: array(dtype=int32)) rank 1 {
  %i: int32 = thread_index 0
  %0: int32 = const 0
  %1: int32 = const 1
  %2: int32 = extent %data, 0
  %3: int32 = for %4: int32 = %i to %2 step %1 carry %total: int32 = %0 {
    %5: int32 = load %data[%4]
    %total.1: int32 = add %total, %5
    yield %total.1
  }
  store %out[%i], %3
  return
}
";
    assert_eq!(print(&module), expected);
}

#[test]
fn structural_faults() {
    let faults: [(&str, fn(&mut Function)); 6] = [
        ("defined twice", |f| {
            let entry = f.entry;
            let first = f.blocks[entry].params[0];
            f.blocks[entry].params[1] = first;
        }),
        ("stands in two places", |f| {
            let entry = f.entry;
            let first = f.blocks[entry].insts[0];
            f.blocks[entry].insts.insert(0, first);
        }),
        ("must end in a terminator", |f| {
            let entry = f.entry;
            f.blocks[entry].insts.pop();
        }),
        ("not visible", |f| {
            let entry = f.entry;
            f.blocks[entry].insts.swap(0, 4);
        }),
        ("not in its list", |f| f.insts[InstId(0)].op = Op::Cast(ValueId(1_000_000))),
        ("rank is 1 to 4", |f| f.kind = FunctionKind::Kernel { rank: 5 }),
    ];
    for (message, fault) in faults {
        let mut module = sum_kernel();
        fault(&mut module.functions[FuncId(0)]);
        let errors = verify(&module).expect_err(message);
        assert!(errors.iter().any(|e| e.contains(message)), "{message}: {errors:?}");
    }
}

/// Messages for a kernel with this body; `%i`, `%f`, `%b`, `%v`, `%a`, `%l` are an int32, a
/// float32, a bool, a vec3f, an `array2d(dtype=Pair)` and a local array.
fn errors_of(body: &str) -> Vec<String> {
    let text = format!(
        "struct Pair {{\nx: float32\ny: vec2i\n}}
        func @f(%x: int32) -> (float32) {{\n%y: float32 = cast %x\nreturn %y\n}}
        kernel @other() rank 1 {{\nreturn\n}}
        kernel @k(%a: array2d(dtype=Pair), %ints: array(dtype=int32)) rank 2 {{
        %i: int32 = const 1\n%f: float32 = const 1.0\n%b: bool = const true\n%v: vec3f = zero
        %j: int64 = const 1\n%u: uint32 = const 1\n%h: float16 = const 1.0\n%p: Pair = zero\n%l: local(float32, 4) = local_array
        {body}\n}}"
    );
    let module = crate::ir::parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&module).err().unwrap_or_default()
}

#[test]
fn type_rules() {
    // Each instruction is wrong in one way; the ones after `;` are right.
    let table = [
        "%x: float32 = const 1.0\n%y: int32 = neg %f; %y: float32 = neg %f",
        "%x: bool = neg %b; %x: bool = not %b",
        "%x: int32 = not %i; %x: int32 = bit_not %i",
        "%x: int32 = sqrt %i; %x: vec3f = sqrt %v",
        "%x: float32 = pop_count %f; %x: uint32 = pop_count %u",
        "%x: int32 = add %i, %j; %x: int32 = add %i, %i",
        "%x: vec3f = add %v, %f; %x: vec3f = add %v, %v",
        "%x: vec3f = div %f, %v; %x: vec3f = div %v, %f",
        "%x: vec3f = mul %v, %i; %x: vec3f = mul %f, %v",
        "%x: float32 = rem %f, %f; %x: int32 = rem %i, %i",
        "%x: float32 = shl %f, %f; %x: int32 = shl %i, %i",
        "%x: int32 = mul_high %i, %i; %x: uint32 = mul_high %u, %u",
        "%x: float32 = abs_diff %f, %f; %x: int32 = abs_diff %i, %i",
        "%x: int64 = abs_diff %i, %j; %x: int64 = abs_diff %j, %j",
        "%x: bool = abs_diff %b, %b; %x: uint32 = abs_diff %u, %u",
        "%x: bool = add %b, %b; %x: bool = xor %b, %b",
        "%x: int32 = copy_sign %i, %i; %x: float32 = copy_sign %f, %f",
        "%x: bool = lt %b, %b; %x: bool = eq %b, %b",
        "%x: bool = lt %v, %v; %x: bool = ne %v, %v",
        "%x: bool = eq %p, %p; %x: bool = lt %f, %f",
        "%x: int32 = eq %i, %i; %x: bool = eq %i, %i",
        "%x: int32 = fma %i, %i, %i; %x: float32 = fma %f, %f, %f",
        "%x: float32 = cast %v; %x: vec3d = cast %v",
        "%x: vec2i = cast %p; %x: float16 = cast %b",
        "%x: int64 = bitcast %f; %x: uint32 = bitcast %f",
        "%x: uint8 = bitcast %b; %x: int16 = bitcast %h",
        "%x: float32 = select %i, %f, %f; %x: vec3f = select %b, %v, %v",
        "%x: float32 = select %b, %f, %i; %x: Pair = select %b, %p, %p",
        "%x: vec3f = construct %f, %f; %x: vec3f = construct %f, %f, %f",
        "%x: Pair = construct %f, %f; %w: vec2i = zero\n%x: Pair = construct %f, %w",
        "%x: float32 = construct %f; %x: vec2f = construct %f, %f",
        "%x: float32 = extract %v[3]; %x: float32 = extract %v[2]",
        "%x: float32 = extract %v[%f]; %x: float32 = extract %v[%j]",
        "%x: float32 = extract %p[%i]; %x: int32 = extract %p.y[%i]",
        "%x: vec3f = extract %v; %x: vec2i = extract %p.y",
        "%x: vec3f = insert %v[0], %i; %x: vec3f = insert %v[0], %f",
        "%x: float32 = call @f(%f); %x: float32 = call @f(%i)",
        "%x: float32 = call @f(%i, %i); %x: float32 = call @f(%i)",
        "call @f(%i); %x: float32 = call @f(%i)",
        "call @other(); %x: float32 = call @f(%i)",
        "%x: int32 = thread_index 2; %x: int32 = thread_index 1",
        "%x: int64 = block_dim; %x: int32 = block_dim",
        "%x: int32 = extent %a, 2; %x: int32 = extent %l, 0",
        "%x: bool = is_set %l; %x: bool = is_set %a",
        "%x: int64 = address %a; %x: uint64 = address %a",
        "%x: array(dtype=Pair) = view %a[%i, %i]; %x: array(dtype=Pair) = view %a[%i]",
        "%x: array(dtype=Pair) = view %a[%j]; %x: array2d(dtype=Pair) = view %a[%i:%i:%i]",
        "%x: array(dtype=float32) = view %l[%i:%i:%i]; %x: array(dtype=Pair) = view %a[%i, %i:%i:%i]",
        "%x: array(dtype=int32) = local_array; %x: local(int8, 1) = local_array",
        "%x: Pair = load %a[%i]; %x: Pair = load %a[%i, %j]",
        "%x: float32 = load %l[%f]; %x: float32 = load %l[%u]",
        "store %a[%i, %i].x, %i; store %a[%i, %i].x, %f",
        "%x: Pair = atomic exchange %a[%i, %i], %p; %w: vec2i = zero\n%x: vec2i = atomic exchange %a[%i, %i].y, %w",
        "%x: float32 = atomic and %l[%i], %f; %x: int32 = atomic and %ints[%i], %i",
        "%x: int32 = atomic_cas %ints[%i], %i, %f; %x: int32 = atomic_cas %ints[%i], %i, %i",
        "print \"%f\", %v; print \"%f\", %f",
        "assert %i, \"\"; assert %b, \"\"",
        "if %i {\n}; if %b {\n}",
        "%x: int32 = if %b {\nyield %i\n} else {\nyield %f\n}; %x: int32 = if %b {\nyield %i\n} else {\nreturn\n}",
        "break; while {\nyield %b\n} do {\nbreak\n}",
        "while {\nbreak\n} do {\n}; while {\nyield %b\n} do {\nif %b {\nbreak\n}\n}",
        "while {\nreturn\n} do {\n}; while {\nyield %b\n} do {\nreturn\n}",
        "while {\nyield %i\n} do {\n}; while {\nyield %b\n} do {\n}",
        "while {\nwhile {\nyield %b\n} do {\n}\nif %b {\nbreak\n}\nyield %b\n} do {\n}; \
         while {\nwhile {\nyield %b\n} do {\nbreak\n}\nyield %b\n} do {\n}",
        "for %k: int32 = %i to %j step %i {\n}; for %k: int32 = %i to %i step %i {\n}",
        "for %k: int64 = %i to %i step %i {\n}; for %k: int64 = %j to %j step %j {\n}",
        "for %k: float32 = %f to %f step %f {\n}; for %k: uint32 = %u to %u step %u {\n}",
        "%x: int32 = for %k: int32 = %i to %i step %i {\n}; \
         %x: int32 = for %k: int32 = %i to %i step %i carry %c: int32 = %i {\nyield %k\n}",
        "%x: int32 = for %k: int32 = %i to %i step %i carry %c: int32 = %i {\nyield\n}; \
         %x: int32 = for %k: int32 = %i to %i step %i carry %c: int32 = %i {\nbreak %c\n}",
        "return %i; assert %b, \"\"",
    ];
    for case in table {
        let (wrong, right) = case.split_once(';').unwrap();
        let wrong_errors = errors_of(&format!("{wrong}{}", if wrong.starts_with("return") { "" } else { "\nreturn" }));
        assert!(!wrong_errors.is_empty(), "accepted: {wrong}");
        assert_eq!(errors_of(&format!("{right}\nreturn")), [""; 0], "{right}");
    }
}

#[test]
fn scopes_recursion_and_roles() {
    let errors = |text: &str| verify(&crate::ir::parse::parse(text).unwrap()).expect_err(text).join("\n");
    // The parser keeps names apart, so a value of an inner block can be named outside of it.
    let text = "kernel @k(%b: bool) rank 1 {\nif %b {\n%x: int32 = const 1\n}\n%y: int32 = neg %x\nreturn\n}";
    assert!(errors(text).contains("not visible"));
    let text = "func @f() {\ncall @g()\nreturn\n}\nfunc @g() {\ncall @f()\nreturn\n}\nfunc @h() {\nreturn\n}";
    let found = errors(text);
    assert!(found.contains("@f: calls itself") && found.contains("@g: calls itself") && !found.contains("@h"));
    let text = "func @f(%x: int32) -> (ref 0 float32) {\n%y: float32 = cast %x\nreturn %y\n}";
    assert!(errors(text).contains("parameter of its type"));
    let text = "func @f(%x: int32) -> (ref 0 int32, int32) {\nreturn %x, %x\n}";
    assert!(errors(text).contains("after a by-reference"));
    assert!(errors("kernel @k(%l: local(int32, 4)) rank 1 {\nreturn\n}").contains("local array"));
    assert!(errors("kernel @k() rank 1 -> (int32) {\n%x: int32 = zero\nreturn %x\n}").contains("no results"));
    assert!(errors("func @f() {\nreturn\n}\nfunc @f() {\nreturn\n}").contains("not unique"));
    assert!(errors("struct S {\nl: local(int32, 4)\n}").contains("cannot have its type"));
}

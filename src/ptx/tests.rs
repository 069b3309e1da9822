use super::*;

const TEXT: &str = r#"
.version 8.0 // a comment
.target sm_80, texmode_independent
.address_size 64
/* and one
   of two lines */
.file 1 "k.cu", 1700000000, 42
.global .u32 x = -5;
.global .align 8 .u64 table[2] = {generic(x), generic(x)+4};
.const .f32 half = 0.5;
.extern .shared .align 16 .b8 pool[];
.extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b) ;
.weak .func (.param .b32 result) twice (.param .b32 n)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [n];
	shl.b32 %r2, %r1, 1;
	st.param.b32 [result+0], %r2;
	ret;
}
.visible .entry k(.param .u64 .ptr .global .align 4 out, .param .align 4 .b8 point[12])
.maxntid 256, 1, 1
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>, %last;
	.reg .b64 %rd<3>;
	.loc 1 7 3
	ld.param.u64 %rd1, [out];
	{ .reg .b32 %r9; .param .b32 given; .param .b32 back;
	st.param.b32 [given], 3;
	call.uni (back), twice, (given);
	ld.param.b32 %r9, [back+0]; mov.u32 %r1, %r9; }
	@!%p1 bra END;
	ld.global.L1::no_allocate.v2.u32 {%r2, _}, [%rd1+-8];
	setp.lt.and.s32 %p0|%p1, %r1, 0x10U, !%p0;
	.pragma "nounroll";
END:
	bra.uni END;
}
.section .debug_str { .b8 1, 2
}
"#;

#[test]
fn what_compilers_write_is_understood() {
    let module = parse(TEXT).expect("PTX");
    assert_eq!((module.version, module.target), ((8, 0), "sm_80"));
    assert_eq!(module.files, [(1, "k.cu".to_string())]);
    let variable = |name| module.variables.iter().find(|v| v.name == name).expect("a variable");
    assert_eq!(variable("x").init, [(0, Init::Bits(-5i64 as u64, 4))]);
    assert_eq!(variable("table").init[1], (8, Init::Address { variable: 0, offset: 4, generic: true }));
    assert_eq!(variable("half").init, [(0, Init::Bits(0.5f32.to_bits().into(), 4))]);
    assert_eq!((variable("pool").bytes, variable("pool").align), (0, 16));
    assert_eq!((variable("point").bytes, variable("point").align), (12, 4));
    let kernel = module.function("k").expect("a kernel");
    assert_eq!((kernel.params.len(), kernel.max_threads), (2, Some(256)));
    let body = kernel.body.as_ref().expect("a body");
    let texts: Vec<String> = body.instructions.iter().map(|i| i.to_string()).collect();
    assert_eq!(texts[2], "call.uni");
    assert_eq!(body.instructions[0].source, Some(Location { file: 1, line: 7, column: 3 }));
    let branch = &body.instructions[5];
    assert_eq!((branch.guard, &branch.operands[0]), (Some((1, true)), &Operand::Label(8)));
    let load = &body.instructions[6];
    assert_eq!(load.to_string(), "ld.global.L1::no_allocate.v2.u32");
    assert!(matches!(&load.operands[1], Operand::Address(Base::Register(_), -8)));
    let test = &body.instructions[7];
    assert!(matches!(test.operands[0], Operand::Pair(0, 1)));
    assert_eq!((&test.operands[2], &test.operands[3]), (&Operand::Int(16), &Operand::Not(0)));
    // The register of the inner block is none of those around it.
    assert_eq!(body.registers.len(), 2 + 4 + 1 + 3 + 1);
}

#[test]
fn errors_have_their_place() {
    let error = |body: &str| {
        let text =
            format!(".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {{\n.reg .b32 %r<2>;\n{body}\n}}\n");
        let error = parse(&text).expect_err("an error");
        (error.at.line, error.at.column, error.unknown, error.message)
    };
    assert_eq!(error("  add.s32 %r1, %r2, 1;"), (6, 16, false, "there is no register `%r2`".to_string()));
    assert_eq!(error("bra L;").3, "there is no `L`");
    assert_eq!(error("L: L: ret;").3, "the label `L` stands twice");
    assert_eq!(error("mov.u32 %r1, %nope;").3, "there is no register `%nope`");
    assert_eq!(error("mov.u32 %r1, %cluster_ctaid.w;").3, "there is no register `%cluster_ctaid.w`");
    assert_eq!(error("mov.f32 %r1, 0f123;").3, "`0f123` is no number");
    assert_eq!(error("mov.u32 %r1, 99999999999999999999999;").0, 6);
    assert_eq!(error(".reg .b32 %x, %x;").3, "`%x` is declared twice");
    assert!(error(".reg .b128 %q;").2);
    assert!(error(".tex .u64 t;").2);
    for rare in ["3*4", "(1<<4)|3", "~0", ".5", "%envreg0", "%is_explicit_cluster", "%ctaid"] {
        assert!(error(&format!("mov.u32 %r1, {rare};")).2, "{rare}");
    }
    assert!(error("ld.global.u32 %r1, [%r0+4*2];").2 && !error("mov.u32 %r1, %pmask;").2);
    assert_eq!(error("\"").3, "a text does not end");
    assert_eq!(error("/*").3, "a comment does not end");
    assert_eq!(error("é").3, "a character that PTX does not have");
}

use super::*;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Parses a module with the bodies of its functions.
fn whole(source: &str) -> Result<(), Error> {
    let module = parse(source)?;
    module.functions.iter().filter_map(|function| function.body).try_for_each(|body| body.statements().map(drop))
}

fn module(text: &str) -> String {
    format!("{HEAD}{text}")
}

#[test]
fn kernels_are_parsed() {
    let source = module(
        ".visible .entry k(.param .u64 .ptr .align 8 a, .param .align 4 .b8 s[12]) .maxntid 128, 2, 1\n{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<3>, %x;\n.loc 1 7 3\n@!%p1 bra $L; {\n .param .b64 p0;\n call.uni (r), f, (p0, p1); }\n\
         ld.global.v2.f32 {%f1, _}, [%rd1+-8];\n$L: ret;\n}\n",
    );
    let module = parse(&source).unwrap();
    let kernel = &module.functions[0];
    assert_eq!((module.version, module.target.as_slice()), ((8, 0), ["sm_80"].as_slice()));
    assert_eq!((kernel.name, kernel.entry, kernel.max_threads), ("k", true, Some((256, false))));
    assert_eq!((kernel.parameters[0].size(), kernel.parameters[1].size(), kernel.parameters[1].align), (8, 12, 4));
    let body = kernel.body.unwrap().statements().unwrap();
    assert!(matches!(&body[2], Statement::Location { file: 1, line: 7, inlined_at: None }));
    let Statement::Instruction(branch) = &body[3] else { panic!("{:?}", body[3]) };
    assert_eq!((branch.guard, branch.opcode, branch.line), (Some(("%p1", true)), "bra", 9));
    let Statement::Instruction(load) = &body[5] else { panic!("{:?}", body[5]) };
    assert_eq!(load.modifiers, ["global", "v2", "f32"]);
    assert_eq!(load.operands[0], Operand::Vector(vec![Operand::Name("%f1"), Operand::Nothing]));
    assert_eq!(load.operands[1], Operand::Address { base: Some("%rd1"), offset: -8 });
}

#[test]
fn variables_are_parsed_with_size_and_contents() {
    let source = module(
        ".const .align 4 .f32 t[2] = {0f3F800000, -1.0};\n.extern .shared .align 16 .b8 dyn[];\n\
         .global .u64 p[3] = {generic(t)+4, t, 0xFF00(t)};\n.global .v4 .f32 q;\n.global .u32 z = 3*(2+1), y;\n",
    );
    let variables = parse(&source).unwrap().variables;
    assert_eq!(variables[0].initializer, [Value::Single(0x3f80_0000), Value::Double((-1.0_f64).to_bits())]);
    assert_eq!((variables[1].size(), variables[1].linkage), (0, Linkage::Extern));
    assert_eq!(
        variables[2].initializer,
        [
            Value::Address { name: "t", generic: true, offset: 4, shift: 0 },
            Value::Address { name: "t", generic: false, offset: 0, shift: 0 },
            Value::Address { name: "t", generic: false, offset: 0, shift: 8 },
        ]
    );
    assert_eq!((variables[3].size(), variables[3].align), (16, 16));
    assert_eq!((&variables[4].initializer[..], variables[5].name), (&[Value::Bits(9)][..], "y"));
}

#[test]
fn syntax_errors_name_line_and_token() {
    for (text, line, token) in [
        (".entry k( { }", 4, "{"),
        (".visible .entry k()\n{\n add.s32 %r1, %r2\n ret;\n}", 7, "ret"),
        (".entry k() { ret; ", 4, "the end of the text"),
        (".global .u32 a = {1, 2};", 4, "a"),
        (".global .q32 a;", 4, "q32"),
        ("add.s32 a, b;", 4, "add"),
        (".entry k() {\n ret }\n.global .q32 a;", 5, "}"),
        ("\u{1}", 4, "\\u{1}"),
    ] {
        let source = module(text);
        let error = whole(&source).unwrap_err();
        assert_eq!((error.line, error.token.as_str()), (line, token), "{text}: {error}");
    }
    assert_eq!(parse("").unwrap_err().line, 1);
    let deep = module(&format!(".entry k() {{ {} }}", "{".repeat(5000)));
    assert!(whole(&deep).is_err());
}

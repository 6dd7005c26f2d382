//! PTX that is accepted and PTX that is refused. With `NVIDIA_PTXAS`, the path of NVIDIA's assembler, each case is compared
//! with it.

use crate::{Folder, KERNEL, assemble};

/// Cases: a name, the PTX, options, and the message of the refusal without the file's name; an empty one accepts.
fn cases() -> Vec<(&'static str, String, &'static [&'static str], &'static str)> {
    const SM_90: &[&str] = &["-arch=sm_90"];
    const SM_90A: &[&str] = &["-arch=sm_90a"];
    const SM_75: &[&str] = &[];
    const OBJECT: &[&str] = &["-arch=sm_90", "-c"];
    let add = |text: &str| KERNEL.replace("add.u32 %r1, %r1, 1;", text);
    let target = |text: &str| KERNEL.replace("sm_80", text);
    let aborted = "ptxas fatal   : Ptx assembly aborted due to errors";
    let called = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f(.param .b32 a);\n\
                  .visible .entry k() {\n{ .param .b32 a; st.param.b32 [a], 1; call f, (a); }\nret; }\n";
    let read = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .global .u32 g;\n\
                .visible .entry k() {\n.reg .b32 %r;\nld.global.u32 %r, [g];\nret; }\n";
    vec![
        ("kernel", KERNEL.to_owned(), SM_90, ""),
        ("undefined register", add("add.u32 %r1, %r1, %r9;"), SM_90, "line 12; error   : "),
        ("unknown instruction", add("frob.u32 %r1, %r1, 1;"), SM_90, "line 12; error   : 'frob.u32'"),
        ("unknown type", add("add.u99 %r1, %r1, 1;"), SM_90, "line 12; error   : "),
        ("missing operand", add("add.u32 %r1, %r1;"), SM_90, "line 12; error   : "),
        ("operand of another size", add("add.u32 %r1, %rd1, 1;"), SM_90, "line 12; error   : "),
        ("missing semicolon", add("add.u32 %r1, %r1, 1"), SM_90, "line 13; fatal   : Parsing error near 'st'"),
        ("undefined label", add("bra NOWHERE;"), SM_90, "line 12; error   : 'NOWHERE'"),
        ("missing brace", KERNEL.replace("}\n", ""), SM_90, "fatal   : Parsing error near "),
        ("no text", String::new(), SM_90, "line 1; fatal   : Missing .version directive at start of file 'k.ptx'"),
        (
            "no version",
            KERNEL.replace(".version 8.0\n", ""),
            SM_90,
            "fatal   : Missing .version directive at start of file 'k.ptx'",
        ),
        (
            "new version",
            KERNEL.replace("8.0", "99.0"),
            SM_90,
            "line 1; fatal   : Unsupported .version 99.0; current version is '9.0'",
        ),
        ("target of the architecture", target("sm_90"), SM_90, ""),
        (
            "newer target",
            target("sm_100"),
            SM_90,
            "ptxas fatal   : SM version specified by .target is higher than default SM version assumed",
        ),
        (
            "default architecture",
            KERNEL.to_owned(),
            SM_75,
            "ptxas fatal   : SM version specified by .target is higher than default SM version assumed",
        ),
        ("accelerated target", target("sm_90a"), SM_90A, ""),
        ("target for an accelerated architecture", target("sm_90"), SM_90A, ""),
        (
            "accelerated target elsewhere",
            target("sm_90a"),
            SM_90,
            "ptxas fatal   : PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'",
        ),
        (
            "accelerated target later",
            target("sm_90a"),
            &["-arch=sm_100a"],
            "ptxas fatal   : Program with .target 'sm_90a' cannot be compiled to future architecture",
        ),
        ("entry", KERNEL.to_owned(), &["-arch=sm_90", "-e", "add"], ""),
        ("unknown entry", KERNEL.to_owned(), &["-arch=sm_90", "-e", "sub"], "ptxas fatal   : Unknown function sub"),
        ("extern function", called.to_owned(), SM_90, "ptxas fatal   : Unresolved extern function 'f'"),
        ("extern function in an object", called.to_owned(), OBJECT, ""),
        ("extern variable in an object", read.to_owned(), OBJECT, ""),
        ("error in an object", add("frob.u32 %r1, %r1, 1;"), OBJECT, aborted),
    ]
}

#[test]
fn refusals_name_file_line_and_reason() {
    for (name, text, options, expected) in cases() {
        let (status, err, output) = assemble(&text, options);
        if expected.is_empty() {
            assert_eq!((status, err.as_str(), output.is_some()), (0, "", true), "{name}");
        } else {
            assert_eq!((status, output), (255, None), "{name}: {err}");
            assert!(err.contains(expected), "{name}: {err}");
            assert!(err.starts_with("ptxas k.ptx, line ") || err.starts_with("ptxas fatal   : "), "{name}: {err}");
        }
    }
}

#[test]
fn valid_ptx_without_support_is_named_so() {
    let text = KERNEL.replace("sm_80", "sm_90a").replace("add.u32 %r1, %r1, 1;", "wgmma.fence.sync.aligned;");
    let (status, err, _) = assemble(&text, &["-arch=sm_90a"]);
    assert_eq!(status, 255);
    assert!(err.starts_with("ptxas k.ptx, line 12; error   : 'wgmma.fence.sync.aligned'"), "{err}");
    assert!(err.contains("valid PTX that cuarray-sim does not run"), "{err}");
}

#[test]
fn nvidia_accepts_and_refuses_the_same() {
    let Some(nvidia) = std::env::var_os("NVIDIA_PTXAS") else { return };
    let folder = Folder::new();
    for (name, text, options, expected) in cases() {
        let (input, output) = (folder.file("k.ptx", text), folder.path("k.o"));
        let done = std::process::Command::new(&nvidia).args(options).args([&input, "-o", &output]).output().unwrap();
        let status = done.status.code().unwrap();
        let shown = String::from_utf8_lossy(&done.stderr);
        assert_eq!(status, if expected.is_empty() { 0 } else { 255 }, "{name}: {shown}");
    }
}

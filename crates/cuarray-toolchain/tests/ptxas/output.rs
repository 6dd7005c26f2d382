use crate::{Folder, KERNEL, assemble, ptxas};
use cuarray_ptx::Image;

#[test]
fn output_is_the_ptx_with_a_nul() {
    let (status, err, output) = assemble(KERNEL, &["-arch=sm_90"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let output = output.unwrap();
    assert_eq!(output, [KERNEL.as_bytes(), b"\0"].concat());
    assert_eq!(Image::read(&output).unwrap().modules[0].1, KERNEL);
    // Input with a nul has one nul as output too.
    let (_, _, again) = assemble(std::str::from_utf8(&output).unwrap(), &["-arch=sm_90"]);
    assert_eq!(again.unwrap(), output);
}

#[test]
fn limit_of_registers_is_kept_in_a_linked_image() {
    for (value, limit) in [("40", 40), ("8", 24), ("archmin", 24), ("archmax", 255)] {
        let (status, _, output) = assemble(KERNEL, &["-arch=sm_80", "-maxrregcount", value]);
        assert_eq!(status, 0);
        let image = Image::read(&output.unwrap()).unwrap();
        assert_eq!((image.max_registers, image.modules[0].1.as_str()), (limit, KERNEL), "{value}");
    }
    let (_, err, output) = assemble(KERNEL, &["-arch=sm_80", "-maxrregcount=300"]);
    assert_eq!(err, "ptxas warning : Too big maxrregcount value specified 300, will be ignored\n");
    assert!(output.unwrap().starts_with(b".version"));
}

#[test]
fn several_files_are_one_linked_image() {
    let folder = Folder::new();
    let (one, two) = (
        folder.file("one.ptx", KERNEL),
        folder.file("two.ptx", KERNEL.replace("add(", "sub(").replace("counter", "other")),
    );
    let output = folder.path("both.o");
    assert_eq!(ptxas(&["-arch=sm_80", &one, &two, "-o", &output]).0, 0);
    assert_eq!(Image::read(&std::fs::read(output).unwrap()).unwrap().modules.len(), 2);
    let (status, _, err) = ptxas(&["-arch=sm_80", &one, &one, "-o", &folder.path("twice.o")]);
    assert_eq!(status, 255);
    assert!(err.contains("defined twice"), "{err}");
}

#[test]
fn virtual_architecture_only_checks() {
    for arch in ["-arch=compute_80", "-arch=lto_90"] {
        assert_eq!(assemble(KERNEL, &[arch, "-v"]), (0, String::new(), None));
    }
    assert_eq!(assemble(".version", &["-arch=compute_80"]).0, 255);
}

#[test]
fn output_that_cannot_be_opened_is_an_error() {
    let folder = Folder::new();
    let (input, output) = (folder.file("k.ptx", KERNEL), folder.path("missing/k.o"));
    let (status, _, err) = ptxas(&["-arch=sm_80", &input, "-o", &output]);
    assert_eq!((status, err), (255, format!("ptxas fatal   : Output file '{output}' could not be opened\n")));
}

#[test]
fn verbose_lines_state_registers_and_memory() {
    let (_, err, _) = assemble(KERNEL, &["-arch=sm_90", "-v"]);
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(
        &lines[..4],
        [
            "ptxas info    : 16 bytes gmem",
            "ptxas info    : Compiling entry function 'add' for 'sm_90'",
            "ptxas info    : Function properties for add",
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        ]
    );
    let used = lines[4].strip_prefix("ptxas info    : Used ").unwrap();
    let (registers, rest) = used.split_once(' ').unwrap();
    assert!((3..20).contains(&registers.parse::<u32>().unwrap()), "{used}");
    assert_eq!(rest, "registers, 128 bytes smem");
}

#[test]
fn local_memory_is_reported() {
    let text = KERNEL.replace(".shared .align 4", ".local .align 4").replace("st.shared", "st.local");
    let (_, err, _) = assemble(&text, &["-arch=sm_90", "-v", "-warn-lmem-usage"]);
    assert!(err.starts_with("ptxas warning : Local memory used for function 'add', size of stack frame: 128 bytes\n"));
    assert!(err.contains("    128 bytes stack frame, 0 bytes spill stores"), "{err}");
}

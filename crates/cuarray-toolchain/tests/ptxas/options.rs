use crate::{Folder, KERNEL, assemble, ptxas};

/// The messages of a command line that succeeds.
fn messages(options: &[&str]) -> String {
    let (status, err, output) = assemble(KERNEL, options);
    assert_eq!((status, output.is_some()), (0, true), "{options:?}: {err}");
    err
}

/// The messages of a command line that fails, without those of the end.
fn failure(options: &[&str]) -> String {
    let (status, err, output) = assemble(KERNEL, options);
    assert_eq!((status, output), (255, None), "{options:?}: {err}");
    err
}

#[test]
fn options_of_triton_are_accepted() {
    for line in [
        "-lineinfo -v --regAllocOptLevel=2 --gpu-name=sm_90a",
        "-lineinfo -suppress-debug-info --fmad=false -v --regAllocOptLevel=2 --gpu-name=sm_89",
        "-g -v --opt-level 0 --regAllocOptLevel=2 --gpu-name=sm_80",
        "-lineinfo -v --opt-level 1 --maxrregcount=64 --gpu-name=sm_120a",
    ] {
        let options: Vec<&str> = line.split(' ').collect();
        assert!(messages(&options).contains("Compiling entry function 'add'"), "{line}");
    }
}

#[test]
fn options_of_xla_are_accepted() {
    assert_eq!(messages(&["-arch=sm_90a", "--warn-on-spills"]), "");
    assert_eq!(messages(&["-arch=sm_90", "--warn-on-spills", "-O0", "--generate-line-info"]), "");
    assert!(messages(&["-arch=sm_90", "--warn-on-spills", "-v", "-O2"]).contains("spill stores"));
}

#[test]
fn options_of_nvcc_are_accepted() {
    assert_eq!(messages(&["-arch=sm_90", "-m64"]), "");
    let debug = "-arch=sm_90 -m64 --compile-only -g --dont-merge-basicblocks --return-at-end -w -Werror";
    assert_eq!(messages(&debug.split(' ').collect::<Vec<_>>()), "");
}

#[test]
fn long_names_have_two_dashes_and_short_names_one() {
    assert_eq!(messages(&["--gpu-name", "sm_80", "-fmad", "false", "--opt-level=2", "-m", "64"]), "");
    for (option, shown) in [
        ("--frob", "-frob"),
        ("-frob", "frob"),
        ("-gpu-name=sm_90", "gpu-name"),
        ("--arch=sm_90", "-arch"),
        ("-vfoo", "vfoo"),
        ("--verb", "-verb"),
        ("--", "-"),
    ] {
        assert_eq!(failure(&[option]), format!("ptxas fatal   : Unknown option '{shown}'\n"));
    }
}

#[test]
fn wrong_values_are_refused() {
    for (option, text) in [
        ("--gpu-name=sm_1", "Value 'sm_1' is not defined for option 'gpu-name'"),
        ("-arch=", "Value '' is not defined for option 'gpu-name'"),
        ("-arch=sm_90x", "Value 'sm_90x' is not defined for option 'gpu-name'"),
        ("-arch=sm_80a", "Value 'sm_80a' is not defined for option 'gpu-name'"),
        ("-m32", "Value '32' is not defined for option 'machine'"),
        ("--sanitize=frob", "Value 'frob' is not defined for option 'sanitize'"),
        ("--fmad=maybe", "'maybe': expected true or false"),
        ("--opt-level=x", "'x': expected a number"),
        ("--maxrregcount=abc", "Invalid value 'abc' for option 'maxrregcount'"),
        ("-Ofc=9", "Invalid value for --Ofast-compile/-Ofc (9), is not 'max', 'mid', 'min', or '0'"),
        ("--verbose=1", "no argument expected after '--verbose'"),
    ] {
        assert_eq!(failure(&[option]), format!("ptxas fatal   : {text}\n"));
    }
    let (status, _, err) = ptxas(&["k.ptx", "-o"]);
    assert_eq!((status, err.as_str()), (255, "ptxas fatal   : argument expected after '-o'\n"));
}

#[test]
fn conflicting_options_are_reported() {
    let text = "incompatible redefinition for option 'gpu-name', the last value of this option was used";
    assert_eq!(messages(&["-arch=sm_80", "-arch=sm_90"]), format!("ptxas warning : {text}\n"));
    assert_eq!(messages(&["-arch=sm_80", "-arch=sm_80"]), "");
    assert_eq!(failure(&["-arch=sm_80", "-g", "-O3"]), "ptxas fatal   : Optimized debugging not supported\n");
    let both = ["-arch=sm_80", "-g", "-lineinfo"];
    assert!(messages(&both).starts_with("ptxas warning : Conflicting options --device-debug and"));
    assert_eq!(messages(&[&both[..], &["-w"]].concat()), "");
    assert!(failure(&[&both[..], &["-Werror"]].concat()).starts_with("ptxas error   : Conflicting options"));
}

#[test]
fn options_file_is_read() {
    let folder = Folder::new();
    let inner = folder.file("inner.txt", "--fmad=false");
    let file = folder.file("options.txt", format!("-v\n  \"-arch=sm_80\" -optf {inner}\n"));
    assert!(messages(&["--options-file", &file]).contains("for 'sm_80'"));
    assert_eq!(failure(&["-optf", "missing"]), "ptxas fatal   : Could not open options file 'missing'\n");
    let circle = folder.path("circle.txt");
    folder.file("circle.txt", format!("-optf {circle}"));
    assert_eq!(failure(&["-optf", &circle]), format!("ptxas fatal   : Could not open options file '{circle}'\n"));
}

#[test]
fn version_names_the_release_of_the_driver() {
    let (status, out, err) = ptxas(&["--version"]);
    assert_eq!((status, err.as_str()), (0, ""));
    // Triton and XLA search for these two forms.
    assert!(out.contains("release 13.0, V13.0.0\n"), "{out}");
    assert!(!out.contains("NVIDIA (R)"), "{out}");
    assert_eq!(ptxas(&["-V", "k.ptx"]), (0, out, String::new()));
}

#[test]
fn help_and_lists_are_printed() {
    for arguments in [&["--help"][..], &["-h", "k.ptx"], &[]] {
        let (status, out, err) = ptxas(arguments);
        assert_eq!((status, err.as_str()), (0, ""));
        assert!(out.contains("--gpu-name <gpu name>"), "{out}");
    }
    assert!(ptxas(&["--list-arch"]).1.lines().any(|line| line == "120"));
    let versions = ptxas(&["--list-version"]).1;
    assert_eq!((versions.lines().count(), versions.lines().last()), (44, Some("9.0")));
}

#[test]
fn inputs_are_files_text_and_nothing_else() {
    let (status, _, err) = ptxas(&["missing.ptx"]);
    let text = "ptxas fatal   : Input file 'missing.ptx' could not be opened\n\
                ptxas fatal   : Ptx assembly aborted due to errors\n";
    assert_eq!((status, err.as_str()), (255, text));
    let (status, _, err) = ptxas(&["-v"]);
    assert_eq!(status, 255);
    assert!(err.starts_with("ptxas fatal   : No input files specified"), "{err}");
    let folder = Folder::new();
    let output = folder.path("k.o");
    assert_eq!(ptxas(&["--input-as-string", KERNEL, "-arch=sm_80", "-o", &output]), (0, String::new(), String::new()));
    assert!(std::fs::read(output).unwrap().starts_with(b".version 8.0"));
}

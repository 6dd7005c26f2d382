//! Programs that must not compile. Each file of `compile_errors` is one program. The lines of its head comment are the texts that
//! the compiler's errors contain. A program with the single line `compiles` has no errors.

use std::{env, fs, path::Path, process::Command};

/// The compiler's errors in each program, in the order of `names`.
fn errors_of(names: &[String], cases: &Path) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_errors");
    let attributes = package.join("attributes");
    fs::create_dir_all(&attributes).unwrap();
    let mut manifest = format!(
        "[package]\nname = 'programs'\nversion = '0.0.0'\nedition = '2024'\n[workspace]\n\
         [dependencies]\ncuarray = {{ path = {crates:?} }}\nattributes = {{ path = 'attributes' }}\n"
    );
    for name in names {
        manifest += &format!("[[bin]]\nname = '{name}'\npath = {:?}\n", cases.join(format!("{name}.rs")));
    }
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    let manifest = format!(
        "[package]\nname = 'attributes'\nversion = '0.0.0'\nedition = '2024'\n\
         [lib]\nproc-macro = true\npath = {:?}\n",
        cases.join("attributes.rs")
    );
    fs::write(attributes.join("Cargo.toml"), manifest).unwrap();
    // Uses the versions that this test was built with. Without a lock file, cargo chooses them.
    let _ = fs::copy(crates.join("../../Cargo.lock"), package.join("Cargo.lock"));

    let check = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--keep-going", "--quiet", "--color=never"])
        .args(["--target-dir".as_ref(), package.join("target").as_os_str()])
        .env("RUSTFLAGS", "")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .current_dir(&package)
        .output()
        .unwrap();
    let output = String::from_utf8(check.stderr).unwrap();
    // A report begins with `error` or `warning`, and names its file.
    let mut reports: Vec<String> = Vec::new();
    for line in output.lines() {
        match reports.last_mut() {
            Some(report) if !line.starts_with("error") && !line.starts_with("warning") => *report += line,
            _ => reports.push(line.to_owned()),
        }
        reports.last_mut().unwrap().push('\n');
    }
    let of = |name: &String| {
        let file = format!("/{name}.rs:");
        reports.iter().filter(|report| report.starts_with("error") && report.contains(&file)).cloned().collect()
    };
    let found: Vec<String> = names.iter().map(of).collect();
    assert!(found.iter().any(|errors| !errors.is_empty()), "cargo check reported no error in a program:\n{output}");
    found
}

#[test]
fn programs_fail_to_compile_with_the_stated_errors() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_errors");
    let files = fs::read_dir(&cases).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| name != "attributes");
    names.sort();
    let mut wrong = Vec::new();
    for (name, errors) in names.iter().zip(errors_of(&names, &cases)) {
        let source = fs::read_to_string(cases.join(format!("{name}.rs"))).unwrap();
        let expected: Vec<_> = source.lines().map_while(|line| line.strip_prefix("//! ")).collect();
        assert!(!expected.is_empty(), "{name}.rs does not state its errors");
        if expected == ["compiles"] {
            if !errors.is_empty() {
                wrong.push(format!("{name} does not compile:\n{errors}"));
            }
        } else if let Some(missing) = expected.iter().find(|text| !errors.contains(**text)) {
            wrong.push(format!("{name}: no error contains {missing:?}:\n{errors}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

//! Call sites in programs without Python: the object that made the call and its offset.

#[macro_use]
mod program;
use program::*;

/// Runs calls under a trace and returns the lines that they wrote.
fn traced(name: &str, findings: bool, calls: impl FnOnce(&Program)) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("cuarray-sim-sites-{name}-{}", std::process::id()));
    calls(&Program::with(Config { trace: Some(path.clone()), findings, ..Config::default() }));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The call site that a line names.
fn site(line: &str) -> Option<&str> {
    line.split_once(" from ").map(|(_, site)| site)
}

#[test]
fn site_names_the_calling_object_and_offset() {
    let lines = traced("own", true, |program| {
        for _ in 0..3 {
            program.alloc(8);
        }
        program.stream(0);
    });
    let executable = std::env::current_exe().unwrap();
    let name = executable.file_name().unwrap().to_str().unwrap();
    let of = |symbol: &str| -> Vec<&str> {
        let lines = lines.iter().filter(|line| line.contains(symbol));
        lines.map(|line| site(line).unwrap_or_else(|| panic!("no site in {line}"))).collect()
    };
    let allocations = of("cuMemAlloc_v2");
    assert_eq!(allocations.len(), 3);
    for site in &allocations {
        let (object, offset) = site.strip_suffix(&format!(", called by {name}")).unwrap().split_once('+').unwrap();
        assert!(object.ends_with(name), "{site}");
        assert!(offset.starts_with("0x"), "{site}");
        assert_eq!(*site, allocations[0], "one source line has one site");
    }
    assert_ne!(of("cuStreamCreate")[0], allocations[0]);
}

#[test]
fn two_lines_of_a_function_are_two_sites() {
    let lines = traced("two", true, |program| {
        ok!(program, cuCtxSynchronize());
        ok!(program, cuCtxSynchronize());
    });
    let sites: Vec<&str> =
        lines.iter().filter(|line| line.contains("cuCtxSynchronize")).filter_map(|line| site(line)).collect();
    assert_eq!(sites.len(), 2);
    assert_ne!(sites[0], sites[1]);
}

#[test]
fn queries_have_no_site_and_no_call_has_one_without_findings() {
    let lines = traced("ask", true, |program| {
        let mut device = 0;
        ok!(program, cuCtxGetDevice(&mut device));
    });
    assert_eq!(site(lines.last().unwrap()), None);
    let lines = traced("off", false, |program| {
        program.alloc(8);
    });
    assert!(lines.iter().all(|line| site(line).is_none()), "{lines:?}");
}

#[test]
fn calls_of_other_threads_have_sites() {
    let lines = traced("threads", true, |program| {
        program.in_thread(|program| {
            program.alloc(8);
        })
    });
    assert!(lines.iter().any(|line| line.contains("cuMemAlloc_v2") && site(line).is_some()), "{lines:?}");
}

/// Two unordered fills, in a C program.
const RACE: &str = r#"#include <stddef.h>
typedef int CUresult;
CUresult cuInit(unsigned), cuCtxCreate_v2(void **, unsigned, int), cuMemAlloc_v2(unsigned long long *, size_t);
CUresult cuStreamCreate(void **, unsigned), cuMemsetD8Async(unsigned long long, unsigned char, size_t, void *);

static void fill(unsigned long long memory, unsigned char value) {
    void *stream;
    cuStreamCreate(&stream, 1);
    cuMemsetD8Async(memory, value, 64, stream);
}

int main(void) {
    void *context; unsigned long long memory;
    cuInit(0); cuCtxCreate_v2(&context, 0, 0);
    cuMemAlloc_v2(&memory, 64);
    fill(memory, 1);
    fill(memory, 2);
    return 0;
}
"#;

/// The report of the program above, compiled with these options.
fn report_of_c_program(name: &str, options: &[&str]) -> String {
    let folder = std::env::temp_dir().join(format!("cuarray-sim-c-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("race.c"), RACE).unwrap();
    let driver = std::env::current_exe().unwrap().with_file_name("libcuarray_sim.so");
    std::os::unix::fs::symlink(&driver, folder.join("libcuda.so.1")).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler.current_dir(&folder).args(options).args(["race.c", "-o", "race", "libcuda.so.1"]);
    assert!(compiler.status().unwrap().success());
    let mut program = std::process::Command::new("./race");
    program.current_dir(&folder).env("LD_LIBRARY_PATH", &folder).env("CUARRAY_SIM_LEAKS", "0");
    let output = program.output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
#[cfg_attr(sanitized, ignore = "the library needs a sanitizer's functions, which this C program does not have")]
fn finding_in_a_c_program_names_file_and_line() {
    for (name, options) in [("pie", &["-g"][..]), ("no-pie", &["-g", "-no-pie"]), ("optimized", &["-g", "-O2"])] {
        let report = report_of_c_program(name, options);
        let lines = report.lines().filter(|line| line.contains("race.c:"));
        let lines: Vec<&str> = lines.map(|line| line.rsplit_once("race.c:").unwrap().1).collect();
        // Optimization inlines `fill` into `main`. The line is still that of the call.
        let function = if name == "optimized" { "main" } else { "fill" };
        let fill = format!("9 in {function}");
        assert_eq!(lines, [&*fill, &*fill, "9", "8", "8", "15 in main"], "{name}: {report}");
    }
}

#[test]
#[cfg_attr(sanitized, ignore = "the library needs a sanitizer's functions, which this C program does not have")]
fn finding_without_debug_information_names_object_and_offset() {
    let report = report_of_c_program("stripped", &["-s"]);
    assert!(report.contains("./race+0x") && !report.contains("race.c"), "{report}");
}

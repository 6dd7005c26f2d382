//! Calls after the end of the driver: a process makes them in a handler of `atexit` that runs after that of the driver.
//!
//! Handlers run in the reverse order of their registration. The driver registers its own in the first call, so a handler that
//! is registered earlier runs later.

use super::calls::CALLS;
use super::*;
use std::io::Write as _;
use std::process::Command;
use std::sync::OnceLock;

/// The name of the file for the outcomes, in the environment of the child process.
const ANSWERS: &str = "CUARRAY_TEST_ANSWERS";

/// The entry points, and the addresses of the functions that the driver refuses.
static FUNCTIONS: OnceLock<(Api, Vec<(&'static str, usize)>)> = OnceLock::new();

extern "C" fn call_everything() {
    let (api, refused) = FUNCTIONS.get().unwrap();
    let mut file = std::fs::File::create(std::env::var(ANSWERS).unwrap()).unwrap();
    for call in CALLS {
        // SAFETY: zero is a value of every parameter. A null pointer is an argument that the driver must refuse.
        let result = unsafe { call.call(api, &vec![0; call.parameters.len()]) };
        writeln!(file, "{} {}", call.symbol, result.name().unwrap()).unwrap();
    }
    for (symbol, address) in refused {
        // SAFETY: the driver returned the address of this function, which reads no argument.
        let function: extern "C" fn() -> CUresult = unsafe { std::mem::transmute(*address) };
        writeln!(file, "{symbol} {}", function().name().unwrap()).unwrap();
    }
}

/// The body of a child process.
#[test]
#[ignore = "calls_after_the_end_of_the_driver_are_refused runs it"]
fn process_that_calls_everything_at_its_end() {
    // SAFETY: the handler is a function of this program, which ends with the process.
    assert_eq!(unsafe { libc::atexit(call_everything) }, 0);
    let api = Sim::new(Config::default()).api();
    let mut refused = Vec::new();
    for entry in UNSUPPORTED_ENTRY_POINTS {
        let name = std::ffi::CString::new(entry.name).unwrap();
        let (mut address, mut status) = (std::ptr::null_mut(), 0);
        // SAFETY: the arguments are those of the manual.
        let found =
            unsafe { api.cuGetProcAddress_v2.unwrap()(name.as_ptr(), &mut address, entry.since, 1, &mut status) };
        assert!(found.is_success() && !address.is_null(), "{}", entry.symbol);
        refused.push((entry.symbol, address as usize));
    }
    // SAFETY: the flags are 0.
    assert!(unsafe { api.cuInit.unwrap()(0) }.is_success());
    assert!(FUNCTIONS.set((api, refused)).is_ok());
    std::process::exit(0);
}

/// The outcomes of all functions, made in a child process once.
pub fn outcomes() -> &'static [(String, String)] {
    static MADE: OnceLock<Vec<(String, String)>> = OnceLock::new();
    MADE.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("cuarray-sim-outcomes-{}", std::process::id()));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "error_codes::teardown::process_that_calls_everything_at_its_end",
            "--exact",
            "--ignored",
            "--nocapture",
        ]);
        let output = command.env(ANSWERS, &path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    })
}

#[test]
fn calls_after_the_end_of_the_driver_are_refused() {
    let outcomes = outcomes();
    assert_eq!(outcomes.len(), CALLS.len() + UNSUPPORTED_ENTRY_POINTS.len());
    for (symbol, code) in outcomes {
        assert_eq!(code, "CUDA_ERROR_DEINITIALIZED", "{symbol}");
    }
}

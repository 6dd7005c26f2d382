//! The program `ptxas`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // An argument that is not UTF-8 can only be a file name that does not exist.
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    cuarray_stand_in::report_use("ptxas");
    let driver = std::env::var("CUARRAY_SIM_DRIVER_VERSION").ok().and_then(|value| value.trim().parse().ok());
    let run = cuarray_toolchain::ptxas::Ptxas { driver_version: driver.unwrap_or(13050) };
    ExitCode::from(run.run(&arguments, &mut std::io::stdout().lock(), &mut std::io::stderr().lock()))
}

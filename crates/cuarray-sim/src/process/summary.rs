//! The lines that end a run: what was not checked, and suppressions that nothing needed.
//!
//! A run without findings proves little if the program never reached the driver, or if a part of it was not searched.

use crate::config::Config;
use crate::driver::Driver;
use crate::host_access::valgrind;
use crate::process::family;
use crate::site;
use crate::state::State;
use cuarray_abi::ENTRY_POINTS;
use cuarray_races::finding::Report;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is to end with the whole summary.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Requests the lines about unused parts: programs that made no call, and suppressions without a finding.
pub(crate) fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Why this process has nothing to report, if the program used no driver function, or only looked for a driver.
pub(super) fn unused(driver: &Driver) -> Option<&'static str> {
    let mut looked = false;
    for (entry, calls) in ENTRY_POINTS.iter().zip(&driver.calls_of) {
        if calls.load(Ordering::Relaxed) > 0 {
            if !entry.flags.looks {
                return None;
            }
            looked = true;
        }
    }
    Some(match looked {
        true => "this process looked for a driver and used none of its functions, so nothing was checked",
        false => "this process made no driver call, so nothing was checked",
    })
}

/// The parts of the run that were not checked, as sentences without a full stop.
pub(crate) fn unchecked(driver: &Driver, state: &State) -> Vec<String> {
    let unused_by_all = unused(driver).filter(|_| !family::descendant_reported());
    let mut lines: Vec<String> = unused_by_all.map(str::to_owned).into_iter().collect();
    let count = |count: u64, one: &str, several: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    };
    let whose = |count: u64| if count == 1 { "its" } else { "their" };
    let machine_code = driver.refused_machine_code.load(Ordering::Relaxed);
    if machine_code > 0 {
        let images = count(machine_code, "image with machine code was", "images with machine code were");
        lines.push(format!("{images} refused: {} kernels did not run", whose(machine_code)));
    }
    let ptx = driver.refused_ptx.load(Ordering::Relaxed);
    if ptx > 0 {
        lines.push(format!(
            "{} refused: {} kernels did not run",
            count(ptx, "PTX module was", "PTX modules were"),
            whose(ptx)
        ));
    }
    let runtimes = driver.refused_runtimes.lock().unwrap_or_else(PoisonError::into_inner);
    if !runtimes.is_empty() {
        let names = runtimes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        lines.push(format!("NVIDIA's CUDA runtime was refused inside of {names}: its calls did nothing"));
    }
    drop(runtimes);
    if let Some(version) = site::unreadable_python() {
        lines.push(format!("findings have no lines of Python: the frames of Python {version} cannot be read"));
    }
    let partly = state.code.partly_searched;
    if partly.launches > 0 {
        let (searched, touched) = (partly.searched >> 20, partly.touched >> 20);
        let launches = count(partly.launches, "launch", "launches");
        lines.push(format!("races between blocks: watched about {searched} of {touched} MB of {launches} (CUARRAY_SIM_KERNEL_RACES_MEMORY)"));
    }
    let watches = |config: &Config| config.findings && config.host_accesses;
    if driver.config.as_ref().is_ok_and(watches) && unused(driver).is_none() && valgrind::executes_process() {
        lines.push("the host's own accesses were not watched, because valgrind executes the program".to_owned());
    }
    // Allocations share pages there, so the page of an access does not name its allocation.
    if driver.config.as_ref().is_ok_and(|config| config.host_readable && config.findings) && unused(driver).is_none() {
        let line = match state.host_accesses_reported {
            true => {
                "accesses of the host to device memory were compared with device work in calls of MPI only (CUARRAY_SIM_HOST_READABLE=1)"
            }
            false => {
                "accesses of the host to device memory were not compared with device work (CUARRAY_SIM_HOST_READABLE=1)"
            }
        };
        lines.push(line.to_owned());
    }
    lines
}

/// The last lines of a process.
pub(crate) fn lines(driver: &Driver, report: Option<&Report>) -> Vec<String> {
    let all = REQUESTED.load(Ordering::Relaxed);
    let mut lines = match driver.try_lock() {
        Some(state) => unchecked(driver, &state),
        None => Vec::new(),
    };
    if !all {
        // Other programs may load the driver for its version only.
        lines.retain(|line| unused(driver) != Some(line));
    } else if let (Some(report), Ok(Config { suppressions_file: Some(path), .. })) = (report, &driver.config) {
        let unused = report.suppressed.iter().filter(|line| line.count == 0);
        lines.extend(
            unused.map(|line| format!("{}:{}: nothing was suppressed by: {}", path.display(), line.line, line.text)),
        );
    }
    if all {
        lines.extend(site::runtimes_seen().iter().map(|path| format!("the CUDA runtime was {path}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects;
    use crate::objects::code::Partly;

    #[test]
    fn launches_that_were_searched_in_part_have_a_line() {
        let driver = Driver::new(Ok(Config::default()), effects::execute);
        let watched = |launches| {
            let mut state = driver.lock();
            state.code.partly_searched = Partly { launches, touched: 40 << 20, searched: 20 << 20 };
            let lines = unchecked(&driver, &state);
            lines.into_iter().filter(|line| line.contains("watched")).collect::<Vec<_>>()
        };
        assert_eq!(
            watched(1),
            ["races between blocks: watched about 20 of 40 MB of 1 launch (CUARRAY_SIM_KERNEL_RACES_MEMORY)"]
        );
        assert_eq!(
            watched(3),
            ["races between blocks: watched about 20 of 40 MB of 3 launches (CUARRAY_SIM_KERNEL_RACES_MEMORY)"]
        );
        assert!(watched(0).is_empty());
    }

    #[test]
    fn host_accesses_to_readable_device_memory_have_a_line_once_the_driver_is_used() {
        let lines = |host_readable, findings, uses: bool| {
            let driver = Driver::new(Ok(Config { host_readable, findings, ..Config::default() }), effects::execute);
            let allocates = |entry: &&cuarray_abi::EntryPoint| entry.symbol == "cuMemAlloc_v2";
            let entry = ENTRY_POINTS.iter().position(|entry| allocates(&entry)).unwrap();
            driver.calls_of[entry].fetch_add(u64::from(uses), Ordering::Relaxed);
            let state = driver.lock();
            unchecked(&driver, &state).into_iter().filter(|line| line.contains("HOST_READABLE")).count()
        };
        assert_eq!(lines(true, true, true), 1);
        assert_eq!([lines(false, true, true), lines(true, false, true), lines(true, true, false)], [0, 0, 0]);
    }
}

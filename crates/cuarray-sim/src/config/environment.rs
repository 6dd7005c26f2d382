//! Settings from environment variables.

use super::{CAPABILITIES, Config, Fault, HostOrder, LEAST_MEMORY, MOST_MEMORY};
use cuarray_abi::CUresult;
use cuarray_ptx::{Code, KernelOrder};
use cuarray_races::report::Format;
use cuarray_races::suppression;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

impl Config {
    /// Reads the settings from this process's environment.
    ///
    /// # Errors
    /// A sentence that names the variable, its value and the valid values; or an unknown variable `CUARRAY_SIM_*`.
    pub fn from_env() -> Result<Config, String> {
        let settings = RefCell::new(Vec::new());
        let config = Config::from_variables(|name| {
            settings.borrow_mut().push(name.to_owned());
            match std::env::var_os(name) {
                None => Ok(None),
                Some(value) => match value.into_string() {
                    Ok(value) => Ok((!value.is_empty() || name == VISIBLE).then_some(value)),
                    Err(value) => Err(format!("{name}={} is not text", value.display())),
                },
            }
        })?;
        refuse_others(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()), &settings.into_inner())?;
        Ok(config)
    }

    /// Reads the settings from `variable`, which returns the value of each name, or `None` for the default.
    ///
    /// # Errors
    /// As for [`Config::from_env`], and for settings that [`Config::check`] refuses.
    pub fn from_variables(variable: impl Fn(&str) -> Result<Option<String>, String>) -> Result<Config, String> {
        let mut config = Config::default();
        let settings = Settings { variable };
        settings.driver(&mut config)?;
        settings.kernels(&mut config)?;
        settings.order(&mut config)?;
        settings.output(&mut config)?;
        settings.identity(&mut config)?;
        config.visible = (settings.variable)(VISIBLE)?.map(|value| visible(&value, config.devices));
        config.check()?;
        Ok(config)
    }
}

/// The settings as a function that returns the value of each name.
struct Settings<F> {
    variable: F,
}

impl<F: Fn(&str) -> Result<Option<String>, String>> Settings<F> {
    /// Takes the value of a setting, if it has one.
    ///
    /// # Errors
    /// A sentence that names the setting, its value, and what is expected.
    fn read(&self, name: &'static str, expected: &str, take: &mut dyn FnMut(&str) -> Option<()>) -> Result<(), String> {
        let Some(value) = (self.variable)(name)? else { return Ok(()) };
        take(value.trim()).ok_or_else(|| format!("{name}={value} is not valid; {expected} is expected"))
    }

    /// The devices, and what the driver reports of host accesses.
    fn driver(&self, config: &mut Config) -> Result<(), String> {
        self.read("CUARRAY_SIM_DEVICES", "a number of devices, 1 to 8", &mut |value| {
            config.devices = value.parse().ok()?;
            (1..=8).contains(&config.devices).then_some(())
        })?;
        self.read("CUARRAY_SIM_HOST_READABLE", "0 or 1", &mut |value| switch(value, &mut config.host_readable))?;
        self.read("CUARRAY_SIM_PAGEABLE_MEMORY", "0 or 1", &mut |value| switch(value, &mut config.pageable_memory))?;
        self.read("CUARRAY_SIM_QUIET", "0 or 1", &mut |value| switch(value, &mut config.quiet))?;
        self.read("CUARRAY_SIM_FINDINGS", "0 or 1", &mut |value| switch(value, &mut config.findings))?;
        self.read("CUARRAY_SIM_HOST_ACCESSES", "0 or 1", &mut |value| switch(value, &mut config.host_accesses))?;
        Ok(())
    }

    /// How kernels run, and what of them is searched.
    fn kernels(&self, config: &mut Config) -> Result<(), String> {
        self.read("CUARRAY_SIM_KERNEL_RACES", "0, 1 or strict", &mut |value| {
            config.strict_kernel_races = value == "strict";
            switch(if config.strict_kernel_races { "1" } else { value }, &mut config.kernel_races)
        })?;
        self.read("CUARRAY_SIM_KERNEL_RACES_MEMORY", "a number of bytes, or 0", &mut |value| {
            config.kernel_races_memory = value.parse().ok()?;
            Some(())
        })?;
        self.read("CUARRAY_SIM_GUESSED_READS", "0 or 1", &mut |value| switch(value, &mut config.guessed_reads))?;
        self.read("CUARRAY_SIM_REFUSALS", "0 or 1", &mut |value| switch(value, &mut config.refusals))?;
        self.read("CUARRAY_SIM_STRAY_READS", "fail or poison", &mut |value| {
            config.poisons_stray_reads = value == "poison";
            matches!(value, "fail" | "poison").then_some(())
        })?;
        self.read("CUARRAY_SIM_KERNEL_ORDER", "forward, reverse, random:SEED or all", &mut |value| {
            config.every_kernel_order = value == "all";
            config.kernel_order = match value {
                "forward" | "all" => KernelOrder::Forward,
                "reverse" => KernelOrder::Reverse,
                _ => KernelOrder::Random(value.strip_prefix("random:")?.parse().ok()?),
            };
            Some(())
        })?;
        self.read("CUARRAY_SIM_LAUNCH_BUDGET", "a number of instructions, at least 1", &mut |value| {
            config.launch_budget = value.parse().ok().filter(|budget| *budget > 0)?;
            Some(())
        })?;
        self.read("CUARRAY_SIM_LAUNCH_SECONDS", "a number of seconds, more than 0", &mut |value| {
            config.launch_seconds = seconds(value)?;
            Some(())
        })?;
        self.read("CUARRAY_SIM_INTERRUPTS", "0 or 1", &mut |value| switch(value, &mut config.interrupts))?;
        self.read("CUARRAY_SIM_MEMORY_WAIT", "a number of seconds, more than 0", &mut |value| {
            config.memory_wait = seconds(value)?;
            Some(())
        })?;
        self.read("CUARRAY_SIM_CORES", "a number of threads, 0 to 1024", &mut |value| {
            config.cores = value.parse().ok().filter(|cores| *cores <= 1024)?;
            Some(())
        })?;
        self.read("CUARRAY_SIM_GENERATED_CODE", "0, 1 or always", &mut |value| {
            config.code = match value {
                "0" => Code::Interpreted,
                "1" => Code::GeneratedIfWorth,
                "always" => Code::Generated,
                _ => return None,
            };
            Some(())
        })?;
        Ok(())
    }

    /// The memory, and the order of work.
    fn order(&self, config: &mut Config) -> Result<(), String> {
        self.read("CUARRAY_SIM_MEMORY", "a number of bytes, 1048576 to 1099511627776", &mut |value| {
            config.memory = value.parse().ok()?;
            (LEAST_MEMORY..=MOST_MEMORY).contains(&config.memory).then_some(())
        })?;
        if let Some(value) = (self.variable)("CUARRAY_SIM_SCHEDULE")? {
            config.schedule = value.trim().parse().map_err(|wrong| format!("CUARRAY_SIM_SCHEDULE={value}: {wrong}"))?;
        }
        self.read("CUARRAY_SIM_SCHEDULE_FILE", "the path of a file that can be written", &mut |value| {
            config.schedule_file = Some(written_at_exit(value)?);
            Some(())
        })?;
        self.read("CUARRAY_SIM_LEAKS", "0 or 1", &mut |value| switch(value, config.leaks.insert(true)))?;
        self.read("CUARRAY_SIM_FREE_SYNCHRONIZES", "0 or 1", &mut |value| {
            switch(value, &mut config.free_synchronizes)
        })?;
        self.read("CUARRAY_SIM_HOST_ORDER", "calls or driver", &mut |value| {
            config.host_order = match value {
                "calls" => HostOrder::Calls,
                "driver" => HostOrder::Driver,
                _ => return None,
            };
            Some(())
        })?;
        Ok(())
    }

    /// The files that the driver writes, and which findings count.
    fn output(&self, config: &mut Config) -> Result<(), String> {
        let expected = "a file that ends with .txt, .json, .html, .sarif or .trace.json and can be written";
        self.read("CUARRAY_SIM_REPORT", expected, &mut |value| {
            config.report = Some(written_at_exit(value)?);
            Format::of(Path::new(value)).map(drop)
        })?;
        self.read("CUARRAY_SIM_EXIT_STATUS", "an exit status, 1 to 255", &mut |value| {
            config.exit_status = Some(value.parse().ok().filter(|status| *status != 0)?);
            Some(())
        })?;
        if let Some(path) = (self.variable)("CUARRAY_SIM_SUPPRESSIONS")? {
            config.suppressions_file = Some(PathBuf::from(&path));
            let lines = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            config.suppressions = lines
                .and_then(|lines| suppression::parse(&lines))
                .map_err(|wrong| format!("CUARRAY_SIM_SUPPRESSIONS={path}: {wrong}"))?;
        }
        for name in OF_THE_PACKAGE {
            self.read(name, "0 or 1", &mut |value| switch(value, &mut true))?;
        }
        // Sites are captured without a driver, so `site` reads the value itself.
        self.read(
            "CUARRAY_SIM_SKIP_FRAMES",
            "patterns of functions, files or objects, separated by colons",
            &mut |value| (!value.is_empty()).then_some(()),
        )?;
        self.read("CUARRAY_SIM_TRACE", "the path of a file", &mut |value| {
            config.trace = Some(PathBuf::from(value));
            Some(())
        })?;
        Ok(())
    }

    /// The identity of the driver and its devices, and its faults.
    fn identity(&self, config: &mut Config) -> Result<(), String> {
        self.read(
            "CUARRAY_SIM_COMPUTE_CAPABILITY",
            "7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 11.0, 12.0 or 12.1",
            &mut |value| {
                let (major, minor) = value.split_once('.')?;
                config.compute_capability = (major.parse().ok()?, minor.parse().ok()?);
                CAPABILITIES.contains(&config.compute_capability).then_some(())
            },
        )?;
        self.read("CUARRAY_SIM_MULTIPROCESSORS", "a number of multiprocessors, 1 to 1024", &mut |value| {
            config.multiprocessors = value.parse().ok()?;
            (1..=1024).contains(&config.multiprocessors).then_some(())
        })?;
        self.read("CUARRAY_SIM_DRIVER_VERSION", "1000 × major + 10 × minor, 11020 to 13999", &mut |value| {
            config.driver_version = value.parse().ok()?;
            (11020..14000).contains(&config.driver_version).then_some(())
        })?;
        self.read(
            "CUARRAY_SIM_FAULTS",
            "symbol:call:result[,...], as cuMemAlloc_v2:3:CUDA_ERROR_OUT_OF_MEMORY",
            &mut |value| {
                config.faults = value.split(',').map(|fault| fault.trim().parse().ok()).collect::<Option<_>>()?;
                Some(())
            },
        )?;
        Ok(())
    }
}

/// The switches that the Python package reads.
const OF_THE_PACKAGE: [&str; 19] = [
    "CUARRAY_SIM_RUNTIME",
    "CUARRAY_SIM_CUDA_BINDINGS",
    "CUARRAY_SIM_CUPY",
    "CUARRAY_SIM_TORCH_ON_HOST",
    "CUARRAY_SIM_VERBOSE",
    "CUARRAY_SIM_NVJITLINK",
    "CUARRAY_SIM_NVRTC",
    "CUARRAY_SIM_PTXAS",
    "CUARRAY_SIM_NVML",
    "CUARRAY_SIM_CUDNN",
    "CUARRAY_SIM_CUBLAS",
    "CUARRAY_SIM_CUBLASLT",
    "CUARRAY_SIM_CUFFT",
    "CUARRAY_SIM_CURAND",
    "CUARRAY_SIM_CUSOLVER",
    "CUARRAY_SIM_CUSPARSE",
    "CUARRAY_SIM_NCCL",
    "CUARRAY_SIM_MPI",
    "CUARRAY_SIM_XLA",
];

/// The variable with which CUDA programs select devices; an empty value selects none.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// The devices that a value of [`VISIBLE`] names. By the driver's manual, the first invalid name ends the list.
fn visible(value: &str, devices: usize) -> Vec<usize> {
    let named = |name: &str| match name.trim().strip_prefix("GPU-") {
        None => name.trim().parse().ok(),
        Some("") => None,
        Some(start) => {
            (0..devices).find(|device| crate::config::identity::uuid_text(*device as i32).starts_with(start))
        }
    };
    let mut seen = Vec::new();
    for device in value.split(',').map_while(|name| named(name).filter(|device| *device < devices)) {
        // A duplicate makes the whole list empty.
        if seen.contains(&device) {
            return Vec::new();
        }
        seen.push(device);
    }
    seen
}

/// The path of a file that is written at process exit. It is made absolute, because the program may change its
/// directory, and it must be writable now, because exit is too late for an error.
fn written_at_exit(value: &str) -> Option<PathBuf> {
    let path = std::path::absolute(value).ok()?;
    let number = std::process::id().to_string();
    can_be_written(&path.with_file_name(path.file_name()?.to_string_lossy().replace("%p", &number))).then_some(path)
}

/// Whether a file can be written. If it is missing, another file of its folder is made and removed: other processes may ask for the same file
/// now, or write it.
fn can_be_written(path: &Path) -> bool {
    let open = |path: &Path, make| std::fs::OpenOptions::new().append(true).create(make).open(path);
    match open(path, false) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let beside = path.with_file_name(format!(".cuarray-sim-{}", std::process::id()));
            let made = open(&beside, true).is_ok();
            // Another thread of this process may have removed it.
            let _ = std::fs::remove_file(beside);
            made
        }
        result => result.is_ok(),
    }
}

/// Refuses variables that begin with `CUARRAY_SIM_` and are not in `settings`.
///
/// # Errors
/// A sentence that names such a variable.
fn refuse_others(mut names: impl Iterator<Item = String>, settings: &[String]) -> Result<(), String> {
    match names.find(|name| name.starts_with("CUARRAY_SIM_") && !settings.contains(name)) {
        Some(other) => {
            let nearest = settings.iter().map(|setting| (edits(&other, setting), setting)).min();
            let meant = match nearest.filter(|(edits, _)| *edits <= 4) {
                Some((_, setting)) => format!("did you mean {setting}? "),
                None => String::new(),
            };
            Err(format!("{other} is not a setting; {meant}the settings are {}", settings.join(", ")))
        }
        None => Ok(()),
    }
}

/// The number of characters to insert, remove, replace or swap with a neighbour that turn one name into another.
fn edits(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut rows = vec![(0..=other.len()).collect::<Vec<_>>()];
    for i in 0..one.len() {
        let mut row = vec![i + 1];
        for j in 0..other.len() {
            let replaced = rows[i][j] + usize::from(one[i] != other[j]);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && one[i] == other[j - 1] && one[i - 1] == other[j] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

fn seconds(value: &str) -> Option<Duration> {
    let seconds = value.parse().ok().filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn switch(value: &str, setting: &mut bool) -> Option<()> {
    *setting = match value {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    Some(())
}

impl FromStr for Fault {
    type Err = ();

    /// Reads `symbol:call:result`; the result is a name or a number.
    fn from_str(text: &str) -> Result<Fault, ()> {
        let parts: Vec<&str> = text.split(':').collect();
        let [symbol, call, result] = parts[..] else { return Err(()) };
        let result = match result.parse() {
            Ok(code) => CUresult(code),
            Err(_) => (0..1000).map(CUresult).find(|code| code.name() == Some(result)).ok_or(())?,
        };
        Ok(Fault { symbol: symbol.to_owned(), call: call.parse().map_err(drop)?, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    fn from(variables: &[(&str, &str)]) -> Result<Config, String> {
        Config::from_variables(|name| {
            Ok(variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        })
    }

    #[test]
    fn no_variables_give_the_defaults() {
        assert_eq!(from(&[]), Ok(Config::default()));
    }

    #[test]
    fn each_variable_is_read() {
        let config = from(&[
            ("CUARRAY_SIM_DEVICES", "8"),
            ("CUARRAY_SIM_HOST_READABLE", "1"),
            ("CUARRAY_SIM_PAGEABLE_MEMORY", "1"),
            ("CUARRAY_SIM_FINDINGS", "0"),
            ("CUARRAY_SIM_HOST_ACCESSES", "0"),
            ("CUARRAY_SIM_KERNEL_RACES", "0"),
            ("CUARRAY_SIM_KERNEL_RACES_MEMORY", "4096"),
            ("CUARRAY_SIM_GUESSED_READS", "1"),
            ("CUARRAY_SIM_REFUSALS", "0"),
            ("CUARRAY_SIM_STRAY_READS", "poison"),
            ("CUARRAY_SIM_KERNEL_ORDER", "random:7"),
            ("CUARRAY_SIM_LAUNCH_SECONDS", "2.5"),
            ("CUARRAY_SIM_INTERRUPTS", "1"),
            ("CUARRAY_SIM_MEMORY", "1073741824"),
            ("CUARRAY_SIM_SCHEDULE", "eager"),
            ("CUARRAY_SIM_COMPUTE_CAPABILITY", "7.5"),
            ("CUARRAY_SIM_MULTIPROCESSORS", "4"),
            ("CUARRAY_SIM_DRIVER_VERSION", "12040"),
            ("CUARRAY_SIM_FAULTS", "cuMemAlloc_v2:3:CUDA_ERROR_OUT_OF_MEMORY, cuInit:1:999"),
        ])
        .unwrap();
        assert_eq!((config.devices, config.host_readable, config.memory), (8, true, 1 << 30));
        assert!(config.pageable_memory);
        assert!(!config.findings && !config.host_accesses && !config.kernel_races && config.guessed_reads);
        assert_eq!((config.launch_seconds, config.interrupts), (Duration::from_millis(2500), true));
        assert!(!config.refusals && config.poisons_stray_reads);
        assert_eq!((config.kernel_races_memory, config.kernel_order), (4096, KernelOrder::Random(7)));
        assert_eq!((config.schedule, config.compute_capability), (Schedule::Eager, (7, 5)));
        assert_eq!(config.multiprocessors, 4);
        let result = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        assert_eq!(config.faults[0], Fault { symbol: "cuMemAlloc_v2".into(), call: 3, result });
        assert_eq!(config.faults[1].result, CUresult::CUDA_ERROR_UNKNOWN);
    }

    #[test]
    fn visible_devices_are_selected_by_the_rules_of_the_driver() {
        let visible = |value| {
            let variables = [("CUARRAY_SIM_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", value)];
            from(&variables).unwrap().visible
        };
        assert_eq!(visible("2,0"), Some(vec![2, 0]));
        assert_eq!(visible("1,4,0"), Some(vec![1]));
        assert_eq!(visible("-1"), Some(vec![]));
        assert_eq!(visible(""), Some(vec![]));
        assert_eq!(visible("1,1"), Some(vec![]));
        let uuid = format!("GPU-{}", crate::config::identity::uuid_text(3));
        assert_eq!(visible(&uuid), Some(vec![3]));
        assert_eq!(from(&[]).unwrap().visible, None);
    }

    #[test]
    fn file_that_others_ask_for_at_the_same_time_can_be_written() {
        let path = std::env::temp_dir().join(format!("cuarray-sim-asked-{}.json", std::process::id()));
        let ask = || (0..1000).all(|_| can_be_written(&path));
        let all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().all(|thread| thread.join().unwrap())
        });
        assert!(all && !path.exists());
    }

    #[test]
    fn exit_files_need_an_existing_folder() {
        let folder = std::env::temp_dir();
        let good = folder.join("out.html").display().to_string();
        assert_eq!(from(&[("CUARRAY_SIM_REPORT", &good)]).unwrap().report, Some(good.into()));
        // The path is relative to the directory at the start, whatever the directory at exit.
        let expected = std::env::current_dir().unwrap().join("out.%p.txt");
        assert_eq!(from(&[("CUARRAY_SIM_REPORT", "out.%p.txt")]).unwrap().report, Some(expected));
        for name in ["CUARRAY_SIM_REPORT", "CUARRAY_SIM_SCHEDULE_FILE"] {
            let message = from(&[(name, "/no/such/folder/out.txt")]).unwrap_err();
            assert!(message.contains("can be written"), "{message}");
        }
    }

    #[test]
    fn unknown_variable_is_named_in_the_error() {
        let settings = ["CUARRAY_SIM_DEVICES", "CUARRAY_SIM_REPORT"].map(String::from);
        let refused = |name: &str| refuse_others(["PATH".to_owned(), name.to_owned()].into_iter(), &settings);
        assert_eq!(refused("CUARRAY_SIM_REPORT"), Ok(()));
        assert_eq!(refused("CUARRAY_SYNC"), Ok(()));
        let message = "CUARRAY_SIM_REPROT is not a setting; did you mean CUARRAY_SIM_REPORT? the settings are CUARRAY_SIM_DEVICES, CUARRAY_SIM_REPORT";
        assert_eq!(refused("CUARRAY_SIM_REPROT"), Err(message.to_owned()));
    }

    #[test]
    fn strict_search_for_kernel_races_is_a_value_of_its_switch() {
        for (value, expected) in [("0", (false, false)), ("1", (true, false)), ("strict", (true, true))] {
            let config = from(&[("CUARRAY_SIM_KERNEL_RACES", value)]).unwrap();
            assert_eq!((config.kernel_races, config.strict_kernel_races), expected);
        }
    }

    #[test]
    fn invalid_value_is_named_in_the_error() {
        for (name, value) in [
            ("CUARRAY_SIM_DEVICES", "9"),
            ("CUARRAY_SIM_DEVICES", "two"),
            ("CUARRAY_SIM_HOST_READABLE", "yes"),
            ("CUARRAY_SIM_PAGEABLE_MEMORY", "hmm"),
            ("CUARRAY_SIM_FINDINGS", "all"),
            ("CUARRAY_SIM_HOST_ACCESSES", "reads"),
            ("CUARRAY_SIM_REFUSALS", "all"),
            ("CUARRAY_SIM_STRAY_READS", "1"),
            ("CUARRAY_SIM_KERNEL_RACES", "shared"),
            ("CUARRAY_SIM_KERNEL_RACES_MEMORY", "all"),
            ("CUARRAY_SIM_MEMORY", "1"),
            ("CUARRAY_SIM_LAUNCH_SECONDS", "0"),
            ("CUARRAY_SIM_INTERRUPTS", "yes"),
            ("CUARRAY_SIM_KERNEL_ORDER", "backward"),
            ("CUARRAY_SIM_KERNEL_ORDER", "random:x"),
            ("CUARRAY_SIM_SCHEDULE", "late"),
            ("CUARRAY_SIM_SCHEDULE", "random:-1"),
            ("CUARRAY_SIM_SCHEDULE", "replay:2:2"),
            ("CUARRAY_SIM_COMPUTE_CAPABILITY", "10.1"),
            ("CUARRAY_SIM_MULTIPROCESSORS", "0"),
            ("CUARRAY_SIM_DRIVER_VERSION", "13"),
            ("CUARRAY_SIM_RUNTIME", "no"),
            ("CUARRAY_SIM_CUDA_BINDINGS", "no"),
            ("CUARRAY_SIM_CUPY", "no"),
            ("CUARRAY_SIM_FAULTS", "cuMemAlloc_v2"),
            ("CUARRAY_SIM_FAULTS", "cuMemAlloc:1:CUDA_ERROR_OUT_OF_MEMORY"),
            ("CUARRAY_SIM_FAULTS", "cuMemAlloc_v2:0:2"),
        ] {
            let message = from(&[(name, value)]).unwrap_err();
            assert!(message.contains(value.split(':').next().unwrap()), "{message}");
        }
    }
}

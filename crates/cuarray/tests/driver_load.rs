//! Finding and loading a driver, and the errors if there is none.
//!
//! `Driver::load` depends on the process: its environment, its loaded libraries, and its loader. So these tests run
//! this program again, as [`child_process_loads_a_driver`], in their own environment.

use cuarray::{DeviceArray, Driver, Error, Stream};
use cuarray_abi::{Api, CUresult};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    ptr,
};

/// A directory of one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let path = env::temp_dir().join(format!("cuarray-driver-load-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The body of a child process, not a test: loads a driver and prints the result.
#[test]
#[ignore = "run by the other tests, in environments that they prepare"]
fn child_process_loads_a_driver() {
    // Another library of the process loads a driver first, by its absolute path.
    let preloaded = env::var_os("PRELOAD").map(|path| {
        // SAFETY: the tests name the simulator here.
        unsafe { libloading::os::unix::Library::new(path) }.unwrap()
    });
    match Driver::load() {
        Ok(driver) => println!(
            "\nloaded {} version {} devices {:?}",
            driver.path().unwrap().display(),
            driver.version().unwrap(),
            driver.devices().map(|devices| devices.len()).map_err(|error| error.to_string())
        ),
        Err(error) => println!("\n{} {:?}: {error}", error.is_no_driver(), error.driver_code()),
    }
    std::mem::forget(preloaded);
}

/// The output of [`child_process_loads_a_driver`] with these variables. Removes other variables that affect the search.
fn load_with(variables: &[(&str, &Path)]) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child_process_loads_a_driver", "--ignored", "--nocapture", "--test-threads=1"]);
    for name in
        ["CUARRAY_DRIVER", "LD_LIBRARY_PATH", "LD_PRELOAD", "PRELOAD", "CUARRAY_SIM_FAULTS", "CUARRAY_SIM_DEVICES"]
    {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn open(path: &Path) -> Error {
    // SAFETY: no file opened here is a driver, or a library that runs code when loaded.
    unsafe { Driver::open(path) }.unwrap_err()
}

/// Asserts that an error tells the user what to do.
fn assert_says_what_to_do(message: &str) {
    for part in ["no CUDA driver could be loaded", "CUARRAY_DRIVER", "pip install cuarray-sim", "python -m cuarray_sim"]
    {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn missing_file_is_named() {
    let scratch = Scratch::new("missing");
    let path = scratch.0.join("no-such-driver.so");
    let error = open(&path);
    assert!(error.is_no_driver() && error.is_driver() && error.driver_code().is_none());
    let message = error.to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    assert_says_what_to_do(&message);
}

#[test]
fn error_for_a_file_that_is_no_library_has_the_reason_of_the_loader() {
    let scratch = Scratch::new("garbage");
    for (name, contents) in
        [("garbage.so", "this is no shared library at all, however long it is".repeat(9)), ("empty.so", String::new())]
    {
        let path = scratch.file(name, &contents);
        let error = open(&path);
        assert!(error.is_no_driver());
        let message = error.to_string();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
        assert!(message.contains("ELF") || message.contains("too short"), "{message}");
        assert_says_what_to_do(&message);
    }
}

#[test]
fn library_without_cu_init_is_not_a_driver() {
    let error = open(Path::new("libm.so.6"));
    assert!(error.is_no_driver());
    assert!(error.to_string().contains("libm.so.6: not a CUDA driver: it exports no cuInit"), "{error}");
}

#[test]
fn directory_is_not_a_driver() {
    assert!(open(Path::new("/")).is_no_driver());
}

#[test]
fn failure_of_a_named_driver_ends_the_search() {
    let scratch = Scratch::new("named");
    let message = load_with(&[("CUARRAY_DRIVER", &scratch.0.join("nowhere.so"))]);
    assert!(message.contains("true None: no CUDA driver could be loaded (tried CUARRAY_DRIVER="), "{message}");
    assert!(message.contains("nowhere.so"), "{message}");
    assert!(!message.contains("libcuda.so"), "another library was tried: {message}");
    assert_says_what_to_do(&message);
}

#[test]
fn error_lists_every_attempt_without_a_named_driver() {
    let scratch = Scratch::new("search");
    // The loader finds this file before any real driver of the machine.
    scratch.file("libcuda.so.1", &"garbage ".repeat(99));
    // A link stub, which must not be opened.
    scratch.file("libcuda.so", &"a stub ".repeat(99));
    let message = load_with(&[("LD_LIBRARY_PATH", &scratch.0)]);
    assert!(message.contains("true None: no CUDA driver could be loaded"), "{message}");
    assert!(message.contains("libcuda.so.1 among the libraries that the process has loaded: none; "), "{message}");
    assert!(message.contains("libcuda.so.1 by the system's loader: "), "{message}");
    assert!(message.contains("invalid ELF header"), "{message}");
    assert!(!message.replace("libcuda.so.1", "").contains("libcuda.so"), "the stub was tried: {message}");
    assert_says_what_to_do(&message);
}

#[test]
fn empty_driver_name_counts_as_unset() {
    let scratch = Scratch::new("empty");
    scratch.file("libcuda.so.1", &"garbage ".repeat(99));
    let message = load_with(&[("LD_LIBRARY_PATH", &scratch.0), ("CUARRAY_DRIVER", Path::new(""))]);
    assert!(message.contains("by the system's loader"), "{message}");
}

/// The simulator as a shared library with SONAME `libcuda.so.1`, which cargo has built beside this program.
fn simulator() -> PathBuf {
    let path = env::current_exe().unwrap().with_file_name("libcuarray_sim.so");
    assert!(path.is_file(), "{} is not there", path.display());
    path
}

#[test]
fn named_driver_is_loaded() {
    let message = load_with(&[("CUARRAY_DRIVER", &simulator()), ("CUARRAY_SIM_DEVICES", Path::new("3"))]);
    let expected = format!("loaded {} version 13050 devices Ok(3)", simulator().display());
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn driver_that_is_already_loaded_is_preferred() {
    let scratch = Scratch::new("preloaded");
    scratch.file("libcuda.so.1", &"garbage ".repeat(99));
    let message = load_with(&[("PRELOAD", &simulator()), ("LD_LIBRARY_PATH", &scratch.0)]);
    assert!(message.contains(&format!("loaded {} ", simulator().display())), "{message}");
}

#[test]
fn driver_is_found_by_the_system_loader() {
    let scratch = Scratch::new("found");
    let path = scratch.0.join("libcuda.so.1");
    fs::copy(simulator(), &path).unwrap();
    let message = load_with(&[("LD_LIBRARY_PATH", &scratch.0)]);
    assert!(message.contains(&format!("loaded {} ", path.display())), "{message}");
}

#[test]
fn memory_that_a_dropped_driver_deferred_is_freed_by_the_next_driver() {
    // SAFETY: the simulator behaves as a driver.
    let open = || unsafe { Driver::open(&simulator()) }.unwrap();
    let driver = open();
    let context = driver.default_context().unwrap();
    let stream = Stream::non_blocking(&context).unwrap();
    // The simulator runs the fill when something waits for it.
    let array = DeviceArray::<f32, _>::zeros([1 << 20], &stream).unwrap();
    drop((array, stream, context, driver));
    let driver = open();
    assert!(driver.reclaim(true), "the release is still deferred");
    assert!(!driver.reclaim(true), "the release is done");
    assert!(driver.take_drop_error().is_none());
}

#[test]
fn driver_without_devices_is_a_driver_error() {
    let fault = Path::new("cuInit:1:CUDA_ERROR_NO_DEVICE");
    let message = load_with(&[("CUARRAY_DRIVER", &simulator()), ("CUARRAY_SIM_FAULTS", fault)]);
    assert!(message.contains("\nfalse Some("), "{message}");
    assert!(message.contains(": cuInit: CUDA_ERROR_NO_DEVICE"), "{message}");
}

#[test]
fn driver_that_fails_to_start_is_a_driver_error_with_its_name_and_file() {
    for (name, code) in
        [("CUDA_ERROR_SYSTEM_NOT_READY", 802), ("CUDA_ERROR_STUB_LIBRARY", 34), ("CUDA_ERROR_UNKNOWN", 999)]
    {
        let fault = format!("cuInit:1:{name}");
        let message = load_with(&[("CUARRAY_DRIVER", &simulator()), ("CUARRAY_SIM_FAULTS", Path::new(&fault))]);
        assert!(message.contains("\nfalse Some("), "{message}");
        assert!(message.contains(&code.to_string()) || message.contains(name), "{message}");
        assert!(message.contains(&format!(": cuInit: {name}")), "{message}");
        assert!(message.contains(&format!("the driver is {}", simulator().display())), "{message}");
        assert!(message.contains("python -m cuarray_sim"), "{message}");
    }
}

/// A driver with only a `cuInit`, which returns this result.
fn only_init(init: unsafe extern "C" fn(std::ffi::c_uint) -> CUresult) -> Api {
    // SAFETY: the only address is a function with the signature of `cuInit`.
    unsafe { Api::resolve_with(|symbol| if symbol == c"cuInit" { init as *const () as *const _ } else { ptr::null() }) }
}

extern "C" fn init_succeeds(_flags: std::ffi::c_uint) -> CUresult {
    CUresult::CUDA_SUCCESS
}

extern "C" fn init_finds_no_device(_flags: std::ffi::c_uint) -> CUresult {
    CUresult::CUDA_ERROR_NO_DEVICE
}

extern "C" fn init_returns_an_unknown_code(_flags: std::ffi::c_uint) -> CUresult {
    CUresult(123_456)
}

#[test]
fn failed_initialization_is_a_driver_error() {
    // SAFETY: the table's only function behaves as the manual says, and so do those below.
    let error = unsafe { Driver::from_api(only_init(init_finds_no_device)) }.unwrap_err();
    assert!(error.is_driver() && !error.is_no_driver());
    assert_eq!((error.driver_call(), error.driver_code()), (Some("cuInit"), Some(CUresult::CUDA_ERROR_NO_DEVICE)));
    assert!(error.to_string().starts_with("cuInit: CUDA_ERROR_NO_DEVICE"), "{error}");

    // SAFETY: as above.
    let error = unsafe { Driver::from_api(only_init(init_returns_an_unknown_code)) }.unwrap_err();
    assert_eq!(error.driver_code(), Some(CUresult(123_456)));
    assert!(error.to_string().contains("123456"), "{error}");
}

#[test]
fn empty_table_lacks_cu_init() {
    // SAFETY: nothing resolves, so nothing can be called.
    let error = unsafe { Driver::from_api(Api::resolve_with(|_| ptr::null())) }.unwrap_err();
    assert_eq!(error.driver_call(), Some("cuInit"));
    assert!(error.is_driver() && error.driver_code().is_none());
}

#[test]
fn missing_entry_point_is_named_in_the_error() {
    // SAFETY: the table's only function behaves as the manual says.
    let driver = unsafe { Driver::from_api(only_init(init_succeeds)) }.unwrap();
    assert_eq!(driver.path(), None);
    let missing = [
        (driver.version().unwrap_err(), "cuDriverGetVersion"),
        (driver.devices().unwrap_err(), "cuDeviceGetCount"),
        (driver.device(0).unwrap_err(), "cuDeviceGet"),
        (driver.devices().unwrap_err(), "cuDeviceGetCount"),
        (driver.current_context().unwrap_err(), "cuCtxGetCurrent"),
        (driver.default_context().unwrap_err(), "cuCtxGetCurrent"),
        (cuarray::driver::PointerAttributes::query(&driver, 1).unwrap_err(), "cuPointerGetAttributes"),
    ];
    for (error, symbol) in missing {
        assert_eq!(error.driver_call(), Some(symbol));
        assert!(error.is_driver() && error.driver_code().is_none());
        assert!(error.to_string().starts_with(&format!("{symbol}: the CUDA driver lacks this entry point")), "{error}");
    }
}

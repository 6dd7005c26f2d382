//! The refusal of undocumented tables: a line that names the library with a static CUDA runtime inside.
//!
//! NVIDIA's CUDA runtime asks the driver for tables that no manual describes. Without them all its calls fail, for example
//! with `cudaErrorInsufficientDriver`. A reader of that error cannot see which library holds the runtime.

use crate::driver::Driver;
use crate::site::{self, Entry};
use std::sync::PoisonError;

/// The tables that the runtime asks for. Other libraries, such as NVRTC, ask for others and work without them.
const OF_THE_RUNTIME: [[u8; 16]; 2] = [
    *b"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9",
    *b"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9",
];

/// Reports the library whose runtime asked for a table: in the error log, and once for each library on standard error.
#[cold]
pub(super) fn explain(driver: &Driver, entry: Entry<'_>, table: &[u8; 16]) {
    if !OF_THE_RUNTIME.contains(table) {
        return;
    }
    let Some(object) = site::calling_object(entry) else { return };
    let library = match file_name(&object) {
        name if is_renamed(name) => name.to_owned(),
        name if name.starts_with("libcudart") => "libcudart".to_owned(),
        _ => site::library_of(&object),
    };
    let text = text(&library, &object);
    driver.log_error(&text);
    let mut refused = driver.refused_runtimes.lock().unwrap_or_else(PoisonError::into_inner);
    if !refused.insert(library) || driver.config.as_ref().is_ok_and(|config| config.quiet) {
        return;
    }
    drop(refused);
    eprintln!("cuarray-sim: {text}");
}

fn file_name(object: &str) -> &str {
    object.rsplit('/').next().unwrap_or(object)
}

/// Whether a file is NVIDIA's runtime under the name that auditwheel gives to the libraries of a wheel, such as
/// `libcudart-9f92e4c3.so.13.3.29`.
fn is_renamed(name: &str) -> bool {
    name.starts_with("libcudart-")
}

/// How a library is built with the shared runtime, by its name: with its own option if it documents one.
fn build_option(library: &str) -> &'static str {
    match library {
        "rmm" | "librmm" | "cudf" | "libcudf" | "pylibcudf" => {
            "build it with the shared runtime: -DCUDA_STATIC_RUNTIME=OFF of its CMakeLists.txt"
        }
        "warp" => "build it with the shared runtime: python build_lib.py --use-dynamic-cuda in Warp's sources",
        _ if library.starts_with("cupy") => {
            "build it against the shared runtime: python -m cuarray_sim.cupy; and leave CUARRAY_SIM_CUPY unset"
        }
        _ => {
            "use a build of it that links the shared runtime: nvcc -cudart shared, or \
             -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared with CMake"
        }
    }
}

fn text(library: &str, object: &str) -> String {
    let (found, advice) = if is_renamed(library) {
        (
            format!("{object} is NVIDIA's CUDA runtime, renamed inside of a wheel"),
            "in Python, cuarray's runtime takes its place if the folder of the wheel is in sys.path when \
             cuarray_sim.install() runs; other programs need a build of that package that links libcudart.so.13 or .12",
        )
    } else if library == "libcudart" {
        (
            format!("{object} is NVIDIA's CUDA runtime"),
            "start the program with `python -m cuarray_sim`, or put the folder of cuarray_sim.runtime_path() first in \
             LD_LIBRARY_PATH or LD_PRELOAD, so that cuarray's runtime is loaded in its place",
        )
    } else if library == "cuda.bindings" {
        (
            format!("{library} has a static CUDA runtime inside ({object})"),
            "start the program with `python -m cuarray_sim`, or call cuarray_sim.install() before the import of \
             cuda.bindings.runtime, and leave CUARRAY_SIM_RUNTIME and CUARRAY_SIM_CUDA_BINDINGS unset",
        )
    } else {
        (format!("{library} has a static CUDA runtime inside ({object})"), build_option(library))
    };
    format!(
        "{found}, which needs undocumented tables of NVIDIA's driver; its calls fail on the simulated one, with \
         cudaErrorInsufficientDriver, cudaErrorSymbolNotFound or similar errors; {advice}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_library_and_the_remedy() {
        let cupy = text("cupy_backends", "/site-packages/cupy_backends/cuda/api/runtime.so");
        assert!(cupy.starts_with("cupy_backends has a static CUDA runtime inside (/site-packages"), "{cupy}");
        assert!(cupy.contains("cudaErrorInsufficientDriver") && cupy.contains("python -m cuarray_sim.cupy"), "{cupy}");
        let other = text("libvendor.so", "/opt/lib/libvendor.so");
        assert!(other.contains("nvcc -cudart shared"), "{other}");
        let rmm = text("librmm", "/site-packages/librmm/lib64/librmm.so");
        assert!(rmm.ends_with("-DCUDA_STATIC_RUNTIME=OFF of its CMakeLists.txt"), "{rmm}");
        let warp = text("warp", "/site-packages/warp/bin/warp.so");
        assert!(warp.contains("python build_lib.py --use-dynamic-cuda"), "{warp}");
        let bindings = text("cuda.bindings", "/site-packages/cuda/bindings/_internal/runtime.so");
        assert!(bindings.contains("CUARRAY_SIM_CUDA_BINDINGS"), "{bindings}");
        let shared = text("libcudart", "/opt/lib/libcudart.so.13");
        assert!(shared.starts_with("/opt/lib/libcudart.so.13 is NVIDIA's CUDA runtime"), "{shared}");
    }
    #[test]
    fn advice_about_a_renamed_runtime_differs_from_that_about_a_file_in_the_search_path() {
        let renamed = text("libcudart-9f92e4c3.so.13.3.29", "/site-packages/libucx.libs/libcudart-9f92e4c3.so.13.3.29");
        assert!(renamed.contains("is NVIDIA's CUDA runtime, renamed inside of a wheel"), "{renamed}");
        assert!(renamed.contains("sys.path when cuarray_sim.install() runs"), "{renamed}");
        assert!(!renamed.contains("LD_PRELOAD"), "{renamed}");
    }
}

//! The library that a file belongs to, by the name that users know.

use std::path::Path;

/// Folders of installed packages.
const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];

/// Top-level names that several libraries share, or that are not library names themselves.
const NAMESPACES: [&str; 4] = ["cuda", "numba", "nvidia", "google"];

/// The beginnings of the names of libraries that call the driver for their caller, who is the one that a reader looks for.
pub(super) const STAND_INS: [&str; 8] = [
    "libcudart.so",
    "libcuarray-mpi.so",
    "libcublas.so",
    "libcublasLt.so",
    "libcufft.so",
    "libcurand.so",
    "libcusolver.so",
    "libcusparse.so",
];

/// Whether a Python file belongs to an installed package or to the standard library, and not to the user.
pub(super) fn is_installed(file: &str) -> bool {
    file.starts_with("<frozen ") || PACKAGES.iter().any(|folder| file.contains(folder)) || is_standard(file)
}

/// Whether a file lies in `lib/python3.11/` or in an archive of it.
fn is_standard(file: &str) -> bool {
    let version = |rest: &str| {
        let rest = rest.strip_prefix("python3").unwrap_or_default();
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        digits.len() < rest.len() && (digits.starts_with('/') || digits.starts_with("t/") || digits.starts_with("zip/"))
    };
    ["/lib/", "/lib64/"]
        .iter()
        .any(|folder| file.match_indices(folder).any(|(at, found)| version(&file[at + found.len()..])))
}

/// Whether a shared object only forwards calls, so that its caller is the library.
pub(super) fn forwards(object: &str) -> bool {
    let name = file_name(object);
    ["_ctypes.", "libffi", "_cffi_backend"].iter().any(|start| name.starts_with(start)) || binds(object)
}

/// Whether an object is the driver's binding for Python.
fn binds(object: &str) -> bool {
    packaged(object).is_some_and(|rest| rest.starts_with("cuda/bindings/"))
}

/// Whether a library is a layer over the driver, by whose name users do not know the library that they called.
pub(super) fn is_layer(library: &str) -> bool {
    matches!(library, "cuda.core" | "cuda.bindings")
}

/// Whether an object does not identify the caller: the interpreter, the C library, a stand-in, or the driver itself.
pub(super) fn is_runtime(object: &str) -> bool {
    let name = file_name(object);
    is_of_the_language(object)
        || ["libpython3", "python3", "python"].iter().chain(&STAND_INS).any(|start| name.starts_with(start))
        || name == "libcuda.so.1"
}

/// Whether an object is a library of C or C++ itself, or of a sanitizer that stands in front of it.
pub(super) fn is_of_the_language(object: &str) -> bool {
    let name = file_name(object);
    [
        "libc.",
        "libm.",
        "libstdc++.",
        "libc++.",
        "libpthread",
        "ld-linux",
        "ld-musl",
        "libasan.",
        "libtsan.",
        "libubsan.",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// The name of the library that a file belongs to.
pub(crate) fn of(file: &str) -> String {
    if let Some(rest) = packaged(file) {
        return dotted(rest);
    }
    let name = file_name(file);
    let module = module(name);
    if module.len() == name.len() {
        return name.to_owned(); // a program, or a shared library outside of packages
    }
    // A file that is not installed: its outermost package folder names the library.
    let folders = Path::new(file).ancestors().skip(1);
    let package = folders.take_while(|folder| folder.join("__init__.py").exists()).last();
    match package.and_then(|folder| folder.file_name()) {
        Some(package) => package.to_string_lossy().into_owned(),
        None => module.to_owned(),
    }
}

/// Whether a Python file is part of an installed package.
pub(super) fn is_packaged(file: &str) -> bool {
    packaged(file).is_some()
}

/// The name of an object that only forwards calls.
pub(super) fn of_binding(object: &str) -> String {
    match file_name(object) {
        name if name.starts_with("_cffi_backend") => "cffi".to_owned(),
        _ if binds(object) => of(object),
        _ => "ctypes".to_owned(),
    }
}

/// The path relative to the folder of installed packages.
fn packaged(file: &str) -> Option<&str> {
    PACKAGES.iter().filter_map(|folder| file.rfind(folder).map(|at| at + folder.len())).max().map(|at| &file[at..])
}

/// Shortens `numba_cuda/numba/cuda/x.py` to `numba.cuda`, `cuda/bindings/driver.so` to `cuda.bindings`, `cupy/x.so` to
/// `cupy`.
fn dotted(rest: &str) -> String {
    // numba-cuda installs the package `numba.cuda` in its own folder.
    let rest = rest.strip_prefix("numba_cuda/").filter(|rest| rest.starts_with("numba/")).unwrap_or(rest);
    let mut parts = rest.split('/');
    let first = parts.next().unwrap_or_default();
    match parts.next() {
        Some(second) if NAMESPACES.contains(&first) => format!("{first}.{}", module(second)),
        _ => module(first).to_owned(),
    }
}

fn file_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// A file name without the endings of Python modules; the whole name if the file is not a module.
fn module(name: &str) -> &str {
    let ends = [".py", ".pyx"].iter().find_map(|end| name.strip_suffix(end));
    let extension = || {
        let stem = name.strip_suffix(".so")?;
        let (module, kind) = stem.split_once('.').unwrap_or((stem, ""));
        let is_module =
            !module.starts_with("lib") && (kind.is_empty() || kind.starts_with("cpython-") || kind == "abi3");
        is_module.then_some(module)
    };
    ends.or_else(extension).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_have_their_import_names() {
        let packages = "/opt/venv/lib/python3.11/site-packages";
        for (file, library) in [
            ("numba_cuda/numba/cuda/cudadrv/driver.py", "numba.cuda"),
            ("numba/cuda/cudadrv/driver.py", "numba.cuda"),
            ("cuda/bindings/_internal/driver.cpython-311-x86_64-linux-gnu.so", "cuda.bindings"),
            ("cuda/core/_stream.cpython-311-x86_64-linux-gnu.so", "cuda.core"),
            ("cuarray/_core.abi3.so", "cuarray"),
            ("mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", "mpi4py"),
            ("single.py", "single"),
            ("_single.cpython-311-x86_64-linux-gnu.so", "_single"),
        ] {
            assert_eq!(of(&format!("{packages}/{file}")), library);
        }
        assert_eq!(of("/usr/lib/libmpi.so.40"), "libmpi.so.40");
        assert_eq!(of("target/debug/deps/ordering-0123456789abcdef"), "ordering-0123456789abcdef");
        assert_eq!(of("/home/me/train.py"), "train");
    }

    #[test]
    fn installed_files_are_distinguished_from_the_user_s() {
        for file in [
            "/opt/venv/lib/python3.11/site-packages/numpy/core.py",
            "/usr/lib/python3/dist-packages/numpy/core.py",
            "/usr/lib/python3.13/threading.py",
            "/opt/lib/python3.13t/threading.py",
            "/usr/lib64/python311.zip/threading.py",
            "<frozen runpy>",
        ] {
            assert!(is_installed(file), "{file}");
        }
        for file in ["/home/me/lib/train.py", "<string>", "<stdin>", "/home/me/lib/python/train.py", "train.py"] {
            assert!(!is_installed(file), "{file}");
        }
    }
}

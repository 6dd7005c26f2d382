//! Settings of the package, and the environment variables that set them (clauses S5, P4, N3).
//!
//! | environment | `cuarray.config` | meaning |
//! |---|---|---|
//! | `CUARRAY_SYNC=0`, `NUMBA_CUDA_ARRAY_INTERFACE_SYNC=0` | `sync = False` | as a consumer, ignore `stream` |
//! | `CUARRAY_EXPORT_STREAM=0` | `export_stream = False` | as a producer, always export `stream: None` |
//! | `CUARRAY_EXPORT_EVENT=1` | `export_event = True` | as a producer, export an event beside the stream (an extension, clause X2) |
//! | `CUARRAY_EXPORT_VERSION=2` | `export_version = 2` | export version 2, which has no `stream` |
//! | `CUARRAY_PROTOCOL=dict` | `protocol = "dict"` | as a consumer, read `__cuda_array_interface__` alone; `c` and `dlpack` name the other protocols |
//!
//! The environment is read once, on import; the attributes may change at any time. The settings belong to the
//! package, which makes and exports all arrays. The protocol also applies to the typed arguments of extension
//! modules, which receive each change.

use crate::python::ffi::{inspect::shown, shared::Joined};
use crate::{Error, Result};
use pyo3::{exceptions::PyOverflowError, intern, prelude::*, types::PyTuple};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

static SYNC: AtomicBool = AtomicBool::new(true);
static EXPORT_STREAM: AtomicBool = AtomicBool::new(true);
static EXPORT_EVENT: AtomicBool = AtomicBool::new(false);
static EXPORT_VERSION: AtomicU8 = AtomicU8::new(3);
/// An index into [`Protocol::ALL`]; any other number until its first use.
static PROTOCOL: AtomicU8 = AtomicU8::new(u8::MAX);

/// The protocol by which an object is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::python) enum Protocol {
    /// The C structure if the type offers it, else the dictionary, else DLPack.
    Any,
    /// `__cuda_array_interface__` alone.
    Dict,
    /// `__cuda_array_c_interface__` alone.
    C,
    /// `__dlpack__` alone.
    DLPack,
}

impl Protocol {
    /// All protocols, indexed as in the static `PROTOCOL`.
    pub(in crate::python) const ALL: [Protocol; 4] = [Protocol::Any, Protocol::Dict, Protocol::C, Protocol::DLPack];

    pub(in crate::python) const fn name(self) -> &'static str {
        match self {
            Protocol::Any => "any",
            Protocol::Dict => "dict",
            Protocol::C => "c",
            Protocol::DLPack => "dlpack",
        }
    }

    /// Parses the name of a protocol.
    pub(in crate::python) fn named(name: &str) -> Result<Protocol> {
        Protocol::ALL
            .into_iter()
            .find(|protocol| protocol.name() == name)
            .ok_or_else(|| Error::argument(format!("protocol is {name:?}; 'any', 'dict', 'c' or 'dlpack' is expected")))
    }
}

/// Whether a consumer waits for the stream that `stream` names.
pub(in crate::python) fn sync() -> bool {
    SYNC.load(Relaxed)
}

/// Whether a producer exports its stream.
pub(in crate::python) fn export_stream() -> bool {
    EXPORT_STREAM.load(Relaxed)
}

/// Whether an export names a stream: in version 3, unless the user has switched it off.
pub(in crate::python) fn names_streams() -> bool {
    export_stream() && export_version() >= 3
}

/// Whether a producer exports an event beside its stream.
pub(in crate::python) fn export_event() -> bool {
    EXPORT_EVENT.load(Relaxed)
}

/// The version that is exported: 2 or 3.
pub(in crate::python) fn export_version() -> u8 {
    EXPORT_VERSION.load(Relaxed)
}

/// The protocol by which an import reads an object.
#[inline]
pub(in crate::python) fn protocol() -> Protocol {
    Protocol::ALL.get(usize::from(PROTOCOL.load(Relaxed))).copied().unwrap_or_else(initial_protocol)
}

/// Determines the protocol of an extension module: the package's, or without the package, that of the environment.
/// The package itself reads the environment on import.
#[cold]
fn initial_protocol() -> Protocol {
    let of_package = Python::attach(|py| protocol_of_package(py).ok());
    let of_environment = || std::env::var(VARIABLE).ok();
    let named = of_package.or_else(of_environment).and_then(|name| Protocol::named(&name).ok());
    // A protocol that was set in the meantime is not overwritten.
    let _ = PROTOCOL.compare_exchange(u8::MAX, named.unwrap_or(Protocol::Any) as u8, Relaxed, Relaxed);
    protocol()
}

/// The package's protocol of imports. From now on this module receives the package's changes.
fn protocol_of_package(py: Python<'_>) -> PyResult<String> {
    let package = py.import(intern!(py, "cuarray"));
    join(py)?;
    package?.getattr(intern!(py, "config"))?.getattr(intern!(py, "protocol"))?.extract()
}

/// The `(set_protocol(name),)` of every module, because each module has its own setting.
static MODULES: Joined = Joined::new("cuarray.protocol.v1");

/// Registers this module for changes of the protocol.
pub(in crate::python) fn join(py: Python<'_>) -> PyResult<()> {
    MODULES.join(py, || PyTuple::new(py, [wrap_pyfunction!(set_protocol_own, py)?]))
}

/// The environment variable of the protocol.
const VARIABLE: &str = "CUARRAY_PROTOCOL";

/// Sets the protocol of this module; other modules call it through the shared list.
#[pyfunction]
pub(in crate::python) fn set_protocol_own(name: &str) -> Result<()> {
    set_protocol(Protocol::named(name)?);
    Ok(())
}

/// Whether an import reads dictionaries.
#[inline]
pub(in crate::python) fn reads_dictionaries() -> bool {
    matches!(protocol(), Protocol::Any | Protocol::Dict)
}

fn set_protocol(protocol: Protocol) {
    PROTOCOL.store(protocol as u8, Relaxed);
}

/// The package's settings. `cuarray.config` is the only instance.
///
/// >>> cuarray.config.sync
/// True
#[pyclass(frozen, name = "Config", module = "cuarray")]
pub struct PyConfig;

impl PyConfig {
    /// Applies the environment variables.
    pub(in crate::python) fn from_environment() -> Result<PyConfig> {
        // A value that is not Unicode is not a setting either; the error shows it approximately.
        let variable =
            |name: &str| std::env::var_os(name).map_or_else(String::new, |value| value.to_string_lossy().into_owned());
        let switch = |name: &str, default: bool| match &*variable(name) {
            "" => Ok(default),
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(Error::argument(format!("the environment variable {name} is {other:?}; 0 or 1 is expected"))),
        };
        SYNC.store(switch("CUARRAY_SYNC", true)? && switch("NUMBA_CUDA_ARRAY_INTERFACE_SYNC", true)?, Relaxed);
        EXPORT_STREAM.store(switch("CUARRAY_EXPORT_STREAM", true)?, Relaxed);
        EXPORT_EVENT.store(switch("CUARRAY_EXPORT_EVENT", false)?, Relaxed);
        let version = match &*variable("CUARRAY_EXPORT_VERSION") {
            "" | "3" => 3,
            "2" => 2,
            other => {
                return Err(Error::argument(format!(
                    "the environment variable CUARRAY_EXPORT_VERSION is {other:?}; 2 or 3 is expected"
                )));
            }
        };
        EXPORT_VERSION.store(version, Relaxed);
        match &*variable(VARIABLE) {
            "" => set_protocol(Protocol::Any),
            name => set_protocol(Protocol::named(name).map_err(|_| {
                Error::argument(format!(
                    "the environment variable {VARIABLE} is {name:?}; any, dict, c or dlpack is expected"
                ))
            })?),
        }
        Ok(PyConfig)
    }
}

#[pymethods]
impl PyConfig {
    /// Whether an import waits for the producer's stream (clauses S5, N3).
    #[getter]
    fn get_sync(&self) -> bool {
        sync()
    }

    #[setter]
    fn set_sync(&self, value: bool) {
        SYNC.store(value, Relaxed);
    }

    /// Whether an export names the array's stream (clause P4).
    #[getter]
    fn get_export_stream(&self) -> bool {
        export_stream()
    }

    #[setter]
    fn set_export_stream(&self, value: bool) {
        EXPORT_STREAM.store(value, Relaxed);
    }

    /// Whether an export that names a stream also has an entry `event` (clause X2): an event in that stream, behind all work on the
    /// data that was pending when the interface was read. A consumer that supports the entry waits for the event instead of the
    /// stream. It is off by default, because the interface's text only announces it.
    #[getter]
    fn get_export_event(&self) -> bool {
        export_event()
    }

    #[setter]
    fn set_export_event(&self, value: bool) {
        EXPORT_EVENT.store(value, Relaxed);
    }

    /// The version of the exported interface, 2 or 3.
    #[getter]
    fn get_export_version(&self) -> u8 {
        export_version()
    }

    #[setter]
    fn set_export_version(&self, value: &Bound<'_, PyAny>) -> Result<()> {
        let version = match value.extract::<u8>() {
            Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => return Err(error.into()),
            version => version.ok().filter(|version| matches!(version, 2 | 3)),
        };
        let Some(version) = version else {
            return Err(Error::argument(format!("export_version is {}; 2 or 3 is expected", shown(value))));
        };
        EXPORT_VERSION.store(version, Relaxed);
        Ok(())
    }

    /// The protocol of imports: 'any' (the C structure if the type offers it, else the dictionary, else DLPack), or only 'dict',
    /// 'c' or 'dlpack'. It applies to extension modules too.
    #[getter]
    fn get_protocol(&self) -> &'static str {
        protocol().name()
    }

    #[setter]
    fn set_protocol(&self, py: Python<'_>, value: &str) -> Result<()> {
        set_protocol_own(value)?;
        Ok(MODULES.others(py)?.iter().try_for_each(|functions| functions.get_item(0)?.call1((value,)).map(drop))?)
    }

    fn __repr__(&self) -> String {
        let word = |flag| if flag { "True" } else { "False" };
        format!(
            "cuarray.config(sync={}, export_stream={}, export_event={}, export_version={}, protocol='{}')",
            word(sync()),
            word(export_stream()),
            word(export_event()),
            export_version(),
            protocol().name()
        )
    }
}

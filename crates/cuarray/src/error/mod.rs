//! One opaque error, of the size of one pointer.
//!
//! A caller distinguishes three cases: the object is not an array, the array is wrong or not acceptable to the caller,
//! or the driver refused a call. [`Error`] has predicates for these cases and hides the rest, so its contents can grow
//! without breaking callers. A message gives the key, the wrong value and the remedy.

use cuarray_abi::CUresult;
use std::{borrow::Cow, fmt};

/// The advice for a machine without a usable GPU.
pub(crate) const WITHOUT_GPU: &str = "continue without a GPU on the simulated driver: `pip install cuarray-sim`, then `python -m \
                                      cuarray_sim your_script.py`";

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of every fallible function of this crate. Predicates tell its kind; the message names key, value and
/// remedy.
///
/// ```
/// use cuarray::{Driver, Error, Layout};
///
/// fn refused() -> Error {
///     Layout::strided(&[3, 4], &[16], 4).unwrap_err()
/// }
/// assert!(refused().is_invalid_interface());
/// assert_eq!(refused().key(), Some("strides"));
///
/// // Code uses the predicates; users read the message, which says what to do.
/// if let Err(error) = Driver::load() {
///     assert!(error.is_driver());
///     eprintln!("{error}");
/// }
/// assert_eq!(format!("{:?}", refused()), refused().to_string()); // so does `unwrap`, and a `main` that returns it
/// ```
pub struct Error(pub(crate) Box<ErrorKind>);

pub(crate) enum ErrorKind {
    /// The object has no interface, or its interface is not a dictionary.
    NotAnArray(String),
    /// An entry of the interface is missing, or has a wrong type or value.
    Entry { key: Cow<'static, str>, why: String },
    /// A member of a C structure that describes an array has a wrong value.
    Member { structure: &'static str, member: Cow<'static, str>, why: String },
    /// The interface is valid, but this caller or this build cannot take it.
    Unsupported(String),
    /// A wrong argument that is not part of an interface.
    Argument(String),
    /// An index that selects no element of the array.
    OutOfBounds(String),
    /// A live guard covers the same memory, and one of the two guards writes.
    AlreadyAcquired(String),
    /// No driver could be loaded.
    NoDriver { tried: Vec<String> },
    /// The driver lacks an entry point.
    MissingSymbol(&'static str),
    /// A driver call failed. `log` is the driver's own text, if it says more than the code.
    Driver { call: &'static str, code: CUresult, log: Option<Box<str>> },
    /// Python raised while the interface was read.
    #[cfg(feature = "python")]
    Unreadable { what: String, cause: pyo3::PyErr },
    /// Python raised while the entry under `key` was read.
    #[cfg(feature = "python")]
    UnreadableEntry { key: Cow<'static, str>, why: String, cause: pyo3::PyErr },
    /// Python raised outside an interface.
    #[cfg(feature = "python")]
    Python(pyo3::PyErr),
}

impl Error {
    /// The error for an object that has no interface, or whose interface is not a dictionary.
    pub(crate) fn not_an_array(what: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::NotAnArray(what.into())))
    }

    /// The error for a wrong entry `key`; `why` gives the value and what is expected.
    pub(crate) fn entry(key: impl Into<Cow<'static, str>>, why: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::Entry { key: key.into(), why: why.into() }))
    }

    /// The error for a valid array that the caller cannot take (read-only, masked, of another type or ndim).
    pub fn unsupported(what: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::Unsupported(what.into())))
    }

    /// The error for a wrong argument of a call.
    pub fn argument(what: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::Argument(what.into())))
    }

    /// Converts an error of an interface into one of the C structure that it was read from.
    pub(crate) fn of_structure(self, structure: &'static str) -> Error {
        Error(match *self.0 {
            ErrorKind::Entry { key: member, why } => Box::new(ErrorKind::Member { structure, member, why }),
            other => Box::new(other),
        })
    }

    /// The error for an entry whose value raised `cause` while it was read.
    #[cfg(feature = "python")]
    pub(crate) fn because(self, cause: pyo3::PyErr) -> Error {
        Error(match *self.0 {
            ErrorKind::Entry { key, why } => Box::new(ErrorKind::UnreadableEntry { key, why, cause }),
            other => Box::new(other),
        })
    }

    /// Converts an error of an interface into one of an argument, for an array that is being created.
    pub(crate) fn into_argument(self) -> Error {
        match *self.0 {
            ErrorKind::Entry { key, why } => Error::argument(format!("{key}: {why}")),
            other => Error(Box::new(other)),
        }
    }

    /// The error for an index that selects no element.
    pub(crate) fn out_of_bounds(what: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::OutOfBounds(what.into())))
    }

    /// The error for a guard that conflicts with a live guard.
    pub(crate) fn already_acquired(what: String) -> Error {
        Error(Box::new(ErrorKind::AlreadyAcquired(what)))
    }

    #[cfg(feature = "python")]
    pub(crate) fn unreadable(what: impl Into<String>, cause: pyo3::PyErr) -> Error {
        Error(Box::new(ErrorKind::Unreadable { what: what.into(), cause }))
    }

    /// Converts an error in a nested interface into an error of the entry `key`, with the same cause.
    #[cfg(feature = "python")]
    pub(crate) fn within(self, key: &'static str) -> Error {
        let why = self.to_string();
        match *self.0 {
            ErrorKind::Unreadable { cause, .. } => {
                Error(Box::new(ErrorKind::UnreadableEntry { key: key.into(), why, cause }))
            }
            _ => Error::entry(key, why),
        }
    }

    pub(crate) fn no_driver(tried: Vec<String>) -> Error {
        Error(Box::new(ErrorKind::NoDriver { tried }))
    }

    pub(crate) fn missing_symbol(symbol: &'static str) -> Error {
        Error(Box::new(ErrorKind::MissingSymbol(symbol)))
    }

    pub(crate) fn driver(call: &'static str, code: CUresult) -> Error {
        Error(Box::new(ErrorKind::Driver { call, code, log: None }))
    }

    /// Adds a text to the error of a refused call: the driver's own, or the reason.
    #[must_use]
    pub(crate) fn with_log(mut self, text: impl Into<Box<str>>) -> Error {
        if let ErrorKind::Driver { log, .. } = &mut *self.0 {
            let text = text.into();
            *log = Some(match log.take() {
                Some(before) => format!("{before}; {text}").into(),
                None => text,
            });
        }
        self
    }

    /// Whether the object is not an array at all (Python: `TypeError`).
    pub fn is_not_an_array(&self) -> bool {
        match *self.0 {
            ErrorKind::NotAnArray(_) => true,
            #[cfg(feature = "python")]
            ErrorKind::Unreadable { .. } => true,
            _ => false,
        }
    }

    /// Whether an entry of an interface, or a member of a C structure, is missing or wrong (Python: `ValueError`).
    pub fn is_invalid_interface(&self) -> bool {
        match *self.0 {
            ErrorKind::Entry { .. } | ErrorKind::Member { .. } => true,
            #[cfg(feature = "python")]
            ErrorKind::UnreadableEntry { .. } => true,
            _ => false,
        }
    }

    /// The key of the wrong entry, or the name of the wrong member, if [`Error::is_invalid_interface`].
    pub fn key(&self) -> Option<&str> {
        match &*self.0 {
            ErrorKind::Entry { key, .. } | ErrorKind::Member { member: key, .. } => Some(key),
            #[cfg(feature = "python")]
            ErrorKind::UnreadableEntry { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Whether the array is valid but the caller cannot take it (Python: `BufferError`).
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, ErrorKind::Unsupported(_))
    }

    /// Whether an index selects no element of the array (Python: `IndexError`).
    pub fn is_out_of_bounds(&self) -> bool {
        matches!(*self.0, ErrorKind::OutOfBounds(_))
    }

    /// Whether an argument of a call is wrong.
    pub fn is_invalid_argument(&self) -> bool {
        matches!(*self.0, ErrorKind::Argument(_))
    }

    /// Whether a live guard covers the same memory, and one of the two guards writes.
    pub fn is_already_acquired(&self) -> bool {
        matches!(*self.0, ErrorKind::AlreadyAcquired(_))
    }

    /// Whether no driver could be loaded.
    pub fn is_no_driver(&self) -> bool {
        matches!(*self.0, ErrorKind::NoDriver { .. })
    }

    /// Whether the driver caused the error: it could not be loaded, lacks the call, or refused it (Python: `CudaError`).
    pub fn is_driver(&self) -> bool {
        matches!(*self.0, ErrorKind::NoDriver { .. } | ErrorKind::MissingSymbol(_) | ErrorKind::Driver { .. })
    }

    /// The driver's return code, if a driver call was refused.
    pub fn driver_code(&self) -> Option<CUresult> {
        match *self.0 {
            ErrorKind::Driver { code, .. } => Some(code),
            _ => None,
        }
    }

    /// The driver call that was refused or is missing.
    pub fn driver_call(&self) -> Option<&'static str> {
        match *self.0 {
            ErrorKind::Driver { call, .. } => Some(call),
            ErrorKind::MissingSymbol(symbol) => Some(symbol),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            ErrorKind::NotAnArray(what)
            | ErrorKind::Unsupported(what)
            | ErrorKind::Argument(what)
            | ErrorKind::OutOfBounds(what)
            | ErrorKind::AlreadyAcquired(what) => f.write_str(what),
            ErrorKind::Entry { key, why } => write!(f, "__cuda_array_interface__['{key}']: {why}"),
            ErrorKind::Member { structure, member, why } => write!(f, "{structure}.{member}: {why}"),
            #[cfg(feature = "python")]
            ErrorKind::UnreadableEntry { key, why, .. } => write!(f, "__cuda_array_interface__['{key}']: {why}"),
            ErrorKind::NoDriver { tried } => {
                f.write_str("no CUDA driver could be loaded")?;
                for (index, attempt) in tried.iter().enumerate() {
                    write!(f, "{}{attempt}", if index == 0 { " (tried " } else { "; " })?;
                }
                f.write_str(if tried.is_empty() { "" } else { ")" })?;
                write!(f, ". Install NVIDIA's driver, name one in CUARRAY_DRIVER, or {WITHOUT_GPU}")
            }
            ErrorKind::MissingSymbol(symbol) => {
                write!(f, "{symbol}: the CUDA driver lacks this entry point; a newer driver is needed")
            }
            ErrorKind::Driver { call, code, log } => {
                match (code.name(), code.description()) {
                    (Some(name), Some(description)) => write!(f, "{call}: {name} ({description})"),
                    _ => write!(f, "{call}: the driver returned {}, a code that this version does not know", code.0),
                }?;
                log.as_ref().map_or(Ok(()), |log| write!(f, ": {log}"))
            }
            #[cfg(feature = "python")]
            ErrorKind::Unreadable { what, .. } => f.write_str(what),
            #[cfg(feature = "python")]
            ErrorKind::Python(error) => error.fmt(f),
        }
    }
}

/// Shortens a value from outside for a message, because a list of fields may take megabytes.
pub(crate) struct Brief<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for Brief<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Bounded<'a, 'f>(&'a mut fmt::Formatter<'f>, usize);

        impl fmt::Write for Bounded<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                let end = text.char_indices().nth(self.1).map_or(text.len(), |(end, _)| end);
                self.0.write_str(&text[..end])?;
                self.1 -= text[..end].chars().count();
                // The error stops the formatting of the rest.
                if end == text.len() { Ok(()) } else { Err(fmt::Error) }
            }
        }

        const SHOWN: usize = 200;
        let written = fmt::write(&mut Bounded(f, SHOWN), format_args!("{}", self.0));
        if written.is_err() { f.write_str("...") } else { Ok(()) }
    }
}

/// Prints the message too, because `unwrap` and a `main` that returns an error print this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            #[cfg(feature = "python")]
            ErrorKind::Python(error)
            | ErrorKind::Unreadable { cause: error, .. }
            | ErrorKind::UnreadableEntry { cause: error, .. } => Some(error),
            _ => None,
        }
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Error>();
    assert!(size_of::<Error>() == size_of::<usize>());
};

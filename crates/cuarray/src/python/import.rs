//! Reading `__cuda_array_interface__` (clauses I1 to I11, V0 to V2).
//!
//! This runs at every exchange, so it is written for its cost: one attribute read; one walk over the dictionary, in which a
//! key is recognised by its address (literal keys are interned) and only otherwise by its text; shape and strides straight
//! into the layout, without a collection between. Nothing is trusted meanwhile: no Python code runs while the dictionary is
//! walked, the entries are owned before any of them is looked at, and every number is checked before it is narrowed.
//!
//! The dictionary of a host array, `__array_interface__`, has the same grammar; `host.rs` reads it here too.
//!
//! Reading is strict: what the text does not allow is refused, with the reason. A `Reading` that is not strict takes what
//! real libraries are known to write instead, and lists what it forgave.

use super::{
    c_interface::consume::{self, Imported},
    config, create,
    device_array::PyDeviceArray,
    dtype::Element,
    inert, mask,
    options::Options,
};
use crate::{Dims, Error, Interface, Kind, Layout, MAX_RANK, Result, StreamEntry, Strides, TypeStr, Version};
use pyo3::{
    exceptions::PyException,
    ffi, intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyBytes, PyDict, PyInt, PyString, PyTuple},
};
use std::{borrow::Cow, ffi::CStr};

/// The entries of an interface, in the order in which [`Entries`] holds them.
pub(super) const KEYS: [&CStr; 8] =
    [c"shape", c"typestr", c"data", c"version", c"strides", c"stream", c"descr", c"mask"];

/// How a dictionary is to be read, and what has been forgiven so far.
pub(super) struct Reading<'py> {
    strict: bool,
    masks: mask::Policy,
    forgiven: Vec<String>,
    /// What the user says of the elements.
    element: Option<Element>,
    /// The object under `mask`, where masks are kept and the array has one.
    pub(super) mask: Option<Bound<'py, PyAny>>,
}

impl<'py> Reading<'py> {
    /// A reading that refuses arrays with a mask.
    pub(super) fn new(strict: bool) -> Reading<'py> {
        Reading { strict, masks: mask::Policy::Refuse, forgiven: Vec::new(), element: None, mask: None }
    }

    pub(super) fn with_masks(self, masks: mask::Policy) -> Reading<'py> {
        Reading { masks, ..self }
    }

    /// The elements are of this type, whatever little the interface says of them.
    pub(super) fn with_element(self, element: Option<Element>) -> Reading<'py> {
        Reading { element, ..self }
    }

    /// A reading of the mask of what this one reads, as strict as this one.
    pub(super) fn of_mask(&self) -> Reading<'py> {
        Reading::new(self.strict).with_masks(mask::Policy::Keep)
    }

    /// Adds what was forgiven in the mask.
    pub(super) fn forgive_mask(&mut self, mask: Reading<'py>) {
        self.forgiven.extend(mask.forgiven.iter().map(|note| format!("'mask': {note}")));
    }

    /// What was read although the text does not allow it, in the order in which it was met.
    pub(super) fn forgiven(self) -> Vec<String> {
        self.forgiven
    }

    /// Lets a deviation pass, and notes it; a strict reading raises `error` instead.
    fn forgive(&mut self, key: &str, note: impl FnOnce() -> String, error: impl FnOnce() -> Error) -> Result<()> {
        if self.strict {
            return Err(error());
        }
        self.forgiven.push(format!("'{key}': {}", note()));
        Ok(())
    }
}

/// The index in [`KEYS`] of a key that is none of the interned strings.
///
/// # Safety
/// `key` is an object, and the GIL is held.
#[cold]
unsafe fn index_of_text(key: *mut ffi::PyObject) -> Option<usize> {
    // SAFETY: `key` is an object.
    if unsafe { ffi::PyUnicode_Check(key) } == 0 {
        return None;
    }
    // SAFETY: `key` is a str, and each name is an ASCII string that ends in nul.
    KEYS.iter().position(|name| unsafe { ffi::PyUnicode_CompareWithASCIIString(key, name.as_ptr()) } == 0)
}

/// Objects of which Python has one each, so that they are recognised by their address.
pub(super) struct Known {
    /// [`KEYS`] as the interned strings that literals are.
    pub(super) keys: [Py<PyString>; KEYS.len()],
    /// The small int 3, which is the version of nearly all interfaces.
    pub(super) three: Py<PyInt>,
}

impl Known {
    #[inline]
    pub(super) fn get(py: Python<'_>) -> &Known {
        static KNOWN: PyOnceLock<Known> = PyOnceLock::new();
        KNOWN.get_or_init(py, || Known {
            keys: KEYS.map(|key| PyString::intern(py, &key.to_string_lossy()).unbind()),
            three: PyInt::new(py, 3).unbind(),
        })
    }
}

/// The values found under [`KEYS`].
#[derive(Default)]
struct Entries<'py> {
    values: [Option<Bound<'py, PyAny>>; KEYS.len()],
}

impl<'py> Entries<'py> {
    /// Adds the entries of `dict`, in place: to copy what was just written, piece by piece, would wait for the writes.
    fn read(&mut self, dict: &Bound<'py, PyDict>) {
        let py = dict.py();
        let interned = &Known::get(py).keys;
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: `dict` is a dictionary and stays one while we hold it; nothing in the loop runs Python code, so it does
        // not change under the walk.
        while unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) } != 0 {
            let index = interned.iter().position(|known| known.as_ptr() == key).or_else(|| {
                // SAFETY: `key` is borrowed from the dictionary, which holds it for the length of this turn.
                unsafe { index_of_text(key) }
            });
            if let Some(index) = index {
                // SAFETY: `value` is borrowed from the dictionary, which holds it for the length of this turn.
                let value = unsafe { Borrowed::from_ptr(py, value) };
                let absent = index >= FIRST_OPTIONAL && value.is_none();
                self.values[index] = (!absent).then(|| value.to_owned());
            }
        }
    }

    /// What stands under an optional key, `None` where it is absent or `None`.
    #[inline]
    fn optional(&self, index: usize) -> Option<&Bound<'py, PyAny>> {
        self.values[index].as_ref()
    }

    #[inline]
    fn required(&self, index: usize, expected: &str) -> Result<&Bound<'py, PyAny>> {
        self.values[index].as_ref().ok_or_else(|| missing(index, expected))
    }
}

#[cold]
fn missing(index: usize, expected: &str) -> Error {
    Error::entry(KEYS[index].to_string_lossy(), format!("the key is missing; {expected} is expected"))
}

pub(super) const SHAPE: usize = 0;
pub(super) const TYPESTR: usize = 1;
pub(super) const DATA: usize = 2;
pub(super) const VERSION: usize = 3;
pub(super) const STRIDES: usize = 4;
const FIRST_OPTIONAL: usize = STRIDES;
pub(super) const STREAM: usize = 5;
pub(super) const DESCR: usize = 6;
pub(super) const MASK: usize = 7;

/// Reads the attribute `__cuda_array_interface__` of `object` (clause I1).
///
/// ```
/// # use pyo3::{prelude::*, types::PyDict};
/// # Python::initialize();
/// # Python::attach(|py| {
/// let list = PyDict::new(py).keys();
/// let error = cuarray::python::import::attribute(&list).unwrap_err();
/// assert!(error.is_not_an_array());
/// # });
/// ```
///
/// # Errors
/// [`Error::is_not_an_array`] where the attribute is missing, raises, or is no dictionary. What is no `Exception`
/// (`KeyboardInterrupt`, `SystemExit`) passes through unchanged.
pub fn attribute<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
    let value = object.getattr(intern!(object.py(), "__cuda_array_interface__"));
    dictionary(object, value.map_err(|error| raised(object, error))?)
}

/// What reading the attribute of `object` raised, as the reason why it is no array.
fn raised(object: &Bound<'_, PyAny>, error: PyErr) -> Error {
    let py = object.py();
    if !error.is_instance_of::<PyException>(py) {
        return error.into();
    }
    let raised = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    Error::unreadable(
        format!(
            "not a CUDA array: reading __cuda_array_interface__ of a {} raised {raised}; \
             an object with that attribute is expected",
            type_name(object)
        ),
        error,
    )
}

/// The value of the attribute of `object`, which has to be a dictionary.
fn dictionary<'py>(object: &Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
    value.cast_into::<PyDict>().map_err(|error| {
        let value = error.into_inner();
        Error::not_an_array(format!(
            "not a CUDA array: __cuda_array_interface__ of a {} is a {}, {}; a dict is expected",
            type_name(object),
            type_name(&value),
            shown(&value)
        ))
    })
}

/// `value` as a device array where it is one: ours as it is, another library's read and not waited for; `None` where it
/// has no interface at all.
pub(super) fn array<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    let py = value.py();
    if let Ok(array) = value.cast_exact::<PyDeviceArray>() {
        return Ok(Some(array.clone()));
    }
    let attribute = value.getattr_opt(intern!(py, "__cuda_array_interface__"));
    let Some(attribute) = attribute.map_err(|error| raised(value, error))? else { return structure(value) };
    let mut reading = Reading::new(true).with_masks(mask::Policy::Keep);
    let interface = interface(&dictionary(value, attribute)?, &mut reading)?;
    refuse_lazy(value, &interface)?;
    let mask = mask::ArrayMask::read(&mut reading, interface.layout(), false)?;
    let array = PyDeviceArray::foreign(interface, Some(value.clone().unbind())).with_mask(mask);
    Ok(Some(Bound::new(py, array)?))
}

/// The same of an object that offers a structure of C and no dictionary.
pub(super) fn structure<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    if !consume::is_offered(value) {
        return Ok(None);
    }
    let Some(Imported { array, event }) = consume::import(value, false, &mut Options::default())? else {
        return Ok(None);
    };
    // Of an event that no stream goes with nothing else would remember anything.
    if array.get().interface().stream() == StreamEntry::None && config::sync() {
        create::wait(value.py(), array.get().interface(), event)?;
    }
    Ok(Some(array))
}

/// The interface, with the type that a user knows its elements to have.
pub(super) fn known(interface: Interface, element: Option<Element>) -> Result<Interface> {
    match element {
        Some(Element { typestr, descr }) => interface.with_type(typestr, descr),
        None => Ok(interface),
    }
}

/// Refuses a tensor of PyTorch whose memory does not hold its values: `conj()`, and the imaginary part of that, only set a mark
/// on it, which its interface does not show. Its interfaces are of version 2; those of version 3 are spared the question, and so
/// is every program that has not imported PyTorch.
#[inline]
pub(super) fn refuse_lazy(object: &Bound<'_, PyAny>, interface: &Interface) -> Result<()> {
    if interface.version() >= Version::V3 || !matches!(interface.typestr().kind(), Kind::Complex | Kind::Float) {
        return Ok(());
    }
    refuse_lazy_tensor(object)
}

fn refuse_lazy_tensor(object: &Bound<'_, PyAny>) -> Result<()> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = object.py();
    let modules = MODULES.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?.unbind())
    })?;
    let Some(torch) = modules.bind(py).get_item(intern!(py, "torch"))? else { return Ok(()) };
    // A module that is still being imported has no tensors yet.
    let Some(tensor) = torch.getattr_opt(intern!(py, "Tensor"))? else { return Ok(()) };
    if !object.is_instance(&tensor)? {
        return Ok(());
    }
    for (mark, name, remedy) in
        [(intern!(py, "is_conj"), "is_conj", "resolve_conj()"), (intern!(py, "is_neg"), "is_neg", "resolve_neg()")]
    {
        let marked = object.call_method0(mark).and_then(|answer| answer.is_truthy());
        if marked.map_err(|error| unanswered(object, name, error))? {
            return Err(Error::unsupported(format!(
                "{name}() of the {} is true: its memory does not hold its values; pass its {remedy}",
                type_name(object)
            )));
        }
    }
    Ok(())
}

/// What asking for a mark raised, as the reason why the tensor cannot be read.
fn unanswered(object: &Bound<'_, PyAny>, name: &str, error: PyErr) -> Error {
    if !error.is_instance_of::<PyException>(object.py()) {
        return error.into();
    }
    let of = type_name(object);
    let what =
        format!("cannot tell whether the memory of a {of} holds its values: {name}() raised; a bool is expected");
    Error::unreadable(what, error)
}

/// The interface that a dictionary describes.
///
/// # Errors
/// [`Error::is_invalid_interface`] where an entry is missing or wrong, with the key, the value and what is expected.
pub(super) fn interface<'py>(dict: &Bound<'py, PyDict>, reading: &mut Reading<'py>) -> Result<Box<Interface>> {
    if reading.element.is_none()
        && let Some(interface) = inert::interface(dict)
    {
        return Ok(interface);
    }
    let mut entries = Entries::default();
    entries.read(dict);
    let version = version(&entries, reading)?;
    let mut read = described(&entries, reading)?;
    read.set_version(version);
    if let Some(element) = reading.element.take() {
        *read = known(*read, Some(element))?;
    }
    // Clause V2: what versions 0 to 2 say under `stream` means nothing.
    if version >= Version::V3
        && let Some(stream) = entries.optional(STREAM)
    {
        let number =
            integer(stream, "stream", "None or an int (1: legacy default, 2: per-thread default, a cudaStream_t)")?;
        read.set_stream(StreamEntry::try_from(number)?);
    }
    // Clause V0: version 0 has no mask.
    if version >= Version::V1
        && let Some(mask) = entries.optional(MASK)
    {
        match reading.masks {
            mask::Policy::Keep => reading.mask = Some(mask.clone()),
            mask::Policy::Ignore => {}
            mask::Policy::Refuse => {
                return Err(Error::unsupported(
                    "__cuda_array_interface__['mask']: the array has a mask, and masked arrays are not taken here",
                ));
            }
        }
    }
    Ok(read)
}

#[inline]
fn version(entries: &Entries<'_>, reading: &mut Reading<'_>) -> Result<Version> {
    let value = match entries.required(VERSION, "an int from 0 to 3") {
        Ok(value) => value,
        Err(error) => {
            reading.forgive("version", || "missing; read as version 0".to_owned(), || error)?;
            return Ok(Version::V0);
        }
    };
    let number = integer(value, "version", "an int from 0 to 3")?;
    let narrow = i64::try_from(number)
        .map_err(|_| Error::entry("version", format!("{number}; this version of cuarray reads 0 to 3")))?;
    Version::try_from(narrow)
}

/// What the entries say of memory: `shape`, `typestr`, `data`, `strides`, `descr`.
#[inline]
fn described(entries: &Entries<'_>, reading: &mut Reading<'_>) -> Result<Box<Interface>> {
    let written = entries.required(TYPESTR, "a str such as '<f4'")?;
    let typestr = typestr(written, reading)?;
    let mut read = memory(entries, typestr, reading)?;
    if typestr.kind() == Kind::Void
        && let Some(descr) = entries.optional(DESCR)
        // Whose descr can only repeat it.
        && !UNNAMED_FLOAT8.iter().any(|text| written.eq(text).unwrap_or(false))
    {
        read.set_descr(super::descr::read(descr)?)?;
    }
    Ok(read)
}

/// The same but for the type, which is given.
#[inline]
fn memory(entries: &Entries<'_>, typestr: TypeStr, reading: &mut Reading<'_>) -> Result<Box<Interface>> {
    let mut shape = Dims::new();
    dims(entries.required(SHAPE, "a tuple of ints")?, reading, &mut shape)?;
    let strides = entries.optional(STRIDES).map(|strides| steps(strides, shape.len(), reading)).transpose()?;
    let layout = Layout::from_parts(shape, strides, typestr.itemsize())?;
    let (data, read_only) = data(entries.required(DATA, POINTER_AND_FLAG)?, reading)?;
    let mut interface = Box::write(Box::new_uninit(), Interface::new(data, typestr, layout)?);
    interface.set_read_only(read_only);
    Ok(interface)
}

/// How ml_dtypes writes one of its 8-bit floats, as if it were the only one: not a type string, but void in effect.
const UNNAMED_FLOAT8: [&str; 2] = ["<f1", "|f1"];

#[inline]
fn typestr(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>) -> Result<TypeStr> {
    let text = value.cast::<PyString>().map_err(|_| wrong_type("typestr", value, "a str such as '<f4'"))?;
    let text = text.to_str().map_err(|_| {
        Error::entry("typestr", format!("{} is not text; a str such as '<f4' is expected", shown(value)))
    })?;
    let error = match text.parse() {
        Ok(typestr) => return Ok(typestr),
        Err(error) => error,
    };
    let Ok((typestr, Some(note))) = TypeStr::from_lenient(text) else { return Err(error) };
    // An 8-bit float that does not say which one it is, and a user who does.
    let said = reading.element.as_ref().is_some_and(|element| element.typestr.name().is_some());
    if said && UNNAMED_FLOAT8.contains(&text) {
        return Ok(typestr);
    }
    reading.forgive("typestr", || note, || error)?;
    Ok(typestr)
}

/// A tuple; or, where that is forgiven, any sequence as the tuple of its items.
#[inline]
fn tuple<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    key: &'static str,
    expected: &str,
    reading: &mut Reading<'_>,
) -> Result<Cow<'a, Bound<'py, PyTuple>>> {
    match value.cast::<PyTuple>() {
        Ok(tuple) => Ok(Cow::Borrowed(tuple)),
        Err(_) => sequence(value, key, expected, reading).map(Cow::Owned),
    }
}

#[cold]
fn sequence<'py>(
    value: &Bound<'py, PyAny>,
    key: &'static str,
    expected: &str,
    reading: &mut Reading<'_>,
) -> Result<Bound<'py, PyTuple>> {
    let wrong = || wrong_type(key, value, expected);
    // Text and bytes are values, sets and dictionaries have no order that could mean anything.
    // SAFETY: the value is held; this only looks at its type.
    let is_sequence = unsafe { pyo3::ffi::PySequence_Check(value.as_ptr()) } == 1;
    if !is_sequence || value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    reading.forgive(key, || format!("a {}, read as a tuple", type_name(value)), wrong)?;
    // One more than any shape has: what yields without end is refused for its rank, and not collected first.
    let items = value.try_iter().and_then(|items| items.take(MAX_RANK + 1).collect::<PyResult<Vec<_>>>());
    Ok(PyTuple::new(value.py(), items.map_err(|error| asked(value, error, wrong))?)?)
}

/// What `value` raised when it was asked for what it holds: it is then of a wrong type, unless the exception is none that
/// code may swallow.
fn asked(value: &Bound<'_, PyAny>, error: PyErr, wrong: impl FnOnce() -> Error) -> Error {
    if error.is_instance_of::<PyException>(value.py()) { wrong() } else { error.into() }
}

#[inline]
fn dims(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>, dims: &mut Dims) -> Result<()> {
    let expected = "a tuple of ints, one for each dimension";
    let tuple = tuple(value, "shape", expected, reading)?;
    for len in tuple.iter_borrowed() {
        let number = integer(&len, "shape", expected)?;
        dims.push(usize::try_from(number).map_err(|_| {
            Error::entry("shape", format!("{number} in {} is no length; ints of at least 0 are expected", shown(value)))
        })?);
    }
    Ok(())
}

#[inline]
fn steps(value: &Bound<'_, PyAny>, rank: usize, reading: &mut Reading<'_>) -> Result<Strides> {
    let expected = "None or a tuple of ints, the bytes to step in each dimension,";
    let tuple = tuple(value, "strides", expected, reading)?;
    let mut strides = Strides::new();
    for step in tuple.iter_borrowed() {
        let number = integer(&step, "strides", expected)?;
        strides.push(isize::try_from(number).map_err(|_| {
            Error::entry("strides", format!("{number} in {} does not fit the address space", shown(value)))
        })?);
    }
    if strides.len() != rank {
        return Err(Error::entry(
            "strides",
            format!(
                "{} has {} entries, but 'shape' has {rank}; one for each dimension is expected",
                shown(value),
                strides.len()
            ),
        ));
    }
    Ok(strides)
}

const POINTER_AND_FLAG: &str = "a 2-tuple of a pointer (int) and a read-only flag (bool)";

#[inline]
fn data(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>) -> Result<(u64, bool)> {
    let tuple = tuple(value, "data", POINTER_AND_FLAG, reading)?;
    let wrong_length = || {
        Error::entry("data", format!("{} has {} entries; {POINTER_AND_FLAG} is expected", shown(value), tuple.len()))
    };
    let read_only = match tuple.len() {
        1 => {
            reading.forgive("data", || "no read-only flag; read as writable".to_owned(), wrong_length)?;
            false
        }
        2 => flag(&*tuple.get_borrowed_item(1)?, reading)?,
        _ => return Err(wrong_length()),
    };
    let pointer = tuple.get_borrowed_item(0)?;
    if pointer.is_none() {
        let wrong = || wrong_type("data", &pointer, "a pointer (int)");
        reading.forgive("data", || "the pointer is None; read as 0".to_owned(), wrong)?;
        return Ok((0, read_only));
    }
    let number = integer(&pointer, "data", "a pointer (int)")?;
    let pointer = u64::try_from(number)
        .map_err(|_| Error::entry("data", format!("{number} is no address; an int from 0 to 2**64 - 1 is expected")))?;
    Ok((pointer, read_only))
}

fn flag(value: &Bound<'_, PyAny>, reading: &mut Reading<'_>) -> Result<bool> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true());
    }
    let wrong = || wrong_type("data", value, "a read-only flag (bool)");
    reading.forgive("data", || format!("the read-only flag is a {}, read as its truth", type_name(value)), wrong)?;
    value.is_truthy().map_err(|error| asked(value, error, wrong))
}

/// An int, or what `__index__` makes one (a NumPy integer); a bool is neither.
#[inline]
pub(super) fn integer(value: &Bound<'_, PyAny>, key: &'static str, expected: &str) -> Result<i128> {
    if value.is_exact_instance_of::<PyInt>() {
        let mut overflow = 0;
        // SAFETY: `value` is an int, so the only failure is overflow, and that is reported apart.
        let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &mut overflow) };
        if overflow == 0 {
            return Ok(number.into());
        }
    }
    wide_or_index(value, key, expected)
}

/// A bool of Python's or NumPy's: both have `__index__`, the latter up to NumPy 2.2, and neither is meant for a number.
pub(super) fn is_bool(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBool>() || matches!(type_name(value).as_str(), "numpy.bool" | "numpy.bool_")
}

/// What is no small int: one of more bits, or what `__index__` makes one.
#[cold]
fn wide_or_index(value: &Bound<'_, PyAny>, key: &'static str, expected: &str) -> Result<i128> {
    if is_bool(value) {
        return Err(wrong_type(key, value, expected));
    }
    let py = value.py();
    // SAFETY: `value` is an object; the result is null with an error set, or an int that we own.
    let number = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(value.as_ptr())) }.map_err(|error| {
        if error.is_instance_of::<PyException>(py) { wrong_type(key, value, expected) } else { error.into() }
    })?;
    narrow(&number, key, expected)
}

/// An int of at most 64 bits, of either sign.
fn narrow(number: &Bound<'_, PyAny>, key: &'static str, expected: &str) -> Result<i128> {
    let mut overflow = 0;
    // SAFETY: `number` is an int, so the only failure is overflow, and that is reported apart.
    let narrow = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &mut overflow) };
    if overflow == 0 {
        return Ok(narrow.into());
    }
    number
        .extract::<u64>()
        .map(i128::from)
        .map_err(|_| Error::entry(key, format!("{} does not fit 64 bits; {expected} is expected", shown(number))))
}

#[cold]
fn wrong_type(key: &'static str, value: &Bound<'_, PyAny>, expected: &str) -> Error {
    Error::entry(key, format!("{} is a {}; {expected} is expected", shown(value), type_name(value)))
}

/// The type's name for a message.
pub(super) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().fully_qualified_name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// The value for a message: its `repr`, cut short; a `repr` that raises is no reason to hide the first error.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 80;
    match value.repr().map(|text| text.to_string_lossy().into_owned()) {
        Ok(text) if text.chars().count() <= LONGEST => text,
        Ok(text) => text.chars().take(LONGEST).chain("...".chars()).collect(),
        Err(_) => "the value".to_owned(),
    }
}

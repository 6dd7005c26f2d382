//! C structures (clause X1, DLPack): any members, in capsules of any name, or from an exchange table.
//!
//! The inputs keep the promises that a consumer cannot check: there are as many lengths and strides as a valid number of axes
//! requires, and texts end with a nul. All other members are arbitrary.

use crate::assert_readable;
use arbitrary::{Arbitrary, Result, Unstructured};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCapsule, PyDict, PyModule},
};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr::{null, null_mut},
    sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst},
};

/// More numbers than the maximum number of axes.
const ROOM: usize = 72;

/// The number of releases of this input's structure; inputs run one after another.
static RELEASED: AtomicUsize = AtomicUsize::new(0);
/// The array that the exchange table returns.
static HANDED_OUT: AtomicPtr<Managed> = AtomicPtr::new(null_mut());

/// The array is refused with one of three exceptions, or imported with its values. Its structure is released once if it was
/// taken, and never if it was not.
pub fn check(data: &[u8]) {
    Python::attach(|py| {
        // An input may end early.
        let _ = one(py, &mut Unstructured::new(data));
        assert!(PyErr::take(py).is_none(), "an exception was left set");
    });
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Field {
    name: *const c_char,
    title: *const c_char,
    fields: *const Field,
    shape: *const i64,
    nfields: i32,
    ndim: i32,
    typestr: [u8; 24],
    type_name: [u8; 24],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CArray {
    major: u32,
    minor: u32,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    owner: *mut c_void,
    flags: u64,
    data: u64,
    stream: u64,
    event: u64,
    shape: *const i64,
    strides: *const i64,
    fields: *const Field,
    mask: *const CArray,
    ndim: i32,
    nfields: i32,
    device: i32,
    memory: i32,
    typestr: [u8; 24],
    type_name: [u8; 24],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: u64,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C)]
struct Legacy {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
struct Managed {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut c_void)>,
    flags: u64,
    tensor: Tensor,
}

#[repr(C)]
struct Table {
    version: [u32; 2],
    previous: *mut c_void,
    allocate: *const c_void,
    from_object: Option<unsafe extern "C" fn(*mut c_void, *mut *mut Managed) -> c_int>,
    to_object: *const c_void,
    borrow: *const c_void,
    work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

/// # Safety
/// There are no requirements; the structure is not read.
unsafe extern "C" fn released(_: *mut c_void) {
    RELEASED.fetch_add(1, SeqCst);
}

/// # Safety
/// `out` may be written.
unsafe extern "C" fn from_object(_: *mut c_void, out: *mut *mut Managed) -> c_int {
    // SAFETY: this function's contract.
    unsafe { *out = HANDED_OUT.load(SeqCst) };
    0
}

/// # Safety
/// `out` may be written.
unsafe extern "C" fn work_stream(device: i32, ordinal: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: this function's contract. The number depends on the input and is not a stream.
    unsafe { *out = (device.wrapping_mul(7).wrapping_add(ordinal) as u32 as usize) as *mut c_void };
    0
}

/// Objects that are looked up once.
struct Library {
    package: Py<PyModule>,
    classes: Py<PyModule>,
}

impl Library {
    fn get(py: Python<'_>) -> &'static Library {
        static LIBRARY: PyOnceLock<Library> = PyOnceLock::new();
        LIBRARY.get_or_init(py, || {
            let package = PyModule::new(py, "cuarray").expect("a module");
            cuarray::python::register(&package).expect("the package's names");
            let classes = PyModule::from_code(py, CLASSES, c"sources.py", c"sources").expect("the classes of sources");
            let table = Box::leak(Box::new(Table {
                version: [1, 3],
                previous: null_mut(),
                allocate: null(),
                from_object: Some(from_object),
                to_object: null(),
                borrow: null(),
                work_stream: Some(work_stream),
            }));
            let capsule = capsule(py, (&raw mut *table).cast(), c"dlpack_exchange_api");
            let tabled = classes.getattr("Tabled").expect("a class");
            tabled.setattr("__dlpack_c_exchange_api__", capsule).expect("a class has attributes");
            Library { package: package.unbind(), classes: classes.unbind() }
        })
    }
}

const CLASSES: &CStr = cr#"
class Structure:
    def __init__(self, capsule):
        self.capsule = capsule

    @property
    def __cuda_array_c_interface__(self):
        return self.capsule

class Tensor:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, stream=None, max_version=None):
        return self.capsule

    def __dlpack_device__(self):
        return (2, 0)

class Tabled:
    def __init__(self, capsule):
        pass
"#;

fn capsule<'py>(py: Python<'py>, content: *mut c_void, name: &'static CStr) -> Bound<'py, PyAny> {
    // SAFETY: the content is not null and the name lives forever; the result is null, or a capsule that this function owns.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(content, name.as_ptr(), None)) }.expect("a capsule")
}

/// The values of an accepted array.
struct Said {
    shape: Vec<i64>,
    data: u64,
    read_only: bool,
}

fn one(py: Python<'_>, u: &mut Unstructured<'_>) -> Result<()> {
    let library = Library::get(py);
    let (shape, strides) = (numbers(u, 12)?, numbers(u, 40)?);
    let kind = u8::arbitrary(u)? % 4;
    let (mut array, mut legacy, mut managed);
    let fields = fields(u)?;
    let mask;
    let (said, content, names): (_, *mut c_void, [&'static CStr; 2]) = match kind {
        0 => {
            mask = c_array(u, &shape, &strides, &fields, null())?;
            let attached = if u8::arbitrary(u)? < 60 { &raw const mask } else { null() };
            array = c_array(u, &shape, &strides, &fields, attached)?;
            let said = Said { shape: lengths(&shape, array.ndim), data: array.data, read_only: array.flags & 1 == 1 };
            (said, (&raw mut array).cast(), [c"cuda_array_c_interface", c"used_cuda_array_c_interface"])
        }
        1 => {
            let tensor = tensor(u, &shape, &strides)?;
            legacy = Legacy { tensor, context: null_mut(), deleter: Some(released) };
            (Said::of(&tensor, &shape, false), (&raw mut legacy).cast(), [c"dltensor", c"used_dltensor"])
        }
        _ => {
            let tensor = tensor(u, &shape, &strides)?;
            let major = if u8::arbitrary(u)? < 240 { 1 } else { u32::arbitrary(u)? };
            let flags = if bool::arbitrary(u)? { u64::from(u8::arbitrary(u)? % 4) } else { u64::arbitrary(u)? };
            managed = Managed { version: [major, 3], context: null_mut(), deleter: Some(released), flags, tensor };
            HANDED_OUT.store(&raw mut managed, SeqCst);
            let said = Said::of(&tensor, &shape, flags & 1 == 1);
            (said, (&raw mut managed).cast(), [c"dltensor_versioned", c"used_dltensor_versioned"])
        }
    };
    let name = match u8::arbitrary(u)? {
        ..220 => names[0],
        220..235 => names[1],
        _ => c"something else",
    };
    let capsule = capsule(py, content, name);
    let class = ["Structure", "Tensor", "Tensor", "Tabled"][usize::from(kind)];
    let object = library.classes.bind(py).getattr(class).and_then(|class| class.call1((&capsule,))).expect("a source");
    RELEASED.store(0, SeqCst);
    let taken = |outcome: PyResult<Bound<'_, PyAny>>| {
        match &outcome {
            Ok(array) => accepted(library, array, &said),
            Err(error) => refused(py, error),
        }
        drop(outcome);
        RELEASED.load(SeqCst)
    };
    let first = taken(import(library, &object, kind));
    let owed = usize::from(kind == 3 || name == names[0]);
    assert_eq!(first, owed, "released {first} times, and {owed} were owed");
    if kind != 3 {
        // The capsule was already consumed, or has a wrong name.
        assert!(import(library, &object, kind).is_err());
        assert_eq!(RELEASED.load(SeqCst), owed);
        assert!(capsule.cast::<PyCapsule>().is_ok());
    }
    Ok(())
}

fn import<'py>(library: &Library, object: &Bound<'py, PyAny>, kind: u8) -> PyResult<Bound<'py, PyAny>> {
    let package = library.package.bind(object.py());
    let options = PyDict::new(object.py());
    match kind {
        // Without a driver there is no wait.
        0 => {
            options.set_item("sync", false)?;
            package.getattr("as_cuda_array")?.call((object,), Some(&options))
        }
        _ => package.getattr("from_dlpack")?.call1((object,)),
    }
}

impl Said {
    fn of(tensor: &Tensor, shape: &[i64], read_only: bool) -> Said {
        Said { shape: lengths(shape, tensor.ndim), data: tensor.data.wrapping_add(tensor.byte_offset), read_only }
    }
}

fn lengths(shape: &[i64], ndim: i32) -> Vec<i64> {
    shape[..usize::try_from(ndim).unwrap_or(0).min(shape.len())].to_vec()
}

/// The exception is one of three, and its message is readable.
fn refused(py: Python<'_>, error: &PyErr) {
    let kind = error.get_type(py);
    let known = [py.get_type::<PyTypeError>(), py.get_type::<PyValueError>(), py.get_type::<PyBufferError>()];
    assert!(known.iter().any(|known| kind.is(known)), "{error}");
    assert_readable(&error.value(py).to_string());
}

/// The array has the structure's values, also in its dictionary and in its exported structure.
fn accepted(library: &Library, array: &Bound<'_, PyAny>, said: &Said) {
    let py = array.py();
    let get = |name: &str| array.getattr(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(get("shape").extract::<Vec<i64>>().expect("ints"), said.shape);
    assert_eq!(get("readonly").extract::<bool>().expect("a bool"), said.read_only);
    if get("nbytes").extract::<usize>().expect("an int") != 0 {
        assert_eq!(get("ptr").extract::<u64>().expect("an int"), said.data);
    }
    // A mask of bits is exported as bytes, which a driver has to unpack.
    if array.getattr("mask").is_ok_and(|mask| mask.is_none()) {
        let interface = library.package.bind(py).getattr("interface").expect("a function");
        let dictionary = interface.call1((get("__cuda_array_interface__"),)).expect("an exported dictionary is read");
        let structure = get("__cuda_array_c_interface__");
        let source = library.classes.bind(py).getattr("Structure").and_then(|class| class.call1((structure,)));
        let options = PyDict::new(py);
        options.set_item("sync", false).expect("a str is a key");
        let take = library.package.bind(py).getattr("as_cuda_array").expect("a function");
        let again = take.call((source.expect("a source"),), Some(&options)).expect("an exported structure is read");
        let in_order = dictionary.call_method0("is_c_contiguous").and_then(|flag| flag.extract()).expect("a bool");
        for name in ["shape", "strides", "typestr", "readonly"] {
            // A C-contiguous layout, axes of length 1 included, is exported without strides.
            let any = name == "strides" && in_order;
            assert!(
                any || again.getattr(name).and_then(|value| value.eq(get(name))).expect("plain values compare"),
                "{name}"
            );
        }
        for name in ["shape", "readonly"] {
            assert!(dictionary.getattr(name).and_then(|value| value.eq(get(name))).expect("plain values compare"));
        }
    }
}

/// Numbers for every valid number of axes.
fn numbers(u: &mut Unstructured<'_>, odd: u8) -> Result<Vec<i64>> {
    let mut numbers = vec![1; ROOM];
    for number in numbers.iter_mut().take(8) {
        *number = match u8::arbitrary(u)? {
            choice if choice < odd => i64::arbitrary(u)?,
            choice => i64::from(choice % 6),
        };
    }
    Ok(numbers)
}

fn ndim(u: &mut Unstructured<'_>) -> Result<i32> {
    Ok(match u8::arbitrary(u)? {
        few @ ..230 => i32::from(few % 5),
        many @ 230..250 => i32::from(many) - 180,
        _ => i32::arbitrary(u)?,
    })
}

fn tensor(u: &mut Unstructured<'_>, shape: &[i64], strides: &[i64]) -> Result<Tensor> {
    let pointer = |u: &mut Unstructured<'_>, numbers: &[i64]| -> Result<*const i64> {
        Ok(if u8::arbitrary(u)? < 230 { numbers.as_ptr() } else { null() })
    };
    Ok(Tensor {
        data: address(u)?,
        device: match u8::arbitrary(u)? {
            ..200 => [2, 0],
            200..250 => [i32::from(u8::arbitrary(u)? % 18), 0],
            _ => [i32::arbitrary(u)?, i32::arbitrary(u)?],
        },
        ndim: ndim(u)?,
        code: if u8::arbitrary(u)? < 200 { u8::arbitrary(u)? % 18 } else { u8::arbitrary(u)? },
        bits: if u8::arbitrary(u)? < 200 { 8 << (u8::arbitrary(u)? % 5) } else { u8::arbitrary(u)? },
        lanes: if u8::arbitrary(u)? < 240 { 1 } else { u16::arbitrary(u)? },
        shape: pointer(u, shape)?,
        strides: pointer(u, strides)?,
        byte_offset: if u8::arbitrary(u)? < 200 { u64::from(u8::arbitrary(u)?) } else { u64::arbitrary(u)? },
    })
}

fn address(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u8::arbitrary(u)? {
        ..220 => 0x7f00_0000_0000,
        220..230 => 0,
        _ => u64::arbitrary(u)?,
    })
}

fn c_array(
    u: &mut Unstructured<'_>,
    shape: &[i64],
    strides: &[i64],
    fields: &[Field],
    mask: *const CArray,
) -> Result<CArray> {
    let structured = u8::arbitrary(u)? < 60;
    let flags = if u8::arbitrary(u)? < 240 { u64::from(u8::arbitrary(u)? % 8) } else { u64::arbitrary(u)? };
    // The flags and the numbers mostly agree.
    let number = |u: &mut Unstructured<'_>, flag: u64| -> Result<u64> {
        let agree = u8::arbitrary(u)? < 240;
        Ok(if agree { if flags & flag != 0 { 0x5000 } else { 0 } } else { u64::arbitrary(u)? })
    };
    Ok(CArray {
        major: if u8::arbitrary(u)? < 245 { 1 } else { u32::arbitrary(u)? },
        minor: u32::arbitrary(u)?,
        release: Some(released),
        owner: null_mut(),
        flags,
        data: address(u)?,
        stream: number(u, 2)?,
        event: number(u, 4)?,
        shape: if u8::arbitrary(u)? < 240 { shape.as_ptr() } else { null() },
        strides: if bool::arbitrary(u)? { strides.as_ptr() } else { null() },
        fields: if structured { fields.as_ptr() } else { null() },
        mask,
        ndim: ndim(u)?,
        nfields: match u8::arbitrary(u)? {
            ..240 if structured => (fields.len() as i32).min(2),
            ..240 => 0,
            // Beyond the limit of a table, so the library must not read it.
            _ => i32::MAX - i32::from(u8::arbitrary(u)?),
        },
        device: if u8::arbitrary(u)? < 240 { -1 } else { i32::arbitrary(u)? },
        memory: i32::arbitrary(u)?,
        typestr: typestr(u, structured)?,
        type_name: match u8::arbitrary(u)? {
            ..200 => [0; 24],
            200..230 => inline(b"bfloat16"),
            _ => <[u8; 24]>::arbitrary(u)?,
        },
    })
}

fn typestr(u: &mut Unstructured<'_>, structured: bool) -> Result<[u8; 24]> {
    const TYPES: [&[u8]; 10] = [b"<f4", b"|u1", b"|b1", b"<i8", b">i2", b"<M8[25s]", b"<U3", b"|V8", b"<V2", b"|t1"];
    Ok(match u8::arbitrary(u)? {
        ..230 if structured => inline(b"|V8"),
        choice @ ..230 => inline(TYPES[usize::from(choice) % TYPES.len()]),
        _ => <[u8; 24]>::arbitrary(u)?,
    })
}

fn inline(text: &[u8]) -> [u8; 24] {
    let mut room = [0; 24];
    room[..text.len()].copy_from_slice(text);
    room
}

/// A table of a few fields. Some of them hold others, or the whole table.
fn fields(u: &mut Unstructured<'_>) -> Result<Box<[Field]>> {
    const NAMES: [Option<&CStr>; 6] =
        [Some(c"x"), Some(c"y"), Some(c""), Some(c"gr\xc3\xb6\xc3\x9fe"), Some(c"\xff"), None];
    static SHAPE: [i64; ROOM] = [1; ROOM];
    let blank = |name: &'static CStr| Field {
        name: name.as_ptr(),
        title: null(),
        fields: null(),
        shape: null(),
        nfields: 0,
        ndim: 0,
        typestr: inline(b"<f4"),
        type_name: [0; 24],
    };
    let mut table = vec![blank(c"x"), blank(c"y"), blank(c"z")].into_boxed_slice();
    let pick = |u: &mut Unstructured<'_>| -> Result<*const c_char> {
        Ok(NAMES[usize::from(u8::arbitrary(u)?) % NAMES.len()].map_or(null(), CStr::as_ptr))
    };
    for index in 0..table.len() {
        let whole: *const Field = table.as_ptr();
        let field = &mut table[index];
        if u8::arbitrary(u)? < 80 {
            field.name = pick(u)?;
            field.title = if u8::arbitrary(u)? < 60 { pick(u)? } else { null() };
            (field.shape, field.ndim) = if bool::arbitrary(u)? { (SHAPE.as_ptr(), ndim(u)?) } else { (null(), 0) };
        }
        if u8::arbitrary(u)? < 60 {
            // A field of the table, or the table itself, which is endless.
            let at = usize::from(u8::arbitrary(u)? % 3);
            // SAFETY: within the table.
            field.fields = unsafe { whole.add(at) };
            field.nfields = 1;
            field.typestr = inline(b"|V4");
        }
    }
    Ok(table)
}

//! Whole dictionaries (clauses I1 to I11, V0 to V2): any Python values under any keys, imported as users do.

use crate::{
    assert_readable,
    python_value::{Classes, Maker},
};
use arbitrary::Result;
use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    sync::PyOnceLock,
    types::{IntoPyDict, PyBool, PyDict, PyModule},
};

/// The dictionary is refused with one of three exceptions, or imported with its values. No reference to it stays, and an array
/// of it exports the imported values.
pub fn check(data: &[u8]) {
    Python::attach(|py| {
        let library = Library::get(py);
        let classes = library.classes(py);
        let mut maker = Maker::new(py, &classes, data);
        // An input that ends early is a dictionary with fewer entries.
        let _ = fill(&mut maker);
        let meddles = maker.meddles;
        read(py, library, &classes, &maker.target(), meddles);
        assert!(PyErr::take(py).is_none(), "an exception was left set");
        maker.release();
    });
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
            let classes = Classes::new(py).expect("the classes of hostile values").into_module();
            Library { package: package.unbind(), classes: classes.unbind() }
        })
    }

    fn classes<'py>(&self, py: Python<'py>) -> Classes<'py> {
        Classes::of(self.classes.bind(py).clone())
    }

    /// Calls a function of the package with the keyword `strict`, and with `sync=False` if the function has that keyword.
    fn call<'py>(&self, function: &str, argument: &Bound<'py, PyAny>, strict: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = argument.py();
        let options = [("strict", strict)].into_py_dict(py)?;
        if function != "interface" {
            options.set_item("sync", false)?;
        }
        self.package.bind(py).getattr(function)?.call((argument,), Some(&options))
    }
}

/// Fills the dictionary with mostly valid entries.
fn fill(maker: &mut Maker<'_, '_>) -> Result<()> {
    let dict = maker.target();
    entries(maker, &dict, 1)
}

fn entries<'py>(maker: &mut Maker<'_, 'py>, dict: &Bound<'py, PyDict>, masks: usize) -> Result<()> {
    let set = |key: &str, value: Bound<'py, PyAny>| dict.set_item(key, value).expect("a str is a key");
    let ndim = match maker.byte()? {
        few @ ..250 => usize::from(few % 5),
        many => usize::from(many) - 190,
    };
    match maker.byte()? {
        ..220 => set("shape", maker.ints(ndim)?),
        220..250 => set("shape", maker.value()?),
        250.. => {}
    }
    let mut structured = false;
    match maker.byte()? {
        choice @ ..220 => {
            const TYPES: [&str; 20] = [
                "<f4", "<f8", "|u1", "|b1", "<i8", ">i2", "<c16", "<M8[25s]", "<U3", "|t1", "<t12", "|S5", "|V8",
                "|V12", "|V16", "<V2", "|O", "float32", "=f", "f4",
            ];
            let text = TYPES[usize::from(choice) % TYPES.len()];
            structured = text.contains('V');
            set("typestr", maker.text(text));
        }
        220..250 => set("typestr", maker.value()?),
        250.. => {}
    }
    match maker.byte()? {
        choice @ ..200 => {
            let pointer = match choice {
                ..160 => 0x7f00_0000_0000u64.into_pyobject(dict.py()).expect("an int").into_any(),
                _ => maker.int()?,
            };
            let flag = PyBool::new(dict.py(), choice % 2 == 0).to_owned().into_any();
            set("data", maker.tuple(vec![pointer, flag]));
        }
        200..250 => set("data", maker.value()?),
        250.. => {}
    }
    match maker.byte()? {
        choice @ ..220 => set("version", (choice % 4).into_pyobject(dict.py()).expect("an int").into_any()),
        220..250 => set("version", maker.value()?),
        250.. => {}
    }
    match maker.byte()? {
        ..100 => {}
        100..120 => set("strides", maker.none()),
        120..230 => set("strides", maker.ints(ndim)?),
        230.. => set("strides", maker.value()?),
    }
    match maker.byte()? {
        ..100 => {}
        100..120 => set("stream", maker.none()),
        120..230 => set("stream", maker.int()?),
        230.. => set("stream", maker.value()?),
    }
    match maker.byte()? {
        choice @ ..240 if structured && choice % 4 != 0 => set("descr", maker.descr(3)?),
        240.. => set("descr", maker.value()?),
        _ => {}
    }
    match maker.byte()? {
        choice @ 180..240 if masks > 0 => {
            let mask = PyDict::new(dict.py());
            // A mask with the dictionary itself, or with another dictionary.
            let interface = if choice < 185 { dict.clone() } else { mask };
            if choice >= 185 {
                entries(maker, &interface, masks - 1)?;
            }
            set("mask", maker.producer(&interface));
        }
        250.. => set("mask", maker.value()?),
        _ => {}
    }
    if maker.byte()? > 240 {
        let (key, value) = (maker.value()?, maker.value()?);
        // A value that cannot be hashed cannot be a key.
        let _ = dict.set_item(key, value);
    }
    Ok(())
}

fn read<'py>(py: Python<'py>, library: &Library, classes: &Classes<'py>, dict: &Bound<'py, PyDict>, meddles: bool) {
    let original = dict.copy().expect("a dictionary");
    let restore = || {
        dict.clear();
        dict.update(original.as_mapping()).expect("the earlier contents");
    };
    let outcome = |function: &str, argument: &Bound<'py, PyAny>, strict: bool| {
        if meddles {
            restore();
        }
        let outcome = library.call(function, argument, strict);
        if let Err(error) = &outcome {
            refused(py, classes, error);
        }
        outcome
    };
    let strict = outcome("interface", dict, true);
    let lenient = outcome("interface", dict, false);
    let array = outcome("from_cuda_array_interface", dict, false);
    let strict_array = outcome("from_cuda_array_interface", dict, true);
    drop(original);
    if meddles {
        return;
    }
    if let Ok(strict) = &strict {
        let lenient = lenient.as_ref().expect("a lenient reading takes what is right");
        assert!(strict.eq(lenient).expect("interfaces compare"), "{strict:?} {lenient:?}");
        assert!(get::<Vec<String>>(lenient, "deviations").is_empty());
    }
    assert_eq!(array.is_ok(), lenient.is_ok(), "{array:?} {lenient:?}");
    assert_eq!(strict_array.is_ok(), strict.is_ok(), "{strict_array:?} {strict:?}");
    let (Ok(interface), Ok(array)) = (lenient, array) else { return };
    assert_eq!(strict.is_ok(), get::<Vec<String>>(&interface, "deviations").is_empty());
    described(&interface);
    exported(library, &interface, &array);
}

/// The exception is one of three with a readable message, or passes through.
fn refused<'py>(py: Python<'py>, classes: &Classes<'py>, error: &PyErr) {
    if classes.passes_through(error) {
        return;
    }
    let kind = error.get_type(py);
    let known = [py.get_type::<PyTypeError>(), py.get_type::<PyValueError>(), py.get_type::<PyBufferError>()];
    assert!(known.iter().any(|known| kind.is(known)), "{error}");
    assert_readable(&error.value(py).to_string());
}

/// The value of a property, or of a method without arguments.
fn value<'py>(object: &Bound<'py, PyAny>, name: &str) -> Bound<'py, PyAny> {
    let value = object.getattr(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    if value.is_callable() { value.call0().unwrap_or_else(|error| panic!("{name}: {error}")) } else { value }
}

fn get<'py, T: for<'a> FromPyObject<'a, 'py>>(object: &Bound<'py, PyAny>, name: &str) -> T {
    let value = value(object, name);
    value.extract().unwrap_or_else(|_| panic!("{name} is {value:?}"))
}

/// The imported values are consistent: the byte range is that of the elements, which are visited if they are few.
fn described(interface: &Bound<'_, PyAny>) {
    let shape: Vec<usize> = get(interface, "shape");
    let strides: Vec<isize> = get(interface, "strides");
    let (start, end): (u64, u64) = get(interface, "byte_range");
    let (pointer, nbytes): (u64, usize) = (get(interface, "ptr"), get(interface, "nbytes"));
    assert_eq!(shape.len(), strides.len());
    assert!(start <= end);
    let elements = shape.iter().map(|&length| length as u128).product::<u128>();
    if elements == 0 || nbytes == 0 {
        assert_eq!((start, end, nbytes), (pointer, pointer, 0));
        return;
    }
    assert_ne!(pointer, 0);
    let last = |sign: i128| {
        let reach = shape.iter().zip(&strides).map(|(&length, &stride)| (length as i128 - 1) * stride as i128);
        reach.filter(|reach| reach.signum() == sign).sum::<i128>()
    };
    // The last byte of packed bits follows from their number, not from the strides.
    let typestr: String = get(interface, "typestr");
    let bits: Option<usize> =
        typestr.get(1..).and_then(|kind| kind.strip_prefix('t')).and_then(|bits| bits.parse().ok());
    let packed = bits.is_some_and(|bits| bits % 8 != 0);
    assert_eq!(i128::from(start), i128::from(pointer) + last(-1));
    if packed {
        assert_eq!((end - start) as usize, nbytes);
    } else {
        let itemsize = nbytes as u128 / elements;
        assert_eq!(itemsize * elements, nbytes as u128);
        assert_eq!(i128::from(end), i128::from(pointer) + last(1) + itemsize as i128);
    }
    assert!(!interface.repr().expect("an interface prints").to_string().is_empty());
}

/// A strict import of the array's export equals the first import.
fn exported<'py>(library: &Library, interface: &Bound<'py, PyAny>, array: &Bound<'py, PyAny>) {
    let mask = interface.getattr("mask").expect("a property");
    if !mask.is_none() && get::<String>(&mask, "typestr").ends_with("t1") {
        // A mask of bits is exported as bytes, which a driver has to unpack.
        return;
    }
    let dictionary = array.getattr("__cuda_array_interface__").expect("an array exports");
    let again = library.call("interface", &dictionary, true).unwrap_or_else(|error| panic!("{dictionary:?}: {error}"));
    for name in ["shape", "strides", "typestr", "readonly", "stream", "nbytes", "is_c_contiguous", "is_f_contiguous"] {
        let (was, is) = (value(interface, name), value(&again, name));
        // An empty array, and an axis of length 1, may have any strides; exported they are those of C order.
        let equal = if name == "strides" {
            let shape: Vec<usize> = get(interface, "shape");
            let strides =
                |of| get::<Vec<isize>>(of, "strides").into_iter().zip(&shape).filter(|(_, length)| **length != 1);
            get::<usize>(interface, "nbytes") == 0 || strides(interface).eq(strides(&again))
        } else {
            was.eq(&is).expect("plain values compare")
        };
        assert!(equal, "{name}: {was} became {is}");
    }
    let pointer = if get::<usize>(interface, "nbytes") == 0 { 0 } else { get::<u64>(interface, "ptr") };
    assert_eq!(get::<u64>(&again, "ptr"), pointer);
    assert!(!array.repr().expect("an array prints").to_string().is_empty());
    // An import of the exported dictionary exports an equal dictionary.
    let second = library.call("from_cuda_array_interface", &dictionary, true).expect("an import is imported again");
    let second = second.getattr("__cuda_array_interface__").expect("an array exports");
    let (first, second) = (without_mask(&dictionary), without_mask(&second));
    assert!(first.eq(&second).expect("dictionaries compare"), "{first} became {second}");
}

/// Masks are new objects at each export.
fn without_mask<'py>(dictionary: &Bound<'py, PyAny>) -> Bound<'py, PyDict> {
    let copy = dictionary.cast::<PyDict>().expect("an interface is a dict").copy().expect("a dictionary");
    if copy.contains("mask").expect("a str is a key") {
        copy.del_item("mask").expect("it is there");
    }
    copy
}

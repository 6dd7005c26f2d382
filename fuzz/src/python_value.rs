//! Python values generated from fuzzer bytes: nested, unusual, and sometimes hostile.
//!
//! The dictionary of another library may hold any object. Besides valid entries, the values are therefore
//! subclasses of every built-in type, objects with `__index__` only, and objects whose methods all raise. `Meddler`
//! empties the dictionary while it is read, and some lists contain themselves. [`Maker`] owns every generated
//! object. [`Maker::release`] drops them and checks their reference counts.

use arbitrary::{Arbitrary, Result, Unstructured};
use pyo3::{
    exceptions::PyRecursionError,
    ffi,
    prelude::*,
    types::{IntoPyDict, PyBytes, PyDict, PyFloat, PyList, PyModule, PyString, PyTuple},
};

/// The maximum depth of values. Lists for `descr` may be deeper, as they may hold each other or themselves.
const DEPTH: usize = 4;

/// Classes that are made once, in Python.
pub struct Classes<'py>(Bound<'py, PyModule>);

impl<'py> Classes<'py> {
    pub fn new(py: Python<'py>) -> PyResult<Classes<'py>> {
        PyModule::from_code(py, CLASSES, c"classes.py", c"classes").map(Classes)
    }

    /// The classes that [`Classes::into_module`] has stored.
    pub fn of(module: Bound<'py, PyModule>) -> Classes<'py> {
        Classes(module)
    }

    /// Stores the classes between inputs.
    pub fn into_module(self) -> Bound<'py, PyModule> {
        self.0
    }

    /// An instance of one of the classes.
    fn make(&self, name: &str, argument: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        self.0.getattr(name).and_then(|class| class.call1((argument,))).expect("these classes take any argument")
    }

    /// Whether an exception concerns the whole process (recursion limit, interrupt), so that the library must pass it through.
    pub fn passes_through(&self, error: &PyErr) -> bool {
        let py = self.0.py();
        error.is_instance_of::<PyRecursionError>(py)
            || self.0.getattr("Interrupt").is_ok_and(|class| error.get_type(py).is(&class))
    }
}

const CLASSES: &std::ffi::CStr = cr#"
class Interrupt(BaseException):
    pass

class Text(str):
    pass

class Whole(int):
    def __new__(cls, value):
        return int.__new__(cls, value if isinstance(value, int) else 3)

class Row(tuple):
    def __new__(cls, value):
        return tuple.__new__(cls, value if isinstance(value, (tuple, list)) else (value,))

class Rows(list):
    def __init__(self, value):
        self.append(value)

class Number:
    """Converts to int only through __index__."""
    def __init__(self, value):
        self.value = value
    def __index__(self):
        return self.value

class Hostile:
    """Raises from every special method and every attribute."""
    def __init__(self, kind):
        self.kind = kind
    def fail(self, *_):
        raise self.kind("hostile")
    __repr__ = __index__ = __int__ = __bool__ = __iter__ = __len__ = __eq__ = __getattr__ = fail
    __hash__ = object.__hash__

class Endless:
    """Yields for ever."""
    def __init__(self, value):
        self.value = value
    def __iter__(self):
        while True:
            yield self.value

class Meddler:
    """Empties the target dictionary in every special method."""
    def __init__(self, target):
        self.target = target
    def empty(self, *_):
        if self.target is not None:
            self.target.clear()
        return 2
    __index__ = __len__ = empty
    def __bool__(self):
        return bool(self.empty())
    def __iter__(self):
        return iter((self.empty(),))
    def __repr__(self):
        self.empty()
        return "Meddler"

class Producer:
    """An object with a __cuda_array_interface__, valid or not."""
    def __init__(self, interface):
        self.__cuda_array_interface__ = interface
"#;

pub struct Maker<'a, 'py> {
    pub u: Unstructured<'a>,
    py: Python<'py>,
    classes: &'a Classes<'py>,
    /// The generated objects, children before their parents, without objects that the interpreter shares (small numbers, `None`).
    made: Vec<Bound<'py, PyAny>>,
    /// Objects in reference cycles, which must be emptied before their release.
    cyclic: Vec<Bound<'py, PyAny>>,
    /// The dictionary that is imported, for the objects that change it.
    target: Bound<'py, PyDict>,
    /// Whether a generated object changes the dictionary during the import.
    pub meddles: bool,
}

impl<'a, 'py> Maker<'a, 'py> {
    pub fn new(py: Python<'py>, classes: &'a Classes<'py>, data: &'a [u8]) -> Maker<'a, 'py> {
        let target = PyDict::new(py);
        Maker { u: Unstructured::new(data), py, classes, made: vec![], cyclic: vec![], target, meddles: false }
    }

    /// The dictionary that the fuzz target fills and imports.
    pub fn target(&self) -> Bound<'py, PyDict> {
        self.target.clone()
    }

    pub fn byte(&mut self) -> Result<u8> {
        u8::arbitrary(&mut self.u)
    }

    fn keep<T>(&mut self, value: Bound<'py, T>) -> Bound<'py, PyAny> {
        let value = value.into_any();
        self.made.push(value.clone());
        value
    }

    pub fn none(&self) -> Bound<'py, PyAny> {
        self.py.None().into_bound(self.py)
    }

    /// An int, mostly a small one.
    pub fn int(&mut self) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        let value = match self.byte()? {
            small @ ..180 => (small % 6).into_pyobject(py).map(Bound::into_any),
            180..200 => i16::arbitrary(&mut self.u)?.into_pyobject(py).map(Bound::into_any),
            200..215 => i64::arbitrary(&mut self.u)?.into_pyobject(py).map(Bound::into_any),
            215..225 => u64::arbitrary(&mut self.u)?.into_pyobject(py).map(Bound::into_any),
            225..240 => (1i128 << (self.byte()? % 70)).into_pyobject(py).map(Bound::into_any),
            240..250 => (-(1i128 << (self.byte()? % 70))).into_pyobject(py).map(Bound::into_any),
            250.. => {
                // Larger than the ints that the interpreter shares.
                let huge =
                    (i128::from(i64::arbitrary(&mut self.u)?) + (1 << 100)).into_pyobject(py).map(Bound::into_any);
                return Ok(self.keep(huge.expect("a number is an int")));
            }
        };
        Ok(value.expect("a number is an int"))
    }

    pub fn tuple(&mut self, items: Vec<Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
        let tuple = PyTuple::new(self.py, items).expect("the length is known");
        if tuple.is_empty() { tuple.into_any() } else { self.keep(tuple) }
    }

    /// A tuple of `count` numbers.
    pub fn ints(&mut self, count: usize) -> Result<Bound<'py, PyAny>> {
        let items = (0..count).map(|_| self.int()).collect::<Result<_>>()?;
        Ok(self.tuple(items))
    }

    pub fn text(&mut self, text: &str) -> Bound<'py, PyAny> {
        let text = PyString::new(self.py, text);
        if text.len().unwrap_or(0) < 2 { text.into_any() } else { self.keep(text) }
    }

    /// An array of another library with this interface.
    pub fn producer(&mut self, interface: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        let producer = self.classes.make("Producer", interface);
        // Through a mask, the producer's `__dict__` may refer to the producer.
        self.cyclic.push(producer.getattr("__dict__").expect("instances have a dictionary"));
        self.keep(producer)
    }

    /// Any value.
    pub fn value(&mut self) -> Result<Bound<'py, PyAny>> {
        self.nested(DEPTH)
    }

    fn nested(&mut self, depth: usize) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        let choice = self.byte()?;
        if depth == 0 && choice >= 100 {
            return self.int();
        }
        Ok(match choice {
            ..10 => self.none(),
            10..20 => (choice % 2 == 0).into_pyobject(py).expect("a truth value").to_owned().into_any(),
            20..60 => self.int()?,
            60..70 => {
                let number = f64::arbitrary(&mut self.u)?;
                self.keep(PyFloat::new(py, number))
            }
            70..90 => {
                let text = self.short_text()?;
                self.text(&text)
            }
            90..100 => {
                let bytes = PyBytes::new(py, self.short_text()?.as_bytes());
                if bytes.as_bytes().len() < 2 { bytes.into_any() } else { self.keep(bytes) }
            }
            100..130 => {
                let items = self.items(depth)?;
                self.tuple(items)
            }
            130..150 => {
                let list = PyList::new(py, self.items(depth)?).expect("the length is known");
                if self.byte()? > 240 {
                    list.append(&list).expect("a list takes itself");
                    self.cyclic.push(list.clone().into_any());
                }
                self.keep(list)
            }
            150..160 => {
                let items = self.items(depth)?;
                let dict = items.iter().enumerate().into_py_dict(py).expect("ints are keys");
                self.keep(dict)
            }
            160..200 => {
                let inner = self.nested(depth - 1)?;
                let class = ["Text", "Whole", "Row", "Rows", "Number"][usize::from(choice % 5)];
                // `Text(inner)` would be the repr of `inner`, which may be long.
                let inner = if class == "Text" { self.text("<f4") } else { inner };
                let made = self.classes.make(class, &inner);
                self.keep(made)
            }
            200..215 => {
                let inner = self.nested(depth - 1)?;
                let made = self.classes.make("Endless", &inner);
                self.keep(made)
            }
            215..230 => {
                let kinds = ["Exception", "ValueError", "RuntimeError", "KeyError", "StopIteration", "RecursionError"];
                let kind = match self.byte()? {
                    250.. => self.classes.0.getattr("Interrupt"),
                    index => py.import("builtins").and_then(|b| b.getattr(kinds[usize::from(index) % kinds.len()])),
                };
                let made = self.classes.make("Hostile", &kind.expect("these exceptions exist"));
                self.keep(made)
            }
            230..240 => {
                self.meddles = true;
                let target = self.target.clone().into_any();
                let made = self.classes.make("Meddler", &target);
                self.cyclic.push(made.getattr("__dict__").expect("instances have a dictionary"));
                self.keep(made)
            }
            240.. => {
                let inner = self.nested(depth - 1)?;
                self.producer(&inner)
            }
        })
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Bound<'py, PyAny>>> {
        let count = match self.byte()? {
            few @ ..250 => few % 5,
            many => many - 180,
        };
        (0..count).map(|_| self.nested(depth - 1)).collect()
    }

    fn short_text(&mut self) -> Result<String> {
        let length = usize::from(self.byte()? % 12);
        Ok(String::from_utf8_lossy(self.u.bytes(length.min(self.u.len()))?).into_owned())
    }

    /// A list that resembles a `descr`.
    pub fn descr(&mut self, depth: usize) -> Result<Bound<'py, PyAny>> {
        let mut fields: Vec<Bound<'py, PyAny>> = Vec::new();
        for index in 0..self.byte()? % 5 {
            let field = match self.byte()? {
                // The first field again, so that a name occurs twice.
                250.. if !fields.is_empty() => fields[0].clone(),
                240.. => self.value()?,
                _ => self.field(index, depth)?,
            };
            fields.push(field);
        }
        let list = PyList::new(self.py, fields).expect("the length is known");
        match self.byte()? {
            // Nested lists in which both fields share one inner list.
            245..250 => {
                let mut list = list.clone();
                // Each turn doubles the number of fields, so the check of the limit takes longer.
                let turns = match self.byte()? {
                    few @ ..250 => few % 10,
                    many => many - 215,
                };
                for _ in 0..turns {
                    let (x, y) = (self.text("xx"), self.text("yy"));
                    let inner = self.keep(list);
                    let fields = [self.tuple(vec![x, inner.clone()]), self.tuple(vec![y, inner])];
                    list = PyList::new(self.py, fields).expect("the length is known");
                }
                return Ok(self.keep(list));
            }
            250.. => {
                // Recorded before the tuple that contains it, since `release` drops parents first.
                let made = self.keep(list.clone());
                let name = self.text("self");
                let field = self.tuple(vec![name, made.clone()]);
                list.append(field).expect("a list takes anything");
                self.cyclic.push(made.clone());
                return Ok(made);
            }
            _ => {}
        }
        Ok(self.keep(list))
    }

    fn field(&mut self, index: u8, depth: usize) -> Result<Bound<'py, PyAny>> {
        let name = match self.byte()? {
            ..180 => self.text(&format!("field{index}")),
            180..200 => self.text(""),
            200..230 => {
                let (title, name) = (self.text(&format!("title{index}")), self.text(&format!("name{index}")));
                self.tuple(vec![title, name])
            }
            230.. => self.value()?,
        };
        let ty = match self.byte()? {
            choice @ ..160 => {
                let types = ["<f4", "|u1", ">i8", "|V3", "<U2", "|t12", "<M8[ns]", "|b1", "|O8", "f4"];
                self.text(types[usize::from(choice) % types.len()])
            }
            160..230 if depth > 0 => self.descr(depth - 1)?,
            _ => self.value()?,
        };
        let mut entries = vec![name, ty];
        match self.byte()? {
            ..160 => {}
            160..200 => {
                let ndim = usize::from(self.byte()? % 4);
                entries.push(self.ints(ndim)?);
            }
            200..220 => entries.push(self.int()?),
            220.. => entries.push(self.value()?),
        }
        Ok(self.tuple(entries))
    }

    /// Drops all values, parents first, and panics if a reference count is wrong.
    pub fn release(mut self) {
        self.target.clear();
        for cyclic in self.cyclic.drain(..) {
            cyclic.call_method0("clear").expect("lists and dictionaries can be emptied");
        }
        assert_eq!(references(&self.target), 1, "references to the dictionary");
        while let Some(value) = self.made.pop() {
            assert_eq!(references(&value), 1, "references to a {}", value.get_type());
        }
    }
}

fn references<T>(value: &Bound<'_, T>) -> isize {
    // SAFETY: the object is held while its count is read.
    unsafe { ffi::Py_REFCNT(value.as_ptr()) }
}

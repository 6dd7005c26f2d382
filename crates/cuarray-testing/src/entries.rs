//! Dictionaries as plain data, illegal ones included.

use cuarray::Interface;

/// A value of a dictionary, of any type that Python code may put there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `None`
    None,
    /// A `bool`
    Bool(bool),
    /// An `int`, also beyond 64 bits
    Int(i128),
    /// A `float`
    Float(f64),
    /// A `str`
    Text(String),
    /// A `tuple`
    Tuple(Vec<Value>),
    /// A `list`
    List(Vec<Value>),
    /// A `list` of tuples, as `descr` is: names and type strings
    Fields(Vec<(String, String)>),
}

/// The entries of a `__cuda_array_interface__`, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries(Vec<(&'static str, Value)>);

impl Entries {
    /// The entries of a legal interface of version 3. Its mask and `descr` are left out.
    pub fn of(interface: &Interface) -> Self {
        let ints = |values: &mut dyn Iterator<Item = i128>| Value::Tuple(values.map(Value::Int).collect());
        let mut entries = Self(vec![
            ("shape", ints(&mut interface.shape().iter().map(|&length| length as i128))),
            ("typestr", Value::Text(interface.typestr().to_string())),
            ("data", Value::Tuple(vec![Value::Int(interface.data().into()), Value::Bool(interface.is_read_only())])),
            ("version", Value::Int(3)),
            ("strides", ints(&mut interface.strides().iter().map(|&stride| stride as i128))),
        ]);
        if let Some(handle) = interface.stream().handle() {
            entries.set("stream", Value::Int(handle as i128));
        }
        entries
    }

    /// Replaces an entry, or adds it at the end.
    pub fn set(&mut self, key: &'static str, value: Value) {
        match self.0.iter_mut().find(|entry| entry.0 == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Removes an entry, if it is there.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|entry| entry.0 != key);
    }

    /// The value of an entry.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
    }

    /// The entries, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }
}

#[cfg(feature = "python")]
mod python {
    use super::{Entries, Value};
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyList, PyTuple};

    impl<'py> IntoPyObject<'py> for &Value {
        type Target = PyAny;
        type Output = Bound<'py, PyAny>;
        type Error = PyErr;

        fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            Ok(match self {
                Value::None => py.None().into_bound(py),
                Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
                Value::Int(value) => value.into_pyobject(py)?.into_any(),
                Value::Float(value) => value.into_pyobject(py)?.into_any(),
                Value::Text(value) => value.into_pyobject(py)?.into_any(),
                Value::Tuple(values) => PyTuple::new(py, values)?.into_any(),
                Value::List(values) => PyList::new(py, values)?.into_any(),
                Value::Fields(fields) => PyList::new(py, fields.clone())?.into_any(),
            })
        }
    }

    impl Entries {
        /// The entries as a Python dictionary.
        pub fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            for (key, value) in self.iter() {
                dict.set_item(key, value)?;
            }
            Ok(dict)
        }
    }
}

//! Conversion of element types between Python and the interface, for every argument that `numpy.dtype` accepts.
//!
//! NumPy describes a type in more detail than its array interface can. A void may be a type of ml_dtypes, and bytes of a structure
//! may be a gap or a field of void. Fields may overlap or be out of order, and then NumPy's interface silently describes a bare
//! void. So a dtype is read from its own attributes and made from them, without `dtype.str` of a structure or its `descr`.
//! A type that no interface can describe is refused, with the reason.
//!
//! ml_dtypes is imported only for a type with one of its names, and nothing fails without it. NumPy then shows a plain
//! void, while `typestr` and `repr` still show the name.

use super::host;
use crate::python::ffi::{
    inspect::{shown, type_name},
    per_number::PerNumber,
    raised::passes_through,
};
use crate::{Bool8, Complex, Descr, Dims, Error, Field, FieldType, Interface, Result, TypeStr};
use pyo3::{
    IntoPyObjectExt,
    exceptions::{PyImportError, PyTypeError},
    intern,
    prelude::*,
    types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

/// The type of an array's elements.
pub(in crate::python) struct Element {
    pub(in crate::python) typestr: TypeStr,
    pub(in crate::python) descr: Option<Descr>,
}

impl Element {
    /// Reads an argument `dtype`; the default is `float64`. Type strings, names of types ('float32', 'bfloat16') and Python's `bool`,
    /// `int`, `float` and `complex` need no NumPy. Other arguments are passed to `numpy.dtype`.
    pub(in crate::python) fn of(py: Python<'_>, dtype: Option<&Bound<'_, PyAny>>) -> Result<Element> {
        let Some(dtype) = dtype else { return Ok(Element { typestr: TypeStr::of::<f64>(), descr: None }) };
        if let Ok(text) = dtype.cast::<PyString>() {
            let text = text.to_string_lossy();
            let named = || text.parse().map(TypeStr::named).ok();
            if let Some(typestr) = text.parse().ok().or_else(named).or_else(|| TypeStr::from_dtype_text(&text)) {
                return Ok(Element { typestr, descr: None });
            }
        }
        let of_python = [
            (py.get_type::<PyFloat>(), TypeStr::of::<f64>()),
            (py.get_type::<PyInt>(), TypeStr::of::<i64>()),
            (py.get_type::<PyBool>(), TypeStr::of::<Bool8>()),
            (py.get_type::<PyComplex>(), TypeStr::of::<Complex<f64>>()),
        ];
        if let Some((_, typestr)) = of_python.into_iter().find(|(class, _)| dtype.is(class)) {
            return Ok(Element { typestr, descr: None });
        }
        let read = host::numpy(py)?.call_method1(intern!(py, "dtype"), (dtype,));
        Element::of_dtype(&read.map_err(|error| not_a_dtype(dtype, error))?)
    }

    /// The element type of an interface.
    pub(in crate::python) fn of_interface(interface: &Interface) -> Element {
        Element { typestr: interface.typestr(), descr: interface.descr().cloned() }
    }

    /// The element type of a `numpy.dtype`.
    ///
    /// # Errors
    /// No interface can describe the type. It is a sub-array or an unknown type of an extension of NumPy, or it has overlapping or
    /// unordered fields, a field without a name, or a title that is not text.
    pub(in crate::python) fn of_dtype(dtype: &Bound<'_, PyAny>) -> Result<Element> {
        match field_type(dtype, 0)? {
            (FieldType::TypeStr(typestr), shape) if shape.is_empty() => Ok(Element { typestr, descr: None }),
            (FieldType::Struct(descr), shape) if shape.is_empty() => {
                // No descr has more bytes than a type string can express.
                Ok(Element { typestr: TypeStr::void(descr.itemsize() as u32), descr: Some(descr) })
            }
            _ => {
                let why = "an array of such elements has more axes; add them to the shape";
                Err(Error::argument(format!("{dtype} is the type of a sub-array: {why}")))
            }
        }
    }
}

/// The type of a field, and its shape if it is a sub-array. Nested sub-arrays become one array with more axes.
fn field_type(dtype: &Bound<'_, PyAny>, depth: usize) -> Result<(FieldType, Dims)> {
    let py = dtype.py();
    let mut shape = Dims::new();
    let mut dtype = dtype.clone();
    loop {
        let subdtype = dtype.getattr(intern!(py, "subdtype"))?;
        if subdtype.is_none() {
            break;
        }
        let (base, axes): (Bound<'_, PyAny>, Vec<usize>) = subdtype.extract()?;
        shape.extend(axes);
        dtype = base;
    }
    // A number may have fields too, as other names for its bytes (`numpy.dtype((numpy.int32, {...}))`).
    let text: String = dtype.getattr(intern!(py, "str"))?.extract()?;
    let names = dtype.getattr(intern!(py, "names"))?;
    if text.starts_with("|V") && !names.is_none() {
        return Ok((structure(&dtype, &names, depth)?.into(), shape));
    }
    // 2 means a type that an extension has added to NumPy.
    if dtype.getattr(intern!(py, "isbuiltin"))?.extract::<u8>()? == 2 {
        return Ok((named(&dtype)?.into(), shape));
    }
    let typestr: TypeStr = text.parse().map_err(|_| {
        Error::argument(format!("{} is not a type of CUDA arrays: no type string describes it", shown(&dtype)))
    })?;
    Ok((typestr.into(), shape))
}

/// NumPy's error for a value that is no type. NumPy writes the value's `repr` into it, and raises the exception of a `repr` instead.
#[cold]
fn not_a_dtype(value: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = value.py();
    if passes_through(py, &error) || value.repr().is_ok() {
        return error;
    }
    let replaced =
        PyTypeError::new_err(format!("dtype: {} is a {}; a type is expected", shown(value), type_name(value)));
    replaced.set_cause(py, Some(error));
    replaced
}

fn named(dtype: &Bound<'_, PyAny>) -> Result<TypeStr> {
    let py = dtype.py();
    let refused = |why| Error::argument(format!("{} is not a type of CUDA arrays: {why}", shown(dtype)));
    let name: String = dtype.getattr(intern!(py, "name"))?.extract()?;
    let typestr = name.parse().map(TypeStr::named).map_err(|error: Error| refused(error.to_string()))?;
    if !dtype.getattr(intern!(py, "isnative"))?.extract::<bool>()? {
        return Err(refused("its bytes are swapped, which void cannot express".to_owned()));
    }
    if dtype.getattr(intern!(py, "itemsize"))?.extract::<usize>()? != typestr.itemsize() {
        return Err(refused(format!("its item size is not {}, that of {name}", typestr.itemsize())));
    }
    Ok(typestr)
}

fn structure(dtype: &Bound<'_, PyAny>, names: &Bound<'_, PyAny>, depth: usize) -> Result<Descr> {
    let py = dtype.py();
    if depth >= Descr::MAX_DEPTH {
        return Err(Error::entry("descr", format!("nests structures more than {} levels deep", Descr::MAX_DEPTH)));
    }
    let fields = dtype.getattr(intern!(py, "fields"))?;
    let mut listed = Vec::new();
    for name in names.try_iter()? {
        let name = name?;
        let entry = fields.get_item(&name)?;
        let entry = entry.cast::<PyTuple>().map_err(PyErr::from)?;
        let title = match entry.get_item(2) {
            Ok(title) if !title.is_none() => Some(title),
            _ => None,
        };
        let title = title.map(|title| match title.cast::<PyString>() {
            Ok(text) => Ok(text.extract::<String>()?),
            Err(_) => {
                let what = format!("the title {} of field {} is a {}", shown(&title), shown(&name), type_name(&title));
                Err(Error::entry("descr", format!("{what}; a str is expected")))
            }
        });
        let text: String = name.extract()?;
        if text.is_empty() {
            return Err(Error::entry(
                "descr",
                format!("{dtype} has a field without a name, which would read as a gap"),
            ));
        }
        let (ty, shape) = field_type(&entry.get_item(0)?, depth + 1)?;
        listed
            .push((entry.get_item(1)?.extract()?, Field { title: title.transpose()?, shape, ..Field::new(text, ty) }));
    }
    Descr::from_offsets(dtype.getattr(intern!(py, "itemsize"))?.extract()?, listed)
}

/// The `numpy.dtype` of an interface's elements; void for a named type if ml_dtypes cannot be imported.
///
/// # Errors
/// NumPy has no such type, for example a bit field.
pub(in crate::python) fn of_interface<'py>(py: Python<'py>, interface: &Interface) -> Result<Bound<'py, PyAny>> {
    match interface.descr() {
        Some(descr) => made_structure(py, descr),
        None => made(py, interface.typestr()),
    }
}

/// The `numpy.dtype` with which NumPy converts `value` to elements of `interface`.
///
/// # Errors
/// As [`of_interface`]; also if the conversion needs ml_dtypes, which cannot be imported.
pub(in crate::python) fn for_value<'py>(value: &Bound<'py, PyAny>, interface: &Interface) -> Result<Bound<'py, PyAny>> {
    let py = value.py();
    if let Some(name) = interface.typestr().name()
        && !value.hasattr(intern!(py, "__array_interface__"))?
        && ml_dtype(py, name.name())?.is_none()
    {
        let how = "install ml_dtypes if it has the type, or pass an array of such elements";
        return Err(Error::unsupported(format!("NumPy alone cannot convert numbers to '{name}'; {how}")));
    }
    of_interface(py, interface)
}

fn made(py: Python<'_>, typestr: TypeStr) -> Result<Bound<'_, PyAny>> {
    static MADE: PerNumber<Py<PyAny>> = PerNumber::new();
    match MADE.of(typestr) {
        Some(made) => Ok(made.get_or_try_init(py, || make(py, typestr).map(Bound::unbind))?.bind(py).clone()),
        None => make(py, typestr),
    }
}

fn make(py: Python<'_>, typestr: TypeStr) -> Result<Bound<'_, PyAny>> {
    if let Some(name) = typestr.name()
        && let Some(dtype) = ml_dtype(py, name.name())?
    {
        return Ok(dtype);
    }
    host::numpy(py)?.call_method1(intern!(py, "dtype"), (typestr.to_string(),)).map_err(|error| {
        match error.is_instance_of::<PyTypeError>(py) {
            true => Error::unsupported(format!("NumPy has no type for the typestr '{typestr}'")),
            false => error.into(),
        }
    })
}

/// The type of that name in ml_dtypes; `None` if the package is missing, or lacks the type.
fn ml_dtype<'py>(py: Python<'py>, name: &str) -> Result<Option<Bound<'py, PyAny>>> {
    let module = match py.import(intern!(py, "ml_dtypes")) {
        Ok(module) => module,
        Err(error) if error.is_instance_of::<PyImportError>(py) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Some(scalar) = module.as_any().getattr_opt(name)? else { return Ok(None) };
    Ok(Some(host::numpy(py)?.call_method1(intern!(py, "dtype"), (scalar,))?))
}

/// Makes the `numpy.dtype` of a structure from offsets, because from a list NumPy would turn each gap into a named field.
fn made_structure<'py>(py: Python<'py>, descr: &Descr) -> Result<Bound<'py, PyAny>> {
    let [names, formats, offsets, titles] = std::array::from_fn(|_| PyList::empty(py));
    for ((index, offset), field) in descr.offsets().enumerate().zip(descr.fields()) {
        if field.is_padding() {
            continue;
        }
        let ty = match &field.ty {
            FieldType::TypeStr(typestr) => made(py, *typestr)?,
            FieldType::Struct(descr) => made_structure(py, descr)?,
        };
        names.append(match &*field.name {
            // NumPy's name for a field without a name.
            "" => format!("f{index}"),
            name => name.to_owned(),
        })?;
        formats.append(match &*field.shape {
            [] => ty,
            shape => (ty, PyTuple::new(py, shape)?).into_bound_py_any(py)?,
        })?;
        offsets.append(offset)?;
        titles.append(field.title.as_deref())?;
    }
    let spec = PyDict::new(py);
    spec.set_item(intern!(py, "names"), names)?;
    spec.set_item(intern!(py, "formats"), formats)?;
    spec.set_item(intern!(py, "offsets"), offsets)?;
    spec.set_item(intern!(py, "titles"), titles)?;
    spec.set_item(intern!(py, "itemsize"), descr.itemsize())?;
    Ok(host::numpy(py)?.call_method1(intern!(py, "dtype"), (spec,))?)
}

//! A ready test for extension modules: one function, every awkward array, and illegal dictionaries.

mod memory;
mod report;

use crate::{AWKWARD, Entries, hostile, layouts};
use cuarray::{Context, Driver, Layout};
use memory::{Array, drawn, error};
use pyo3::exceptions::{PyException, PyMemoryError, PyRecursionError, PySystemError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

pub use report::{Case, Report, Verdict};

/// The time that a run waits for arrays that another thread is about to release.
const PATIENCE: Duration = Duration::from_secs(5);

type Call<'a, 'py> = dyn FnMut(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> + 'a;

/// A test that calls a function of an extension module with every awkward array and with illegal dictionaries.
///
/// A call fails the test if
///
/// - it panics, or raises `SystemError`, `MemoryError`, `RecursionError` or an exception that is no `Exception`;
/// - it accepts an illegal dictionary;
/// - it writes a byte that belongs to no element, an element of a read-only array, or an element at all without [`Self::writes`];
/// - it keeps the array alive after its result is dropped.
///
/// A refusal of a legal array is no failure, because most functions take few types. The report lists each, with the exception. A
/// crash ends the process; with `CUARRAY_TESTING_TRACE=1` in the environment, the name of each array is printed before its call.
///
/// ```no_run
/// use pyo3::prelude::*;
///
/// # fn module(_: Python<'_>) -> Bound<'_, PyModule> { unimplemented!() }
/// Python::initialize();
/// Python::attach(|py| {
///     let scale = module(py).getattr("scale")?;
///     let report = cuarray_testing::ExtensionTest::new(|array| scale.call1((array, 2.0))).writes().run(py)?;
///     report.assert_passed();
///     PyResult::Ok(())
/// })
/// # .unwrap();
/// ```
pub struct ExtensionTest<'a, 'py> {
    call: Box<Call<'a, 'py>>,
    may_write: bool,
    random: usize,
    patience: Duration,
}

impl<'a, 'py> ExtensionTest<'a, 'py> {
    /// A test of a call that passes the given array to a function.
    pub fn new(call: impl FnMut(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> + 'a) -> Self {
        Self { call: Box::new(call), may_write: false, random: 64, patience: PATIENCE }
    }

    /// A test of a Python callable that takes one array.
    pub fn of(function: &'a Bound<'py, PyAny>) -> Self {
        Self::new(move |array| function.call1((array,)))
    }

    /// States that the function changes the elements of its argument.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.may_write = true;
        self
    }

    /// Sets the number of random layouts, and of random illegal dictionaries, which is 64 by default. They are the same in each run.
    #[must_use]
    pub fn random(mut self, count: usize) -> Self {
        self.random = count;
        self
    }

    /// Makes all calls, on the first device of the driver that the extension uses too.
    ///
    /// # Errors
    ///
    /// `RuntimeError` if there is no driver, or the test's own memory cannot be made. Exceptions of the function are in the report.
    pub fn run(mut self, py: Python<'py>) -> PyResult<Report> {
        let driver = Driver::load().map_err(|why| error("there is no driver", why))?;
        let context = driver.default_context().map_err(|why| error("there is no context", why))?;
        let mut report = Report::default();
        for of in AWKWARD {
            let array = Array::awkward(&context, of).map_err(|why| error(of.name, why))?;
            report.add(of.name.to_owned(), true, self.legal(py, &context, of.name, &array)?);
        }
        for layout in drawn(&layouts(4), self.random) {
            let name = format!("shape {:?}, strides {:?}", layout.shape(), layout.strides());
            let array = Array::of_layout(&context, layout).map_err(|why| error(&name, why))?;
            let verdict = self.legal(py, &context, &name, &array)?;
            report.add(name, true, verdict);
        }
        let layout = Layout::c_contiguous(&[2, 3], 4).map_err(|why| error("the layout", why))?;
        let array = Array::of_layout(&context, layout).map_err(|why| error("the memory", why))?;
        for case in drawn(&hostile(array.memory.pointer()), self.random) {
            let name = match case.entries.get(case.key) {
                Some(value) => format!("{} {} {value:?}", case.clause, case.key),
                None => format!("{} without {}", case.clause, case.key),
            };
            let verdict = match self.attempt(py, &context, &name, &case.entries, &array, false)? {
                Verdict::Accepted => Verdict::Failed("accepts an illegal array".to_owned()),
                other => other,
            };
            report.add(name, false, verdict);
        }
        Ok(report)
    }

    fn legal(&mut self, py: Python<'py>, context: &Context, name: &str, array: &Array) -> PyResult<Verdict> {
        let may_write = self.may_write;
        self.attempt(py, context, name, &array.entries, array, may_write)
    }

    /// Makes one call, and looks at the memory and the references behind it.
    fn attempt(
        &mut self,
        py: Python<'py>,
        context: &Context,
        name: &str,
        entries: &Entries,
        array: &Array,
        may_write: bool,
    ) -> PyResult<Verdict> {
        if std::env::var_os("CUARRAY_TESTING_TRACE").is_some() {
            eprintln!("cuarray-testing: {name}");
        }
        let dict = entries.to_dict(py)?;
        if let Some(mask) = array.mask() {
            dict.set_item("mask", object(py, mask.to_dict(py)?)?)?;
        }
        let argument = object(py, dict)?;
        let alive = py.import("weakref")?.getattr("ref")?.call1((&argument,))?;
        // PyO3 continues a panic of the extension here, in place of an exception.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.call)(&argument).map(drop)));
        drop(argument);
        let verdict = match outcome {
            Ok(Ok(())) => Verdict::Accepted,
            Ok(Err(raised)) => refusal(py, &raised),
            Err(payload) => Verdict::Failed(format!("panics: {}", said(&*payload))),
        };
        let may_write = may_write && verdict == Verdict::Accepted;
        let wrong = array.wrong_write(context, may_write).map_err(|why| error(name, why))?;
        Ok(match (verdict, wrong) {
            (Verdict::Failed(why), _) | (_, Some(why)) => Verdict::Failed(why),
            _ if !self.is_released(py, context, &alive)? => {
                Verdict::Failed("keeps the array after its result is dropped".to_owned())
            }
            (verdict, None) => verdict,
        })
    }

    /// Whether the array is released, now or within the time that is left of the run's patience.
    ///
    /// Deferred releases are one list for all threads, in cuarray and in PyO3. A thread of another test may have taken this array from
    /// it, and wait for the GIL.
    fn is_released(&mut self, py: Python<'py>, context: &Context, alive: &Bound<'py, PyAny>) -> PyResult<bool> {
        let begun = Instant::now();
        loop {
            // Work that has ended may still keep the array until its event is asked for.
            context.driver().reclaim(true);
            // PyO3 drops references that a detached thread released when a thread attaches again.
            py.detach(|| ());
            py.import("gc")?.call_method0("collect")?;
            if alive.call0()?.is_none() {
                return Ok(true);
            }
            if begun.elapsed() > self.patience {
                self.patience = Duration::ZERO;
                return Ok(false);
            }
            py.detach(|| std::thread::sleep(Duration::from_millis(1)));
        }
    }
}

/// The verdict about a call that raised an exception.
fn refusal(py: Python<'_>, raised: &PyErr) -> Verdict {
    let said = raised.to_string();
    let is_fault = raised.is_instance_of::<PySystemError>(py)
        || raised.is_instance_of::<PyMemoryError>(py)
        || raised.is_instance_of::<PyRecursionError>(py);
    if !raised.is_instance_of::<PyException>(py) || is_fault {
        return Verdict::Failed(format!("raises {said}"));
    }
    Verdict::Refused(said)
}

/// The message of a panic.
fn said(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// A new object with this `__cuda_array_interface__`.
fn object<'py>(py: Python<'py>, entries: Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let kind = py.get_type::<PyType>().call1(("Array", PyTuple::empty(py), PyDict::new(py)))?;
    let made = kind.call0()?;
    made.setattr("__cuda_array_interface__", entries)?;
    Ok(made)
}

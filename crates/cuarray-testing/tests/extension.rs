//! The test for extension modules passes a careful function, and finds each fault. It needs a driver, as `libcuda.so.1` or in `CUARRAY_DRIVER`.

use cuarray::python::{DeviceView, DeviceViewMut};
use cuarray::{Driver, IxDyn, Stream, driver::copy};
use cuarray_testing::{ExtensionTest, Report, Verdict};
use pyo3::exceptions::{PySystemError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyList;

fn with_python(test: impl FnOnce(Python<'_>) -> PyResult<()>) {
    Python::initialize();
    Python::attach(|py| test(py).map_err(|error| error.display(py))).expect("no exception");
}

/// Reads the elements.
fn careful<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let view: DeviceView<'py, f32, IxDyn> = array.extract()?;
    let stream = view.stream()?;
    let values = view.acquire(&stream)?.copy_to_host()?;
    values.into_pyobject(array.py())
}

/// Writes `count` bytes at `offset` from the first element, and waits.
fn write(array: &Bound<'_, PyAny>, offset: i64, count: usize) -> PyResult<()> {
    let (pointer, _): (u64, bool) = array.getattr("__cuda_array_interface__")?.get_item("data")?.extract()?;
    let context = Driver::load()?.default_context()?;
    let stream = Stream::legacy_default(&context);
    context.synchronize()?;
    let bytes = vec![0x77; count];
    // SAFETY: the arrays of the test have unused bytes around them; `bytes` lives until the stream is synchronized.
    unsafe {
        copy::copy_host_to_device(&context, pointer.wrapping_add_signed(offset), bytes.as_ptr(), count, Some(&stream))?;
    }
    Ok(stream.synchronize()?)
}

fn writes<'py>(array: &Bound<'py, PyAny>, offset: i64, count: usize) -> PyResult<Bound<'py, PyAny>> {
    write(array, offset, count)?;
    Ok(array.py().None().into_bound(array.py()))
}

#[track_caller]
fn expect_failure(report: &Report, name: &str, message: &str) {
    let found = report.failures().find(|case| case.name.starts_with(name));
    match found.map(|case| &case.verdict) {
        Some(Verdict::Failed(reason)) => assert!(reason.contains(message), "{reason}"),
        _ => panic!("{name} did not fail\n{report}"),
    }
}

#[test]
fn careful_function_passes_and_its_refusals_are_listed() {
    with_python(|py| {
        let report = ExtensionTest::new(careful).run(py)?;
        report.assert_passed();
        assert!(report.accepted() > 64, "{report}");
        let text = report.to_string();
        assert!(text.contains("accepted F-order") && text.contains("accepted pending"), "{text}");
        assert!(text.contains("refused  masked: BufferError"), "{text}");
        assert!(text.contains("refused  big-endian: BufferError"), "{text}");
        Ok(())
    });
}

#[test]
fn illegal_dictionaries_that_are_accepted_fail() {
    with_python(|py| {
        let report = ExtensionTest::new(|array| Ok(array.py().None().into_bound(array.py()))).random(30).run(py)?;
        assert_eq!(report.failures().count(), 30, "{report}");
        expect_failure(&report, "I", "accepts an illegal array");
        Ok(())
    });
}

#[test]
fn function_that_accepts_nothing_does_not_pass() {
    let refused = std::panic::catch_unwind(|| {
        with_python(|py| {
            ExtensionTest::new(|_| Err(PyTypeError::new_err("no"))).random(3).run(py)?.assert_passed();
            Ok(())
        });
    });
    let said = refused.expect_err("a panic");
    assert!(said.downcast_ref::<String>().is_some_and(|text| text.contains("none of the legal arrays")));
}

#[pyfunction]
fn panics(array: &Bound<'_, PyAny>) -> usize {
    let entries = array.getattr("__cuda_array_interface__").expect("an interface");
    entries.get_item("shape").expect("a shape").len().expect("a tuple")
}

#[test]
fn panic_and_system_error_fail() {
    with_python(|py| {
        let function = wrap_pyfunction!(panics, py)?;
        let report = ExtensionTest::of(function.as_any()).random(100).run(py)?;
        expect_failure(&report, "I1 without shape", "panics: a shape");
        let report = ExtensionTest::new(|_| Err(PySystemError::new_err("a bug"))).random(1).run(py)?;
        expect_failure(&report, "C-order", "raises SystemError: a bug");
        Ok(())
    });
}

#[test]
fn writes_beside_the_elements_fail() {
    with_python(|py| {
        // The pointer of an array without elements is 0, and the driver refuses a write there.
        let report = ExtensionTest::new(|array| writes(array, -1, 1)).writes().random(0).run(py)?;
        expect_failure(&report, "C-order", "wrote a byte that belongs to no element, -1 bytes from the first element");
        let report = ExtensionTest::new(|array| writes(array, 0, 4)).random(0).run(py)?;
        expect_failure(&report, "C-order", "wrote an element, 0 bytes from the first element");
        let report = ExtensionTest::new(|array| writes(array, 0, 4)).writes().random(0).run(py)?;
        expect_failure(&report, "read-only", "wrote an element of a read-only array, 0 bytes");
        let passed = report.cases().iter().find(|case| case.name == "C-order").map(|case| &case.verdict);
        assert_eq!(passed, Some(&Verdict::Accepted), "{report}");
        let report = ExtensionTest::new(|array| writes(array, 4, 4)).writes().random(0).run(py)?;
        expect_failure(&report, "sliced", "wrote a byte that belongs to no element, 4 bytes from the first element");
        Ok(())
    });
}

#[test]
fn array_that_is_kept_fails() {
    with_python(|py| {
        let kept = PyList::empty(py);
        let report = ExtensionTest::new(|array| {
            kept.append(array)?;
            Ok(py.None().into_bound(py))
        })
        .random(0)
        .run(py)?;
        expect_failure(&report, "C-order", "keeps the array after its result is dropped");
        Ok(())
    });
}

/// Each run waits without the GIL, so the other one may release its arrays.
#[test]
fn runs_of_two_threads_pass() {
    Python::initialize();
    let run = || Python::attach(|py| ExtensionTest::new(careful).run(py).expect("no exception").assert_passed());
    std::thread::scope(|threads| {
        threads.spawn(run);
        run();
    });
}

#[test]
fn refusal_after_a_write_fails() {
    with_python(|py| {
        let report = ExtensionTest::new(|array| {
            let mut view: DeviceViewMut<'_, f32, IxDyn> = array.extract()?;
            let stream = view.stream()?;
            view.acquire_mut(&stream)?.release()?;
            write(array, 0, 4)?;
            Err(PyTypeError::new_err("too late"))
        })
        .writes()
        .random(0)
        .run(py)?;
        expect_failure(&report, "C-order", "wrote an element, 0 bytes");
        Ok(())
    });
}

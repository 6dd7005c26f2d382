//! The ready test for extension modules, applied to both functions.

use cuarray_testing::ExtensionTest;
use pyo3::prelude::*;

/// Runs a test with the module, as Python imports it.
fn with_module(test: impl FnOnce(Python<'_>, Bound<'_, PyModule>) -> PyResult<()>) {
    Python::initialize();
    let outcome = Python::attach(|py| {
        let module = pyo3::wrap_pymodule!(test_an_extension::test_an_extension)(py);
        test(py, module.into_bound(py))
    });
    outcome.expect("no exception");
}

#[test]
fn total_takes_every_array_of_its_type() {
    with_module(|py, module| {
        let report = ExtensionTest::of(&module.getattr("total")?).run(py)?;
        println!("{report}");
        report.assert_passed();
        Ok(())
    });
}

#[test]
fn assign_writes_the_elements_only() {
    with_module(|py, module| {
        let assign = module.getattr("assign")?;
        let report = ExtensionTest::new(|array| assign.call1((array, 2.0))).writes().run(py)?;
        println!("{report}");
        report.assert_passed();
        Ok(())
    });
}

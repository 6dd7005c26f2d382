//! `Display` and `Debug` of arrays: all elements of small arrays, the ends of large ones, after the work on them.

use crate::driver_fixture::{Fixture, streams};
use cuarray::{DeviceArray, IntoShape, driver::fill::fill_bytes, s, sync::Access};

/// An array of 0, 1, 2, … as text.
fn counted<S: IntoShape>(shape: S) -> String {
    let fixture = Fixture::new();
    let [stream, _] = streams(&fixture.primary());
    let elements: Vec<u32> = (0..shape.lengths().iter().product::<usize>() as u32).collect();
    DeviceArray::from_host(&elements, shape, &stream).unwrap().to_string()
}

#[test]
fn small_arrays_show_all_elements_in_c_order() {
    assert_eq!(counted([0; 0]), "0");
    assert_eq!(counted([3]), "[0, 1, 2]");
    assert_eq!(counted([2, 3]), "[[0, 1, 2],\n [3, 4, 5]]");
    assert_eq!(counted([2, 2, 2]), "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]");
    assert_eq!(counted([0]), "[]");
    assert_eq!(counted([2, 0, 5000]), "[]");
    assert!(!counted([1000]).contains("..."));
}

#[test]
fn large_arrays_show_the_ends_of_each_dimension() {
    assert_eq!(counted([1001]), "[0, 1, 2, ..., 998, 999, 1000]");
    let row = |at: usize| {
        let first = at * 500;
        format!("[{first}, {}, {}, ..., {}, {}, {}]", first + 1, first + 2, first + 497, first + 498, first + 499)
    };
    let rows: Vec<String> = [0, 1, 2].into_iter().map(row).collect();
    let last: Vec<String> = [17, 18, 19].into_iter().map(row).collect();
    assert_eq!(counted([20, 500]), format!("[{},\n ...,\n {}]", rows.join(",\n "), last.join(",\n ")));
    assert_eq!(counted([2, 501]), "[[0, 1, 2, ..., 498, 499, 500],\n [501, 502, 503, ..., 999, 1000, 1001]]");
    // Three at each end of four dimensions are 1,296 elements, so one is shown.
    let text = counted([7, 7, 7, 7]);
    assert_eq!(
        text.matches(char::is_numeric).count(),
        "0 6 42 48 294 300 336 342 2058 2064 2100 2106 2352 2358 2394 2400".replace(' ', "").len()
    );
    assert!(text.starts_with("[[[[0, ..., 6],\n   ...,\n   [42, ..., 48]],\n\n  ...,\n\n"), "{text}");
    assert_eq!(counted([3; 10]), "<59049 elements of 10 dimensions>");
}

#[test]
fn views_show_their_elements_after_the_work_on_them() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [home, other] = streams(&context);
    let array = DeviceArray::from_host(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &home).unwrap();
    assert_eq!(format!("{:.1}", array.t().slice(s![..;-1, 1]).unwrap()), "[4.0, 3.0]");
    assert_eq!(format!("{:>3}", array), "[[  1,   2],\n [  3,   4]]");
    // SAFETY: the array has 16 bytes, and the work is recorded.
    unsafe { fill_bytes(&context, array.interface().data(), &[0], 16, Some(&other)) }.unwrap();
    array.record_stream(&other, Access::Write).unwrap();
    assert_eq!(array.to_string(), "[[0, 0],\n [0, 0]]");
}

#[test]
fn failed_copy_is_shown_as_its_error() {
    let fixture = Fixture::new();
    let [home, other] = streams(&fixture.primary());
    let mut array = DeviceArray::<u8, _>::zeros([4], &home).unwrap();
    let reader = array.clone();
    let guard = array.acquire_mut(&other).unwrap();
    let text = reader.to_string();
    assert!(text.starts_with("<cannot acquire the array for reading"), "{text}");
    drop(guard);
}

#[test]
fn debug_shows_elements_in_their_debug_format_and_the_interface() {
    let fixture = Fixture::new();
    let [stream, _] = streams(&fixture.primary());
    let array = DeviceArray::from_host(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &stream).unwrap();
    let (interface, address) = (format!("{:?}", array.interface()), format!("{:#x}", array.interface().data()));
    assert_eq!(format!("{array:?}"), format!("DeviceArray([[1.0, 2.0],\n [3.0, 4.0]], {interface})"));
    assert!(interface.contains(&address), "{interface}");
    assert!(format!("{:.2?}", array.t()).starts_with("DeviceArray([[1.00, 3.00],\n [2.00, 4.00]], "));
    let long = DeviceArray::<u8, _>::zeros([5000], &stream).unwrap();
    assert!(format!("{long:x?}").starts_with("DeviceArray([0, 0, 0, ..., 0, 0, 0], "));
    let many = DeviceArray::<u8, _>::zeros([3; 10], &stream).unwrap();
    assert!(format!("{many:?}").starts_with("DeviceArray(<59049 elements of 10 dimensions>, "));
}

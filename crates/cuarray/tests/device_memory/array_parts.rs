//! Parts of arrays (`rows`, `axis_iter`), and shapes that need a copy on the device (`to_shape`).

use crate::driver_fixture::{Fixture, calls, streams};
use cuarray::{DeviceArray, Ix2, Ix3, IxDyn, Stream, s, sync};

/// The array 0, 1, 2, … of shape `[2, 3, 4]`.
fn cube(stream: &Stream) -> DeviceArray<u16, Ix3> {
    DeviceArray::from_host(&(0..24).collect::<Vec<u16>>(), [2, 3, 4], stream).unwrap()
}

fn hosts<T: cuarray::Element, D: cuarray::Dimension>(
    parts: impl IntoIterator<Item = DeviceArray<T, D>>,
) -> Vec<Vec<T>> {
    parts.into_iter().map(|part| part.to_host().unwrap()).collect()
}

#[test]
fn axis_iter_gives_the_parts_along_each_dimension_from_both_ends() {
    let fixture = Fixture::new();
    let [stream] = streams(&fixture.primary());
    let cube = cube(&stream);
    for axis in 0..3isize {
        let parts: Vec<DeviceArray<u16, Ix2>> = cube.axis_iter(axis).unwrap().collect();
        assert_eq!(parts.len(), cube.shape()[axis as usize]);
        let expected: Vec<Vec<u16>> = (0..parts.len())
            .map(|at| match axis {
                0 => cube.slice(s![at, .., ..]).unwrap().to_host().unwrap(),
                1 => cube.slice(s![.., at, ..]).unwrap().to_host().unwrap(),
                _ => cube.slice(s![.., .., at]).unwrap().to_host().unwrap(),
            })
            .collect();
        assert_eq!(hosts(parts), expected);
        let backwards: Vec<Vec<u16>> = expected.into_iter().rev().collect();
        assert_eq!(hosts(cube.axis_iter(axis - 3).unwrap().rev()), backwards);
    }
    for axis in [3, -4, isize::MIN, isize::MAX] {
        assert!(cube.axis_iter(axis).err().unwrap().is_out_of_bounds());
    }
}

#[test]
fn rows_are_those_of_any_strides_and_number_of_dimensions() {
    let fixture = Fixture::new();
    let [stream] = streams(&fixture.primary());
    let cube = cube(&stream);
    assert_eq!(cube.rows().len(), 6);
    assert_eq!(hosts(cube.rows()).concat(), (0..24).collect::<Vec<u16>>());
    assert_eq!(hosts(cube.t().rows())[1], [4, 16]); // the elements [.., 1, 0] of the cube
    assert_eq!(hosts(cube.slice(s![0, ..;-1, 1..3]).unwrap().rows()), [[9, 10], [5, 6], [1, 2]]);
    let one = DeviceArray::from_host(&[7u16], [], &stream).unwrap();
    assert_eq!(hosts(one.rows()), [[7]]);
    let line = cube.slice(s![1, 2, ..]).unwrap().into_dimensionality::<IxDyn>().unwrap();
    assert_eq!(hosts(line.rows()), [[20, 21, 22, 23]]);
    assert_eq!(DeviceArray::<u16, _>::zeros([2, 0], &stream).unwrap().rows().len(), 2);
    assert_eq!(DeviceArray::<u16, _>::zeros([0, 2], &stream).unwrap().rows().len(), 0);
}

#[test]
fn rows_can_be_written_through_separate_guards() {
    let fixture = Fixture::new();
    let [stream] = streams(&fixture.primary());
    let matrix = DeviceArray::<u8, _>::zeros([2, 3], &stream).unwrap();
    let mut rows: Vec<_> = matrix.rows().collect();
    let [first, second] = &mut rows[..] else { panic!("two rows") };
    let (mut first, mut second) = (first.acquire_mut(&stream).unwrap(), second.acquire_mut(&stream).unwrap());
    first.copy_from_host(&[1; 3]).unwrap();
    second.copy_from_host(&[2; 3]).unwrap();
    drop((first, second));
    assert_eq!(matrix.to_host().unwrap(), [1, 1, 1, 2, 2, 2]);
}

#[test]
fn to_shape_copies_only_if_no_strides_describe_the_shape() {
    let fixture = Fixture::new();
    let [home] = streams(&fixture.primary());
    let cube = cube(&home);
    let before = fixture.alive().allocations;
    let view = cube.to_shape([6, 4]).unwrap();
    assert_eq!((view.interface().data(), fixture.alive().allocations), (cube.interface().data(), before));
    let copy = cube.t().to_shape([24]).unwrap();
    assert_eq!(fixture.alive().allocations, before + 1);
    assert_eq!(copy.home_stream(), Some(&home));
    assert_eq!(copy.to_host().unwrap(), cube.t().to_host().unwrap());
    let reversed = cube.slice(s![..;-1, ..;2, 1..3]).unwrap();
    assert_eq!(reversed.to_shape([2, 4]).unwrap().to_host().unwrap(), reversed.to_host().unwrap());
    let repeated = cube.slice(s![0, 0, ..]).unwrap().broadcast([2, 4]).unwrap().to_shape([8]).unwrap();
    assert_eq!(repeated.to_host().unwrap(), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert!(!repeated.interface().is_read_only());
    assert!(cube.t().to_shape([23]).unwrap_err().is_invalid_argument());
    let empty = cube.slice(s![.., 0..0, ..]).unwrap().t();
    assert_eq!(empty.to_shape([0, 5]).unwrap().shape(), [0, 5]);
}

#[test]
fn to_shape_orders_its_copy_and_does_not_wait() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [home, other] = streams(&context);
    let mut matrix = DeviceArray::from_host(&[1u32, 2, 3, 4], [2, 2], &home).unwrap();
    let mut guard = matrix.acquire_mut(&other).unwrap();
    guard.copy_from_host(&[5, 6, 7, 8]).unwrap();
    guard.release().unwrap();
    let waits = || calls(&fixture.sim, "cuStreamSynchronize") + calls(&fixture.sim, "cuEventSynchronize");
    let before = waits();
    let copy = matrix.t().to_shape([4]).unwrap();
    assert_eq!(waits(), before);
    drop(matrix);
    sync::synchronize(&home).unwrap();
    assert_eq!(copy.to_host().unwrap(), [5, 7, 6, 8]);
}

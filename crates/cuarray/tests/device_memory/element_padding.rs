//! Padding of structures is zero in device memory: uploads and kernel arguments carry no uninitialized bytes of the host.

use crate::driver_fixture::Fixture;
use cuarray::{
    DeviceArray, Element, Ix1, Stream, element,
    kernel::{Argument, LaunchConfig, Module},
    s,
};
use std::mem::MaybeUninit;

element! {
    /// Padding after `flag`, and at the end.
    struct Padded {
        flag: u8,
        value: f64,
        last: u16,
    }
}

element! {
    /// Padding inside the fields only, and between elements of an array.
    struct Nested {
        whole: u64,
        nothing: [u32; 0],
        inner: [[Padded; 2]; 1],
    }
}

element! {
    /// Fields at odd addresses, one of them with padding.
    #[repr(packed)]
    struct Packed {
        odd: u8,
        inner: Padded,
    }
}

element! {
    #[repr(align(16))]
    struct Aligned {
        value: u8,
    }
}

element! {
    struct Dense {
        first: u32,
        rest: [u16; 2],
    }
}

/// Values whose bytes are all 0xaa.
fn filled<T: Element>(count: usize) -> Vec<T> {
    let mut values: Vec<MaybeUninit<T>> = Vec::with_capacity(count);
    // SAFETY: the vector has room for `count` values, for which any bytes are valid.
    unsafe {
        values.as_mut_ptr().write_bytes(0xaa, count);
        let mut values = std::mem::ManuallyDrop::new(values);
        Vec::from_raw_parts(values.as_mut_ptr().cast(), count, values.capacity())
    }
}

/// The bytes of an array's memory.
fn bytes<T: Element>(array: &DeviceArray<T, Ix1>, stream: &Stream) -> Vec<u8> {
    let guard = array.acquire(stream).unwrap();
    let mut host = vec![0x55; array.len() * size_of::<T>()];
    // SAFETY: both have that many bytes, and the stream is synchronized before they are read.
    unsafe {
        let (at, from) = (host.as_mut_ptr(), guard.as_device_ptr());
        let context = stream.work_context().unwrap();
        cuarray::driver::copy::copy_device_to_host(&context, at, from, host.len(), Some(stream)).unwrap();
    }
    stream.synchronize().unwrap();
    host
}

const PADDED: [u8; 24] = *b"\xaa\0\0\0\0\0\0\0\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\0\0\0\0\0\0";

fn uploads_zeros<T: Element>(expected: &[u8]) {
    let fixture = Fixture::new();
    let stream = Stream::non_blocking(&fixture.primary()).unwrap();
    let array = DeviceArray::from_host(&filled::<T>(3), 3, &stream).unwrap();
    assert_eq!(bytes(&array, &stream), expected.repeat(3));
}

#[test]
fn padding_of_uploaded_structures_is_zero() {
    uploads_zeros::<Padded>(&PADDED);
}

#[test]
fn padding_inside_nested_structures_and_arrays_is_zero() {
    uploads_zeros::<Nested>(&[&[0xaa; 8][..], &PADDED, &PADDED].concat());
}

#[test]
fn padding_inside_a_packed_structure_is_zero() {
    uploads_zeros::<Packed>(&[&[0xaa][..], &PADDED].concat());
}

#[test]
fn padding_of_an_alignment_attribute_is_zero() {
    uploads_zeros::<Aligned>(&[&[0xaa][..], &[0; 15]].concat());
}

#[test]
fn structures_without_padding_are_uploaded_unchanged() {
    const { assert!(!Dense::HAS_PADDING) };
    uploads_zeros::<Dense>(&[0xaa; 8]);
}

#[test]
fn values_keep_their_fields_when_padding_is_cleared() {
    let fixture = Fixture::new();
    let stream = Stream::non_blocking(&fixture.primary()).unwrap();
    let values: Vec<_> =
        (0..5).map(|i| Padded { flag: i, value: f64::from(i) / 3.0, last: u16::from(i) << 9 }).collect();
    let array = DeviceArray::from_host(&values, 5, &stream).unwrap();
    let found = array.to_host().unwrap();
    let fields = |values: &[Padded]| values.iter().map(|v| (v.flag, v.value, v.last)).collect::<Vec<_>>();
    assert_eq!(fields(&found), fields(&values));
}

#[test]
fn padding_of_a_full_array_is_zero() {
    let fixture = Fixture::new();
    let stream = Stream::non_blocking(&fixture.primary()).unwrap();
    let array = DeviceArray::full(3, filled::<Padded>(1)[0], &stream).unwrap();
    assert_eq!(bytes(&array, &stream), PADDED.repeat(3));
}

#[test]
fn padding_of_a_strided_upload_is_zero() {
    let fixture = Fixture::new();
    let stream = Stream::non_blocking(&fixture.primary()).unwrap();
    let array = DeviceArray::<Padded, Ix1>::zeros(6, &stream).unwrap();
    let mut even = array.slice(s![..;2]).unwrap();
    even.acquire_mut(&stream).unwrap().copy_from_host(&filled(3)).unwrap();
    assert_eq!(bytes(&array, &stream), [PADDED, [0; 24]].concat().repeat(3));
}

#[test]
fn full_array_of_structures_without_bytes_is_made_at_once() {
    element! {
        struct Empty {
            nothing: [u32; 0],
        }
    }
    let fixture = Fixture::new();
    let stream = Stream::non_blocking(&fixture.primary()).unwrap();
    let array = DeviceArray::<Empty, Ix1>::full(1 << 40, Empty { nothing: [] }, &stream).unwrap();
    assert_eq!((array.len(), array.to_host().unwrap().len()), (1 << 40, 1 << 40));
}

/// Each kernel stores its parameter.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry store_padded(.param .align 8 .b8 value[24], .param .u64 to)
{
    .reg .b64 %a, %b<3>;
    ld.param.u64 %a, [to];
    ld.param.u64 %b0, [value];
    ld.param.u64 %b1, [value+8];
    ld.param.u64 %b2, [value+16];
    st.global.u64 [%a], %b0;
    st.global.u64 [%a+8], %b1;
    st.global.u64 [%a+16], %b2;
    ret;
}
.visible .entry store_size(.param .u64 value, .param .u64 to)
{
    .reg .b64 %a, %b;
    ld.param.u64 %a, [to];
    ld.param.u64 %b, [value];
    st.global.u64 [%a], %b;
    ret;
}
";

fn stored(kernel: &str, value: impl Argument, size: usize) -> Vec<u8> {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let stream = Stream::non_blocking(&context).unwrap();
    let kernel = Module::load_ptx(&context, PTX).unwrap().function(kernel).unwrap();
    let mut array = DeviceArray::<u8, Ix1>::zeros(size, &stream).unwrap();
    let mut guard = array.acquire_mut(&stream).unwrap();
    // SAFETY: the kernel has these two parameters, and stores as many bytes as the array has.
    unsafe { kernel.launch(&stream, LaunchConfig::new([1; 3], [1; 3]), (value, &mut guard)) }.unwrap();
    guard.release().unwrap();
    bytes(&array, &stream)
}

#[test]
fn padding_of_a_kernel_argument_is_zero() {
    assert_eq!(stored("store_padded", filled::<Padded>(1)[0], 24), PADDED);
}

#[test]
fn sizes_are_64_bit_kernel_arguments() {
    assert_eq!(stored("store_size", usize::MAX - 2, 8), (usize::MAX as u64 - 2).to_ne_bytes());
    assert_eq!(stored("store_size", -3isize, 8), (-3i64).to_ne_bytes());
}

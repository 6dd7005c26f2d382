use crate::driver::{ok, open};
use crate::execution::register;
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 table[3] = {1, 2, 3};
.visible .const .align 4 .b32 factors[2];
.visible .entry nothing() { ret; }
";

/// Registers two variables by the addresses of the given statics.
pub(crate) unsafe fn registered(function: &'static u8, table: &'static u8, factors: &'static u8) -> *mut *mut c_void {
    unsafe {
        let handle = register(PTX, ptr::from_ref(function).cast(), c"nothing");
        for (host, name, size, constant) in [(table, c"table", 12, 0), (factors, c"factors", 8, 1)] {
            let host = ptr::from_ref(host).cast_mut().cast::<c_char>();
            __cudaRegisterVar(handle, host, ptr::null_mut(), name.as_ptr(), 0, size, constant, 0);
        }
        handle
    }
}

#[test]
fn variables_are_read_and_written_by_their_symbols() {
    static FUNCTION: u8 = 0;
    static TABLE: u8 = 0;
    static FACTORS: u8 = 0;
    open();
    let (table, factors) = ((&raw const TABLE).cast::<c_void>(), (&raw const FACTORS).cast::<c_void>());
    unsafe {
        let handle = registered(&FUNCTION, &TABLE, &FACTORS);
        let mut read = [0_u32; 3];
        ok(cudaMemcpyFromSymbol(read.as_mut_ptr().cast(), table, 12, 0, 2));
        assert_eq!(read, [1, 2, 3]);
        ok(cudaMemcpyToSymbol(table, (&raw const read[2]).cast(), 4, 4, 1));
        ok(cudaMemcpyFromSymbol_ptds(read.as_mut_ptr().cast(), table, 8, 4, 4));
        assert_eq!(read, [3, 3, 3]);
        let stream = cudaStream_t::default();
        ok(cudaMemcpyToSymbolAsync(factors, [7_u32, 8].as_ptr().cast(), 8, 0, 4, stream));
        ok(cudaMemcpyFromSymbolAsync(read.as_mut_ptr().cast(), factors, 4, 4, 2, stream));
        ok(cudaDeviceSynchronize());
        assert_eq!(read[0], 8);
        let (mut size, mut address) = (0, ptr::null_mut());
        ok(cudaGetSymbolSize(&mut size, factors));
        ok(cudaGetSymbolAddress(&mut address, factors));
        ok(cudaMemcpy(read.as_mut_ptr().cast(), address, size, 2));
        assert_eq!((size, &read[..2]), (8, &[7, 8][..]));
        __cudaUnregisterFatBinary(handle);
        assert_eq!(cudaGetSymbolSize(&mut size, factors), cudaError_t::cudaErrorInvalidSymbol);
    }
}

#[test]
fn copy_past_the_end_or_in_the_wrong_direction_is_refused() {
    static FUNCTION: u8 = 0;
    static TABLE: u8 = 0;
    static FACTORS: u8 = 0;
    open();
    let table = (&raw const TABLE).cast::<c_void>();
    let mut room = [0_u32; 4];
    let room = room.as_mut_ptr().cast::<c_void>();
    unsafe {
        let handle = registered(&FUNCTION, &TABLE, &FACTORS);
        for (count, offset) in [(16, 0), (12, 1), (1, 12), (usize::MAX, 1), (1, usize::MAX)] {
            let invalid = cudaError_t::cudaErrorInvalidValue;
            assert_eq!(cudaMemcpyToSymbol(table, room, count, offset, 1), invalid);
            assert_eq!(cudaMemcpyFromSymbol(room, table, count, offset, 2), invalid);
        }
        let direction = cudaError_t::cudaErrorInvalidMemcpyDirection;
        for kind in [0, 2, 5, u32::MAX] {
            assert_eq!(cudaMemcpyToSymbol(table, room, 4, 0, kind), direction);
        }
        for kind in [0, 1, 5, u32::MAX] {
            assert_eq!(cudaMemcpyFromSymbol(room, table, 4, 0, kind), direction);
        }
        for symbol in [ptr::null(), room.cast_const()] {
            let invalid = cudaError_t::cudaErrorInvalidSymbol;
            assert_eq!(cudaGetSymbolAddress(&mut ptr::null_mut(), symbol), invalid);
            assert_eq!(cudaMemcpyToSymbol(symbol, room, 4, 0, 1), invalid);
        }
        assert_eq!(cudaGetSymbolAddress(ptr::null_mut(), table), cudaError_t::cudaErrorInvalidValue);
        __cudaUnregisterFatBinary(handle);
    }
}

#[test]
fn variable_that_the_image_lacks_is_an_invalid_symbol() {
    static FUNCTION: u8 = 0;
    static OTHER: u8 = 0;
    open();
    unsafe {
        let handle = register(PTX, (&raw const FUNCTION).cast(), c"nothing");
        let host = (&raw const OTHER).cast_mut().cast::<c_char>();
        __cudaRegisterVar(handle, host, ptr::null_mut(), c"other".as_ptr(), 0, 4, 0, 0);
        let error = cudaGetSymbolSize(&mut 0, host.cast());
        assert_eq!(error, cudaError_t::cudaErrorInvalidSymbol);
        __cudaUnregisterFatBinary(handle);
    }
}

const MANAGED: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .b32 count = 5;
.visible .global .align 4 .b32 plain;
.visible .entry add() { .reg .b32 %r1; ld.global.u32 %r1, [count]; add.u32 %r1, %r1, 1; st.global.u32 [count], %r1; ret; }
";

unsafe fn register_managed(handle: *mut *mut c_void, host: *mut *mut c_void, name: &CStr) {
    unsafe { __cudaRegisterManagedVar(handle, host, ptr::null_mut(), name.as_ptr(), 0, 4, 0, 0) };
}

#[test]
fn initialization_writes_the_address_of_a_managed_variable() {
    static FUNCTION: u8 = 0;
    open();
    unsafe {
        let function = (&raw const FUNCTION).cast::<c_void>();
        let handle = register(MANAGED, function, c"add");
        let pointer: *mut *mut c_void = Box::into_raw(Box::new(ptr::null_mut()));
        register_managed(handle, pointer, c"count");
        assert_eq!(__cudaInitModule(handle), 1);
        let count = (*pointer).cast::<u32>();
        assert_eq!(count.read_volatile(), 5);
        count.write_volatile(8);
        let one = dim3 { x: 1, y: 1, z: 1 };
        ok(cudaLaunchKernel(function, one, one, ptr::null_mut(), 0, cudaStream_t::default()));
        ok(cudaDeviceSynchronize());
        assert_eq!(count.read_volatile(), 9);
        // The compiler's code passes the variable itself as the symbol.
        for symbol in [count.cast::<c_void>(), pointer.cast()] {
            let (mut address, mut size) = (ptr::null_mut(), 0);
            ok(cudaGetSymbolAddress(&mut address, symbol));
            ok(cudaGetSymbolSize(&mut size, symbol));
            assert_eq!((address, size), (count.cast(), 4));
        }
        let mut read = 0_u32;
        ok(cudaMemcpyFromSymbol((&raw mut read).cast(), count.cast(), 4, 0, 2));
        assert_eq!(read, 9);
        __cudaUnregisterFatBinary(handle);
        assert_eq!(cudaGetSymbolSize(&mut 0, pointer.cast()), cudaError_t::cudaErrorInvalidSymbol);
        assert_eq!(__cudaInitModule(handle), 0);
        drop(Box::from_raw(pointer));
    }
}

#[test]
fn managed_variable_that_the_image_lacks_is_no_symbol() {
    static FUNCTION: u8 = 0;
    open();
    unsafe {
        let handle = register(MANAGED, (&raw const FUNCTION).cast(), c"add");
        let pointer: *mut *mut c_void = Box::into_raw(Box::new(ptr::null_mut()));
        register_managed(handle, pointer, c"plain");
        assert_eq!(__cudaInitModule(handle), 0);
        assert_eq!(cudaGetLastError(), cudaError_t::cudaErrorSymbolNotFound);
        assert!((*pointer).is_null());
        assert_eq!(cudaGetSymbolSize(&mut 0, pointer.cast()), cudaError_t::cudaErrorInvalidSymbol);
        assert_eq!(cudaGetSymbolSize(&mut 0, ptr::null()), cudaError_t::cudaErrorInvalidSymbol);
        __cudaUnregisterFatBinary(handle);
        drop(Box::from_raw(pointer));
    }
}

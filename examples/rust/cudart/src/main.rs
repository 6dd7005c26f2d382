//! A Rust program that links the CUDA runtime, and launches a kernel from PTX with it.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

/// Adds a number to each of as many floats as there are threads.
const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 values, .param .f32 number) {
    .reg .b64 %a<3>;
    .reg .b32 %i;
    .reg .f32 %f<3>;
    ld.param.u64 %a0, [values];
    ld.param.f32 %f0, [number];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %a1, %i, 4;
    add.s64 %a2, %a0, %a1;
    ld.global.f32 %f1, [%a2];
    add.f32 %f2, %f1, %f0;
    st.global.f32 [%a2], %f2;
    ret;
}
";

#[derive(Clone, Copy)]
#[repr(C)]
struct Dim3 {
    x: c_uint,
    y: c_uint,
    z: c_uint,
}

const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;

unsafe extern "C" {
    fn cudaGetErrorString(error: c_int) -> *const c_char;
    fn cudaMalloc(memory: *mut *mut c_void, size: usize) -> c_int;
    fn cudaFree(memory: *mut c_void) -> c_int;
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) -> c_int;
    fn cudaLibraryLoadData(
        library: *mut *mut c_void,
        code: *const c_void,
        options: *mut c_int,
        values: *mut *mut c_void,
        count: c_uint,
        library_options: *mut c_int,
        library_values: *mut *mut c_void,
        library_count: c_uint,
    ) -> c_int;
    fn cudaLibraryGetKernel(kernel: *mut *mut c_void, library: *mut c_void, name: *const c_char) -> c_int;
    fn cudaLibraryUnload(library: *mut c_void) -> c_int;
    fn cudaLaunchKernel(
        function: *const c_void,
        grid: Dim3,
        block: Dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: *mut c_void,
    ) -> c_int;
}

fn check(error: c_int) -> Result<(), Box<dyn Error>> {
    if error == 0 {
        return Ok(());
    }
    // SAFETY: the runtime returns a string that is never freed, for any number.
    let text = unsafe { CStr::from_ptr(cudaGetErrorString(error)) };
    Err(text.to_string_lossy().into())
}

/// The values with `number` added on the device.
fn added(mut values: [f32; 4], mut number: f32) -> Result<[f32; 4], Box<dyn Error>> {
    let (mut memory, mut library, mut kernel) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let (size, none) = (size_of_val(&values), ptr::null_mut());
    let grid = Dim3 { x: 1, y: 1, z: 1 };
    let block = Dim3 { x: 4, ..grid };
    // SAFETY: all pointers are to live variables of the types that the manual asks for, and the memory holds the values.
    unsafe {
        check(cudaLibraryLoadData(
            &mut library,
            PTX.as_ptr().cast(),
            ptr::null_mut(),
            none,
            0,
            ptr::null_mut(),
            none,
            0,
        ))?;
        check(cudaLibraryGetKernel(&mut kernel, library, c"add".as_ptr()))?;
        check(cudaMalloc(&mut memory, size))?;
        check(cudaMemcpy(memory, values.as_ptr().cast(), size, HOST_TO_DEVICE))?;
        let mut arguments = [(&raw mut memory).cast::<c_void>(), (&raw mut number).cast()];
        check(cudaLaunchKernel(kernel, grid, block, arguments.as_mut_ptr(), 0, ptr::null_mut()))?;
        check(cudaMemcpy(values.as_mut_ptr().cast(), memory, size, DEVICE_TO_HOST))?;
        check(cudaFree(memory))?;
        check(cudaLibraryUnload(library))?;
    }
    Ok(values)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", added([1.0, 2.0, 3.0, 4.0], 0.5)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn kernel_adds_a_number_to_each_value() {
        assert_eq!(super::added([0.0, -1.0, 2.5, 4.0], 1.0).unwrap(), [1.0, 0.0, 3.5, 5.0]);
    }
}

//! C functions by which caching allocators of a program tell which parts of their memory are in use.
//!
//! The driver sees one allocation, from which PyTorch or CuPy makes many arrays. Advice for a race between the work of two arrays in the
//! same bytes then names both arrays, and the call that keeps the allocator from giving out the memory too early.

use crate::parameters::{Received, Text};
use crate::process::exports::findings::with_driver;
use crate::site::{self, Entry, ReturnPlace};
use cuarray_abi::*;
use std::ffi::{c_char, c_void};
use std::ptr;

/// Says that the caching allocator `allocator` (`torch`, `cupy`) gives out memory that begins at `address`; with a null `allocator`, that the
/// memory goes back to it.
///
/// # Safety
/// `allocator` is null or a string that ends with a nul.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuarraySimSuballocation(allocator: *const c_char, address: u64) -> CUresult {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    // SAFETY: by this function's contract.
    let allocator = unsafe { Text::received(allocator) }.name().ok();
    tell(allocator.as_deref(), address, entry)
}

fn tell(allocator: Option<&str>, address: u64, entry: Entry) -> CUresult {
    with_driver(|driver| {
        if driver.ready().is_err() || !driver.finds() {
            return Ok(());
        }
        match allocator {
            Some(allocator) => {
                let site = site::capture(entry);
                driver.lock().detector.suballocate(allocator.into(), address, site);
            }
            None => driver.lock().detector.release_suballocation(address),
        }
        Ok(())
    })
}

/// A method of PyTorch's C++ class `PyInterpreterVTable` that traces GPUs. Some have fewer arguments.
type Method = extern "C" fn(*const c_void, i8, usize);

/// `c10::DeviceType::CUDA`.
const CUDA: i8 = 1;
/// More methods than any version of the class has.
const MANY: usize = 256;

extern "C" fn memory_given_out(_: *const c_void, device_type: i8, address: usize) {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    if device_type == CUDA {
        tell(Some("torch"), address as u64, entry);
    }
}

extern "C" fn memory_taken_back(_: *const c_void, device_type: i8, address: usize) {
    static PLACE: ReturnPlace = ReturnPlace::new();
    let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
    if device_type == CUDA {
        tell(None, address as u64, entry);
    }
}

extern "C" fn other_event(_: *const c_void, _: i8, _: usize) {}

/// Returns a `c10::impl::PyInterpreter` for PyTorch's `GPUTrace::set_trace`: its methods number `given_out` and `taken_back` of `methods` tell the
/// driver about the memory of tensors, and all others do nothing. It is never freed. Null, if the numbers are none of a class.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuarraySimTorchTrace(methods: usize, given_out: usize, taken_back: usize) -> *const c_void {
    if methods > MANY || given_out >= methods || taken_back >= methods {
        return ptr::null();
    }
    let method = |number| match number {
        number if number == given_out => memory_given_out as Method,
        number if number == taken_back => memory_taken_back,
        _ => other_event,
    };
    let table: &'static [Method] = (0..methods).map(method).collect::<Vec<Method>>().leak();
    // An object of a class without members is the address of its table of methods, and a `PyInterpreter` is the address of such an object.
    let object: &'static *const Method = Box::leak(Box::new(table.as_ptr()));
    let interpreter: &'static *const *const Method = Box::leak(Box::new(ptr::from_ref(object)));
    ptr::from_ref(interpreter).cast()
}

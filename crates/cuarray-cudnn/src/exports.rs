//! The C functions, made from the [list](crate::entry_points), and those that return no status.

use crate::handle::VERSION;
use crate::status::{self, cudnnStatus_t};
use std::ffi::c_char;
use std::ptr;

/// Gives a function its version node.
macro_rules! node {
    ($name:ident) => {
        #[cfg(all(versioned, not(test)))]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@libcudnn.so.9"));
    };
}
pub(crate) use node;

/// Exports the functions of the list.
macro_rules! exports {
    (
        handle { $($h_module:ident::$h_function:ident $h_args:tt { $h_name:ident })* }
        plain { $($p_module:ident::$p_function:ident $p_args:tt { $($p_name:ident)* })* }
        refused { $($refused:ident)* }
        refused_earlier { $($earlier:ident)* }
    ) => {
        $(exports!(@handle $h_module $h_function $h_args $h_name);)*
        $($(exports!(@plain $p_module $p_function $p_args $p_name);)*)*
        $(exports!(@refused $refused);)*
        $(exports!(@refused $earlier);)*
    };
    (@handle $module:ident $function:ident ($($arg:ident: $ty:ty),*) $name:ident) => {
        mod $name {
            use crate::types::*;
            #[allow(unused_imports)]
            use ::std::ffi::{c_int, c_uint, c_void};
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(handle: cudnnHandle_t, $($arg: $ty),*) -> cudnnStatus_t {
                let name = const { cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                let status = cuarray_stream_work::guarded(name, || {
                    crate::$module::$function(&*crate::handle::find(handle)?, $($arg),*)
                });
                crate::status::keep(stringify!($name), status)
            }
            crate::exports::node!($name);
        }
    };
    (@plain $module:ident $function:ident ($($arg:ident: $ty:ty),*) $name:ident) => {
        mod $name {
            use crate::types::*;
            #[allow(unused_imports)]
            use ::std::ffi::{c_int, c_uint, c_void};
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> cudnnStatus_t {
                let name = const { cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                let status = cuarray_stream_work::guarded(name, || crate::$module::$function($($arg),*));
                crate::status::keep(stringify!($name), status)
            }
            crate::exports::node!($name);
        }
    };
    (@refused $name:ident) => {
        mod $name {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> crate::status::cudnnStatus_t {
                static TOLD: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);
                crate::status::refuse(stringify!($name), &TOLD)
            }
            crate::exports::node!($name);
        }
    };
}

crate::entry_points::entry_points!(exports);

/// `cudnnGetVersion`.
#[unsafe(no_mangle)]
extern "C" fn cudnnGetVersion() -> usize {
    let [major, minor, patch] = VERSION;
    (major * 10_000 + minor * 100 + patch).unsigned_abs() as usize
}
node!(cudnnGetVersion);

/// `cudnnGetMaxDeviceVersion`: compute capability 12.0.
#[unsafe(no_mangle)]
extern "C" fn cudnnGetMaxDeviceVersion() -> usize {
    1200
}
node!(cudnnGetMaxDeviceVersion);

/// `cudnnGetCudartVersion`: the CUDA 13 runtime.
#[unsafe(no_mangle)]
extern "C" fn cudnnGetCudartVersion() -> usize {
    13_000
}
node!(cudnnGetCudartVersion);

/// `cudnnGetErrorString`: the name of a status.
#[unsafe(no_mangle)]
extern "C" fn cudnnGetErrorString(status: cudnnStatus_t) -> *const c_char {
    status::name(status)
}
node!(cudnnGetErrorString);

/// `cudnnGetLastErrorString`: the last function of the thread that failed, with its status. The text is forgotten afterwards, as documented.
///
/// # Safety
/// `message` is null or has `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnGetLastErrorString(message: *mut c_char, size: usize) {
    if message.is_null() || size == 0 {
        return;
    }
    let text = status::last();
    let length = text.len().min(size - 1);
    // SAFETY: the buffer has room for that many bytes and a nul.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast(), message, length);
        message.add(length).write(0);
    }
}
node!(cudnnGetLastErrorString);

//! The C functions, made from the [list](crate::entry_points).

use crate::status::{self, cusparseStatus_t};
use std::ffi::c_char;

/// Gives a function its version node.
macro_rules! node {
    ($name:ident) => {
        #[cfg(all(versioned, not(test)))]
        ::std::arch::global_asm!(concat!(
            ".symver ",
            stringify!($name),
            ", ",
            stringify!($name),
            "@@libcusparse.so.12"
        ));
    };
}
pub(crate) use node;

/// Exports the functions of the list.
macro_rules! exports {
    (
        generic { $($module:ident::$function:ident $args:tt { $($t:ty: $name:ident;)* })* }
        handle { $($h_module:ident::$h_function:ident $h_args:tt { $h_name:ident })* }
        plain { $($p_module:ident::$p_function:ident $p_args:tt { $p_name:ident })* }
        refused { $($refused:ident)* }
    ) => {
        $($(exports!(@handle $module $function $args [$t] $name);)*)*
        $(exports!(@handle $h_module $h_function $h_args [] $h_name);)*
        $(exports!(@plain $p_module $p_function $p_args $p_name);)*
        $(exports!(@refused $refused);)*
    };
    (@handle $module:ident $function:ident ($($arg:ident: $ty:ty),*) [$($t:ty)?] $name:ident) => {
        mod $name {
            #[allow(unused_imports)]
            use crate::types::*;
            #[allow(unused_imports)]
            use ::std::ffi::{c_int, c_void};
            $(
                #[allow(dead_code)]
                type T = $t;
            )?
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(handle: cusparseHandle_t, $($arg: $ty),*) -> cusparseStatus_t {
                let name = const { cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                crate::handle::with_handle(name, handle, |handle| crate::$module::$function$(::<$t>)?(handle, $($arg),*))
            }
            crate::exports::node!($name);
        }
    };
    (@plain $module:ident $function:ident ($($arg:ident: $ty:ty),*) $name:ident) => {
        mod $name {
            use crate::types::*;
            #[allow(unused_imports)]
            use ::std::ffi::{c_char, c_int, c_void};
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> cusparseStatus_t {
                let name = const { cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                cuarray_stream_work::guarded(name, || crate::$module::$function($($arg),*))
            }
            crate::exports::node!($name);
        }
    };
    (@refused $name:ident) => {
        mod $name {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> crate::types::cusparseStatus_t {
                static TOLD: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);
                crate::status::refuse(stringify!($name), &TOLD)
            }
            crate::exports::node!($name);
        }
    };
}

crate::entry_points::entry_points!(exports);

/// `cusparseGetErrorName`.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetErrorName(status: cusparseStatus_t) -> *const c_char {
    status::name(status)
}
node!(cusparseGetErrorName);

/// `cusparseGetErrorString`.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetErrorString(status: cusparseStatus_t) -> *const c_char {
    status::text(status)
}
node!(cusparseGetErrorString);

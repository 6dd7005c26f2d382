//! The C functions, made from the [list](crate::__entry_points).

/// Functions of the rlib: the wrappers with the signatures of the exports.
macro_rules! functions {
    (;
        functions { $($module:ident::$function:ident ($($arg:ident: $ty:ty),*) { $name:ident })* }
        major { $($m_module:ident::$m_function:ident ($($m_arg:ident: $m_ty:ty),*) { $m_name:ident })* }
        refused { $($refused:tt)* }
        refused_11 { $($refused_11:tt)* }
        refused_12 { $($refused_12:tt)* }
    ) => {
        $(
            pub unsafe extern "C" fn $name(_: c_int, $($arg: $ty),*) -> cufftResult {
                let name = const { cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                cuarray_stream_work::guarded(name, || crate::$module::$function($($arg),*))
            }
        )*
        $(
            pub unsafe extern "C" fn $m_name(major: c_int, $($m_arg: $m_ty),*) -> cufftResult {
                let name = const { cuarray_stream_work::c_name(concat!(stringify!($m_name), "\0")) };
                cuarray_stream_work::guarded(name, || crate::$m_module::$m_function(major, $($m_arg),*))
            }
        )*
    };
}
pub(crate) use functions;

/// The functions, with the signatures and the behaviour of the exports. They take the major version of cuFFT first.
#[allow(missing_docs, clippy::missing_safety_doc)]
pub mod api {
    use crate::types::*;
    use std::ffi::{c_int, c_void};
    crate::__entry_points!([super::functions]);
}

/// Exports the functions under their C names: `exports!(12 "libcufft.so.12")`.
///
/// With the cfg `versioned`, each name gets the version node.
#[macro_export]
macro_rules! exports {
    ($major:tt $node:literal) => {
        $crate::__entry_points!([$crate::__exports] $major $node);
    };
}

/// The functions of [`exports!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    ($major:tt $node:literal;
        functions { $($module:ident::$function:ident $args:tt { $name:ident })* }
        major { $($m_module:ident::$m_function:ident $m_args:tt { $m_name:ident })* }
        refused { $($refused:ident)* }
        refused_11 { $($refused_11:ident)* }
        refused_12 { $($refused_12:ident)* }
    ) => {
        $($crate::__export!(@function $major $node $args $name);)*
        $($crate::__export!(@function $major $node $m_args $m_name);)*
        $($crate::__export!(@refused $node $refused);)*
        $($crate::__export!(@refused_of 11 $major $node $refused_11);)*
        $($crate::__export!(@refused_of 12 $major $node $refused_12);)*
    };
}

/// One function of [`exports!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (@function $major:tt $node:literal ($($arg:ident: $ty:ty),*) $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)]
            use $crate::types::*;
            #[allow(unused_imports)]
            use ::std::ffi::{c_int, c_void};
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> cufftResult {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name($major, $($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@node $node:literal $name:ident) => {
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@", $node));
    };
    (@refused_of 11 11 $node:literal $name:ident) => { $crate::__export!(@refused $node $name); };
    (@refused_of 12 12 $node:literal $name:ident) => { $crate::__export!(@refused $node $name); };
    (@refused_of $of:tt $major:tt $node:literal $name:ident) => {};
    (@refused $node:literal $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> $crate::types::cufftResult {
                static TOLD: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);
                $crate::refuse($node, stringify!($name), &TOLD)
            }
            $crate::__export!(@node $node $name);
        }
    };
}

//! The C functions, made from the [list](crate::__entry_points).

/// Functions of the rlib: the wrappers with the signatures of the exports.
macro_rules! functions {
    (;
        generic { $($module:ident::$function:ident $args:tt { $($t:ty: $name:ident $($wide:ident)?;)* })* }
        xt { $($x_module:ident::$x_function:ident $x_args:tt { $($x_t:ty: $x_name:ident;)* })* }
        handle { $($h_module:ident::$h_function:ident $h_args:tt { $h_name:ident $($h_wide:ident)? })* }
        handle_13 { $($n_module:ident::$n_function:ident $n_args:tt { $n_name:ident })* }
        major { $($m_module:ident::$m_function:ident $m_args:tt { $m_name:ident })* }
        host { $($f_module:ident::$f_function:ident $f_args:tt { $f_name:ident $($f_wide:ident)? })* }
        raw { $($raw:tt)* }
        refused { $($refused:tt)* }
    ) => {
        $($(
            functions!(@handle handle $module $function $args [$t] $name c_int);
            $(functions!(@handle handle $module $function $args [$t] $wide i64);)?
        )*)*
        $($(functions!(@handle xt $x_module $x_function $x_args [$x_t] $x_name cublasXtSize_t);)*)*
        $(
            functions!(@handle handle $h_module $h_function $h_args [] $h_name c_int);
            $(functions!(@handle handle $h_module $h_function $h_args [] $h_wide i64);)?
        )*
        $(functions!(@handle handle $n_module $n_function $n_args [] $n_name c_int);)*
        $(functions!(@major $m_module $m_function $m_args $m_name);)*
        $(
            functions!(@host $f_module $f_function $f_args $f_name c_int);
            $(functions!(@host $f_module $f_function $f_args $f_wide i64);)?
        )*
    };
    (@types [$($t:ty)?] $n:ty) => {
        #[allow(unused_imports)]
        use $crate::types::*;
        #[allow(unused_imports)]
        use ::std::ffi::{c_char, c_int, c_void};
        $(
            #[allow(dead_code)]
            type T = $t;
            #[allow(dead_code)]
            type R = <$t as Real>::Real;
        )?
        #[allow(dead_code)]
        type N = $n;
    };
    (@handle $lookup:ident $module:ident $function:ident ($($arg:ident: $ty:ty),* $(,)?) [$($t:ty)?] $name:ident $n:ty) => {
        pub mod $name {
            functions!(@types [$($t)?] $n);
            #[allow(clippy::useless_conversion)]
            pub unsafe extern "C" fn $name(handle: cublasHandle_t, $($arg: $ty),*) -> cublasStatus_t {
                let name = const { ::cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                $crate::$lookup::with_handle(name, handle, |handle| {
                    $crate::$module::$function$(::<$t>)?(handle, $($arg.into()),*)
                })
            }
        }
    };
    (@major $module:ident $function:ident ($($arg:ident: $ty:ty),* $(,)?) $name:ident) => {
        pub mod $name {
            functions!(@types [] i64);
            pub unsafe extern "C" fn $name(major: c_int, $($arg: $ty),*) -> cublasStatus_t {
                let name = const { ::cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                ::cuarray_stream_work::guarded(name, || $crate::$module::$function(major, $($arg),*))
            }
        }
    };
    (@host $module:ident $function:ident ($($arg:ident: $ty:ty),* $(,)?) $name:ident $n:ty) => {
        pub mod $name {
            functions!(@types [] $n);
            #[allow(clippy::useless_conversion)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> cublasStatus_t {
                let name = const { ::cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                ::cuarray_stream_work::guarded(name, || $crate::$module::$function($($arg.into()),*))
            }
        }
    };
}
pub(crate) use functions;

/// The functions, each in a module of its name. They have the signatures and the behaviour of the exports; those of the list's part `major`
/// take the major version of CUDA first.
#[allow(missing_docs, clippy::missing_safety_doc, clippy::module_inception)]
pub mod api {
    crate::__entry_points!([super::functions]);
    pub use crate::status::{cublasGetStatusName, cublasGetStatusString};
}

/// Exports the functions under their C names: `exports!(13 "libcublas.so.13")`.
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
        generic { $($module:ident::$function:ident $args:tt { $($t:ty: $name:ident $($wide:ident)?;)* })* }
        xt { $($x_module:ident::$x_function:ident $x_args:tt { $($x_t:ty: $x_name:ident;)* })* }
        handle { $($h_module:ident::$h_function:ident $h_args:tt { $h_name:ident $($h_wide:ident)? })* }
        handle_13 { $($n_module:ident::$n_function:ident $n_args:tt { $n_name:ident })* }
        major { $($m_module:ident::$m_function:ident $m_args:tt { $m_name:ident })* }
        host { $($f_module:ident::$f_function:ident $f_args:tt { $f_name:ident $($f_wide:ident)? })* }
        raw { $($r_name:ident $r_args:tt -> $r_ret:ty;)* }
        refused { $($refused:ident)* }
    ) => {
        $($(
            $crate::__export!(@handle $node $args [$t] $name c_int);
            $($crate::__export!(@handle $node $args [$t] $wide i64);)?
        )*)*
        $($($crate::__export!(@handle $node $x_args [$x_t] $x_name cublasXtSize_t);)*)*
        $(
            $crate::__export!(@handle $node $h_args [] $h_name c_int);
            $($crate::__export!(@handle $node $h_args [] $h_wide i64);)?
        )*
        $($crate::__export!(@handle_of $major $node $n_args $n_name);)*
        $($crate::__export!(@major $major $node $m_args $m_name);)*
        $(
            $crate::__export!(@host $node $f_args $f_name c_int);
            $($crate::__export!(@host $node $f_args $f_wide i64);)?
        )*
        $($crate::__export!(@raw $node $r_args $r_name $r_ret);)*
        $($crate::__export!(@refused $node $refused);)*
    };
}

/// One function of [`exports!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (@types [$($t:ty)?] $n:ty) => {
        #[allow(unused_imports)]
        use $crate::types::*;
        #[allow(unused_imports)]
        use ::std::ffi::{c_char, c_int, c_void};
        $(
            #[allow(dead_code)]
            type T = $t;
            #[allow(dead_code)]
            type R = <$t as Real>::Real;
        )?
        #[allow(dead_code)]
        type N = $n;
    };
    (@node $node:literal $name:ident) => {
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@", $node));
    };
    (@handle $node:literal ($($arg:ident: $ty:ty),* $(,)?) [$($t:ty)?] $name:ident $n:ty) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::__export!(@types [$($t)?] $n);
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn $name(handle: cublasHandle_t, $($arg: $ty),*) -> cublasStatus_t {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name::$name(handle, $($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@handle_of 12 $node:literal $args:tt $name:ident) => {};
    (@handle_of 13 $node:literal $args:tt $name:ident) => {
        $crate::__export!(@handle $node $args [] $name c_int);
    };
    (@major $major:tt $node:literal ($($arg:ident: $ty:ty),* $(,)?) $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::__export!(@types [] i64);
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> cublasStatus_t {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name::$name($major, $($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@host $node:literal ($($arg:ident: $ty:ty),* $(,)?) $name:ident $n:ty) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::__export!(@types [] $n);
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> cublasStatus_t {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name::$name($($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@raw $node:literal ($($arg:ident: $ty:ty),* $(,)?) $name:ident $ret:ty) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::__export!(@types [] i64);
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name($($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@refused $node:literal $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> $crate::types::cublasStatus_t {
                static TOLD: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);
                $crate::refuse($node, stringify!($name), &TOLD)
            }
            $crate::__export!(@node $node $name);
        }
    };
}

//! The C functions, made from the [list](crate::__entry_points).

/// Functions of the rlib: the wrappers with the signatures of the exports.
macro_rules! functions {
    (;
        generic { $($module:ident::$function:ident $args:tt { $($t:ty: $name:ident;)* })* }
        handle { $($h_module:ident::$h_function:ident $h_args:tt { $h_name:ident })* }
        major { $($m_module:ident::$m_function:ident $m_args:tt { $m_name:ident })* }
        refused { $($refused:ident)* }
        refused_11 { $($refused_11:ident)* }
        refused_12 { $($refused_12:ident)* }
    ) => {
        $($(functions!(@handle $module $function $args [$t] $name);)*)*
        $(functions!(@handle $h_module $h_function $h_args [] $h_name);)*
        $(functions!(@major $m_module $m_function $m_args $m_name);)*
    };
    (@types [$($t:ty)?]) => {
        #[allow(unused_imports)]
        use $crate::types::*;
        #[allow(unused_imports)]
        use ::std::ffi::{c_char, c_int, c_longlong, c_void};
        $(
            #[allow(dead_code)]
            type T = $t;
            #[allow(dead_code)]
            type R = <$t as Scalar>::Real;
        )?
    };
    (@handle $module:ident $function:ident ($($arg:ident: $ty:ty),* $(,)?) [$($t:ty)?] $name:ident) => {
        pub mod $name {
            functions!(@types [$($t)?]);
            #[allow(clippy::useless_conversion)]
            pub unsafe extern "C" fn $name(handle: cusolverDnHandle_t, $($arg: $ty),*) -> cusolverStatus_t {
                let name = const { ::cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                $crate::handle::with_handle(name, handle, |handle| {
                    $crate::$module::$function$(::<$t>)?(handle, $($arg.into()),*)
                })
            }
        }
    };
    (@major $module:ident $function:ident ($($arg:ident: $ty:ty),* $(,)?) $name:ident) => {
        pub mod $name {
            functions!(@types []);
            pub unsafe extern "C" fn $name(major: c_int, $($arg: $ty),*) -> cusolverStatus_t {
                let name = const { ::cuarray_stream_work::c_name(concat!(stringify!($name), "\0")) };
                ::cuarray_stream_work::guarded(name, || $crate::$module::$function(major, $($arg),*))
            }
        }
    };
}
pub(crate) use functions;

/// The functions, each in a module of its name. They have the signatures and the behaviour of the exports; those of the list's part `major`
/// take the major version of the library first.
#[allow(missing_docs, clippy::missing_safety_doc, clippy::module_inception)]
pub mod api {
    crate::__entry_points!([super::functions]);
}

/// Exports the functions under their C names: `exports!(12 "libcusolver.so.12")`.
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
        generic { $($module:ident::$function:ident $args:tt { $($t:ty: $name:ident;)* })* }
        handle { $($h_module:ident::$h_function:ident $h_args:tt { $h_name:ident })* }
        major { $($m_module:ident::$m_function:ident $m_args:tt { $m_name:ident })* }
        refused { $($refused:ident)* }
        refused_11 { $($refused_11:ident)* }
        refused_12 { $($refused_12:ident)* }
    ) => {
        $($($crate::__export!(@handle $node $args [$t] $name);)*)*
        $($crate::__export!(@handle $node $h_args [] $h_name);)*
        $($crate::__export!(@major $major $node $m_args $m_name);)*
        $($crate::__export!(@refused $node $refused);)*
        $crate::__export!(@refused_of $major $node [$($refused_11)*] [$($refused_12)*]);
    };
}

/// One function of [`exports!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (@types [$($t:ty)?]) => {
        #[allow(unused_imports)]
        use $crate::types::*;
        #[allow(unused_imports)]
        use ::std::ffi::{c_char, c_int, c_longlong, c_void};
        $(
            #[allow(dead_code)]
            type T = $t;
            #[allow(dead_code)]
            type R = <$t as Scalar>::Real;
        )?
    };
    (@node $node:literal $name:ident) => {
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@", $node));
    };
    (@handle $node:literal ($($arg:ident: $ty:ty),* $(,)?) [$($t:ty)?] $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::__export!(@types [$($t)?]);
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn $name(handle: cusolverDnHandle_t, $($arg: $ty),*) -> cusolverStatus_t {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name::$name(handle, $($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@major $major:tt $node:literal ($($arg:ident: $ty:ty),* $(,)?) $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::__export!(@types []);
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> cusolverStatus_t {
                // SAFETY: the contract is the same.
                unsafe { $crate::api::$name::$name($major, $($arg),*) }
            }
            $crate::__export!(@node $node $name);
        }
    };
    (@refused_of 11 $node:literal [$($name:ident)*] $others:tt) => {
        $($crate::__export!(@refused $node $name);)*
    };
    (@refused_of 12 $node:literal $others:tt [$($name:ident)*]) => {
        $($crate::__export!(@refused $node $name);)*
    };
    (@refused $node:literal $name:ident) => {
        #[allow(non_snake_case)]
        mod $name {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> $crate::types::cusolverStatus_t {
                static TOLD: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);
                $crate::refuse($node, stringify!($name), &TOLD)
            }
            $crate::__export!(@node $node $name);
        }
    };
}

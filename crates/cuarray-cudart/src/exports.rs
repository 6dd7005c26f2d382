//! The C functions of both majors, made from the [list](crate::entry_points).
//!
//! A function of [`v12`](crate::v12) or [`v13`](crate::v13) has the signature and the behaviour of the export, without
//! its name: tests call it, and the shared libraries forward to it.

/// The functions of a major version, by their level.
macro_rules! function {
    (v13 only_12 $($rest:tt)*) => {};
    (v12 only_13 $($rest:tt)*) => {};
    ($major:ident $majors:ident $level:ident $chapter:ident $name:ident [$symbol:ident $($unused:ident)?] [$($twin:ident)?] [$($ret:ty)?] $args:tt) => {
        function!(@$level $major $chapter $name $symbol Legacy [$($ret)?] $args);
        $(function!(@$level $major $chapter $name $twin PerThread [] $args);)?
    };
    (@refused $major:ident $chapter:ident $name:ident $symbol:ident $null:ident [] ($($arg:ident: $ty:ty),*)) => {
        #[doc = concat!("`", stringify!($symbol), "`, which is not supported.")]
        /// # Safety
        /// None is needed: the arguments are not used.
        #[allow(unused_variables)]
        pub unsafe extern "C" fn $symbol($($arg: $ty),*) -> cudaError_t {
            static REFUSED: $crate::trace::Refused = $crate::trace::Refused::new(stringify!($symbol));
            REFUSED.call()
        }
    };
    (@raw $major:ident $chapter:ident $name:ident $symbol:ident $null:ident [$ret:ty] ($($arg:ident: $ty:ty),*)) => {
        #[doc = concat!("`", stringify!($symbol), "`.")]
        /// # Safety
        /// As the manual of the runtime says.
        pub unsafe extern "C" fn $symbol($($arg: $ty),*) -> $ret {
            // SAFETY: the contract is that of the chapter's function.
            $crate::call::raw(stringify!($symbol), <$ret as $crate::call::Panicked>::VALUE, || unsafe { $crate::$chapter::$name($($arg),*) })
        }
    };
    (@host $major:ident $chapter:ident $name:ident $symbol:ident $null:ident [] ($($arg:ident: $ty:ty),*)) => {
        #[doc = concat!("`", stringify!($symbol), "`.")]
        /// # Safety
        /// As the manual of the runtime says.
        pub unsafe extern "C" fn $symbol($($arg: $ty),*) -> cudaError_t {
            // SAFETY: the contract is that of the chapter's function.
            $crate::call::host(stringify!($symbol), || unsafe { $crate::$chapter::$name($($arg),*) })
        }
    };
    (@$level:ident $major:ident $chapter:ident $name:ident $symbol:ident $null:ident [] ($($arg:ident: $ty:ty),*)) => {
        #[doc = concat!("`", stringify!($symbol), "`.")]
        /// # Safety
        /// As the manual of the runtime says.
        pub unsafe extern "C" fn $symbol($($arg: $ty),*) -> cudaError_t {
            // SAFETY: the contract is that of the chapter's function.
            $crate::call::$level(stringify!($symbol), MAJOR, NullStream::$null, |api| unsafe { $crate::$chapter::$name(api, $($arg),*) })
        }
    };
}
pub(crate) use function;

macro_rules! functions {
    ($major:ident; $($chapter:ident { $($majors:ident $level:ident fn $name:ident $args:tt $(-> $ret:ty)? $(as $symbol:ident)? $([twin $twin:ident])?;)* })*) => {
        $($($crate::exports::function!($major $majors $level $chapter $name [$($symbol)? $name] [$($twin)?] [$($ret)?] $args);)*)*
    };
}
pub(crate) use functions;

/// A line of the list, for tests and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryPoint {
    /// The chapter of the runtime's manual.
    pub chapter: &'static str,
    /// The exported symbol.
    pub symbol: &'static str,
    /// The symbol of the variant for per-thread default streams.
    pub twin: Option<&'static str>,
    /// The majors that export it.
    pub majors: &'static [u32],
    /// Whether the function is there. Otherwise it returns `cudaErrorNotSupported`.
    pub works: bool,
}

macro_rules! list {
    ($($chapter:ident { $($majors:ident $level:ident fn $name:ident $args:tt $(-> $ret:ty)? $(as $symbol:ident)? $([twin $twin:ident])?;)* })*) => {
        /// Every entry point, in the order of the list.
        pub const ENTRY_POINTS: &[EntryPoint] = &[
            $($(EntryPoint {
                chapter: stringify!($chapter),
                symbol: list!(@first $($symbol)? $name),
                twin: list!(@twin $($twin)?),
                majors: list!(@majors $majors),
                works: list!(@works $level),
            },)*)*
        ];
    };
    (@first $symbol:ident $($unused:ident)?) => { stringify!($symbol) };
    (@twin) => { None };
    (@twin $twin:ident) => { Some(stringify!($twin)) };
    (@majors both) => { &[12, 13] };
    (@majors only_12) => { &[12] };
    (@majors only_13) => { &[13] };
    (@works refused) => { false };
    (@works $level:ident) => { true };
}

macro_rules! table {
    (; $($rest:tt)*) => { list! { $($rest)* } };
}

crate::__entry_points!([table]);

/// Exports the functions of a major version under their C names: `exports!(v13 "libcudart.so.13")`.
///
/// With the cfg `versioned`, each name gets the version node. The directive must be in the module that defines the function.
#[macro_export]
macro_rules! exports {
    ($major:ident $node:literal) => {
        mod exported {
            use $crate::{cudaError_t, types::*};
            use ::std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

            $crate::__entry_points!([$crate::__exports] $major $node);
        }
    };
}

/// The functions of [`exports!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    ($major:ident $node:literal; $($chapter:ident { $($majors:ident $level:ident fn $name:ident $args:tt $(-> $ret:ty)? $(as $symbol:ident)? $([twin $twin:ident])?;)* })*) => {
        $($($crate::__export!($major $majors $node [$($symbol)? $name] [$($twin)?] [$($ret)?] $args);)*)*
    };
}

/// One function of [`exports!`], and its twin.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (v13 only_12 $($rest:tt)*) => {};
    (v12 only_13 $($rest:tt)*) => {};
    ($major:ident $majors:ident $node:literal $symbols:tt [$twin:ident] $ret:tt $args:tt) => {
        $crate::__export!($major $majors $node $symbols [] $ret $args);
        $crate::__export!($major $majors $node [$twin] [] $ret $args);
    };
    ($major:ident $majors:ident $node:literal $symbols:tt [] [] $args:tt) => {
        $crate::__export!($major $majors $node $symbols [] [cudaError_t] $args);
    };
    ($major:ident $majors:ident $node:literal [$symbol:ident $($unused:ident)?] [] [$ret:ty] ($($arg:ident: $ty:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol($($arg: $ty),*) -> $ret {
            // SAFETY: the contract is that of the function.
            unsafe { $crate::$major::$symbol($($arg),*) }
        }
        #[cfg(versioned)]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($symbol), ", ", stringify!($symbol), "@@", $node));
    };
}

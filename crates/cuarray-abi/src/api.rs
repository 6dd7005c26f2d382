//! [`Api`]: a driver's functions as a table of pointers. [`ENTRY_POINTS`]: the names and properties of these functions.

use crate::*;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// One line of [`entry_points!`](crate::entry_points).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryPoint {
    /// The group of the driver's manual.
    pub group: &'static str,
    /// The name under which `cuGetProcAddress` finds it.
    pub name: &'static str,
    /// The driver version (1000 × major + 10 × minor) from which `name` means this signature.
    pub since: i32,
    /// The symbol that the shared library exports.
    pub symbol: &'static str,
    /// The symbol of the variant that reads a null stream as the per-thread default stream.
    pub per_thread: Option<&'static str>,
    /// Properties of its calls.
    pub flags: Flags,
}

/// Properties of the calls of an [`EntryPoint`] that its signature does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The call may run pending work or wait for it, and then returns the error of a failed kernel.
    pub waits: bool,
    /// The call creates or destroys an object, enqueues work, or waits, so diagnostics need its call site.
    pub locates: bool,
    /// The entry point exists to order other work: it records an event, waits, or queries.
    pub orders: bool,
    /// The call orders later work after earlier work. A correct program may have a race if the call is left out.
    pub edge: bool,
    /// A capture in mode `CU_STREAM_CAPTURE_MODE_GLOBAL` forbids the call, since a graph would not repeat it. The
    /// manual names allocation as an example and leaves the list open; drivers refuse freeing too.
    pub capture_unsafe: bool,
    /// The call works before `cuInit`, and in host functions.
    pub early: bool,
    /// The call works before `cuInit`, because it is the one that initializes.
    pub initializes: bool,
    /// Libraries make the call when they only look for a driver.
    pub looks: bool,
    /// The call waits for the completion of an object of its group, or queries it.
    pub completion: bool,
}

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags {
        waits: false,
        locates: false,
        orders: false,
        edge: false,
        capture_unsafe: false,
        early: false,
        initializes: false,
        looks: false,
        completion: false,
    };
}

macro_rules! make_api {
    ($($group:ident { $($name:literal @ $since:literal $([$($flag:ident)*])? fn $symbol:ident($($arg:ident: $ty:ty),*) $(per_thread $per_thread:ident)?;)* })*) => {
        /// A driver's entry points; `None` where the driver lacks one.
        ///
        /// Fields are named after the exported symbols: `api.cuMemAlloc_v2` is the function that `cuMemAlloc` means
        /// since 3.2.
        #[allow(non_snake_case, missing_docs)]
        #[derive(Clone, Copy)]
        pub struct Api {
            $($(pub $symbol: Option<unsafe extern "C" fn($($arg: $ty),*) -> CUresult>,)*)*
        }

        impl Api {
            /// Builds the table by calling `resolve` for each symbol; null means that the symbol is missing.
            ///
            /// # Safety
            /// A non-null address is a function with the signature that the driver's manual gives to that symbol. It
            /// stays callable for as long as the table is used.
            pub unsafe fn resolve_with(mut resolve: impl FnMut(&CStr) -> *const c_void) -> Api {
                Api {
                    $($($symbol: {
                        let symbol = const {
                            match CStr::from_bytes_with_nul(concat!(stringify!($symbol), "\0").as_bytes()) {
                                Ok(symbol) => symbol,
                                Err(_) => panic!("a symbol holds a nul"),
                            }
                        };
                        let address = resolve(symbol);
                        // SAFETY: null becomes `None`; by this function's contract any other address is a function of
                        // this type. Both types have the same size and representation.
                        unsafe { std::mem::transmute::<*const c_void, Option<unsafe extern "C" fn($($ty),*) -> CUresult>>(address) }
                    },)*)*
                }
            }
        }

        /// Every entry point of the table, in the order of the list.
        #[allow(clippy::needless_update)] // some entries set every flag
        pub const ENTRY_POINTS: &[EntryPoint] = &[
            $($(EntryPoint {
                group: stringify!($group),
                name: $name,
                since: $since,
                symbol: stringify!($symbol),
                per_thread: make_api!(@optional $($per_thread)?),
                flags: Flags { $($($flag: true,)*)? ..Flags::NONE },
            },)*)*
        ];
    };
    (@optional) => { None };
    (@optional $symbol:ident) => { Some(stringify!($symbol)) };
}

crate::entry_points!(make_api);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_one_name_ascend_and_symbols_are_unique() {
        for (index, entry) in ENTRY_POINTS.iter().enumerate() {
            for later in &ENTRY_POINTS[index + 1..] {
                assert_ne!(entry.symbol, later.symbol);
                if entry.name == later.name {
                    assert!(entry.since < later.since, "{} is listed out of order", entry.name);
                }
            }
        }
    }

    #[test]
    fn missing_symbol_becomes_none() {
        // SAFETY: no entry resolves, so nothing can be called.
        let api = unsafe { Api::resolve_with(|_| std::ptr::null()) };
        assert!(api.cuInit.is_none() && api.cuMemAlloc_v2.is_none());
    }
}

//! Every entry point as a function of numbers, which become its arguments.

use super::*;
use std::ffi::{c_char, c_int, c_uint};

/// The type and the name of a parameter, as the list of entry points writes them.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub ty: &'static str,
    pub name: &'static str,
}

/// An entry point that can be called without knowing its signature.
pub struct EntryPointCall {
    pub symbol: &'static str,
    pub parameters: &'static [Parameter],
    function: fn(&Api, &mut dyn FnMut() -> u64) -> CUresult,
}

impl EntryPointCall {
    /// Calls the entry point. Handles, addresses and small integers are the given numbers, structures are all zero.
    ///
    /// # Safety
    /// The numbers are valid for the parameters by the driver's manual, or the manual says that the driver refuses them.
    pub unsafe fn call(&self, api: &Api, arguments: &[u64]) -> CUresult {
        let mut arguments = arguments.iter().copied();
        (self.function)(api, &mut || arguments.next().unwrap())
    }
}

/// A type of a parameter.
trait Argument {
    fn of(bits: u64) -> Self;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(impl Argument for $ty { fn of(bits: u64) -> $ty { bits as $ty } })*};
}
integers! { c_int c_uint u64 usize u8 u16 f32 }

macro_rules! handles {
    ($($ty:ident)*) => {$(impl Argument for $ty { fn of(bits: u64) -> $ty { $ty(bits as usize) } })*};
}
handles! {
    CUcontext CUstream CUevent CUmodule CUfunction CUlibrary CUkernel CUlinkState CUmemoryPool CUgraph CUgraphNode CUgraphExec
    CUuserObject CUgreenCtx CUdevResourceDesc CUarray CUmipmappedArray CUtexref CUsurfref CUlogsCallbackHandle CUasyncCallbackHandle
}

macro_rules! structures {
    // SAFETY: all-zero is a value of each of these structures.
    ($($ty:ty)*) => {$(impl Argument for $ty { fn of(_: u64) -> $ty { unsafe { std::mem::zeroed() } } })*};
}
structures! { CUmemLocation CUipcMemHandle CUipcEventHandle }

impl Argument for CUresult {
    fn of(bits: u64) -> CUresult {
        CUresult(bits as u32)
    }
}

impl<T> Argument for *mut T {
    fn of(bits: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(bits as usize)
    }
}

impl<T> Argument for *const T {
    fn of(bits: u64) -> *const T {
        std::ptr::with_exposed_provenance(bits as usize)
    }
}

macro_rules! functions {
    ($($ty:ident = fn($($arg:ty),*) $(-> $result:ty = $value:expr)?;)*) => {$(impl Argument for $ty {
        fn of(bits: u64) -> $ty {
            unsafe extern "C" fn nothing($(_: $arg),*) $(-> $result)? { $($value)? }
            (bits != 0).then_some(nothing)
        }
    })*};
}
functions! {
    CUstreamCallback = fn(CUstream, CUresult, *mut c_void);
    CUhostFn = fn(*mut c_void);
    CUgraphRecaptureCallback = fn(*mut c_void, CUgraphNode, *const CUgraphNodeParams, *const CUgraphNodeParams, CUgraphRecaptureStatus)
        -> CUresult = CUresult::CUDA_SUCCESS;
    CUoccupancyB2DSize = fn(c_int) -> usize = 0;
    CUlogsCallback = fn(*mut c_void, CUlogLevel, *mut c_char, usize);
    CUasyncCallback = fn(*mut c_void, *mut c_void, CUasyncCallbackHandle);
}

macro_rules! calls {
    ($($group:ident { $($name:literal @ $since:literal $([$($flag:ident)*])? fn $symbol:ident($($arg:ident: $ty:ty),*) $(per_thread $per_thread:ident)?;)* })*) => {
        /// All entry points, in the order of the list, which begins with `cuInit`.
        pub const CALLS: &[EntryPointCall] = &[$($(EntryPointCall {
            symbol: stringify!($symbol),
            parameters: &[$(Parameter { ty: stringify!($ty), name: stringify!($arg) }),*],
            #[allow(unused_variables)] // some entry points have no parameters
            function: |api, next| {
                let function = api.$symbol.unwrap();
                // SAFETY: by the contract of `EntryPointCall::call`.
                unsafe { function($(<$ty as Argument>::of(next())),*) }
            },
        },)*)*];
    };
}
cuarray_abi::entry_points!(calls);

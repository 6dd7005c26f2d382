//! The exported C functions: one for each entry point of `cuarray-abi`, as a wrapper around a function of a noun's folder.
//!
//! The names of modules here are the groups of the driver's manual, and their functions have the names of the exported symbols. The
//! functions are safe: they return `Result`, and take the [`Call`] before the driver's own parameters, which the wrapper makes from
//! those of the program ([`parameters`](crate::parameters)). The wrapper does the work that
//! all calls share. It stops panics at the C boundary. It refuses calls before `cuInit`, after `fork`, inside host
//! functions, and unsafe calls during captures. It injects faults, counts, traces, and captures the call site.
// Names and parameters are the driver's.
#![allow(non_snake_case, clippy::too_many_arguments)]

mod export_table;
mod initialization;

use crate::context::exports::{
    context, coredump, device, events as context_events, green_context, notifications, primary_context, profiler,
};
use crate::copy::exports::{self as transfer, box_batches};
use crate::driver::Call;
use crate::event::exports as event;
use crate::execution::{backlog, chosen, thread_sanitizer};
use crate::graph::exports::{
    capture, exec as graph_exec, graph, memory as graph_memory, node as graph_node, recapture,
};
use crate::happens_before::{handles, host};
use crate::host_access;
use crate::launch::exports::{self as execution, deprecated as execution_deprecated};
use crate::memory::exports::{memory, virtual_memory};
use crate::memory_operations::exports as memory_operations;
use crate::module::exports::{link, module};
use crate::parameters::{In, Out, Received, Text};
use crate::pool::exports::{locations as pools_of_locations, pool};
use crate::process::exports::library_calls::runtime_call;
use crate::process::exports::logs;
use crate::process::{current, exit};
use crate::signals;
use crate::site::{self, Entry, ReturnPlace};
use crate::stream::exports::{attributes as stream_attributes, stream};
use crate::texture::exports::{
    array, object as texture_object, reference as texture_reference, surface as surface_object, surface_reference,
    variable as module_deprecated,
};
use crate::thread::{self, LibraryCall};
use crate::trace::{self, Made, Word};
use cuarray_abi::*;
use cuarray_races::Caller;
use cuarray_races::site::Site;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

mod memory_batches {
    pub(super) use crate::copy::exports::prefetch::*;
    pub(super) use crate::copy::exports::{cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyWithAttributesAsync};
}

mod pointer {
    pub(super) use crate::copy::exports::prefetch::{cuMemPrefetchAsync, cuMemPrefetchAsync_v2};
    pub(super) use crate::memory::exports::pointer::*;
}

mod library {
    pub(super) use crate::launch::exports::kernel_attributes::*;
    pub(super) use crate::module::exports::library::*;
}

/// An exported function, as the wrapper sees it.
struct Export {
    index: usize,
    group: &'static str,
    symbol: &'static str,
    per_thread: bool,
    flags: Flags,
}

/// Runs `body` inside the work that all calls share. It is no generic function: a copy for each entry point would be a fifth of the
/// library's code.
fn dispatch(
    export: &Export,
    entry: Entry<'_>,
    arguments: &dyn Fn() -> Vec<(&'static str, u64)>,
    shown: &dyn Fn() -> String,
    body: &dyn Fn(&Call<'_>) -> Result<(), CUresult>,
) -> CUresult {
    let guarded = AssertUnwindSafe(|| {
        let Some(driver) = current::driver().filter(|_| !exit::is_over()) else {
            return refuse_after_shutdown(export.symbol, shown);
        };
        let Some((number, inside)) = thread::with(|thread| (thread.number, thread.in_host_function.get())) else {
            return refuse_after_shutdown(export.symbol, shown);
        };
        thread_sanitizer::call_begins();
        let begun = driver.trace.as_ref().map(|trace| trace.begin(shown));
        let count = driver.calls_of[export.index].fetch_add(1, Ordering::Relaxed) + 1;
        let allowed = match export.flags {
            Flags { early: true, .. } => Ok(()),
            _ if inside => Err(CUresult::CUDA_ERROR_NOT_PERMITTED),
            Flags { initializes: true, .. } => Ok(()),
            _ => driver.ready(),
        };
        let fault = driver.fault(export.symbol, count).map_or(Ok(()), Err);
        let library = thread::library_call();
        let captured = match &library {
            Some(library) => Some(library.site.clone()),
            None => (export.flags.locates && allowed.is_ok() && driver.names_sites()).then(|| site::capture(entry)),
        };
        let site = captured.as_ref().unwrap_or_else(|| Site::unknown());
        let call = Call { driver: &driver, site, entry, thread: number, per_thread: export.per_thread };
        let caller = |site| caller(export, library.as_ref(), number, site);
        let own = driver.names_sites().then(|| caller(call.site.clone()));
        thread::with(|thread| {
            thread.caller.replace(own);
            thread.flow.take();
        });
        let safe = || match export.flags.capture_unsafe {
            true => crate::capture::forbid_unsafe(&mut call.lock(), number, call.capture_mode()),
            false => Ok(()),
        };
        // A dropped call has no effect at all.
        let left_out = export.flags.edge && driver.ordering_calls.leaves_out(call.site);
        let body = |call: &Call<'_>| {
            if host_access::any_logged() {
                host::take_host_accesses(&mut driver.lock());
            }
            let result = if left_out { Ok(()) } else { recapture::report(&driver, body(call)) };
            backlog::relieve(&driver);
            let result = result.and_then(|()| chosen::between_calls(&driver));
            let result = result.and_then(|()| if export.flags.waits { call.healthy() } else { Ok(()) });
            let changed = &driver.host_access_changed;
            if changed.load(Ordering::Relaxed) && changed.swap(false, Ordering::Relaxed) {
                host::settle_host_access(&mut driver.lock());
            }
            result
        };
        let result =
            allowed.and(fault).and_then(|()| chosen::fits(&driver)).and_then(|()| safe()).and_then(|()| body(&call));
        let result = match result {
            Ok(()) => CUresult::CUDA_SUCCESS,
            Err(code) => {
                if driver.finds() && allowed.is_ok() {
                    if !export.flags.locates && library.is_none() {
                        let site = site::capture(entry);
                        thread::with(|thread| thread.caller.replace(Some(caller(site))));
                    }
                    report_refusal(&call, export, code, &arguments());
                }
                if code != CUresult::CUDA_ERROR_NOT_READY {
                    driver.log.add(CU_LOG_LEVEL_ERROR, number, &refusal(export.symbol, &shown(), code));
                }
                code
            }
        };
        thread_sanitizer::call_ends();
        if let Some(begun) = begun {
            let flow = thread::with(|thread| thread.flow.get()).flatten();
            let (symbol, took) = (export.symbol, begun.took());
            begun.end(&Made { symbol, result, thread: number, site: call.site, took, flow });
        }
        driver.log.deliver();
        signals::end_by_signal(exit::report_before_signal);
        result
    });
    catch_unwind(guarded).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)
}

/// The call of a thread as findings name it: that of a library or of the runtime, if one of them makes this one.
fn caller(export: &Export, library: Option<&LibraryCall>, thread: u64, site: Arc<Site>) -> Caller {
    let (name, detail) = match library {
        Some(library) => (library.name, library.argument.clone()),
        None => (runtime_call().unwrap_or(export.symbol), None),
    };
    Caller { site, detail, orders: export.flags.orders, ..Caller::new(thread, name) }
}

/// A failed call as a message of the error log.
fn refusal(symbol: &str, arguments: &str, code: CUresult) -> String {
    let (name, number) = (code.name().unwrap_or("an unknown error"), code.0);
    let description = code.description().unwrap_or("no description");
    format!("{symbol}({arguments}) returned {number} ({name}): {description}")
}

/// Refuses a call after the shutdown of the driver, or after the calling thread's state was freed.
fn refuse_after_shutdown(symbol: &'static str, shown: &dyn Fn() -> String) -> CUresult {
    let result = CUresult::CUDA_ERROR_DEINITIALIZED;
    if let Some(trace) = current::of_process().and_then(|driver| driver.trace.as_ref()) {
        // SAFETY: the call has no preconditions.
        let thread = thread::number_of(unsafe { libc::gettid() });
        trace.begin(shown).end(&Made {
            symbol,
            result,
            thread,
            site: Site::unknown(),
            took: Duration::ZERO,
            flow: None,
        });
    }
    result
}

/// Adds a finding if a refusal shows a mistake of the program: the use of a destroyed object, or a wait for a capturing
/// stream.
fn report_refusal(call: &Call<'_>, export: &Export, refusal: CUresult, arguments: &[(&'static str, u64)]) {
    let current = match refusal {
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED => call.top_context().map(|context| context.0 as u64),
        CUresult::CUDA_ERROR_INVALID_HANDLE | CUresult::CUDA_ERROR_INVALID_CONTEXT => None,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        | CUresult::CUDA_ERROR_CAPTURED_EVENT => {
            if export.flags.completion {
                let handle = arguments.first().map_or(0, |(_, word)| *word);
                handles::captured_synchronized(&mut call.lock(), export.group, handle);
            }
            return;
        }
        _ => return,
    };
    let mut state = call.lock();
    for handle in arguments.iter().map(|(_, word)| *word).chain(current) {
        handles::refused_handle(&mut state, handle);
    }
}

/// The exported functions of one entry point.
struct Exported {
    entry: &'static EntryPoint,
    address: *const c_void,
    per_thread: Option<*const c_void>,
}

macro_rules! export {
    ($($group:ident { $($name:literal @ $since:literal $([$($flag:ident)*])? fn $symbol:ident($($arg:ident: $ty:ty),*) $(per_thread $per_thread:ident)?;)* })*) => {
        /// The index of each entry point in the list.
        #[allow(non_camel_case_types)]
        enum Index { $($($symbol,)*)* }

        $($(export! { @function $group $symbol $symbol false [$($($flag)*)?] ($($arg: $ty),*) }
            export! { @variant $group $symbol [$($per_thread)?] [$($($flag)*)?] ($($arg: $ty),*) })*)*

        /// The addresses of the exported functions, in the order of the list.
        fn exported() -> impl Iterator<Item = Exported> {
            let addresses = [$($((
                $symbol as unsafe extern "C" fn($($ty),*) -> CUresult as *const c_void,
                export!(@address [$($per_thread)?] ($($ty),*)),
            ),)*)*];
            ENTRY_POINTS.iter().zip(addresses).map(|(entry, (address, per_thread))| Exported { entry, address, per_thread })
        }
    };
    (@function $group:ident $symbol:ident $exported:ident $per_thread:literal [$($flag:ident)*] ($($arg:ident: $ty:ty),*)) => {
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $exported($($arg: $ty),*) -> CUresult {
            #[allow(clippy::needless_update)] // some entries set every flag
            let export = Export {
                index: Index::$symbol as usize,
                group: stringify!($group),
                symbol: stringify!($symbol),
                per_thread: $per_thread,
                flags: Flags { $($flag: true,)* ..Flags::NONE },
            };
            static PLACE: ReturnPlace = ReturnPlace::new();
            let entry = Entry { place: &PLACE, anchor: site::stack_pointer!() };
            let arguments = || vec![$((stringify!($arg), Word::word(&$arg)),)*];
            let shown = || trace::shown(&[$((stringify!($arg), &$arg),)*]);
            dispatch(&export, entry, &arguments, &shown, &|call| {
                // SAFETY: the caller passes what the manual of this entry point defines.
                $group::$symbol(call, $(unsafe { Received::received($arg) }),*)
            })
        }
    };
    (@variant $group:ident $symbol:ident [] $flags:tt $arguments:tt) => {};
    (@variant $group:ident $symbol:ident [$per_thread:ident] $flags:tt $arguments:tt) => {
        export! { @function $group $symbol $per_thread true $flags $arguments }
    };
    (@address [] $types:tt) => { None };
    (@address [$per_thread:ident] ($($ty:ty),*)) => {
        Some($per_thread as unsafe extern "C" fn($($ty),*) -> CUresult as *const c_void)
    };
}
entry_points!(export);

/// Refuses a call of a function that this driver does not implement: counts it, writes it to the trace, and prints the
/// reason once.
fn refuse_unsupported(symbol: &'static str, reason: &str) -> CUresult {
    let refused = || {
        let result = CUresult::CUDA_ERROR_NOT_SUPPORTED;
        let Some(driver) = current::driver().filter(|_| !exit::is_over()) else {
            return refuse_after_shutdown(symbol, &String::new);
        };
        driver.count_refused(symbol);
        driver.explain_refusal(symbol, reason);
        let thread = thread::with(|thread| thread.number).unwrap_or_default();
        if let Some(trace) = &driver.trace {
            let site = Site::unknown();
            trace.begin(String::new).end(&Made { symbol, result, thread, site, took: Duration::ZERO, flow: None });
        }
        driver.log.deliver();
        result
    };
    catch_unwind(refused).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)
}

macro_rules! refuse {
    ($($group:ident: $reason:literal { $($name:literal @ $since:literal $symbol:ident $(per_thread $per_thread:ident)?;)* })*) => {
        $(refuse! { @group $reason $($symbol $($per_thread)?)* })*

        /// The addresses of the functions that are not implemented, in the order of the list.
        fn unsupported_addresses() -> impl Iterator<Item = (&'static UnsupportedEntryPoint, usize, usize)> {
            let addresses = [$($((
                $symbol as extern "C" fn() -> CUresult as usize,
                [$($per_thread as extern "C" fn() -> CUresult as usize,)? $symbol as extern "C" fn() -> CUresult as usize][0],
            ),)*)*];
            UNSUPPORTED_ENTRY_POINTS.iter().zip(addresses).map(|(entry, (legacy, per_thread))| (entry, legacy, per_thread))
        }
    };
    // The function reads no arguments, so its callers may pass any: the calling convention leaves them to the caller.
    (@group $reason:literal $($symbol:ident)*) => { $(refuse! { @function $symbol $reason })* };
    (@function $symbol:ident $reason:literal) => {
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $symbol() -> CUresult {
            refuse_unsupported(stringify!($symbol), $reason)
        }
    };
}
unsupported_entry_points!(refuse);

/// The entry points as a table.
pub(crate) fn api() -> Api {
    let addresses: HashMap<&str, *const c_void> =
        exported().map(|exported| (exported.entry.symbol, exported.address)).collect();
    // SAFETY: each symbol resolves to the function that this module exports under it, from the same list.
    unsafe {
        Api::resolve_with(|symbol| {
            let symbol = symbol.to_str().ok().and_then(|symbol| addresses.get(symbol));
            symbol.copied().unwrap_or(std::ptr::null())
        })
    }
}

/// One meaning of a name: the first CUDA version that has it, and the addresses of the legacy and the per-thread function.
#[derive(Clone, Copy)]
struct Meaning {
    since: c_int,
    legacy: usize,
    per_thread: usize,
}

/// The meanings of a name for `cuGetProcAddress`, oldest first.
fn meanings(name: &str) -> &'static [Meaning] {
    static BY_NAME: OnceLock<HashMap<&'static str, Vec<Meaning>>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let mut names: HashMap<&'static str, Vec<Meaning>> = HashMap::new();
        for Exported { entry, address, per_thread } in exported() {
            let (since, legacy) = (entry.since, address as usize);
            let per_thread = per_thread.unwrap_or(address) as usize;
            names.entry(entry.name).or_default().push(Meaning { since, legacy, per_thread });
        }
        for (entry, legacy, per_thread) in unsupported_addresses() {
            names.entry(entry.name).or_default().push(Meaning { since: entry.since, legacy, per_thread });
        }
        // From CUDA 12.0 on, `cuGraphInstantiate` is another name for `cuGraphInstantiateWithFlags`.
        if let Some(with_flags) =
            names.get("cuGraphInstantiateWithFlags").and_then(|meanings| meanings.first()).copied()
        {
            let renamed = Meaning { since: 12000, ..with_flags };
            names.entry("cuGraphInstantiate").or_default().push(renamed);
        }
        for meanings in names.values_mut() {
            meanings.sort_by_key(|meaning| meaning.since);
        }
        names
    });
    by_name.get(name).map_or(&[], Vec::as_slice)
}

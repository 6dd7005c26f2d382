//! The interface for several devices. This library serves one device.

use crate::execute::{C2C, C2R, D2Z, Names, R2C, Z2D, Z2Z, execute};
use crate::kinds::{Kind, Types};
use crate::plans::{self, Plan};
use crate::status::refuse;
use crate::status::{INVALID_PLAN, INVALID_VALUE, Outcome};
use crate::types::*;
use cuarray_stream_work::{Rows, copy_rows, read, write};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// `CUDA_XT_DESCRIPTOR_VERSION`.
const VERSION: c_int = 0x0100_0000;

/// The memory of a descriptor. The structures are the program's to read, and nothing here depends on what they contain.
struct Owned {
    plan: Arc<Plan>,
    address: u64,
    bytes: usize,
    inner: usize,
}

static OWNED: Mutex<Option<HashMap<usize, Owned>>> = Mutex::new(None);

fn with_owned<T>(f: impl FnOnce(&mut HashMap<usize, Owned>) -> T) -> T {
    f(OWNED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The address and the size of a descriptor's memory.
fn memory(descriptor: *const cudaLibXtDesc) -> Outcome<(u64, usize)> {
    let found = with_owned(|owned| owned.get(&descriptor.addr()).map(|owned| (owned.address, owned.bytes)));
    found.ok_or(INVALID_VALUE)
}

/// Refuses a call, whose name is printed once.
macro_rules! refused {
    ($text:literal) => {{
        static TOLD: AtomicBool = AtomicBool::new(false);
        Err(refuse("libcufft.so", $text, &TOLD))
    }};
}

/// `cufftXtSetGPUs`.
pub(crate) fn set_gpus(plan: cufftHandle, count: c_int, which: *const c_int) -> Outcome {
    let plan = plans::find(plan)?;
    if plan.problem().is_ok() {
        return Err(INVALID_PLAN);
    }
    match count {
        ..1 => Err(INVALID_VALUE),
        1 if read::<_, cufftResult>(which, 1)?.first().copied() == Some(plan.place.device()?) => Ok(()),
        1 => Err(cufftResult::INVALID_DEVICE),
        _ => refused!("cufftXtSetGPUs with several devices"),
    }
}

/// `cufftXtMalloc`.
pub(crate) fn allocate(plan: cufftHandle, to: *mut *mut cudaLibXtDesc, format: cufftXtSubFormat) -> Outcome {
    let plan = plans::find(plan)?;
    let problem = plan.problem()?;
    if to.is_null() || !(0..7).contains(&format) {
        return Err(INVALID_VALUE);
    }
    // With one device, the order of elements is the same before and after a transform.
    if format > 3 || problem.types.0 != Kind::ComplexToComplex || !problem.is_basic {
        return refused!("cufftXtMalloc for real or distributed data");
    }
    let bytes = problem.work_size();
    let (address, device) = (plan.place.allocate(bytes)?, plan.place.device()?);
    let mut inner = Box::new(cudaXtDesc {
        version: VERSION,
        nGPUs: 1,
        GPUs: [0; MOST_DEVICES],
        data: [ptr::null_mut(); MOST_DEVICES],
        size: [0; MOST_DEVICES],
        cudaXtState: ptr::null_mut(),
    });
    inner.GPUs[0] = device;
    inner.data[0] = ptr::without_provenance_mut(address as usize);
    inner.size[0] = bytes;
    let inner = Box::into_raw(inner);
    let outer = Box::into_raw(Box::new(cudaLibXtDesc {
        version: VERSION,
        descriptor: inner,
        library: 0,
        subFormat: format,
        libDescriptor: ptr::null_mut(),
    }));
    with_owned(|owned| owned.insert(outer.addr(), Owned { plan, address, bytes, inner: inner.expose_provenance() }));
    write(to, outer)
}

/// `cufftXtFree`. It waits for the context, as each free does.
pub(crate) fn free(descriptor: *mut cudaLibXtDesc) -> Outcome {
    let owned = with_owned(|owned| owned.remove(&descriptor.addr())).ok_or(INVALID_VALUE)?;
    // SAFETY: both are boxes of `allocate`, and the table had them once.
    unsafe {
        drop(Box::from_raw(descriptor));
        drop(Box::from_raw(ptr::with_exposed_provenance_mut::<cudaXtDesc>(owned.inner)));
    }
    Ok(owned.plan.place.free(owned.address)?)
}

/// `cufftXtMemcpy`. It waits for the copy.
pub(crate) fn copy(plan: cufftHandle, to: *mut c_void, from: *mut c_void, kind: cufftXtCopyType) -> Outcome {
    let plan = plans::find(plan)?;
    if to.is_null() || from.is_null() {
        return Err(INVALID_VALUE);
    }
    let (to, from) = match kind {
        0 => {
            let (address, bytes) = memory(to.cast())?;
            ((address, bytes), (from.addr() as u64, bytes))
        }
        1 => {
            let (address, bytes) = memory(from.cast())?;
            ((to.addr() as u64, bytes), (address, bytes))
        }
        2 => (memory(to.cast())?, memory(from.cast())?),
        _ => return Err(INVALID_VALUE),
    };
    if to.1 != from.1 {
        return Err(INVALID_VALUE);
    }
    let rows = |(address, width): (u64, usize)| Rows { address, width, height: 1, pitch: 0 };
    Ok(plan.place.within(|| copy_rows(rows(from), rows(to), None))?)
}

const NAMES: Names = [c"input", c"output"];

fn run(
    plan: cufftHandle,
    types: Option<Types>,
    input: *mut cudaLibXtDesc,
    output: *mut cudaLibXtDesc,
    direction: Option<c_int>,
) -> Outcome {
    let plan = plans::find(plan)?;
    let (input, output) = (memory(input)?, memory(output)?);
    let needed = plan.problem()?.work_size();
    if input.1 < needed || output.1 < needed {
        return Err(INVALID_VALUE);
    }
    execute(&plan, types, NAMES, (input.0, output.0), direction)
}

/// `cufftXtExecDescriptor`.
pub(crate) fn any(
    plan: cufftHandle,
    input: *mut cudaLibXtDesc,
    output: *mut cudaLibXtDesc,
    direction: c_int,
) -> Outcome {
    run(plan, None, input, output, Some(direction))
}

macro_rules! complex {
    ($($name:ident $types:ident;)*) => {$(
        pub(crate) fn $name(
            plan: cufftHandle,
            input: *mut cudaLibXtDesc,
            output: *mut cudaLibXtDesc,
            direction: c_int,
        ) -> Outcome {
            run(plan, Some($types), input, output, Some(direction))
        }
    )*};
}

macro_rules! real {
    ($($name:ident $types:ident;)*) => {$(
        pub(crate) fn $name(plan: cufftHandle, input: *mut cudaLibXtDesc, output: *mut cudaLibXtDesc) -> Outcome {
            run(plan, Some($types), input, output, None)
        }
    )*};
}

complex! { c2c C2C; z2z Z2Z; }
real! { r2c R2C; d2z D2Z; c2r C2R; z2d Z2D; }

//! Descriptors: memory of the devices of a plan, which `cufftXtMalloc` or the program itself allocates.

use crate::devices::Devices;
use crate::distribution::{Array, Division, INPLACE, INPLACE_SHUFFLED, INPUT, INPUT_SHUFFLED, OUTPUT, Piece, sizes};
use crate::execute::{C2C, C2R, D2Z, Names, R2C, Sides, Z2D, Z2Z, enqueue};
use crate::kinds::{Kind, Types};
use crate::layout::View;
use crate::plans::{self, Plan};
use crate::problem::Problem;
use crate::status::{INVALID_PLAN, INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::*;
use cuarray_stream_work::{Block, Region, Rows, Work, copy_rows, read, write};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// `CUDA_XT_DESCRIPTOR_VERSION`.
const VERSION: c_int = 0x0100_0000;

/// Memory that `cufftXtMalloc` has allocated for a descriptor.
struct Owned {
    devices: Devices,
    addresses: Vec<u64>,
    inner: usize,
}

static OWNED: Mutex<Option<HashMap<usize, Owned>>> = Mutex::new(None);

fn with_owned<T>(f: impl FnOnce(&mut HashMap<usize, Owned>) -> T) -> T {
    f(OWNED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// `cufftXtSetGPUs`.
pub(crate) fn set_gpus(plan: cufftHandle, count: c_int, which: *const c_int) -> Outcome {
    let plan = plans::find(plan)?;
    if plan.problem().is_ok() {
        return Err(INVALID_PLAN);
    }
    let numbers = read::<_, cufftResult>(which, Devices::count(count).ok_or(INVALID_VALUE)?)?;
    let devices = Devices::new(&numbers)?;
    plan.settings().devices = Some(devices);
    Ok(())
}

/// A plan with its transform and its devices.
struct Planned {
    plan: Arc<Plan>,
    problem: Arc<Problem>,
    devices: Devices,
}

impl Planned {
    fn new(plan: cufftHandle) -> Outcome<Planned> {
        let plan = plans::find(plan)?;
        let devices = plan.settings().devices.clone();
        Ok(Planned { problem: plan.problem()?, devices: devices.ok_or(INVALID_PLAN)?, plan })
    }

    /// Whether several devices perform one transform.
    fn is_divided(&self) -> bool {
        self.devices.len() > 1 && self.problem.batch == 1
    }

    fn pieces(&self, array: &Array, format: cufftXtSubFormat) -> Outcome<Vec<Piece>> {
        Ok(Division::new(&self.problem, format, self.devices.len())?.pieces(array, self.devices.len()))
    }

    /// The bytes of each device in a descriptor that begins with a format. A transform in place ends in the other one, which may need more.
    fn sizes(&self, format: cufftXtSubFormat) -> Outcome<Vec<usize>> {
        let array = Array::of(&self.problem, format);
        let in_place = [INPLACE, INPLACE_SHUFFLED].into_iter().filter(|_| self.is_divided());
        let mut most = vec![0; self.devices.len()];
        for format in in_place.chain([format]) {
            let sizes = sizes(&self.pieces(&array, format)?, self.devices.len());
            most.iter_mut().zip(sizes).for_each(|(most, size)| *most = size.max(*most));
        }
        Ok(most)
    }

    /// The memory of a descriptor as its structures say: the program may have made them, or have replaced addresses.
    fn memory(&self, descriptor: *const cudaLibXtDesc) -> Outcome<Memory> {
        let outer = one(descriptor)?;
        // Programs that make descriptors leave the version at 0.
        if ![0, VERSION].contains(&outer.version) {
            return Err(INVALID_VALUE);
        }
        let (inner, numbers) = (one(outer.descriptor)?, self.devices.numbers());
        if usize::try_from(inner.nGPUs) != Ok(numbers.len()) || !inner.GPUs.starts_with(&numbers) {
            return Err(INVALID_VALUE);
        }
        let addresses = inner.data[..numbers.len()].iter().map(|data| data.addr() as u64).collect();
        Ok(Memory { format: outer.subFormat, addresses, sizes: inner.size[..numbers.len()].to_vec() })
    }
}

/// Reads a structure of the program.
fn one<T: Copy>(from: *const T) -> Outcome<T> {
    read::<_, cufftResult>(from, 1)?.first().copied().ok_or(INVALID_VALUE)
}

/// The memory of a descriptor.
struct Memory {
    format: cufftXtSubFormat,
    addresses: Vec<u64>,
    sizes: Vec<usize>,
}

impl Memory {
    /// Checks that the memory of each device has room for its pieces.
    fn check(&self, pieces: &[Piece]) -> Outcome {
        let needed = sizes(pieces, self.addresses.len());
        let fits =
            |(needed, (size, address)): (&usize, (&usize, &u64))| needed <= size && (*needed == 0 || *address != 0);
        let all = needed.iter().zip(self.sizes.iter().zip(&self.addresses)).all(fits);
        if all { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// The rows of a piece.
    fn rows(&self, piece: &Piece) -> Rows {
        let address = self.addresses[piece.device] + piece.at as u64;
        Rows { address, width: piece.width, height: piece.height, pitch: piece.pitch }
    }

    /// The pieces as an argument that a work sees in its natural order.
    fn region(&self, array: &Array, pieces: &[Piece]) -> Region {
        let block = |piece: &Piece| Block { rows: self.rows(piece), offset: piece.natural, pitch: piece.natural_pitch };
        Region::new(array.size(), pieces.iter().map(block).collect())
    }
}

/// `cufftXtMalloc`.
pub(crate) fn allocate(plan: cufftHandle, to: *mut *mut cudaLibXtDesc, format: cufftXtSubFormat) -> Outcome {
    let planned = Planned::new(plan)?;
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    if !planned.problem.is_basic {
        return Err(NOT_SUPPORTED);
    }
    let sizes = planned.sizes(format)?;
    let mut addresses = Vec::new();
    for (device, size) in planned.devices.iter().zip(&sizes) {
        match device.place().allocate((*size).max(1)) {
            Ok(address) => addresses.push(address),
            Err(error) => {
                // The first error is returned.
                let _ = release(&planned.devices, &addresses);
                return Err(error.into());
            }
        }
    }
    let mut inner = Box::new(cudaXtDesc {
        version: VERSION,
        nGPUs: planned.devices.len() as c_int,
        GPUs: [0; MOST_DEVICES],
        data: [ptr::null_mut(); MOST_DEVICES],
        size: [0; MOST_DEVICES],
        cudaXtState: ptr::null_mut(),
    });
    for (index, number) in planned.devices.numbers().into_iter().enumerate() {
        inner.GPUs[index] = number;
        inner.data[index] = ptr::without_provenance_mut(addresses[index] as usize);
        inner.size[index] = sizes[index];
    }
    let inner = Box::into_raw(inner);
    let outer = cudaLibXtDesc {
        version: VERSION,
        descriptor: inner,
        library: 0,
        subFormat: format,
        libDescriptor: ptr::null_mut(),
    };
    let outer = Box::into_raw(Box::new(outer));
    let made = Owned { devices: planned.devices, addresses, inner: inner.expose_provenance() };
    with_owned(|owned| owned.insert(outer.expose_provenance(), made));
    write(to, outer)
}

/// Frees the memory of devices.
fn release(devices: &Devices, addresses: &[u64]) -> Outcome {
    let free = |(device, address): (&cuarray_stream_work::Device, &u64)| Ok(device.place().free(*address)?);
    devices.iter().zip(addresses).map(free).fold(Ok(()), Outcome::and)
}

/// `cufftXtFree`. It waits for the contexts, as each free does.
pub(crate) fn free(descriptor: *mut cudaLibXtDesc) -> Outcome {
    let owned = with_owned(|owned| owned.remove(&descriptor.addr())).ok_or(INVALID_VALUE)?;
    // SAFETY: both are boxes of `allocate`, and the table had them once.
    unsafe {
        drop(Box::from_raw(descriptor));
        drop(Box::from_raw(ptr::with_exposed_provenance_mut::<cudaXtDesc>(owned.inner)));
    }
    release(&owned.devices, &owned.addresses)
}

/// `cufftXtMemcpy`. Documented: it waits for the copy, also if the plan has a stream.
pub(crate) fn copy(plan: cufftHandle, to: *mut c_void, from: *mut c_void, kind: cufftXtCopyType) -> Outcome {
    let planned = Planned::new(plan)?;
    if to.is_null() || from.is_null() {
        return Err(INVALID_VALUE);
    }
    let (plan, stream) = (&planned.plan, planned.plan.settings().stream);
    if kind == 2 {
        // Documented: not for several transforms on several devices.
        if planned.devices.len() > 1 && planned.problem.batch > 1 {
            return Err(NOT_SUPPORTED);
        }
        let (from, to) = (planned.memory(from.cast())?, planned.memory(to.cast())?);
        redistribute(&planned, &from, &to)?;
        return Ok(plan.place.wait(stream)?);
    }
    let memory = planned.memory(match kind {
        0 => to.cast(),
        1 => from.cast(),
        _ => return Err(INVALID_VALUE),
    })?;
    let pieces = planned.pieces(&Array::of(&planned.problem, memory.format), memory.format)?;
    memory.check(&pieces)?;
    planned.devices.enqueue(&plan.place, stream, || {
        for piece in pieces.iter().filter(|piece| piece.width > 0 && piece.height > 0) {
            let (device, host) = (memory.rows(piece), if kind == 0 { from } else { to });
            let address = (host.addr() + piece.natural) as u64;
            let host = Rows { address, pitch: piece.natural_pitch, ..device };
            let (from, to) = if kind == 0 { (host, device) } else { (device, host) };
            plan.place.within(|| copy_rows(from, to, Some(stream)))?;
        }
        Ok(())
    })?;
    Ok(plan.place.wait(stream)?)
}

/// Enqueues a copy between descriptors, which may have different formats.
fn redistribute(planned: &Planned, from: &Memory, to: &Memory) -> Outcome {
    let arrays = [from, to].map(|memory| Array::of(&planned.problem, memory.format));
    if arrays[0] != arrays[1] {
        return Err(INVALID_VALUE);
    }
    let pieces = [planned.pieces(&arrays[0], from.format)?, planned.pieces(&arrays[1], to.format)?];
    from.check(&pieces[0])?;
    to.check(&pieces[1])?;
    let mut work = Work::new();
    let source = work.reads(c"srcPointer", from.region(&arrays[0], &pieces[0]));
    let target = work.writes(c"dstPointer", to.region(&arrays[1], &pieces[1]));
    let (plan, stream) = (&planned.plan, planned.plan.settings().stream);
    planned.devices.enqueue(&plan.place, stream, || {
        Ok(plan.place.enqueue(stream, work, move |data| {
            let (source, target) = (data.take::<u8>(source), data.take::<u8>(target));
            target.copy_from_slice(source);
        })?)
    })
}

/// The format of a divided transform's result.
fn result_format(problem: &Problem, format: cufftXtSubFormat) -> Outcome<cufftXtSubFormat> {
    let is_shuffled = match format {
        INPUT | INPLACE => false,
        OUTPUT | INPLACE_SHUFFLED => true,
        // The other order of the input of one dimension.
        INPUT_SHUFFLED if problem.sizes.len() == 1 => false,
        _ => return Err(cufftResult::INVALID_TYPE),
    };
    let accepts_shuffled = match problem.types.0 {
        Kind::ComplexToComplex => problem.sizes.len() > 1,
        Kind::RealToComplex => false,
        Kind::ComplexToReal => true,
    };
    match is_shuffled {
        true if accepts_shuffled => Ok(INPLACE),
        false if problem.types.0 != Kind::ComplexToReal => Ok(INPLACE_SHUFFLED),
        _ => Err(cufftResult::INVALID_TYPE),
    }
}

const NAMES: Names = [c"input", c"output"];

fn run(
    plan: cufftHandle,
    types: Option<Types>,
    input: *mut cudaLibXtDesc,
    output: *mut cudaLibXtDesc,
    direction: Option<c_int>,
) -> Outcome {
    let planned = Planned::new(plan)?;
    let problem = &planned.problem;
    if types.is_some_and(|types| types != problem.types) {
        return Err(cufftResult::INVALID_TYPE);
    }
    let (from, to) = (planned.memory(input)?, planned.memory(output)?);
    let in_place = from.addresses == to.addresses;
    let formats = if planned.is_divided() {
        // Documented: several devices perform one transform in place.
        if !in_place {
            return Err(INVALID_VALUE);
        }
        [from.format, result_format(problem, from.format)?]
    } else {
        [from.format, to.format]
    };
    let arrays = [Array::side(problem, true, in_place), Array::side(problem, false, in_place)];
    let pieces = [planned.pieces(&arrays[0], formats[0])?, planned.pieces(&arrays[1], formats[1])?];
    from.check(&pieces[0])?;
    to.check(&pieces[1])?;
    let side = |memory: &Memory, index: usize| {
        (memory.region(&arrays[index], &pieces[index]), View::packed(&arrays[index].dimensions))
    };
    let sides = Sides { input: side(&from, 0), output: side(&to, 1) };
    let stream = planned.plan.settings().stream;
    planned
        .devices
        .enqueue(&planned.plan.place, stream, || enqueue(&planned.plan, problem, NAMES, sides, direction))?;
    if planned.is_divided() {
        let place = output.wrapping_byte_add(offset_of!(cudaLibXtDesc, subFormat));
        write::<_, cufftResult>(place.cast::<cufftXtSubFormat>(), formats[1])?;
    }
    // NVIDIA's examples say: without a stream, a transform on several devices is synchronous.
    if planned.devices.len() > 1 && stream.is_null() { Ok(planned.plan.place.wait(stream)?) } else { Ok(()) }
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

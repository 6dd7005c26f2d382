//! Tensors: what DLPack says of an array, read into an [`Interface`] and written from one.
//!
//! The two protocols describe the same thing with other units: strides count elements, not bytes; the pointer may be that of
//! an allocation, with an offset behind it; the device is named. What is read here comes from another library's memory, so
//! every number in it is checked before it is used, the number of dimensions first, since it says how far the others
//! may be read.

use super::{
    abi::{DLDevice, DLTensor},
    dtype,
};
use crate::{Dims, Error, Interface, MAX_NDIM, Result, Strides};

/// The kinds of memory that a CUDA device reaches, and the one that it does not, as DLPack numbers them.
pub(crate) const CPU: i32 = 1;
pub(crate) const CUDA: i32 = 2;
pub(crate) const CUDA_HOST: i32 = 3;
pub(crate) const CUDA_MANAGED: i32 = 13;

/// The array that a tensor in memory that CUDA devices reach describes: version 3, writable, without a stream.
///
/// # Errors
/// * [`Error::is_unsupported`]: other memory, or elements without a type string;
/// * [`Error::is_invalid_interface`], with the key of the entry that would be wrong: a negative or too high number of dimensions,
///   a negative length, a null `shape`, strides or an offset that do not fit the address space, a null pointer.
///
/// # Safety
/// `shape` and, unless null, `strides` point to as many numbers as `ndim` says, if it is between 1 and [`MAX_NDIM`].
pub(crate) unsafe fn read(tensor: &DLTensor) -> Result<Box<Interface>> {
    check_device(tensor.device)?;
    // SAFETY: this function's contract.
    unsafe { described(tensor) }
}

/// The same of a tensor in host memory.
///
/// # Errors
/// As [`read`]; [`Error::is_unsupported`]: it is elsewhere.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn read_host(tensor: &DLTensor) -> Result<Box<Interface>> {
    if tensor.device.device_type != CPU {
        return Err(Error::unsupported(format!(
            "the DLPack tensor is on a device of type {}, and __dlpack_device__ said 1 (CPU)",
            tensor.device.device_type
        )));
    }
    // SAFETY: this function's contract.
    unsafe { described(tensor) }
}

/// # Safety
/// As [`read`].
unsafe fn described(tensor: &DLTensor) -> Result<Box<Interface>> {
    let typestr = dtype::read(tensor.dtype)?;
    let address = (tensor.data as u64).checked_add(tensor.byte_offset).ok_or_else(|| {
        Error::entry(
            "data",
            format!(
                "pointer {:#x} with byte_offset {} is beyond the address space",
                tensor.data as u64, tensor.byte_offset
            ),
        )
    })?;
    // An offset into nothing is nothing, too.
    let address = if tensor.data.is_null() { 0 } else { address };
    Interface::in_place(address, typestr, |layout| {
        // SAFETY: this function's contract.
        let shape = |into: &mut Dims| unsafe { shape(tensor, into) };
        // SAFETY: as above; the shape has been read.
        let steps =
            |into: &mut Strides, shape: &Dims| unsafe { strides(tensor, shape.len(), typestr.itemsize(), into) };
        layout.fill(typestr.itemsize(), shape, (!tensor.strides.is_null()).then_some(steps))
    })
}

/// The lengths of a tensor's dimensions, into an empty `into`.
///
/// # Errors
/// As [`read`], key `shape`.
///
/// # Safety
/// As [`read`], of `shape`.
#[inline]
pub(crate) unsafe fn shape(tensor: &DLTensor, into: &mut Dims) -> Result<()> {
    let ndim = usize::try_from(tensor.ndim).ok().filter(|ndim| *ndim <= MAX_NDIM).ok_or_else(|| {
        Error::entry("shape", format!("a DLPack tensor of {} dimensions; 0 to {MAX_NDIM} are expected", tensor.ndim))
    })?;
    if tensor.shape.is_null() && ndim > 0 {
        return Err(Error::entry(
            "shape",
            format!("null in a DLPack tensor of {ndim} dimensions; as many lengths are expected"),
        ));
    }
    *into = Dims::repeat(0, ndim);
    for (index, into) in into.iter_mut().enumerate() {
        // SAFETY: there are `ndim` numbers (this function's contract); nothing is assumed of how they are aligned.
        let length = unsafe { tensor.shape.add(index).read_unaligned() };
        if length < 0 {
            return Err(negative(length, index));
        }
        *into = length as usize;
    }
    Ok(())
}

#[cold]
fn negative(length: i64, index: usize) -> Error {
    let why = format!("length {length} of dimension {index} in a DLPack tensor; at least 0 is expected");
    Error::entry("shape", why)
}

/// The bytes to step in each of `ndim` dimensions.
///
/// # Errors
/// As [`read`], key `strides`.
///
/// # Safety
/// As [`read`], of `strides`, which is not null.
#[inline]
unsafe fn strides(tensor: &DLTensor, ndim: usize, itemsize: usize, into: &mut Strides) -> Result<()> {
    *into = Strides::repeat(0, ndim);
    for (index, into) in into.iter_mut().enumerate() {
        // SAFETY: this function's contract.
        let step = unsafe { tensor.strides.add(index).read_unaligned() };
        *into = (step as isize).checked_mul(itemsize as isize).ok_or_else(|| too_long(step, itemsize))?;
    }
    Ok(())
}

#[cold]
fn too_long(step: i64, itemsize: usize) -> Error {
    Error::entry("strides", format!("{step} elements of {itemsize} bytes do not fit the address space"))
}

/// Whether a CUDA device reaches the memory.
#[inline]
pub(crate) fn check_device(device: DLDevice) -> Result<()> {
    match device.device_type {
        CUDA | CUDA_HOST | CUDA_MANAGED => Ok(()),
        _ => Err(out_of_reach(device)),
    }
}

#[cold]
fn out_of_reach(device: DLDevice) -> Error {
    let name = match device.device_type {
        CPU => {
            return Error::unsupported(
                "the DLPack tensor is in host memory (device type 1, kDLCPU), which no CUDA device reaches; copy it \
                 with to_device, or ask for a copy with copy=True",
            );
        }
        4 => "OpenCL",
        7 => "Vulkan",
        8 => "Metal",
        10 | 11 => "ROCm",
        14 => "oneAPI",
        15 => "WebGPU",
        _ => "unknown",
    };
    Error::unsupported(format!(
        "the DLPack tensor is on a device of type {} ({name}); CUDA (2), CUDA host (3) or CUDA managed memory (13) is expected",
        device.device_type
    ))
}

/// A tensor of ours, with the numbers that it points to.
pub(crate) struct Prepared {
    tensor: DLTensor,
    _dimensions: Dimensions,
}

// SAFETY: the tensor points to the numbers, which stay where they are and are not written, and to memory that nobody reads here.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

impl Prepared {
    /// The tensor of an array.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: a mask, fields, times, swapped bytes, or strides that are no multiple of the item size.
    pub(crate) fn new(interface: &Interface, device: DLDevice) -> Result<Prepared> {
        let mut dimensions = Dimensions::of(interface)?;
        Ok(Prepared { tensor: dimensions.tensor(interface, device)?, _dimensions: dimensions })
    }

    /// The tensor, which is to be used no longer than this lives.
    pub(crate) fn tensor(&self) -> DLTensor {
        self.tensor
    }
}

/// The numbers that a tensor points to.
struct Dimensions(Box<[i64]>);

impl Dimensions {
    /// Shape and strides of an array, in elements.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: a mask, fields, or strides that are no multiple of the item size cannot be said.
    fn of(interface: &Interface) -> Result<Dimensions> {
        if interface.mask().is_some() {
            return Err(Error::unsupported(
                "the array has a mask, which DLPack cannot say; the CUDA Array Interface can",
            ));
        }
        let itemsize = interface.layout().itemsize().max(1) as isize;
        let lengths = interface.shape().iter().map(|length| *length as i64);
        let mut numbers: Vec<i64> = lengths.collect();
        for step in interface.strides() {
            if step % itemsize != 0 {
                return Err(Error::unsupported(format!(
                    "a stride of {step} bytes is no multiple of the {itemsize} bytes of an element, as DLPack wants it; \
                     the CUDA Array Interface can say it"
                )));
            }
            numbers.push((step / itemsize) as i64);
        }
        Ok(Dimensions(numbers.into_boxed_slice()))
    }

    /// The tensor of the same array; its pointers are into these numbers.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: DLPack has no code for the elements.
    fn tensor(&mut self, interface: &Interface, device: DLDevice) -> Result<DLTensor> {
        let ndim = self.0.len() / 2;
        let (shape, strides) = self.0.split_at_mut(ndim);
        Ok(DLTensor {
            data: interface.export_data() as *mut _,
            device,
            ndim: ndim as i32,
            dtype: dtype::write(interface.typestr())?,
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        })
    }
}

//! DLPack tensors, read into an [`Interface`] and written from one.
//!
//! The two protocols describe an array in different units. DLPack counts strides in elements, not bytes. Its pointer may be the
//! start of an allocation, with an offset. It names the device. A tensor comes from another library's memory, so every number
//! is checked before use. The number of dimensions comes first, because it bounds the reads of the others.

use super::{
    abi::{DLDevice, DLTensor},
    dtype,
};
use crate::{Dims, Error, Interface, MAX_NDIM, Result, Strides};

/// DLPack's codes for the memory that a CUDA device reaches, and for host memory, which it does not reach.
pub(crate) const CPU: i32 = 1;
pub(crate) const CUDA: i32 = 2;
pub(crate) const CUDA_HOST: i32 = 3;
pub(crate) const CUDA_MANAGED: i32 = 13;

/// Reads a tensor in memory that CUDA devices reach: version 3, writable, without a stream.
///
/// # Errors
/// * [`Error::is_unsupported`]: other memory, or elements without a type string;
/// * [`Error::is_invalid_interface`], with the name of the wrong member: a negative or too high number of dimensions, a negative
///   length, a null `shape`, strides or an offset that exceed the address space, a null pointer.
///
/// # Safety
/// If `ndim` is between 1 and [`MAX_NDIM`], `shape` and `strides` are null or point to `ndim` numbers.
pub(crate) unsafe fn read(tensor: &DLTensor) -> Result<Box<Interface>> {
    check_device(tensor.device)?;
    // SAFETY: this function's contract.
    unsafe { described(tensor) }
}

/// Reads a tensor in host memory.
///
/// # Errors
/// As [`read`]; [`Error::is_unsupported`]: the tensor is not in host memory.
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
    // SAFETY: this function's contract.
    unsafe { interface(tensor) }.map_err(|error| error.of_structure("DLTensor"))
}

/// # Safety
/// As [`read`].
unsafe fn interface(tensor: &DLTensor) -> Result<Box<Interface>> {
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
    // A null pointer stays null, whatever the offset.
    let address = if tensor.data.is_null() { 0 } else { address };
    Interface::in_place(address, typestr, |layout| {
        // SAFETY: this function's contract.
        let shape = |into: &mut Dims| unsafe { shape(tensor, into) };
        // SAFETY: this function's contract; the shape has been read, so its length is between 1 and `MAX_NDIM`, or no stride is read.
        let steps =
            |into: &mut Strides, shape: &Dims| unsafe { strides(tensor, shape.len(), typestr.itemsize(), into) };
        layout.fill(typestr.itemsize(), shape, (!tensor.strides.is_null()).then_some(steps))
    })
}

/// Appends the lengths of a tensor's dimensions to an empty `into`.
///
/// # Errors
/// As [`read`], key `shape`.
///
/// # Safety
/// As [`read`], for `shape`.
#[inline]
pub(crate) unsafe fn shape(tensor: &DLTensor, into: &mut Dims) -> Result<()> {
    let ndim = usize::try_from(tensor.ndim)
        .ok()
        .filter(|ndim| *ndim <= MAX_NDIM)
        .ok_or_else(|| Error::entry("ndim", format!("{} dimensions; 0 to {MAX_NDIM} are expected", tensor.ndim)))?;
    if tensor.shape.is_null() && ndim > 0 {
        return Err(Error::entry(
            "shape",
            format!("null in a tensor of {ndim} dimensions; as many lengths are expected"),
        ));
    }
    *into = Dims::repeat(0, ndim);
    for (index, into) in into.iter_mut().enumerate() {
        // SAFETY: there are `ndim` numbers (this function's contract); the read needs no alignment.
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
    let why = format!("length {length} of dimension {index}; at least 0 is expected");
    Error::entry("shape", why)
}

/// Appends the strides of a tensor in bytes, one for each of `ndim` dimensions.
///
/// # Errors
/// As [`read`], key `strides`.
///
/// # Safety
/// As [`read`], for `strides`, which is not null.
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

/// Checks that a CUDA device reaches the memory.
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

/// An exported tensor, with the lengths and strides that it points to.
pub(crate) struct Prepared {
    tensor: DLTensor,
    _dimensions: Dimensions,
}

// SAFETY: the tensor points to numbers at fixed addresses, which are not written, and to memory that the host does not read.
unsafe impl Send for Prepared {}
// SAFETY: the tensor points to numbers at fixed addresses, which are not written, and to memory that the host does not read.
unsafe impl Sync for Prepared {}

impl Prepared {
    /// Prepares the tensor of an array.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: a mask, fields, times, swapped bytes, or strides that are not multiples of the item size.
    pub(crate) fn new(interface: &Interface, device: DLDevice) -> Result<Prepared> {
        let mut dimensions = Dimensions::of(interface)?;
        Ok(Prepared { tensor: dimensions.tensor(interface, device)?, _dimensions: dimensions })
    }

    /// The tensor, which must not outlive this object.
    pub(crate) fn tensor(&self) -> DLTensor {
        self.tensor
    }
}

/// The lengths and strides that a tensor points to.
struct Dimensions(Box<[i64]>);

impl Dimensions {
    /// Shape and strides of an array, in elements.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: a mask, fields, or strides that are not multiples of the item size.
    fn of(interface: &Interface) -> Result<Dimensions> {
        if interface.mask().is_some() {
            return Err(Error::unsupported(
                "the array has a mask, which DLPack cannot say; the CUDA Array Interface can",
            ));
        }
        let itemsize = interface.layout().itemsize().max(1) as isize;
        let lengths = interface.shape().iter().map(|length| *length as i64);
        let mut numbers: Vec<i64> = lengths.collect();
        for step in &interface.layout().canonical_strides() {
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

    /// The tensor of the array; its pointers lead to these numbers.
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

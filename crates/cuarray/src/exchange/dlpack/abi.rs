//! The C structures of DLPack 1.x, as its header lays them out.
//!
//! Everything here comes from other libraries or goes to them, so nothing is an `enum`: a code that is unknown is a number
//! that somebody will refuse by name, and not undefined behaviour. Members are named as in the header.

use std::ffi::{c_char, c_int, c_void};

/// The newest version whose codes are known here. A new minor version adds codes and flags, a new major one moves members.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 3 };

/// The memory must not be written.
pub const READ_ONLY: u64 = 1;
/// The memory is a copy made for the consumer.
pub const IS_COPIED: u64 = 2;

/// `DLPackVersion`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Of the layout of the structures.
    pub major: u32,
    /// Of the codes.
    pub minor: u32,
}

/// `DLDevice`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// One of the `kDL…` codes.
    pub device_type: i32,
    /// Which device of that type; 0 for host memory.
    pub device_id: i32,
}

/// `DLDataType`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// One of the type codes.
    pub code: u8,
    /// The bits of one lane.
    pub bits: u8,
    /// The lanes of a vector; 1 for anything else.
    pub lanes: u16,
}

/// `DLTensor`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Where the memory begins; the first element is `byte_offset` further.
    pub data: *mut c_void,
    /// Where it lies.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of an element.
    pub dtype: DLDataType,
    /// `ndim` lengths; may be null for none.
    pub shape: *mut i64,
    /// `ndim` strides in elements; null for C order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, what was exchanged before version 1.
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// To be called once with this structure, which it frees; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`. All but the tensor lies where it is in every version.
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// By which the rest is to be read.
    pub version: DLPackVersion,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// To be called once with this structure, which it frees; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`], [`IS_COPIED`] and what later versions add.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// `DLPackExchangeAPIHeader`
#[repr(C)]
pub struct DLPackExchangeAPIHeader {
    /// By which the table is to be read.
    pub version: DLPackVersion,
    /// A table of an older version, or null.
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// How a producer's function tells what went wrong without Python: its context, the kind of exception, the sentence.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI`, the table behind a type's `__dlpack_c_exchange_api__`. Each function answers 0, or -1 with a Python
/// exception set (or told to `SetError`); none of them orders anything on a stream.
#[repr(C)]
pub struct DLPackExchangeAPI {
    /// What stays in every version.
    pub header: DLPackExchangeAPIHeader,
    /// A new tensor like a prototype.
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(*mut DLTensor, *mut *mut DLManagedTensorVersioned, *mut c_void, Option<SetError>) -> c_int,
    >,
    /// A tensor that owns what an object of the type holds.
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// An object of the type that owns a tensor.
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// A tensor that owns nothing, for as long as the caller holds the object; may be null.
    pub dltensor_from_py_object_no_sync: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    /// The stream on which the library works on a device.
    pub current_work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

// SAFETY: the table is constant, and all that it points to are functions, which any thread may call.
unsafe impl Sync for DLPackExchangeAPI {}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<DLTensor>() == 48);
    assert!(size_of::<DLManagedTensor>() == 64);
    assert!(size_of::<DLManagedTensorVersioned>() == 80);
    assert!(size_of::<DLPackExchangeAPI>() == 56);
    assert!(offset_of!(DLTensor, ndim) == 16 && offset_of!(DLTensor, dtype) == 20);
    assert!(offset_of!(DLTensor, shape) == 24 && offset_of!(DLTensor, byte_offset) == 40);
    assert!(offset_of!(DLManagedTensorVersioned, flags) == 24 && offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
};

//! The C structures of DLPack 1.x, as its header lays them out.
//!
//! These structures cross library boundaries, so no member is an `enum`: an unknown code is a number that a reader can
//! refuse, not undefined behaviour. Members are named as in the header.

use std::ffi::{c_char, c_int, c_void};

/// The newest version with codes that this module knows. A minor version adds codes and flags, a major version moves
/// members.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 3 };

/// The memory must not be written.
pub const READ_ONLY: u64 = 1;
/// The memory is a copy made for the consumer.
pub const IS_COPIED: u64 = 2;
/// Values of less than a byte have a byte each; without the flag they are packed.
pub const SUBBYTE_PADDED: u64 = 4;

/// `DLPackVersion`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// The version of the layout of the structures.
    pub major: u32,
    /// The version of the codes.
    pub minor: u32,
}

/// `DLDevice`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// One of the `kDL…` codes.
    pub device_type: i32,
    /// The ordinal of the device within its type; 0 for host memory.
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
    /// The lanes of a vector; 1 for a single value.
    pub lanes: u16,
}

/// `DLTensor`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The start of the memory; the first element is `byte_offset` bytes further.
    pub data: *mut c_void,
    /// The device that holds the memory.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of an element.
    pub dtype: DLDataType,
    /// `ndim` lengths; may be null if `ndim` is 0.
    pub shape: *mut i64,
    /// `ndim` strides in elements; null for C order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, the structure exchanged before version 1.
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's context.
    pub manager_ctx: *mut c_void,
    /// Called once with this structure, which it frees; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`. All members before the tensor have the same offset in every version.
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The version of the other members.
    pub version: DLPackVersion,
    /// The producer's context.
    pub manager_ctx: *mut c_void,
    /// Called once with this structure, which it frees; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`], [`IS_COPIED`] and the flags of later versions.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// `DLPackExchangeAPIHeader`
#[repr(C)]
pub struct DLPackExchangeAPIHeader {
    /// The version of the table.
    pub version: DLPackVersion,
    /// A table of an older version, or null.
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// Reports an error without Python: context, kind of exception, message.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI`, the table behind a type's `__dlpack_c_exchange_api__`. Each function returns 0, or -1 with a Python
/// exception set (or reported to `SetError`). No function orders work on a stream.
#[repr(C)]
pub struct DLPackExchangeAPI {
    /// The part that is the same in every version.
    pub header: DLPackExchangeAPIHeader,
    /// Allocates a tensor like a prototype.
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(*mut DLTensor, *mut *mut DLManagedTensorVersioned, *mut c_void, Option<SetError>) -> c_int,
    >,
    /// Makes a tensor that owns the array of an object of the type.
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// Makes an object of the type that owns a tensor.
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// Fills a tensor that owns nothing and is valid while the caller holds the object; may be null.
    pub dltensor_from_py_object_no_sync: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    /// The library's current stream on a device.
    pub current_work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

// SAFETY: the table is constant, and it points only to functions that any thread may call.
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

//! `cudaDeviceProp`, which differs between the majors: a table of its fields, and the bytes of the structure made from it.
//!
//! The structure begins with a name, identifiers and the size of the memory, at the same offsets in all versions. The rest are
//! integers, each the value of an attribute of the driver. An attribute that the driver does not know leaves zero.

use crate::call::present;
use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::*;
use Kind::{Int, Size};
use Majors::{Both, Only12, Only13};
use cuarray_abi::{Api, CUuuid};
use std::ffi::{c_int, c_void};

/// The type of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `int` or `unsigned int`, or an array of them.
    Int,
    /// `size_t`.
    Size,
}

/// The majors whose structure has a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Majors {
    Both,
    Only12,
    Only13,
}

#[allow(dead_code)] // a name is for readers of the table, and for its test
struct Field {
    name: &'static str,
    kind: Kind,
    majors: Majors,
    /// The driver's attribute of each element.
    attributes: &'static [u32],
}

const fn field(name: &'static str, kind: Kind, majors: Majors, attributes: &'static [u32]) -> Field {
    Field { name, kind, majors, attributes }
}

/// The fields after `totalGlobalMem`, in the order of both structures.
const FIELDS: &[Field] = &[
    field("sharedMemPerBlock", Size, Both, &[8]),
    field("regsPerBlock", Int, Both, &[12]),
    field("warpSize", Int, Both, &[10]),
    field("memPitch", Size, Both, &[11]),
    field("maxThreadsPerBlock", Int, Both, &[1]),
    field("maxThreadsDim", Int, Both, &[2, 3, 4]),
    field("maxGridSize", Int, Both, &[5, 6, 7]),
    field("clockRate", Int, Only12, &[13]),
    field("totalConstMem", Size, Both, &[9]),
    field("major", Int, Both, &[75]),
    field("minor", Int, Both, &[76]),
    field("textureAlignment", Size, Both, &[14]),
    field("texturePitchAlignment", Size, Both, &[51]),
    field("deviceOverlap", Int, Only12, &[15]),
    field("multiProcessorCount", Int, Both, &[16]),
    field("kernelExecTimeoutEnabled", Int, Only12, &[17]),
    field("integrated", Int, Both, &[18]),
    field("canMapHostMemory", Int, Both, &[19]),
    field("computeMode", Int, Only12, &[20]),
    field("maxTexture1D", Int, Both, &[21]),
    field("maxTexture1DMipmap", Int, Both, &[77]),
    field("maxTexture1DLinear", Int, Only12, &[69]),
    field("maxTexture2D", Int, Both, &[22, 23]),
    field("maxTexture2DMipmap", Int, Both, &[73, 74]),
    field("maxTexture2DLinear", Int, Both, &[70, 71, 72]),
    field("maxTexture2DGather", Int, Both, &[45, 46]),
    field("maxTexture3D", Int, Both, &[24, 25, 26]),
    field("maxTexture3DAlt", Int, Both, &[47, 48, 49]),
    field("maxTextureCubemap", Int, Both, &[52]),
    field("maxTexture1DLayered", Int, Both, &[42, 43]),
    field("maxTexture2DLayered", Int, Both, &[27, 28, 29]),
    field("maxTextureCubemapLayered", Int, Both, &[53, 54]),
    field("maxSurface1D", Int, Both, &[55]),
    field("maxSurface2D", Int, Both, &[56, 57]),
    field("maxSurface3D", Int, Both, &[58, 59, 60]),
    field("maxSurface1DLayered", Int, Both, &[61, 62]),
    field("maxSurface2DLayered", Int, Both, &[63, 64, 65]),
    field("maxSurfaceCubemap", Int, Both, &[66]),
    field("maxSurfaceCubemapLayered", Int, Both, &[67, 68]),
    field("surfaceAlignment", Size, Both, &[30]),
    field("concurrentKernels", Int, Both, &[31]),
    field("ECCEnabled", Int, Both, &[32]),
    field("pciBusID", Int, Both, &[33]),
    field("pciDeviceID", Int, Both, &[34]),
    field("pciDomainID", Int, Both, &[50]),
    field("tccDriver", Int, Both, &[35]),
    field("asyncEngineCount", Int, Both, &[40]),
    field("unifiedAddressing", Int, Both, &[41]),
    field("memoryClockRate", Int, Only12, &[36]),
    field("memoryBusWidth", Int, Both, &[37]),
    field("l2CacheSize", Int, Both, &[38]),
    field("persistingL2CacheMaxSize", Int, Both, &[108]),
    field("maxThreadsPerMultiProcessor", Int, Both, &[39]),
    field("streamPrioritiesSupported", Int, Both, &[78]),
    field("globalL1CacheSupported", Int, Both, &[79]),
    field("localL1CacheSupported", Int, Both, &[80]),
    field("sharedMemPerMultiprocessor", Size, Both, &[81]),
    field("regsPerMultiprocessor", Int, Both, &[82]),
    field("managedMemory", Int, Both, &[83]),
    field("isMultiGpuBoard", Int, Both, &[84]),
    field("multiGpuBoardGroupID", Int, Both, &[85]),
    field("hostNativeAtomicSupported", Int, Both, &[86]),
    field("singleToDoublePrecisionPerfRatio", Int, Only12, &[87]),
    field("pageableMemoryAccess", Int, Both, &[88]),
    field("concurrentManagedAccess", Int, Both, &[89]),
    field("computePreemptionSupported", Int, Both, &[90]),
    field("canUseHostPointerForRegisteredMem", Int, Both, &[91]),
    field("cooperativeLaunch", Int, Both, &[95]),
    field("cooperativeMultiDeviceLaunch", Int, Only12, &[96]),
    field("sharedMemPerBlockOptin", Size, Both, &[97]),
    field("pageableMemoryAccessUsesHostPageTables", Int, Both, &[100]),
    field("directManagedMemAccessFromHost", Int, Both, &[101]),
    field("maxBlocksPerMultiProcessor", Int, Both, &[106]),
    field("accessPolicyMaxWindowSize", Int, Both, &[109]),
    field("reservedSharedMemPerBlock", Size, Both, &[111]),
    field("hostRegisterSupported", Int, Both, &[99]),
    field("sparseCudaArraySupported", Int, Both, &[112]),
    field("hostRegisterReadOnlySupported", Int, Both, &[113]),
    field("timelineSemaphoreInteropSupported", Int, Both, &[114]),
    field("memoryPoolsSupported", Int, Both, &[115]),
    field("gpuDirectRDMASupported", Int, Both, &[116]),
    field("gpuDirectRDMAFlushWritesOptions", Int, Both, &[117]),
    field("gpuDirectRDMAWritesOrdering", Int, Both, &[118]),
    field("memoryPoolSupportedHandleTypes", Int, Both, &[119]),
    field("deferredMappingCudaArraySupported", Int, Both, &[121]),
    field("ipcEventSupported", Int, Both, &[125]),
    field("clusterLaunch", Int, Both, &[120]),
    field("unifiedFunctionPointers", Int, Both, &[129]),
    field("deviceNumaConfig", Int, Only13, &[130]),
    field("deviceNumaId", Int, Only13, &[131]),
    field("mpsEnabled", Int, Only13, &[133]),
    field("hostNumaId", Int, Only13, &[134]),
    field("gpuPciDeviceID", Int, Only13, &[139]),
    field("gpuPciSubsystemID", Int, Only13, &[140]),
    field("hostNumaMultinodeIpcSupported", Int, Only13, &[143]),
];

const UUID: usize = 256;
const TOTAL_GLOBAL_MEM: usize = 288;
/// The offset of the first field of the table.
const FIRST: usize = 296;
/// The size of the structure of CUDA 13.
const SIZE_13: usize = 1008;
/// The size of the structure of CUDA 12.
const SIZE_12: usize = 1032;
/// The size of the structure before CUDA 12: that of CUDA 12 up to `reservedSharedMemPerBlock`.
const SIZE_11: usize = 728;

/// Calls `f` with the fields of a major's structure and their offsets, in order.
fn fields(absent: Majors, mut f: impl FnMut(&'static Field, usize)) {
    let mut offset = FIRST;
    for field in FIELDS.iter().filter(|field| field.majors != absent) {
        let size = if field.kind == Int { 4 } else { 8 };
        offset = offset.next_multiple_of(size);
        f(field, offset);
        offset += size * field.attributes.len();
    }
}

/// The structure of a device, for the majors without the fields `absent`.
fn properties(api: &Api, device: c_int, absent: Majors) -> Result<[u8; SIZE_12]> {
    let mut bytes = [0; SIZE_12];
    cu!(api.cuDeviceGetName(bytes.as_mut_ptr().cast(), UUID as c_int, device))?;
    let mut uuid = CUuuid { bytes: [0; 16] };
    if cu!(api.cuDeviceGetUuid_v2(&raw mut uuid, device)).is_ok() {
        set(&mut bytes, UUID, &uuid.bytes);
    }
    let mut total = 0_usize;
    cu!(api.cuDeviceTotalMem_v2(&raw mut total, device))?;
    set(&mut bytes, TOTAL_GLOBAL_MEM, &total.to_ne_bytes());
    fields(absent, |field, mut offset| {
        for &attribute in field.attributes {
            let mut value = 0;
            if cu!(api.cuDeviceGetAttribute(&raw mut value, attribute, device)).is_err() {
                value = 0;
            }
            if field.kind == Int {
                set(&mut bytes, offset, &value.to_ne_bytes());
                offset += 4;
            } else {
                set(&mut bytes, offset, &i64::from(value).to_ne_bytes());
                offset += 8;
            }
        }
    });
    Ok(bytes)
}

fn set(bytes: &mut [u8], offset: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(offset..offset + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Writes the first `size` bytes of the structure.
///
/// # Safety
/// `prop` is null, or `size` bytes are writable.
unsafe fn write(api: &Api, prop: *mut c_void, device: c_int, absent: Majors, size: usize) -> Result {
    present(prop)?;
    let bytes = properties(api, device, absent)?;
    // SAFETY: by this function's contract.
    unsafe { prop.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size.min(bytes.len())) };
    Ok(())
}

/// Properties with the structure of CUDA 13.
pub(crate) unsafe fn cudaGetDeviceProperties(api: &Api, prop: *mut cudaDeviceProp, device: c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { write(api, prop, device, Only12, SIZE_13) }
}

/// Properties with the structure of CUDA 12.
pub(crate) unsafe fn cudaGetDeviceProperties_v2(api: &Api, prop: *mut cudaDeviceProp, device: c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { write(api, prop, device, Only13, SIZE_12) }
}

/// Properties with the structure of CUDA 11.
pub(crate) unsafe fn cudaGetDeviceProperties_v1(api: &Api, prop: *mut cudaDeviceProp_v1, device: c_int) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { write(api, prop, device, Only13, SIZE_11) }
}

/// Chooses the device with CUDA 13's structure.
pub(crate) unsafe fn cudaChooseDevice(api: &Api, device: *mut c_int, prop: *const cudaDeviceProp) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { choose(api, device, prop, Only12, SIZE_13) }
}

/// Chooses the device with CUDA 12's structure.
pub(crate) unsafe fn cudaChooseDevice_v1(api: &Api, device: *mut c_int, prop: *const cudaDeviceProp) -> Result {
    // SAFETY: by the contract of this function.
    unsafe { choose(api, device, prop, Only13, SIZE_12) }
}

/// Writes the first device that satisfies the most of the properties that are not zero.
///
/// # Safety
/// `device` is null or writable; `prop` is null, or `size` bytes are readable.
unsafe fn choose(api: &Api, device: *mut c_int, prop: *const c_void, absent: Majors, size: usize) -> Result {
    present(device)?;
    present(prop)?;
    let mut wanted = [0; SIZE_12];
    // SAFETY: by this function's contract.
    unsafe { prop.cast::<u8>().copy_to_nonoverlapping(wanted.as_mut_ptr(), size.min(SIZE_12)) };
    let mut count = 0;
    cu!(api.cuDeviceGetCount(&raw mut count))?;
    let mut best = (None, 0);
    for ordinal in 0..count {
        let score = score(&wanted, &properties(api, ordinal, absent)?, absent);
        if best.0.is_none() || score > best.1 {
            best = (Some(ordinal), score);
        }
    }
    let chosen = best.0.ok_or(cudaError_t::cudaErrorNoDevice)?;
    // SAFETY: by this function's contract.
    unsafe { crate::call::put(device, chosen) }
}

/// The number of properties that are wanted and that a device has at least.
fn score(wanted: &[u8; SIZE_12], found: &[u8; SIZE_12], absent: Majors) -> usize {
    let mut score = 0;
    let read = |bytes: &[u8], offset: usize, kind: Kind| -> i64 {
        let word =
            |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, i32::from_ne_bytes);
        if kind == Int {
            i64::from(word(offset))
        } else {
            i64::from(word(offset + 4)) << 32 | i64::from(word(offset) as u32)
        }
    };
    let mut count = |offset: usize, kind: Kind| {
        let wanted = read(wanted, offset, kind);
        score += usize::from(wanted != 0 && read(found, offset, kind) >= wanted);
    };
    count(TOTAL_GLOBAL_MEM, Size);
    fields(absent, |field, offset| {
        let size = if field.kind == Int { 4 } else { 8 };
        for index in 0..field.attributes.len() {
            count(offset + index * size, field.kind);
        }
    });
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets that a C compiler gives the fields, with the headers of CUDA 12.9 and 13.5.
    #[test]
    fn offsets_are_those_of_the_headers() {
        let offset = |absent, name: &str| {
            let mut found = None;
            fields(absent, |field, offset| found = if field.name == name { Some(offset) } else { found });
            found
        };
        assert_eq!(offset(Only13, "reservedSharedMemPerBlock"), Some(720));
        assert_eq!(offset(Only13, "hostRegisterSupported"), Some(SIZE_11));
        assert_eq!(offset(Only12, "reservedSharedMemPerBlock"), Some(696));
        assert_eq!(offset(Only12, "hostRegisterSupported"), Some(704));
        assert_eq!(offset(Only12, "clockRate"), None);
    }
}

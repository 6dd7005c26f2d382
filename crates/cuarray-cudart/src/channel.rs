//! Channel descriptors, and the driver's formats; the format of an array.

use crate::driver::cu;
use crate::result::{Result, cudaError_t};
use crate::types::{cudaArray_t, cudaChannelFormatDesc};
use cuarray_abi::*;

const SIGNED: u32 = 0;
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 2;
const NONE: u32 = 3;
/// The kinds of normalized formats: unsigned 8, unsigned 16, signed 8, signed 16 bits, each with 1, 2 and 4 channels.
const NORMALIZED: std::ops::RangeInclusive<u32> = 5..=16;
/// The last kind of the header.
const LAST: u32 = 45;

/// The number of channels of equal size; `None` for other descriptors.
fn channels(desc: &cudaChannelFormatDesc) -> Option<u32> {
    let bits = desc.x;
    match [desc.y, desc.z, desc.w] {
        [0, 0, 0] => Some(1),
        [y, 0, 0] if y == bits => Some(2),
        [y, z, w] if y == bits && z == bits && w == bits => Some(4),
        _ => None,
    }
}

/// The driver's format and number of channels.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor` for channels that no format has, `cudaErrorNotSupported` for block-compressed and video formats.
pub(crate) fn to_format(desc: &cudaChannelFormatDesc) -> Result<(CUarray_format, u32)> {
    const INVALID: cudaError_t = cudaError_t::cudaErrorInvalidChannelDescriptor;
    if NORMALIZED.contains(&desc.f) {
        let index = desc.f - NORMALIZED.start();
        // The driver numbers these formats in the same order.
        return Ok((CU_AD_FORMAT_UNORM_INT8X1 + index, 1 << (index % 3)));
    }
    let format = match (desc.f, desc.x) {
        (SIGNED, 8) => CU_AD_FORMAT_SIGNED_INT8,
        (SIGNED, 16) => CU_AD_FORMAT_SIGNED_INT16,
        (SIGNED, 32) => CU_AD_FORMAT_SIGNED_INT32,
        (UNSIGNED, 8) => CU_AD_FORMAT_UNSIGNED_INT8,
        (UNSIGNED, 16) => CU_AD_FORMAT_UNSIGNED_INT16,
        (UNSIGNED, 32) => CU_AD_FORMAT_UNSIGNED_INT32,
        (FLOAT, 16) => CU_AD_FORMAT_HALF,
        (FLOAT, 32) => CU_AD_FORMAT_FLOAT,
        (SIGNED..=NONE, _) => return Err(INVALID),
        (..=LAST, _) => return Err(cudaError_t::cudaErrorNotSupported),
        _ => return Err(INVALID),
    };
    Ok((format, channels(desc).ok_or(INVALID)?))
}

/// The channel descriptor of a driver's format.
pub(crate) fn of_format(format: CUarray_format, channels: u32) -> cudaChannelFormatDesc {
    let normalized = format.wrapping_sub(CU_AD_FORMAT_UNORM_INT8X1);
    let (kind, bits) = match format {
        CU_AD_FORMAT_SIGNED_INT8 => (SIGNED, 8),
        CU_AD_FORMAT_SIGNED_INT16 => (SIGNED, 16),
        CU_AD_FORMAT_SIGNED_INT32 => (SIGNED, 32),
        CU_AD_FORMAT_UNSIGNED_INT8 => (UNSIGNED, 8),
        CU_AD_FORMAT_UNSIGNED_INT16 => (UNSIGNED, 16),
        CU_AD_FORMAT_UNSIGNED_INT32 => (UNSIGNED, 32),
        CU_AD_FORMAT_HALF => (FLOAT, 16),
        CU_AD_FORMAT_FLOAT => (FLOAT, 32),
        _ if normalized <= NORMALIZED.end() - NORMALIZED.start() => {
            (NORMALIZED.start() + normalized, if (normalized / 3).is_multiple_of(2) { 8 } else { 16 })
        }
        _ => (NONE, 0),
    };
    let bits_of = |channel| if channel < channels { bits } else { 0 };
    cudaChannelFormatDesc { x: bits_of(0), y: bits_of(1), z: bits_of(2), w: bits_of(3), f: kind }
}

/// The size of a texel in bytes.
pub(crate) fn size(desc: &cudaChannelFormatDesc) -> usize {
    [desc.x, desc.y, desc.z, desc.w].iter().map(|bits| usize::try_from(*bits).unwrap_or(0) / 8).sum()
}

/// The driver's descriptor of an array.
pub(crate) fn descriptor(api: &Api, array: cudaArray_t) -> Result<CUDA_ARRAY3D_DESCRIPTOR> {
    let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
    cu!(api.cuArray3DGetDescriptor_v2(&raw mut descriptor, array)).map_err(unknown)?;
    Ok(descriptor)
}

/// The size of an array's texel in bytes.
pub(crate) fn texel(api: &Api, array: cudaArray_t) -> Result<usize> {
    let descriptor = descriptor(api, array)?;
    Ok(size(&of_format(descriptor.Format, descriptor.NumChannels)))
}

/// The runtime's error for an unknown array, where the manual lists no error for handles.
pub(crate) fn unknown(error: cudaError_t) -> cudaError_t {
    match error {
        cudaError_t::cudaErrorInvalidResourceHandle => cudaError_t::cudaErrorInvalidValue,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_that_they_came_from() {
        for kind in [SIGNED, UNSIGNED, FLOAT] {
            for bits in [8, 16, 32] {
                for channels in [1, 2, 4] {
                    let bits_of = |channel| if channel < channels { bits } else { 0 };
                    let desc = cudaChannelFormatDesc { x: bits, y: bits_of(1), z: bits_of(2), w: bits_of(3), f: kind };
                    match to_format(&desc) {
                        Ok((format, count)) => {
                            assert_eq!(of_format(format, count), desc);
                            assert_eq!(size(&desc), (bits / 8 * channels) as usize);
                        }
                        Err(error) => {
                            assert_eq!((kind, bits), (FLOAT, 8));
                            assert_eq!(error, cudaError_t::cudaErrorInvalidChannelDescriptor);
                        }
                    }
                }
            }
        }
        for kind in NORMALIZED {
            let (format, channels) = to_format(&cudaChannelFormatDesc { x: 0, y: 0, z: 0, w: 0, f: kind }).unwrap();
            let desc = of_format(format, channels);
            assert_eq!(desc.f, kind);
            assert_eq!(to_format(&desc), Ok((format, channels)));
        }
    }

    #[test]
    fn uneven_channels_and_other_kinds_are_refused() {
        let of = |x, y, z, w, f| to_format(&cudaChannelFormatDesc { x, y, z, w, f });
        for wrong in [
            of(8, 8, 8, 0, UNSIGNED),
            of(8, 16, 0, 0, UNSIGNED),
            of(24, 0, 0, 0, SIGNED),
            of(8, 0, 0, 0, NONE),
            of(8, 0, 0, 0, 99),
        ] {
            assert_eq!(wrong, Err(cudaError_t::cudaErrorInvalidChannelDescriptor));
        }
        assert_eq!(of(8, 8, 8, 0, 4), Err(cudaError_t::cudaErrorNotSupported));
        assert_eq!(of(8, 0, 0, 0, 17), Err(cudaError_t::cudaErrorNotSupported));
    }
}

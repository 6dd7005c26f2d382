//! Arrays, whose layout is opaque to programs, and mipmapped arrays.
//!
//! The texels of an array lie row after row in a separate allocation, without gaps. Programs get a handle and no address.
//! A mipmapped array is one allocation. Each of its levels is an array that the program cannot destroy.

use crate::handle::Table;
use cuarray_abi::*;

/// One array, or one level of a mipmapped array.
pub(crate) struct Array {
    pub context: CUcontext,
    /// The address of the first texel, which programs do not see.
    pub address: u64,
    pub descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// The mipmapped array that this is a level of.
    pub level_of: Option<CUmipmappedArray>,
}

/// One mipmapped array.
pub(crate) struct Mipmapped {
    pub context: CUcontext,
    pub address: u64,
    /// The handles of the levels, the largest first.
    pub levels: Vec<CUarray>,
}

/// All arrays of a driver.
#[derive(Default)]
pub(crate) struct Arrays {
    pub arrays: Table<CUarray, Array>,
    pub mipmapped: Table<CUmipmappedArray, Mipmapped>,
}

/// The place of a box in an array: bytes along x, then rows and slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Corner {
    pub array: CUarray,
    pub origin: [u64; 3],
}

/// The alignment of the levels of a mipmapped array, as of every allocation.
const LEVEL_ALIGNMENT: u64 = 512;

/// The bytes of a channel in a format, and its number of channels if the format determines it. `None` for formats that this
/// driver does not know, or whose texels have no bytes of their own.
fn channel(format: CUarray_format) -> Option<(u64, Option<u32>)> {
    Some(match format {
        CU_AD_FORMAT_UNSIGNED_INT8 | CU_AD_FORMAT_SIGNED_INT8 => (1, None),
        CU_AD_FORMAT_UNSIGNED_INT16 | CU_AD_FORMAT_SIGNED_INT16 | CU_AD_FORMAT_HALF => (2, None),
        CU_AD_FORMAT_UNSIGNED_INT32 | CU_AD_FORMAT_SIGNED_INT32 | CU_AD_FORMAT_FLOAT => (4, None),
        CU_AD_FORMAT_UNORM_INT8X1 | CU_AD_FORMAT_SNORM_INT8X1 => (1, Some(1)),
        CU_AD_FORMAT_UNORM_INT8X2 | CU_AD_FORMAT_SNORM_INT8X2 => (1, Some(2)),
        CU_AD_FORMAT_UNORM_INT8X4 | CU_AD_FORMAT_SNORM_INT8X4 => (1, Some(4)),
        CU_AD_FORMAT_UNORM_INT16X1 | CU_AD_FORMAT_SNORM_INT16X1 => (2, Some(1)),
        CU_AD_FORMAT_UNORM_INT16X2 | CU_AD_FORMAT_SNORM_INT16X2 => (2, Some(2)),
        CU_AD_FORMAT_UNORM_INT16X4 | CU_AD_FORMAT_SNORM_INT16X4 => (2, Some(4)),
        _ => return None,
    })
}

/// The size of a texel in bytes.
///
/// # Errors
/// - `CUDA_ERROR_NOT_SUPPORTED` for block-compressed and video formats.
/// - `CUDA_ERROR_INVALID_VALUE` for unknown formats, and numbers of channels other than 1, 2 and 4, or that of the format.
pub(crate) fn texel_size(format: CUarray_format, channels: u32) -> Result<u64, CUresult> {
    match channel(format) {
        Some((bytes, fixed)) if matches!(channels, 1 | 2 | 4) && fixed.is_none_or(|fixed| fixed == channels) => {
            Ok(bytes * u64::from(channels))
        }
        None if is_compressed_or_video(format) => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

/// Whether a format of the header has blocks or planes in place of texels.
fn is_compressed_or_video(format: CUarray_format) -> bool {
    matches!(format,
        CU_AD_FORMAT_UNORM_INT_101010_2..=CU_AD_FORMAT_UINT16_PLANAR_444
        | CU_AD_FORMAT_BC1_UNORM..=CU_AD_FORMAT_P010
        | CU_AD_FORMAT_P016..=CU_AD_FORMAT_Y410
        | CU_AD_FORMAT_NV12..=CU_AD_FORMAT_YUV444_16BIT_SEMIPLANAR)
}

/// The rows of an array: their length in bytes, and their number in a slice and in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    pub texel: u64,
    pub pitch: u64,
    pub height: u64,
    pub depth: u64,
}

impl Rows {
    /// The rows of a valid descriptor.
    pub(crate) fn of(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Rows {
        // A valid descriptor has a known format, so the default never applies.
        let texel = texel_size(descriptor.Format, descriptor.NumChannels).unwrap_or(1);
        let pitch = descriptor.Width as u64 * texel;
        Rows { texel, pitch, height: descriptor.Height.max(1) as u64, depth: descriptor.Depth.max(1) as u64 }
    }

    /// The distance between slices in bytes.
    pub(crate) fn slice(&self) -> u64 {
        self.pitch * self.height
    }

    /// The bytes of the whole array; `None` on overflow.
    pub(crate) fn size(&self) -> Option<u64> {
        self.pitch.checked_mul(self.height)?.checked_mul(self.depth)
    }
}

/// Whether the depth counts layers or faces, which all levels of detail have.
fn has_layers(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> bool {
    descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) != 0
}

/// The most levels of detail that an array of these extents has.
pub(crate) fn most_levels(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> u32 {
    let depth = if has_layers(descriptor) { 0 } else { descriptor.Depth };
    descriptor.Width.max(descriptor.Height).max(depth).max(1).ilog2() + 1
}

/// The descriptor of a level of detail: each extent is half of that of the level before, and at least 1.
pub(crate) fn level(descriptor: &CUDA_ARRAY3D_DESCRIPTOR, number: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    let halved = |extent: usize| match extent {
        0 => 0,
        extent => extent.checked_shr(number).unwrap_or(0).max(1),
    };
    let depth = if has_layers(descriptor) { descriptor.Depth } else { halved(descriptor.Depth) };
    let (width, height) = (halved(descriptor.Width), halved(descriptor.Height));
    CUDA_ARRAY3D_DESCRIPTOR { Width: width, Height: height, Depth: depth, ..*descriptor }
}

/// The offsets of levels from the first one, and the bytes of all of them; `None` on overflow.
pub(crate) fn levels(descriptor: &CUDA_ARRAY3D_DESCRIPTOR, count: u32) -> Option<(Vec<u64>, u64)> {
    let (mut offsets, mut size) = (Vec::new(), 0_u64);
    for number in 0..count {
        let offset = size.checked_next_multiple_of(LEVEL_ALIGNMENT)?;
        offsets.push(offset);
        size = offset.checked_add(Rows::of(&level(descriptor, number)).size()?)?;
    }
    Some((offsets, size))
}

impl Array {
    /// The bytes of the array.
    pub(crate) fn rows(&self) -> Rows {
        Rows::of(&self.descriptor)
    }
}

impl Arrays {
    /// Removes the arrays of a context that is being destroyed; returns their kinds and handles.
    pub(crate) fn close_context(&mut self, context: CUcontext) -> Vec<(&'static str, u64)> {
        let arrays = self.arrays.extract_if(|_, array| array.context == context);
        let mut gone: Vec<(&'static str, u64)> = arrays.map(|(handle, _)| ("array", handle.0 as u64)).collect();
        let mipmapped = self.mipmapped.extract_if(|_, array| array.context == context);
        gone.extend(mipmapped.map(|(handle, _)| ("mipmapped array", handle.0 as u64)));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(extents: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
        let [width, height, depth] = extents;
        let format = CU_AD_FORMAT_SIGNED_INT16;
        CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: format,
            NumChannels: 4,
            Flags: flags,
        }
    }

    #[test]
    fn levels_halve_extents_and_keep_layers() {
        let extents = |descriptor: CUDA_ARRAY3D_DESCRIPTOR| [descriptor.Width, descriptor.Height, descriptor.Depth];
        let volume = of([5, 8, 3], 0);
        assert_eq!(most_levels(&volume), 4);
        assert_eq!(
            [0, 1, 2, 3].map(|number| extents(level(&volume, number))),
            [[5, 8, 3], [2, 4, 1], [1, 2, 1], [1, 1, 1]]
        );
        let layered = of([5, 0, 30], CUDA_ARRAY3D_LAYERED);
        assert_eq!((most_levels(&layered), extents(level(&layered, 2))), (3, [1, 0, 30]));
    }

    #[test]
    fn levels_are_aligned_and_do_not_overlap() {
        let (offsets, size) = levels(&of([16, 16, 0], 0), 3).unwrap();
        assert_eq!((offsets, size), (vec![0, 2048, 2560], 2560 + 4 * 4 * 8));
        assert_eq!(levels(&of([usize::MAX / 8, 1 << 20, 0], 0), 1), None);
    }

    #[test]
    fn texel_has_the_channels_of_its_format() {
        assert_eq!(texel_size(CU_AD_FORMAT_FLOAT, 4), Ok(16));
        assert_eq!(texel_size(CU_AD_FORMAT_UNORM_INT16X2, 2), Ok(4));
        for (format, channels) in [(CU_AD_FORMAT_FLOAT, 3), (CU_AD_FORMAT_UNORM_INT16X2, 1), (0x33, 1)] {
            assert_eq!(texel_size(format, channels), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        }
        for format in [CU_AD_FORMAT_NV12, CU_AD_FORMAT_BC1_UNORM, CU_AD_FORMAT_UNORM_INT_101010_2] {
            assert_eq!(texel_size(format, 4), Err(CUresult::CUDA_ERROR_NOT_SUPPORTED));
        }
    }
}

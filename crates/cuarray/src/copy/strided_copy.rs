//! Plans for copying an array of any layout into another with the fewest driver calls.
//!
//! The driver copies boxes: runs of bytes, rows of runs, slices of rows. Normalising the axes turns any two arrays into such
//! boxes. Axes of length 1 are dropped. Axes that run backwards in the destination are reversed in both arrays. The rest are
//! sorted by the destination's strides, and neighbours that continue each other in both arrays are merged. The result is
//! nearly always one box. The caller loops over axes that no box can hold, such as a broadcast or reversed source, with one
//! box for each step.
//!
//! Pure arithmetic without a driver, so tests compare every plan with element-by-element copying.

use crate::{Error, Layout, Result, protocol::layout::Tuple};
use smallvec::SmallVec;

/// `CU_DEVICE_ATTRIBUTE_MAX_PITCH` of every device so far; the driver refuses longer steps between rows.
const MAX_PITCH: isize = 0x7fff_ffff;

/// One axis of both arrays at once; strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    len: usize,
    dst: isize,
    src: isize,
}

/// A box of bytes at a fixed distance from both data pointers, and the axes along which it repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPlan {
    /// Bytes from the destination's data pointer to the first box; not zero if axes were reversed.
    pub dst_start: isize,
    /// Bytes from the source's data pointer to the first box.
    pub src_start: isize,
    /// Bytes of one run.
    pub width: usize,
    /// Runs in a slice.
    pub rows: usize,
    /// Slices in the box.
    pub slices: usize,
    /// Bytes from row to row in the destination.
    pub dst_pitch: usize,
    /// Bytes from row to row in the source.
    pub src_pitch: usize,
    /// Rows from slice to slice in the destination, skipped rows included.
    pub dst_height: usize,
    /// Rows from slice to slice in the source, skipped rows included.
    pub src_height: usize,
    outer: SmallVec<[Axis; 4]>,
}

impl CopyPlan {
    /// Plans the copy of every element of `src` to the same place of `dst`. Returns `None` if there are no bytes to copy.
    ///
    /// # Errors
    /// The shapes or item sizes differ, or elements of `dst` overlap each other (a broadcast destination).
    pub fn new(dst: &Layout, src: &Layout) -> Result<Option<CopyPlan>> {
        if dst.shape() != src.shape() {
            return Err(Error::argument(format!(
                "cannot copy an array of shape {} into one of shape {}: the shapes must be equal",
                Tuple(src.shape()),
                Tuple(dst.shape())
            )));
        }
        if dst.itemsize() != src.itemsize() {
            return Err(Error::argument(format!(
                "cannot copy elements of {} bytes into elements of {} bytes",
                src.itemsize(),
                dst.itemsize()
            )));
        }
        if dst.is_empty() || dst.itemsize() == 0 {
            return Ok(None);
        }
        let (mut dst_start, mut src_start) = (0, 0);
        let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
        for ((&len, &dst), &src) in dst.shape().iter().zip(dst.strides()).zip(src.strides()) {
            if len == 1 {
                continue;
            }
            if dst == 0 {
                return Err(Error::argument(
                    "cannot copy into a broadcast array: with a stride of 0, several elements share one place",
                ));
            }
            // `Layout` has checked the extents, so neither product overflows.
            if dst < 0 {
                dst_start += dst * (len as isize - 1);
                src_start += src * (len as isize - 1);
                axes.push(Axis { len, dst: -dst, src: -src });
            } else {
                axes.push(Axis { len, dst, src });
            }
        }
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.dst));
        merge(&mut axes);

        let mut plan = CopyPlan {
            dst_start,
            src_start,
            width: dst.itemsize(),
            rows: 1,
            slices: 1,
            dst_pitch: 0,
            src_pitch: 0,
            dst_height: 1,
            src_height: 1,
            outer: axes,
        };
        plan.take_run();
        plan.take_rows_and_slices();
        Ok(Some(plan))
    }

    /// Lengthens the run by the innermost axis, if that axis is dense in both arrays.
    fn take_run(&mut self) {
        let item = self.width as isize;
        if let Some(axis) = self.outer.last().copied().filter(|axis| axis.dst == item && axis.src == item) {
            self.width *= axis.len;
            self.outer.pop();
        }
    }

    /// Chooses the axes for rows and slices that leave the fewest boxes.
    ///
    /// The stride of a row axis is at least the length of a run. The stride of a slice axis is a multiple of the row stride, and is at
    /// least the length of all rows of a slice.
    /// Few axes are left at this point, so all pairs are tried.
    fn take_rows_and_slices(&mut self) {
        let pitch = self.width as isize..=MAX_PITCH;
        let holds = |step: isize, row: isize, rows: usize| step % row == 0 && step / row >= rows as isize;
        let mut best = (1, None, None);
        for (row, rows) in self.outer.iter().enumerate() {
            if !pitch.contains(&rows.dst) || !pitch.contains(&rows.src) {
                continue;
            }
            let slices = (0..self.outer.len()).filter(|&slice| {
                let axis = &self.outer[slice];
                slice != row && holds(axis.dst, rows.dst, rows.len) && holds(axis.src, rows.src, rows.len)
            });
            let slice = slices.max_by_key(|&slice| self.outer[slice].len);
            let runs = rows.len * slice.map_or(1, |slice| self.outer[slice].len);
            // Among equals the innermost axis wins, because its rows are closest to each other.
            if runs >= best.0 {
                best = (runs, Some(row), slice);
            }
        }
        self.dst_pitch = self.width;
        self.src_pitch = self.width;
        let (_, Some(row), slice) = best else { return };
        let rows = self.outer[row];
        (self.rows, self.dst_height, self.src_height) = (rows.len, rows.len, rows.len);
        (self.dst_pitch, self.src_pitch) = (rows.dst as usize, rows.src as usize);
        if let Some(slice) = slice {
            let slices = self.outer[slice];
            self.slices = slices.len;
            self.dst_height = (slices.dst / rows.dst) as usize;
            self.src_height = (slices.src / rows.src) as usize;
        }
        let mut index = 0;
        self.outer.retain(|_| {
            index += 1;
            index - 1 != row && Some(index - 1) != slice
        });
    }

    /// The number of boxes, which is the number of driver calls.
    pub fn boxes(&self) -> usize {
        self.outer.iter().map(|axis| axis.len).product()
    }

    /// Whether every box is one run, so that a plain copy will do.
    pub fn is_runs(&self) -> bool {
        self.rows == 1 && self.slices == 1
    }

    /// The first byte of every box, as `(dst, src)` offsets from the two data pointers.
    pub fn starts(&self) -> impl Iterator<Item = (isize, isize)> + '_ {
        starts(&self.outer, self.dst_start, self.src_start)
    }

    /// Carries the plan out on the host. `dst_at` and `src_at` are the offsets of the data pointers in the two buffers.
    ///
    /// # Panics
    /// A box reaches beyond its buffer.
    #[cfg(feature = "python")]
    pub(crate) fn carry_out(&self, dst: &mut [u8], dst_at: isize, src: &[u8], src_at: isize) {
        match self.width {
            // For a size that the compiler knows, it copies each element through a register.
            1 => self.carry_out_by(dst, dst_at, src, src_at, copy_element::<1>),
            2 => self.carry_out_by(dst, dst_at, src, src_at, copy_element::<2>),
            4 => self.carry_out_by(dst, dst_at, src, src_at, copy_element::<4>),
            8 => self.carry_out_by(dst, dst_at, src, src_at, copy_element::<8>),
            16 => self.carry_out_by(dst, dst_at, src, src_at, copy_element::<16>),
            width => self.carry_out_by(dst, dst_at, src, src_at, |dst, to, src, from| {
                dst[to..to + width].copy_from_slice(&src[from..from + width]);
            }),
        }
    }

    #[cfg(feature = "python")]
    fn carry_out_by(
        &self,
        dst: &mut [u8],
        dst_at: isize,
        src: &[u8],
        src_at: isize,
        copy: impl Fn(&mut [u8], usize, &[u8], usize),
    ) {
        let mut outer = self.outer.clone();
        let boxes = outer.pop().unwrap_or(Axis { len: 1, dst: 0, src: 0 });
        for (dst_start, src_start) in starts(&outer, dst_at + self.dst_start, src_at + self.src_start) {
            for index in 0..boxes.len as isize {
                let (to, from) = (dst_start + index * boxes.dst, src_start + index * boxes.src);
                for slice in 0..self.slices {
                    let mut to = to as usize + slice * self.dst_height * self.dst_pitch;
                    let mut from = from as usize + slice * self.src_height * self.src_pitch;
                    for _ in 0..self.rows {
                        copy(dst, to, src, from);
                        to += self.dst_pitch;
                        from += self.src_pitch;
                    }
                }
            }
        }
    }
}

#[cfg(feature = "python")]
#[inline(always)]
fn copy_element<const SIZE: usize>(dst: &mut [u8], to: usize, src: &[u8], from: usize) {
    dst[to..to + SIZE].copy_from_slice(&src[from..from + SIZE]);
}

/// All pairs of offsets along `axes` from two starts; the last axis runs fastest.
fn starts(axes: &[Axis], dst_start: isize, src_start: isize) -> impl Iterator<Item = (isize, isize)> + '_ {
    (0..axes.iter().map(|axis| axis.len).product()).map(move |index: usize| {
        let (mut rest, mut dst, mut src) = (index, dst_start, src_start);
        for axis in axes.iter().rev() {
            let at = (rest % axis.len) as isize;
            rest /= axis.len;
            dst += at * axis.dst;
            src += at * axis.src;
        }
        (dst, src)
    })
}

/// Joins each axis to its inner neighbour where one continues the other in both arrays.
fn merge(axes: &mut SmallVec<[Axis; 4]>) {
    let mut merged: SmallVec<[Axis; 4]> = SmallVec::new();
    for &inner in axes.iter() {
        let continues = |step: isize, inner_step: isize| inner_step.checked_mul(inner.len as isize) == Some(step);
        match merged.last_mut() {
            Some(outer) if continues(outer.dst, inner.dst) && continues(outer.src, inner.src) => {
                *outer = Axis { len: outer.len * inner.len, ..inner };
            }
            _ => merged.push(inner),
        }
    }
    *axes = merged;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(shape: &[usize], dst: &[isize], src: &[isize], itemsize: usize) -> Result<Option<CopyPlan>> {
        CopyPlan::new(&Layout::strided(shape, dst, itemsize)?, &Layout::strided(shape, src, itemsize)?)
    }

    /// Every byte pair that the plan copies, sorted.
    fn copied(plan: &CopyPlan) -> Vec<(isize, isize)> {
        let mut pairs = Vec::new();
        for (dst, src) in plan.starts() {
            for slice in 0..plan.slices {
                for row in 0..plan.rows {
                    for byte in 0..plan.width {
                        let at = |start: isize, pitch: usize, height: usize| {
                            start + ((slice * height + row) * pitch + byte) as isize
                        };
                        pairs
                            .push((at(dst, plan.dst_pitch, plan.dst_height), at(src, plan.src_pitch, plan.src_height)));
                    }
                }
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// The byte pairs of an element-by-element copy, sorted.
    fn expected(shape: &[usize], dst: &[isize], src: &[isize], itemsize: usize) -> Vec<(isize, isize)> {
        let mut pairs = vec![(0, 0)];
        for ((&len, &dst), &src) in shape.iter().zip(dst).zip(src) {
            pairs = pairs
                .iter()
                .flat_map(|&(d, s)| (0..len as isize).map(move |at| (d + at * dst, s + at * src)))
                .collect();
        }
        let mut pairs: Vec<_> =
            pairs.iter().flat_map(|&(d, s)| (0..itemsize as isize).map(move |byte| (d + byte, s + byte))).collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn contiguous_arrays_of_one_order_are_one_run() {
        let plan = plan(&[4, 5, 6], &[120, 24, 4], &[120, 24, 4], 4).unwrap().unwrap();
        assert!(plan.is_runs());
        assert_eq!((plan.boxes(), plan.width), (1, 480));
    }

    #[test]
    fn a_slice_of_rows_and_columns_is_one_box() {
        let plan = plan(&[3, 5, 2], &[40, 8, 4], &[4 * 10 * 6, 40, 4], 4).unwrap().unwrap();
        assert_eq!((plan.boxes(), plan.width, plan.rows, plan.slices), (1, 8, 5, 3));
        assert_eq!((plan.src_pitch, plan.src_height), (40, 6));
    }

    #[test]
    fn axis_whose_stride_divides_the_other_stride_becomes_the_rows() {
        // Every third element of every second row: 12 bytes between columns are no whole number of rows of 264 bytes.
        let plan = plan(&[20, 11], &[264, 12], &[264, 12], 4).unwrap().unwrap();
        assert_eq!((plan.boxes(), plan.width, plan.rows, plan.slices), (1, 4, 11, 20));
        assert_eq!((plan.dst_pitch, plan.dst_height), (12, 22));
    }

    #[test]
    fn two_reversed_arrays_are_one_run() {
        let plan = plan(&[8], &[-4], &[-4], 4).unwrap().unwrap();
        assert!(plan.is_runs());
        assert_eq!((plan.dst_start, plan.src_start, plan.width), (-28, -28, 32));
    }

    #[test]
    fn a_broadcast_destination_is_refused() {
        assert!(plan(&[3], &[0], &[4], 4).unwrap_err().to_string().contains("broadcast"));
    }

    #[test]
    fn different_shapes_are_refused() {
        let (dst, src) = (Layout::c_contiguous(&[3], 4).unwrap(), Layout::c_contiguous(&[4], 4).unwrap());
        assert!(CopyPlan::new(&dst, &src).unwrap_err().to_string().contains("(4,)"));
    }

    fn axes() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, Vec<isize>, usize)> {
        let itemsize = prop_oneof![Just(1usize), Just(2), Just(4), Just(3)];
        (prop::collection::vec((1usize..5, any::<bool>(), 0usize..3, -3isize..4), 0..5), itemsize).prop_map(
            |(axes, itemsize)| {
                // Avoids overlaps in the destination: each axis steps over all inner axes and a gap.
                let mut step = itemsize as isize;
                let (mut shape, mut dst, mut src) = (vec![], vec![], vec![]);
                for (len, reversed, gap, src_step) in axes {
                    step += gap as isize;
                    shape.push(len);
                    dst.push(if reversed { -step } else { step });
                    src.push(src_step * if gap == 0 { step } else { 2 });
                    step *= len as isize;
                }
                (shape, dst, src, itemsize)
            },
        )
    }

    proptest! {
        #[test]
        fn plan_copies_every_element_once((shape, dst, src, itemsize) in axes()) {
            let plan = plan(&shape, &dst, &src, itemsize).unwrap().unwrap();
            prop_assert_eq!(copied(&plan), expected(&shape, &dst, &src, itemsize));
        }
    }
}

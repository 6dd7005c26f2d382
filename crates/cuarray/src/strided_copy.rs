//! How an array of any layout is copied into another of any layout with the fewest driver calls.
//!
//! The driver copies boxes: runs of bytes, rows of runs, slices of rows. An array of any rank and any strides becomes such
//! boxes by normalising its axes: those of one element are dropped, axes that run backwards in the destination are turned
//! round in both, the rest are sorted by the destination's strides, and neighbours that continue each other in both arrays
//! are merged. What is left is nearly always one box. Axes that no box can hold (a broadcast or reversed source, strides that
//! are no multiple of each other) are walked by the caller, one box each.
//!
//! Pure arithmetic: nothing here knows a driver, so every plan can be tested against element-by-element copying.

use crate::{Error, Layout, Result, layout::Tuple};
use smallvec::SmallVec;

/// `CU_DEVICE_ATTRIBUTE_MAX_PITCH` of every device so far: a longer step between rows is refused by the driver.
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
    /// Bytes from the destination's data pointer to the first box (not zero where axes were turned round).
    pub dst_start: isize,
    /// Bytes from the source's data pointer to the first box.
    pub src_start: isize,
    /// Bytes of one run.
    pub width: usize,
    /// Runs in a slice, and slices in the box.
    pub rows: usize,
    /// Slices in the box.
    pub slices: usize,
    /// Bytes from row to row.
    pub dst_pitch: usize,
    /// Bytes from row to row.
    pub src_pitch: usize,
    /// Rows from slice to slice, counting those that are skipped.
    pub dst_height: usize,
    /// Rows from slice to slice, counting those that are skipped.
    pub src_height: usize,
    outer: SmallVec<[Axis; 4]>,
}

impl CopyPlan {
    /// The plan that copies every element of `src` to the same place of `dst`; `None` where there is nothing to copy.
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
            // Within the extents that `Layout` has checked, so neither product overflows.
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
        plan.take_rows();
        plan.take_slices();
        Ok(Some(plan))
    }

    /// The innermost axis, where it is dense in both arrays, lengthens the run.
    fn take_run(&mut self) {
        let item = self.width as isize;
        if let Some(axis) = self.outer.last().copied().filter(|axis| axis.dst == item && axis.src == item) {
            self.width *= axis.len;
            self.outer.pop();
        }
    }

    /// The longest axis whose steps are no shorter than a run becomes the rows.
    fn take_rows(&mut self) {
        let width = self.width as isize;
        let pitch = width..=MAX_PITCH;
        let fits = |axis: &Axis| pitch.contains(&axis.dst) && pitch.contains(&axis.src);
        self.dst_pitch = self.width;
        self.src_pitch = self.width;
        if let Some(axis) = take_longest(&mut self.outer, fits) {
            (self.rows, self.dst_height, self.src_height) = (axis.len, axis.len, axis.len);
            (self.dst_pitch, self.src_pitch) = (axis.dst as usize, axis.src as usize);
        }
    }

    /// The longest axis whose steps are whole numbers of rows, and hold all of them, becomes the slices.
    fn take_slices(&mut self) {
        let (rows, dst_pitch, src_pitch) = (self.rows as isize, self.dst_pitch as isize, self.src_pitch as isize);
        let holds = |step: isize, pitch: isize| step % pitch == 0 && step / pitch >= rows;
        if let Some(axis) =
            take_longest(&mut self.outer, |axis| holds(axis.dst, dst_pitch) && holds(axis.src, src_pitch))
        {
            self.slices = axis.len;
            self.dst_height = (axis.dst / dst_pitch) as usize;
            self.src_height = (axis.src / src_pitch) as usize;
        }
    }

    /// How many boxes the plan copies: driver calls.
    pub fn boxes(&self) -> usize {
        self.outer.iter().map(|axis| axis.len).product()
    }

    /// Whether every box is one run, so that a plain copy will do.
    pub fn is_runs(&self) -> bool {
        self.rows == 1 && self.slices == 1
    }

    /// The first byte of every box, as `(dst, src)` distances from the two data pointers.
    pub fn starts(&self) -> impl Iterator<Item = (isize, isize)> + '_ {
        (0..self.boxes()).map(|index| {
            let (mut rest, mut dst, mut src) = (index, self.dst_start, self.src_start);
            for axis in self.outer.iter().rev() {
                let at = (rest % axis.len) as isize;
                rest /= axis.len;
                dst += at * axis.dst;
                src += at * axis.src;
            }
            (dst, src)
        })
    }

    /// Carries the plan out on the host, between buffers in which the data pointers are `dst_at` and `src_at` bytes from the start.
    ///
    /// # Panics
    /// A box reaches beyond its buffer.
    #[cfg(feature = "python")]
    pub(crate) fn carry_out(&self, dst: &mut [u8], dst_at: isize, src: &[u8], src_at: isize) {
        for (dst_start, src_start) in self.starts() {
            for slice in 0..self.slices {
                for row in 0..self.rows {
                    let to = (dst_at + dst_start) as usize + (slice * self.dst_height + row) * self.dst_pitch;
                    let from = (src_at + src_start) as usize + (slice * self.src_height + row) * self.src_pitch;
                    dst[to..to + self.width].copy_from_slice(&src[from..from + self.width]);
                }
            }
        }
    }
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

fn take_longest(axes: &mut SmallVec<[Axis; 4]>, fits: impl Fn(&Axis) -> bool) -> Option<Axis> {
    let index = (0..axes.len()).filter(|&index| fits(&axes[index])).max_by_key(|&index| axes[index].len)?;
    Some(axes.remove(index))
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

    /// The same, element by element.
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
    fn both_reversed_is_still_one_run() {
        let plan = plan(&[8], &[-4], &[-4], 4).unwrap().unwrap();
        assert!(plan.is_runs());
        assert_eq!((plan.dst_start, plan.src_start, plan.width), (-28, -28, 32));
    }

    #[test]
    fn a_broadcast_destination_is_refused() {
        assert!(plan(&[3], &[0], &[4], 4).unwrap_err().to_string().contains("broadcast"));
    }

    #[test]
    fn shapes_must_agree() {
        let (dst, src) = (Layout::c_contiguous(&[3], 4).unwrap(), Layout::c_contiguous(&[4], 4).unwrap());
        assert!(CopyPlan::new(&dst, &src).unwrap_err().to_string().contains("(4,)"));
    }

    fn axes() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, Vec<isize>, usize)> {
        let itemsize = prop_oneof![Just(1usize), Just(2), Just(4), Just(3)];
        (prop::collection::vec((1usize..5, any::<bool>(), 0usize..3, -3isize..4), 0..5), itemsize).prop_map(
            |(axes, itemsize)| {
                // A destination without overlaps: each axis steps over all that is inside it, and some gap.
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
        fn a_plan_copies_exactly_the_elements((shape, dst, src, itemsize) in axes()) {
            let plan = plan(&shape, &dst, &src, itemsize).unwrap().unwrap();
            prop_assert_eq!(copied(&plan), expected(&shape, &dst, &src, itemsize));
        }
    }
}

//! Convolutions and their gradients: products of matrices whose columns are the windows of an image.
//!
//! Images have the order of channels, depth, height and width. An image with fewer spatial dimensions has a depth, or a height, of 1.

use crate::numbers::Real;
use crate::parallel::each_part;
use std::ops::Range;

/// The number of parts of a batch whose gradients of weights are summed one after the other. It does not depend on the number of cores,
/// so that results do not either.
const PARTS: usize = 4;

/// The elements of a matrix of windows, which has some rows of outputs at a time: as many as a cache holds.
const WINDOWS: usize = 1 << 18;

/// The sizes of a convolution. Channels are those of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) images: usize,
    pub(crate) groups: usize,
    pub(crate) channels: usize,
    pub(crate) features: usize,
    pub(crate) input: [usize; 3],
    pub(crate) window: [usize; 3],
    pub(crate) output: [usize; 3],
    /// Zeros before the first element.
    pub(crate) pad: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) dilation: [usize; 3],
    /// Whether the window is mirrored, as in the mathematical definition.
    pub(crate) flips: bool,
}

/// The steps of a convolution, a number for each spatial dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps<'a> {
    /// Zeros before the first element.
    pub(crate) pad: &'a [usize],
    pub(crate) stride: &'a [usize],
    pub(crate) dilation: &'a [usize],
    pub(crate) flips: bool,
}

fn volume(sizes: [usize; 3]) -> usize {
    sizes.iter().product()
}

/// A matrix by its first element and the distances of rows and columns.
pub(crate) type Matrix<'a, R> = (&'a [R], [usize; 2]);

/// `c = a * b + beta * c` for an m×k and a k×n matrix. The rows of `c` are contiguous, `step` elements apart.
pub(crate) fn multiply<R: Real>(
    [m, n, k]: [usize; 3],
    a: Matrix<'_, R>,
    b: Matrix<'_, R>,
    beta: R,
    c: &mut [R],
    step: usize,
) {
    let holds = |length: usize, [row, column]: [usize; 2], rows: usize, columns: usize| {
        rows == 0 || columns == 0 || (rows - 1) * row + (columns - 1) * column < length
    };
    let is_right = holds(a.0.len(), a.1, m, k) && holds(b.0.len(), b.1, k, n) && holds(c.len(), [step, 1], m, n);
    assert!(is_right && n <= step, "a matrix is larger than its slice");
    // SAFETY: the matrices lie in their slices, which was checked, and `c` is borrowed alone.
    unsafe { R::multiply([m, n, k], (a.0.as_ptr(), a.1), (b.0.as_ptr(), b.1), beta, (c.as_mut_ptr(), [step, 1])) }
}

impl Shape {
    /// The sizes of a convolution of images, weights and results whose sizes fit. Each has two dimensions in front of up to three spatial ones.
    pub(crate) fn of(x: &[usize], w: &[usize], y: &[usize], steps: Steps<'_>) -> Shape {
        // Missing dimensions are in front.
        let three = |sizes: &[usize], missing: usize| {
            let mut all = [missing; 3];
            all[3 - sizes.len()..].copy_from_slice(sizes);
            all
        };
        let groups = x[1] / w[1];
        Shape {
            images: x[0],
            groups,
            channels: w[1],
            features: w[0] / groups,
            input: three(&x[2..], 1),
            window: three(&w[2..], 1),
            output: three(&y[2..], 1),
            pad: three(steps.pad, 0),
            stride: three(steps.stride, 1),
            dilation: three(steps.dilation, 1),
            flips: steps.flips,
        }
    }

    fn image(&self) -> usize {
        self.channels * volume(self.input)
    }

    fn result(&self) -> usize {
        self.features * volume(self.output)
    }

    fn weights(&self) -> usize {
        self.features * self.rows()
    }

    /// The elements of a window in all channels of a group.
    fn rows(&self) -> usize {
        self.channels * volume(self.window)
    }

    /// The number of multiplications.
    fn operations(&self) -> usize {
        self.images.saturating_mul(self.groups).saturating_mul(self.result()).saturating_mul(self.rows())
    }

    /// The bands of an image of results: each has some rows of outputs, whose matrix of windows has about [`WINDOWS`] elements.
    fn bands(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let lines = self.output[0] * self.output[1];
        let lines_of_band = (WINDOWS / (self.rows() * self.output[2])).clamp(1, lines);
        (0..lines).step_by(lines_of_band).map(move |start| start..lines.min(start + lines_of_band))
    }

    /// Calls a function for each row of outputs of a band and each element of the window. Its arguments are the row and the column of the
    /// matrix of windows, the place of the first input, and the number of outputs that have an input.
    fn each_run(&self, band: &Range<usize>, mut f: impl FnMut(usize, usize, usize, usize)) {
        let [depth, height, width] = self.input;
        let [_, high, wide] = self.output;
        let inside = |out: usize, at: usize, axis: usize| {
            let place = (out * self.stride[axis] + at * self.dilation[axis]).checked_sub(self.pad[axis])?;
            (place < self.input[axis]).then_some(place)
        };
        for (window, [d, h, w]) in places(self.window).enumerate() {
            // The outputs whose input lies in the image are one after the other.
            let first = (0..wide).find(|out| inside(*out, w, 2).is_some());
            let last = (0..wide).rev().find(|out| inside(*out, w, 2).is_some());
            let Some((first, last)) = first.zip(last) else { continue };
            let start = inside(first, w, 2).unwrap_or_default();
            for line in band.clone() {
                let Some((z, y)) = inside(line / high, d, 0).zip(inside(line % high, h, 1)) else { continue };
                for channel in 0..self.channels {
                    let from = ((channel * depth + z) * height + y) * width + start;
                    let row = channel * volume(self.window) + window;
                    f(row, (line - band.start) * wide + first, from, last - first + 1);
                }
            }
        }
    }

    /// The matrix of windows of a band: a row for each element of the window, a column for each output.
    fn windows<R: Real>(&self, band: &Range<usize>, image: &[R], windows: &mut Vec<R>) {
        let (columns, step) = (band.len() * self.output[2], self.stride[2]);
        windows.clear();
        windows.resize(self.rows() * columns, R::zero());
        self.each_run(band, |row, column, from, count| {
            let to = &mut windows[row * columns + column..][..count];
            to.iter_mut().zip(image[from..].iter().step_by(step)).for_each(|(to, from)| *to = *from);
        });
    }

    /// Adds each element of a matrix of windows to the input that it comes from.
    fn add_windows<R: Real>(&self, band: &Range<usize>, windows: &[R], image: &mut [R]) {
        let (columns, step) = (band.len() * self.output[2], self.stride[2]);
        self.each_run(band, |row, column, to, count| {
            let from = &windows[row * columns + column..][..count];
            image[to..].iter_mut().step_by(step).zip(from).for_each(|(to, from)| *to += *from);
        });
    }

    /// Mirrors windows of weights, if the convolution does.
    fn flip<R: Real>(&self, weights: &mut [R]) {
        if self.flips {
            weights.chunks_mut(volume(self.window)).for_each(<[R]>::reverse);
        }
    }

    /// The results of a convolution.
    pub(crate) fn forward<R: Real>(&self, x: &[R], mut weights: Vec<R>) -> Vec<R> {
        self.flip(&mut weights);
        let (rows, size) = (self.rows(), volume(self.output));
        let mut y = vec![R::zero(); self.images * self.groups * self.result()];
        each_part(&mut y, self.result(), self.operations(), |index, y| {
            let image = &x[index * self.image()..][..self.image()];
            let weights = &weights[index % self.groups * self.weights()..][..self.weights()];
            let mut windows = Vec::new();
            for band in self.bands() {
                self.windows(&band, image, &mut windows);
                let (start, columns) = (band.start * self.output[2], band.len() * self.output[2]);
                let sizes = [self.features, columns, rows];
                multiply(sizes, (weights, [rows, 1]), (&windows, [columns, 1]), R::zero(), &mut y[start..], size);
            }
        });
        y
    }

    /// The gradients of the inputs.
    pub(crate) fn backward_data<R: Real>(&self, mut weights: Vec<R>, dy: &[R]) -> Vec<R> {
        self.flip(&mut weights);
        let (rows, size) = (self.rows(), volume(self.output));
        let mut dx = vec![R::zero(); self.images * self.groups * self.image()];
        each_part(&mut dx, self.image(), self.operations(), |index, dx| {
            let weights = &weights[index % self.groups * self.weights()..][..self.weights()];
            let dy = &dy[index * self.result()..][..self.result()];
            let mut windows = Vec::new();
            for band in self.bands() {
                let (start, columns) = (band.start * self.output[2], band.len() * self.output[2]);
                windows.resize(rows * columns, R::zero());
                let sizes = [rows, columns, self.features];
                multiply(sizes, (weights, [1, rows]), (&dy[start..], [size, 1]), R::zero(), &mut windows, columns);
                self.add_windows(&band, &windows, dx);
            }
        });
        dx
    }

    /// The gradients of the weights.
    pub(crate) fn backward_filter<R: Real>(&self, x: &[R], dy: &[R]) -> Vec<R> {
        let (rows, size) = (self.rows(), volume(self.output));
        let all = self.groups * self.weights();
        let images = self.images.div_ceil(PARTS);
        let mut parts = vec![R::zero(); self.images.div_ceil(images) * all];
        each_part(&mut parts, all, self.operations(), |part, sum| {
            let mut windows = Vec::new();
            let indices = part * images * self.groups..self.images.min((part + 1) * images) * self.groups;
            for index in indices {
                let image = &x[index * self.image()..][..self.image()];
                let dy = &dy[index * self.result()..][..self.result()];
                let sum = &mut sum[index % self.groups * self.weights()..][..self.weights()];
                for band in self.bands() {
                    self.windows(&band, image, &mut windows);
                    let (start, columns) = (band.start * self.output[2], band.len() * self.output[2]);
                    let sizes = [self.features, rows, columns];
                    multiply(sizes, (&dy[start..], [size, 1]), (&windows, [1, columns]), R::one(), sum, rows);
                }
            }
        });
        let mut sum = parts.split_off(parts.len() - all);
        for part in parts.chunks(all) {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += *part);
        }
        self.flip(&mut sum);
        sum
    }
}

/// All places of a block.
fn places([depth, height, width]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..depth * height * width).map(move |index| [index / (height * width), index / width % height, index % width])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_adjoint_to_the_convolution() {
        // Large enough for several bands and threads, with steps that leave inputs out.
        let steps = Steps { pad: &[2, 1], stride: &[2, 3], dilation: &[1, 2], flips: true };
        let shape = Shape::of(&[3, 8, 300, 40], &[6, 4, 3, 3], &[3, 6, 151, 13], steps);
        let numbers = |count: usize, seed: usize| -> Vec<f64> {
            (0..count).map(|index| ((index * seed + 3) % 17) as f64 - 8.0).collect()
        };
        let (x, w, dy) = (numbers(3 * 8 * 12000, 5), numbers(6 * 36, 7), numbers(3 * 6 * 151 * 13, 11));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let expected = product(&shape.forward(&x, w.clone()), &dy);
        // The numbers are small integers, so that the sums are exact.
        assert_eq!(product(&shape.backward_data(w.clone(), &dy), &x), expected);
        assert_eq!(product(&shape.backward_filter(&x, &dy), &w), expected);
    }
}

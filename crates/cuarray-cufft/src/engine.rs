//! Transforms of arrays without gaps, by the crates `rustfft` and `realfft`.

use crate::kinds::{Direction, Kind};
use crate::threads::{rows_of_a_job, share, threads};
use num_complex::Complex;
use realfft::num_traits::Zero;
use realfft::{ComplexToReal, FftNum, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftPlanner};
use std::sync::{Arc, OnceLock};

/// The columns that are moved together, so that a cache line is used whole.
const TILE: usize = 16;

/// The transforms of the dimensions of a problem, in one direction.
pub(crate) struct Engine<W> {
    /// A complex transform for each dimension but the last one.
    outer: Vec<Arc<dyn Fft<W>>>,
    /// The transform of the last dimension, by the sides that are real.
    complex: Option<Arc<dyn Fft<W>>>,
    forward: Option<Arc<dyn RealToComplex<W>>>,
    inverse: Option<Arc<dyn ComplexToReal<W>>>,
}

/// The engines of a problem. They are made when they are first used: their tables take as much memory as the data.
#[derive(Default)]
pub(crate) struct Engines {
    pub(crate) single: [OnceLock<Engine<f32>>; 2],
    pub(crate) double: [OnceLock<Engine<f64>>; 2],
}

impl std::fmt::Debug for Engines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engines")
    }
}

impl<W: FftNum> Engine<W> {
    pub(crate) fn new(sizes: &[usize], kind: Kind, direction: Direction) -> Engine<W> {
        let mut planner = FftPlanner::new();
        let direction = match direction {
            Direction::Forward => FftDirection::Forward,
            Direction::Inverse => FftDirection::Inverse,
        };
        let (last, outer) = sizes.split_last().map_or((1, &[][..]), |(last, outer)| (*last, outer));
        let outer: Vec<_> = outer.iter().map(|size| planner.plan_fft(*size, direction)).collect();
        let (mut complex, mut forward, mut inverse) = (None, None, None);
        match kind {
            Kind::ComplexToComplex => complex = Some(planner.plan_fft(last, direction)),
            Kind::RealToComplex => forward = Some(RealFftPlanner::new().plan_fft_forward(last)),
            Kind::ComplexToReal => inverse = Some(RealFftPlanner::new().plan_fft_inverse(last)),
        }
        Engine { outer, complex, forward, inverse }
    }

    /// Transforms complex arrays. The input is used for intermediate values.
    pub(crate) fn complex(&self, input: &mut [Complex<W>], output: &mut [Complex<W>]) {
        let (Some(last), threads) = (&self.complex, threads(output.len())) else { return };
        let size = last.len();
        let chunk = size * rows_of_a_job(output.len() / size, threads);
        share(input.chunks_mut(chunk).zip(output.chunks_mut(chunk)), threads, |(input, output)| {
            let mut scratch = vec![Complex::zero(); last.get_outofplace_scratch_len()];
            last.process_outofplace_with_scratch(input, output, &mut scratch);
        });
        self.columns(size, output, input);
    }

    /// Transforms real arrays. The input is used for intermediate values.
    pub(crate) fn forward(&self, input: &mut [W], output: &mut [Complex<W>]) {
        let (Some(last), threads) = (&self.forward, threads(input.len())) else { return };
        let (real, complex) = (last.len(), last.complex_len());
        let rows = rows_of_a_job(input.len() / real, threads);
        let jobs = input.chunks_mut(rows * real).zip(output.chunks_mut(rows * complex));
        share(jobs, threads, |(input, output)| {
            let mut scratch = last.make_scratch_vec();
            for (input, output) in input.chunks_exact_mut(real).zip(output.chunks_exact_mut(complex)) {
                let done = last.process_with_scratch(input, output, &mut scratch);
                debug_assert!(done.is_ok(), "the lengths are those of the transform");
            }
        });
        self.columns(complex, output, &mut []);
    }

    /// Transforms half of complex arrays to real ones. The input is used for intermediate values.
    pub(crate) fn inverse(&self, input: &mut [Complex<W>], output: &mut [W]) {
        let (Some(last), threads) = (&self.inverse, threads(output.len())) else { return };
        let (real, complex) = (last.len(), last.complex_len());
        self.columns(complex, input, &mut []);
        let rows = rows_of_a_job(output.len() / real, threads);
        let jobs = input.chunks_mut(rows * complex).zip(output.chunks_mut(rows * real));
        share(jobs, threads, |(input, output)| {
            let mut scratch = last.make_scratch_vec();
            for (input, output) in input.chunks_exact_mut(complex).zip(output.chunks_exact_mut(real)) {
                // They are 0 for the transform of a real array.
                input[0].im = W::zero();
                if real % 2 == 0 {
                    input[complex - 1].im = W::zero();
                }
                let done = last.process_with_scratch(input, output, &mut scratch);
                debug_assert!(done.is_ok(), "the lengths are those of the transform");
            }
        });
    }

    /// Transforms along all dimensions but the last one, whose rows have `row` elements. `scratch` is used if it is large enough.
    fn columns(&self, row: usize, data: &mut [Complex<W>], scratch: &mut [Complex<W>]) {
        if self.outer.is_empty() {
            return;
        }
        let mut own = Vec::new();
        let scratch = match scratch.get_mut(..data.len()) {
            Some(scratch) => scratch,
            None => {
                own.resize(data.len(), Complex::zero());
                &mut own[..]
            }
        };
        let mut inner = row;
        for axis in self.outer.iter().rev() {
            columns(&**axis, inner, data, scratch);
            inner *= axis.len();
        }
    }
}

/// Transforms the columns of matrices with rows of `inner` elements.
fn columns<W: FftNum>(fft: &dyn Fft<W>, inner: usize, data: &mut [Complex<W>], scratch: &mut [Complex<W>]) {
    let (size, threads) = (fft.len(), threads(data.len()));
    if size == 1 {
        return;
    }
    // Columns become rows of the scratch memory, where they are transformed.
    let source = &*data;
    let many = rows_of_a_job(data.len() / size, threads);
    share(scratch.chunks_mut(many * size).enumerate(), threads, |(job, rows)| {
        let mut first = job * many;
        for tile in rows.chunks_mut(TILE * size) {
            transpose_in(source, tile, first, (inner, size));
            first += tile.len() / size;
        }
        let mut own = vec![Complex::zero(); fft.get_inplace_scratch_len()];
        fft.process_with_scratch(rows, &mut own);
    });
    let source = &*scratch;
    let many = rows_of_a_job(data.len() / inner, threads);
    share(data.chunks_mut(many * inner).enumerate(), threads, |(job, rows)| {
        let mut first = job * many;
        for tile in rows.chunks_mut(TILE * inner) {
            transpose_in(source, tile, first, (size, inner));
            first += tile.len() / inner;
        }
    });
}

/// Fills rows of `size` elements with columns of matrices that have `size` rows of `width` elements. The first row is column `first` of all.
fn transpose_in<T: Copy>(matrices: &[T], rows: &mut [T], first: usize, (width, size): (usize, usize)) {
    for tile in (0..size).step_by(TILE) {
        for (number, row) in rows.chunks_exact_mut(size).enumerate() {
            let (matrix, column) = ((first + number) / width, (first + number) % width);
            let start = matrix * width * size + column;
            for at in tile..size.min(tile + TILE) {
                row[at] = matrices[start + at * width];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The transform by its definition.
    fn definition(sizes: &[usize], values: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
        let indices = |number: usize| {
            let mut rest = number;
            let mut found: Vec<usize> = sizes
                .iter()
                .rev()
                .map(|size| {
                    let index = rest % size;
                    rest /= size;
                    index
                })
                .collect();
            found.reverse();
            found
        };
        let angle = |one: &[usize], two: &[usize]| {
            let turns = sizes.iter().enumerate().map(|(at, size)| (one[at] * two[at] % size) as f64 / *size as f64);
            sign * std::f64::consts::TAU * turns.sum::<f64>()
        };
        (0..values.len())
            .map(|to| {
                let to = indices(to);
                values.iter().enumerate().map(|(from, value)| value * Complex::cis(angle(&indices(from), &to))).sum()
            })
            .collect()
    }

    fn close(one: &[Complex<f64>], two: &[Complex<f64>]) -> bool {
        one.len() == two.len()
            && one.iter().zip(two).all(|(one, two)| (one - two).norm_sqr() < 1e-18 * one.norm_sqr().max(1.0))
    }

    proptest! {
        #[test]
        fn transforms_are_those_of_the_definition(
            sizes in prop::collection::vec(1_usize..9, 1..4),
            forward in any::<bool>(),
        ) {
            let count: usize = sizes.iter().product();
            let values: Vec<_> = (0..count).map(|at| Complex::new((at * 7 % 5) as f64, (at * 3 % 4) as f64)).collect();
            let (direction, sign) = if forward { (Direction::Forward, -1.0) } else { (Direction::Inverse, 1.0) };
            let engine = Engine::new(&sizes, Kind::ComplexToComplex, direction);
            let mut output = vec![Complex::zero(); count];
            engine.complex(&mut values.clone(), &mut output);
            prop_assert!(close(&output, &definition(&sizes, &values, sign)));
        }

        #[test]
        fn transform_to_real_numbers_undoes_that_of_real_numbers(sizes in prop::collection::vec(1_usize..14, 1..4)) {
            let count: usize = sizes.iter().product();
            let values: Vec<f64> = (0..count).map(|at| (at * 7 % 5) as f64).collect();
            let last = sizes[sizes.len() - 1];
            let mut half = vec![Complex::zero(); count / last * (last / 2 + 1)];
            let mut back = vec![0.0; count];
            Engine::new(&sizes, Kind::RealToComplex, Direction::Forward).forward(&mut values.clone(), &mut half);
            Engine::new(&sizes, Kind::ComplexToReal, Direction::Inverse).inverse(&mut half, &mut back);
            let scaled = values.iter().map(|value| value * count as f64);
            prop_assert!(back.iter().zip(scaled).all(|(one, two)| (one - two).abs() < 1e-9 * count as f64));
        }
    }
}

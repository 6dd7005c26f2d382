//! Short transforms whose roots of unity are exact where they can be.
//!
//! `rustfft` computes the cosine of a third of a turn, which rounds to -0.4999999999999998. With -1/2, a convolution of small integers by a
//! transform of length 3 has integers as its result, as with cuFFT. Lengths 6 and 12 are made of length 3 without further roots.

use num_complex::Complex;
use realfft::num_traits::Zero;
use realfft::{ComplexToReal, FftError, FftNum, RealToComplex};
use rustfft::algorithm::GoodThomasAlgorithmSmall;
use rustfft::{Direction, Fft, FftDirection, FftPlanner, Length};
use std::sync::Arc;

/// A transform of a length, by exact roots if it is short.
pub(crate) fn plan<W: FftNum>(planner: &mut FftPlanner<W>, size: usize, direction: FftDirection) -> Arc<dyn Fft<W>> {
    short(planner, size, direction).unwrap_or_else(|| planner.plan_fft(size, direction))
}

/// A transform of real numbers, if it is short.
pub(crate) fn real<W: FftNum>(size: usize, direction: FftDirection) -> Option<Arc<Whole<W>>> {
    short(&mut FftPlanner::new(), size, direction).map(|fft| Arc::new(Whole(fft)))
}

fn short<W: FftNum>(planner: &mut FftPlanner<W>, size: usize, direction: FftDirection) -> Option<Arc<dyn Fft<W>>> {
    let three = Three::new(direction)?;
    Some(match size {
        3 => Arc::new(three),
        6 | 12 => Arc::new(GoodThomasAlgorithmSmall::new(Arc::new(three), planner.plan_fft(size / 3, direction))),
        _ => return None,
    })
}

/// The transform of length 3.
struct Three<W> {
    direction: FftDirection,
    cosine: W,
    sine: W,
}

impl<W: FftNum> Three<W> {
    /// `None` if the type has no fractions.
    fn new(direction: FftDirection) -> Option<Three<W>> {
        let sine = match direction {
            FftDirection::Forward => -0.75_f64.sqrt(),
            FftDirection::Inverse => 0.75_f64.sqrt(),
        };
        Some(Three { direction, cosine: W::from_f64(-0.5)?, sine: W::from_f64(sine)? })
    }

    fn one(&self, values: [Complex<W>; 3]) -> [Complex<W>; 3] {
        let [first, second, third] = values;
        let (sum, difference) = (second + third, second - third);
        let middle = first + sum * self.cosine;
        let turned = Complex { re: -difference.im * self.sine, im: difference.re * self.sine };
        [first + sum, middle + turned, middle - turned]
    }
}

impl<W> Length for Three<W> {
    fn len(&self) -> usize {
        3
    }
}

impl<W> Direction for Three<W> {
    fn fft_direction(&self) -> FftDirection {
        self.direction
    }
}

impl<W: FftNum> Fft<W> for Three<W> {
    fn process_with_scratch(&self, buffer: &mut [Complex<W>], _: &mut [Complex<W>]) {
        for values in buffer.chunks_exact_mut(3) {
            values.copy_from_slice(&self.one([values[0], values[1], values[2]]));
        }
    }

    fn process_outofplace_with_scratch(
        &self,
        input: &mut [Complex<W>],
        output: &mut [Complex<W>],
        scratch: &mut [Complex<W>],
    ) {
        self.process_immutable_with_scratch(input, output, scratch);
    }

    fn process_immutable_with_scratch(&self, input: &[Complex<W>], output: &mut [Complex<W>], _: &mut [Complex<W>]) {
        for (values, output) in input.chunks_exact(3).zip(output.chunks_exact_mut(3)) {
            output.copy_from_slice(&self.one([values[0], values[1], values[2]]));
        }
    }

    fn get_inplace_scratch_len(&self) -> usize {
        0
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        0
    }

    fn get_immutable_scratch_len(&self) -> usize {
        0
    }
}

/// A transform of real numbers as one of complex numbers.
pub(crate) struct Whole<W>(Arc<dyn Fft<W>>);

impl<W: FftNum> Whole<W> {
    fn scratch(&self) -> usize {
        self.0.len() + self.0.get_inplace_scratch_len()
    }

    /// Transforms the numbers in the first part of scratch memory.
    fn transform<'a>(
        &self,
        scratch: &'a mut [Complex<W>],
        values: impl Iterator<Item = Complex<W>>,
    ) -> Result<&'a [Complex<W>], FftError> {
        if scratch.len() < self.scratch() {
            return Err(FftError::ScratchBuffer(self.scratch(), scratch.len()));
        }
        let (all, rest) = scratch.split_at_mut(self.0.len());
        all.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        self.0.process_with_scratch(all, rest);
        Ok(all)
    }
}

impl<W: FftNum> RealToComplex<W> for Whole<W> {
    fn process(&self, input: &mut [W], output: &mut [Complex<W>]) -> Result<(), FftError> {
        RealToComplex::process_with_scratch(self, input, output, &mut RealToComplex::make_scratch_vec(self))
    }

    fn process_with_scratch(
        &self,
        input: &mut [W],
        output: &mut [Complex<W>],
        scratch: &mut [Complex<W>],
    ) -> Result<(), FftError> {
        let all = self.transform(scratch, input.iter().map(|value| Complex { re: *value, im: W::zero() }))?;
        output.iter_mut().zip(all).for_each(|(to, value)| *to = *value);
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.scratch()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn make_input_vec(&self) -> Vec<W> {
        vec![W::zero(); self.0.len()]
    }

    fn make_output_vec(&self) -> Vec<Complex<W>> {
        vec![Complex::zero(); RealToComplex::complex_len(self)]
    }

    fn make_scratch_vec(&self) -> Vec<Complex<W>> {
        vec![Complex::zero(); self.scratch()]
    }
}

impl<W: FftNum> ComplexToReal<W> for Whole<W> {
    fn process(&self, input: &mut [Complex<W>], output: &mut [W]) -> Result<(), FftError> {
        ComplexToReal::process_with_scratch(self, input, output, &mut ComplexToReal::make_scratch_vec(self))
    }

    fn process_with_scratch(
        &self,
        input: &mut [Complex<W>],
        output: &mut [W],
        scratch: &mut [Complex<W>],
    ) -> Result<(), FftError> {
        // The other half has the conjugates in reverse order.
        let others = input[1..self.0.len().div_ceil(2)].iter().rev().map(Complex::conj);
        let all = self.transform(scratch, input.iter().copied().chain(others))?;
        output.iter_mut().zip(all).for_each(|(to, value)| *to = value.re);
        Ok(())
    }

    fn get_scratch_len(&self) -> usize {
        self.scratch()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn make_input_vec(&self) -> Vec<Complex<W>> {
        vec![Complex::zero(); ComplexToReal::complex_len(self)]
    }

    fn make_output_vec(&self) -> Vec<W> {
        vec![W::zero(); self.0.len()]
    }

    fn make_scratch_vec(&self) -> Vec<Complex<W>> {
        vec![Complex::zero(); self.scratch()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_transforms_are_those_of_the_planner() {
        for size in [3, 6, 12] {
            for direction in [FftDirection::Forward, FftDirection::Inverse] {
                let mut planner = FftPlanner::<f64>::new();
                let values: Vec<_> =
                    (0..size).map(|at| Complex::new((at * 7 % 5) as f64, (at * 3 % 4) as f64)).collect();
                let (mut own, mut other) = (values.clone(), values.clone());
                plan(&mut planner, size, direction).process(&mut own);
                planner.plan_fft(size, direction).process(&mut other);
                assert!(own.iter().zip(&other).all(|(one, two)| (one - two).norm() < 1e-14 * size as f64));
                let mut out = vec![Complex::zero(); size];
                let fft = plan(&mut planner, size, direction);
                let mut scratch = vec![Complex::zero(); fft.get_outofplace_scratch_len()];
                fft.process_outofplace_with_scratch(&mut values.clone(), &mut out, &mut scratch);
                assert!(out.iter().zip(&other).all(|(one, two)| (one - two).norm() < 1e-14 * size as f64));
            }
        }
    }

    #[test]
    fn convolution_of_integers_by_short_transforms_has_integers() {
        for size in [3, 6, 12] {
            let forward = real::<f64>(size, FftDirection::Forward).unwrap();
            let inverse = real::<f64>(size, FftDirection::Inverse).unwrap();
            let transformed = |first: f64, second: f64| {
                let mut input = RealToComplex::make_input_vec(&*forward);
                (input[0], input[1]) = (first, second);
                let mut output = RealToComplex::make_output_vec(&*forward);
                RealToComplex::process(&*forward, &mut input, &mut output).unwrap();
                output
            };
            for second in [1.0, -1.0] {
                let one = transformed(1.0, second);
                let mut product: Vec<_> = one.iter().map(|value| value * value).collect();
                let mut output = ComplexToReal::make_output_vec(&*inverse);
                ComplexToReal::process(&*inverse, &mut product, &mut output).unwrap();
                let scaled: Vec<_> = output[..3].iter().map(|value| value / size as f64).collect();
                assert_eq!(scaled, [1.0, 2.0 * second, 1.0], "length {size}");
            }
        }
    }
}

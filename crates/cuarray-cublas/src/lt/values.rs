//! The values of a product, computed when the work runs.

use super::descriptors::{Layout, matmul};
use super::epilogue::{Bias, Function, gelu, gelu_slope};
use super::problem::Problem;
use super::product::Numbers;
use crate::arguments::Op;
use crate::elements::{load, store};
use crate::product::{View, multiply};
use crate::scalar::{DataType, Scalar};
use cuarray_stream_work::{Argument, Data};
use num_traits::{NumCast, ToPrimitive};
use std::borrow::Cow;

/// The arguments of the work. An argument that the problem lacks is `None`.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) inputs: Option<[Argument; 2]>,
    pub(super) c: Option<Argument>,
    pub(super) d: Argument,
    pub(super) bias: Option<Argument>,
    pub(super) aux: Option<Argument>,
    /// The scales of `A`, `B` and `D`, and the largest magnitude of `D`.
    pub(super) scales: [Option<Argument>; 3],
    pub(super) amax: Option<Argument>,
}

fn number<S: Scalar>(value: f64) -> S {
    S::real(<S::Real as NumCast>::from(value).unwrap_or_default())
}

fn real<S: Scalar>(value: S) -> f64 {
    value.re().to_f64().unwrap_or_default()
}

impl Problem {
    /// Computes the results.
    pub(super) fn run<S: Scalar>(&self, of: &Arguments, factors: [Numbers<S>; 2], data: &mut Data<'_>) {
        let [m, n, k] = self.size;
        let mut bytes = |argument: Option<Argument>| -> &mut [u8] {
            argument.map_or(Default::default(), |argument| data.take::<u8>(argument))
        };
        let [a, b] = of.inputs.map_or([None, None], |inputs| inputs.map(Some));
        let a = factor::<S>(&self.a, self.operations[0], bytes(a));
        let b = factor::<S>(&self.b, self.operations[1], bytes(b));
        let c = load::<S>(self.c.data, bytes(of.c));
        let (vector, to) = (bytes(of.bias), bytes(Some(of.d)));
        let bias = load::<S>(self.bias, vector).into_owned();
        let bias_part = if self.values.get(matmul::BIAS_STRIDE) == 0 { 0 } else { self.bias_length() };
        let mut values = Values {
            problem: self,
            factors,
            scales: of.scales.map(|scale| load::<S>(DataType::F32, bytes(scale))),
            sums: vec![S::default(); bias.len()],
            bias,
            bias_part,
            aux: Aux::of(self, bytes(of.aux)),
            largest: 0.0,
        };
        let is_native = self.d.data == S::TYPE;
        let mut converted = if is_native { Vec::new() } else { vec![S::default(); to.len() / self.d.data.size()] };
        let result: &mut [S] = if is_native {
            // SAFETY: any bytes are values of a `Plain` type.
            unsafe { to.align_to_mut::<S>() }.1
        } else {
            &mut converted
        };
        let mut product = vec![S::default(); m * n];
        for item in 0..self.d.count {
            let part = |layout: &Layout| item * layout.part();
            let a = view(a.get(part(&self.a)..).unwrap_or_default(), &self.a, self.operations[0]);
            let b = view(b.get(part(&self.b)..).unwrap_or_default(), &self.b, self.operations[1]);
            let length = if of.inputs.is_some() { k } else { 0 };
            multiply([m, n, length], S::one(), a, b, S::default(), &mut product, (1, m));
            let (c, d) = (c.get(part(&self.c)..).unwrap_or_default(), &mut result[part(&self.d)..]);
            values.finish(item, &product, c, d);
            match self.epilogue.bias {
                Bias::SumsOfA => sum_rows(a, (m, k), &mut values.sums[item * bias_part..]),
                Bias::SumsOfB => sum_rows(b.transposed(), (n, k), &mut values.sums[item * bias_part..]),
                _ => {}
            }
        }
        if !is_native {
            store(self.d.data, to, &converted);
        }
        values.aux.store();
        if !matches!(self.epilogue.bias, Bias::None | Bias::Added) {
            store(self.bias, vector, &values.sums);
        }
        store(DataType::F32, bytes(of.amax), &[values.largest]);
    }
}

/// The numbers of an input, conjugate if the operation is.
fn factor<'a, S: Scalar>(layout: &Layout, op: Op, bytes: &'a [u8]) -> Cow<'a, [S]> {
    let mut numbers = load::<S>(layout.data, bytes);
    if S::IS_COMPLEX && op == Op::Adjoint {
        numbers.to_mut().iter_mut().for_each(|number| *number = number.conj());
    }
    numbers
}

fn view<'a, S: Scalar>(numbers: &'a [S], layout: &Layout, op: Op) -> View<'a, S> {
    let view = View { data: numbers, steps: layout.steps() };
    if op.swaps() { view.transposed() } else { view }
}

/// The steps from the sums of a product to the result.
struct Values<'a, S: Scalar> {
    problem: &'a Problem,
    factors: [Numbers<S>; 2],
    scales: [Cow<'a, [S]>; 3],
    /// The vector that is added, and the one that is written.
    bias: Vec<S>,
    sums: Vec<S>,
    /// The distance of vectors of a batch.
    bias_part: usize,
    aux: Aux<'a, S>,
    /// The largest magnitude of the result.
    largest: f64,
}

impl<S: Scalar> Values<'_, S> {
    /// Writes one matrix of the result.
    fn finish(&mut self, item: usize, product: &[S], c: &[S], d: &mut [S]) {
        let [m, n, _] = self.problem.size;
        let ((row_c, column_c), (row_d, column_d)) = (self.problem.c.steps(), self.problem.d.steps());
        for column in 0..n {
            for row in 0..m {
                let c = c.get(row * row_c + column * column_c).copied();
                let value = self.value([item, row, column], product[column * m + row], c);
                d[row * row_d + column * column_d] = value;
            }
        }
    }

    /// An element of the result: from that of the product, and that of `C`, if it is used.
    fn value(&mut self, place: [usize; 3], product: S, c: Option<S>) -> S {
        let ([item, row, column], epilogue) = (place, self.problem.epilogue);
        let (alpha, beta) = (self.factors[0].at(item, row), self.factors[1].at(item, row));
        let mut value = S::default();
        if !alpha.is_zero() {
            value = alpha * self.scale(1, column, self.scale(0, row, product));
        }
        if let Some(c) = c.filter(|_| !beta.is_zero()) {
            value += beta * c;
        }
        if epilogue.bias == Bias::Added {
            value += self.bias[item * self.bias_part + row];
        }
        value = self.aux.apply(epilogue.function, value, place);
        if epilogue.bias == Bias::SumsOfResult {
            self.sums[item * self.bias_part + row] += value;
        }
        self.largest = self.largest.max(real(value).abs());
        value = self.scale(2, 0, value);
        if self.problem.d.data == DataType::I8 { number(real(value).round_ties_even()) } else { value }
    }

    /// A value with a scale. One number is the scale of all rows and columns.
    fn scale(&self, index: usize, place: usize, value: S) -> S {
        match &*self.scales[index] {
            [] => value,
            [one] => value * *one,
            all => value * all[place],
        }
    }
}

/// Adds the sums of the rows of a matrix.
fn sum_rows<S: Scalar>(matrix: View<'_, S>, (rows, columns): (usize, usize), sums: &mut [S]) {
    for (row, sum) in sums.iter_mut().take(rows).enumerate() {
        for column in 0..columns {
            *sum += matrix.data[row * matrix.steps.0 + column * matrix.steps.1];
        }
    }
}

/// The auxiliary matrix: bits that tell where ReLU was positive, or the input of GELU.
struct Aux<'a, S> {
    bytes: &'a mut [u8],
    data: DataType,
    has_bits: bool,
    is_read: bool,
    numbers: Vec<S>,
    /// The elements, or the bytes of bits, of a column and of a matrix.
    steps: (usize, usize),
}

impl<'a, S: Scalar> Aux<'a, S> {
    fn of(problem: &Problem, bytes: &'a mut [u8]) -> Aux<'a, S> {
        let ([m, n, _], has_bits) = (problem.size, problem.epilogue.has_bits());
        let is_read = problem.epilogue.reads_aux();
        let column = if has_bits { m.div_ceil(8) } else { m };
        let item = if problem.values.get(matmul::AUX_STRIDE) == 0 { 0 } else { column * n };
        let numbers = match (has_bits || bytes.is_empty(), is_read) {
            (true, _) => Vec::new(),
            (false, true) => load::<S>(problem.aux, bytes).into_owned(),
            (false, false) => vec![S::default(); bytes.len() / problem.aux.size()],
        };
        if has_bits && !is_read {
            bytes.fill(0);
        }
        Aux { bytes, data: problem.aux, has_bits, is_read, numbers, steps: (column, item) }
    }

    /// The function of a value. It reads or writes the element of the auxiliary matrix.
    fn apply(&mut self, function: Function, value: S, [item, row, column]: [usize; 3]) -> S {
        let start = item * self.steps.1 + column * self.steps.0;
        let (byte, bit) = (start + row / 8, 1 << (row % 8));
        match function {
            Function::Identity => value,
            Function::Relu => {
                let x = real(value);
                if x > 0.0 && !self.bytes.is_empty() {
                    self.bytes[byte] |= bit;
                }
                // The maximum of 0 and a value that is no number is no number.
                if x > 0.0 || x.is_nan() { value } else { S::default() }
            }
            Function::ReluGradient => {
                if self.bytes[byte] & bit == 0 {
                    S::default()
                } else {
                    value
                }
            }
            Function::Gelu => {
                if let Some(input) = self.numbers.get_mut(start + row) {
                    *input = value;
                }
                number(gelu(real(value)))
            }
            Function::GeluGradient => number(real(value) * gelu_slope(real(self.numbers[start + row]))),
        }
    }

    /// Stores the numbers of a matrix that the product writes.
    fn store(self) {
        if !self.has_bits && !self.is_read {
            store(self.data, self.bytes, &self.numbers);
        }
    }
}

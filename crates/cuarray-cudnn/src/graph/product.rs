//! Products of matrices: the last two dimensions of tensors, for each index of the others.

use super::descriptor::{Descriptor, Made};
use super::operation::{Named, Operand, Operation, Step, divides};
use crate::convolution_engine::multiply;
use crate::elementwise::places;
use crate::numbers::{Real, Type};
use crate::parallel::each_part;
use crate::status::{BAD_PARAM, Outcome};

/// A product of matrices.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// Whether the rows of the second operand are its columns.
    pub(super) is_transposed: bool,
    /// The value of the results behind a limit.
    pub(super) padding: f64,
    /// The inputs that limit the rows and the columns of the result, and the terms of its sums.
    pub(super) limits: [Option<usize>; 3],
}

/// The padding of a descriptor of products.
pub(super) fn settings(descriptor: &Descriptor) -> Outcome<f64> {
    Type::of(descriptor.choice(1500).ok_or(BAD_PARAM)?)?;
    Ok(descriptor.number(1503).unwrap_or(0.0))
}

/// A product of matrices, whose limits are read too.
pub(super) fn product(descriptor: &Descriptor) -> Outcome<Operation> {
    let Some(Made::Product(padding)) = descriptor.part(1523)? else { return Err(BAD_PARAM) };
    let tensor = |name, attribute| -> Outcome<Named> { Ok((name, descriptor.tensor(attribute)?.ok_or(BAD_PARAM)?)) };
    let (mut inputs, output) = (vec![tensor(c"a", 1520)?, tensor(c"b", 1521)?], tensor(c"c", 1522)?);
    let mut limits = [None; 3];
    let named = [(c"m", 1525), (c"n", 1526), (c"k", 1527)];
    for (limit, (name, attribute)) in limits.iter_mut().zip(named) {
        if let Some(tensor) = descriptor.tensor(attribute)? {
            *limit = Some(inputs.len());
            inputs.push((name, tensor));
        }
    }
    Product { is_transposed: false, padding, limits }.operation(inputs, output)
}

impl Product {
    /// The operation of this product, after the check of the sizes.
    pub(super) fn operation(self, inputs: Vec<Named>, output: Named) -> Outcome<Operation> {
        let [a, b] = [&inputs[0], &inputs[1]].map(|(_, tensor)| &tensor.layout.dims);
        let c = &output.1.layout.dims;
        let Some(batch) = c.len().checked_sub(2).filter(|_| a.len() == c.len() && b.len() == c.len()) else {
            return Err(BAD_PARAM);
        };
        let (inner, columns) = if self.is_transposed { (batch + 1, batch) } else { (batch, batch + 1) };
        let fit = a[batch] == c[batch] && a[batch + 1] == b[inner] && b[columns] == c[batch + 1];
        if !fit || !divides(&a[..batch], &c[..batch]) || !divides(&b[..batch], &c[..batch]) {
            return Err(BAD_PARAM);
        }
        for (_, limit) in &inputs[2..] {
            let dims = &limit.layout.dims;
            if dims.len() != c.len() || dims[batch..] != [1, 1] || !divides(&dims[..batch], &c[..batch]) {
                return Err(BAD_PARAM);
            }
        }
        Ok(Operation { step: Step::Product(self), inputs, output })
    }

    /// The result in the order of its dimensions.
    pub(super) fn compute<W: Real>(&self, inputs: &[Operand<'_, W>], of: &[usize]) -> Vec<W> {
        let [(a, a_values), (b, b_values)] = [inputs[0], inputs[1]];
        let batch = of.len() - 2;
        let (m, n, k) = (of[batch], of[batch + 1], a[batch + 1]);
        let (of_a, of_b) = (places(&a[..batch], &of[..batch]), places(&b[..batch], &of[..batch]));
        let limit = |which: usize, most: usize| match self.limits[which] {
            None => vec![most; of_a.len()],
            Some(input) => {
                let (dims, values) = inputs[input];
                // A limit below 0 is 0: numbers are clamped by the conversion.
                let limit = |place: &usize| (values[*place].double() as usize).min(most);
                places(&dims[..batch], &of[..batch]).iter().map(limit).collect()
            }
        };
        let (rows, columns, terms) = (limit(0, m), limit(1, n), limit(2, k));
        let steps = if self.is_transposed { [1, k] } else { [n, 1] };
        let mut result = vec![W::of(self.padding); of.iter().product()];
        let operations = result.len() * k;
        each_part(&mut result, m * n, operations, |index, c| {
            let sizes = [rows[index], columns[index], terms[index]];
            let a = &a_values[of_a[index] * m * k..][..m * k];
            let b = &b_values[of_b[index] * k * n..][..k * n];
            multiply(sizes, (a, [k, 1]), (b, steps), W::zero(), c, n);
        });
        result
    }
}

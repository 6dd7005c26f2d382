//! Operations that put the elements of a tensor elsewhere.

use super::descriptor::Descriptor;
use super::operation::{Operation, Step};
use crate::layout::{Layout, packed};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use std::collections::HashMap;

/// The largest number of elements, whose places the operation keeps.
const MOST: usize = 1 << 26;

/// The places of elements in memory with these distances, in the order of the dimensions.
fn offsets(dims: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for (size, stride) in dims.iter().zip(strides) {
        offsets = offsets.iter().flat_map(|offset| (0..*size).map(move |index| offset + index * stride)).collect();
    }
    offsets
}

/// For each element of a result, the number of the element of `x` at its place.
fn sources(x: &Layout, y: &Layout) -> Outcome<Vec<usize>> {
    let of_x = offsets(&x.dims, &x.strides).into_iter();
    let numbers: HashMap<usize, usize> = of_x.enumerate().map(|(number, offset)| (offset, number)).collect();
    let source = |offset: usize| numbers.get(&offset).copied().ok_or(BAD_PARAM);
    offsets(&y.dims, &y.strides).into_iter().map(source).collect()
}

/// Other sizes for the elements: by their places in memory, or in the order of the dimensions.
pub(super) fn reshape(descriptor: &Descriptor) -> Outcome<Operation> {
    let (x, y) = (descriptor.tensor(2200)?.ok_or(BAD_PARAM)?, descriptor.tensor(2201)?.ok_or(BAD_PARAM)?);
    if x.layout.count() != y.layout.count() {
        return Err(BAD_PARAM);
    }
    if x.layout.count() > MOST {
        return Err(NOT_SUPPORTED);
    }
    let from = match descriptor.choice(2202).unwrap_or(0) {
        0 => sources(&x.layout, &y.layout)?,
        1 => (0..x.layout.count()).collect(),
        _ => return Err(BAD_PARAM),
    };
    Ok(Operation { step: Step::Moved(from.into()), inputs: vec![(c"x", x)], output: (c"y", y) })
}

/// Dimensions in another order: that of the result at `index` is that of the input at the permutation's number `index`.
pub(super) fn transposition(descriptor: &Descriptor) -> Outcome<Operation> {
    let (x, y) = (descriptor.tensor(3200)?.ok_or(BAD_PARAM)?, descriptor.tensor(3201)?.ok_or(BAD_PARAM)?);
    let order = descriptor.sizes(3202)?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let dims = &x.layout.dims;
    if sorted != (0..dims.len()).collect::<Vec<_>>() || order.len() != y.layout.dims.len() {
        return Err(BAD_PARAM);
    }
    if order.iter().zip(&y.layout.dims).any(|(from, size)| dims[*from] != *size) {
        return Err(BAD_PARAM);
    }
    if x.layout.count() > MOST {
        return Err(NOT_SUPPORTED);
    }
    let strides = packed(dims);
    let moved: Vec<usize> = order.iter().map(|from| strides[*from]).collect();
    let from = offsets(&y.layout.dims, &moved);
    Ok(Operation { step: Step::Moved(from.into()), inputs: vec![(c"x", x)], output: (c"y", y) })
}

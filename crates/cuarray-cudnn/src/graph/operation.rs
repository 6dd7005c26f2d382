//! Tensors, convolutions and pointwise operations of graphs.

use super::band_mask::BandMask;
use super::descriptor::{Descriptor, Made};
use super::kinds::*;
use super::pointwise::{ADD, INDEX, Operands, Pointwise, SUB, operands};
use super::product::Product;
use super::random::Random;
use super::softmax::Part;
use crate::convolution::Kind;
use crate::convolution_descriptor::check_compute;
use crate::convolution_engine::{Shape, Steps};
use crate::elementwise::fits;
use crate::layout::Layout;
use crate::numbers::Type;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use crate::types::*;
use std::ffi::CStr;
use std::sync::Arc;

/// A tensor of a graph.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) id: i64,
    pub(super) layout: Layout,
    /// Whether the tensor is an intermediate result, which has no memory.
    pub(super) is_virtual: bool,
    /// Whether the memory is that of the host, and read during the call.
    pub(super) is_by_value: bool,
}

impl Tensor {
    pub(super) fn of(descriptor: &Descriptor) -> Outcome<Tensor> {
        let (dims, strides) = (descriptor.sizes(902)?, descriptor.sizes(903)?);
        let (is_virtual, is_by_value) = (descriptor.flag(907), descriptor.flag(908));
        let kind = match descriptor.choice(901).ok_or(BAD_PARAM)? {
            // Booleans have 8 bits, or a bit each in memory.
            number @ 22 => Type::Integer(number, 1),
            number @ 11 if is_virtual => Type::Integer(number, 1),
            number => Type::of(number)?,
        };
        let [id] = descriptor.integers(906)[..] else { return Err(BAD_PARAM) };
        if dims.is_empty() || dims.len() != strides.len() {
            return Err(BAD_PARAM);
        }
        if descriptor.choice(909).unwrap_or(0) != 0 || descriptor.integers(904).iter().any(|count| *count != 1) {
            return Err(NOT_SUPPORTED);
        }
        Ok(Tensor { id, layout: Layout::new(kind, dims, strides)?, is_virtual, is_by_value })
    }
}

/// A convolution.
#[derive(Clone, Debug)]
pub(super) struct Convolution {
    compute: cudnnDataType_t,
    flips: bool,
    before: Vec<usize>,
    after: Vec<usize>,
    stride: Vec<usize>,
    dilation: Vec<usize>,
}

impl Convolution {
    pub(super) fn of(descriptor: &Descriptor) -> Outcome<Convolution> {
        let compute = descriptor.choice(100).ok_or(BAD_PARAM)?;
        Type::of(compute)?;
        let flips = match descriptor.choice(101) {
            Some(0) => true,
            Some(1) => false,
            _ => return Err(BAD_PARAM),
        };
        let [dilation, stride, after, before] = [102, 103, 104, 105].map(|attribute| descriptor.sizes(attribute));
        let (dilation, stride, after, before) = (dilation?, stride?, after?, before?);
        let [spatial] = descriptor.integers(106)[..] else { return Err(BAD_PARAM) };
        let is_right = |steps: &&Vec<usize>| steps.len() as i64 == spatial;
        if ![&dilation, &stride, &after, &before].iter().all(is_right) || spatial < 1 {
            return Err(BAD_PARAM);
        }
        if stride.iter().chain(&dilation).any(|step| *step == 0) {
            return Err(BAD_PARAM);
        }
        if spatial > 3 {
            Err(NOT_SUPPORTED)
        } else {
            Ok(Convolution { compute, flips, before, after, stride, dilation })
        }
    }

    /// The sizes of a convolution of these tensors.
    fn shape(&self, x: &Layout, w: &Layout, y: &Layout) -> Outcome<Shape> {
        let spatial = self.stride.len();
        if [x, w, y].iter().any(|layout| layout.dims.len() == spatial + 3) {
            return Err(NOT_SUPPORTED);
        }
        if [x, w, y].iter().any(|layout| layout.dims.len() != spatial + 2) {
            return Err(BAD_PARAM);
        }
        let groups = x.dims[1] / w.dims[1];
        let channels_fit = groups > 0 && groups * w.dims[1] == x.dims[1] && w.dims[0].is_multiple_of(groups);
        let size = |axis: usize| {
            let window = (w.dims[axis + 2] - 1).checked_mul(self.dilation[axis])?.checked_add(1)?;
            let padded = x.dims[axis + 2].checked_add(self.before[axis])?.checked_add(self.after[axis])?;
            Some(padded.checked_sub(window)? / self.stride[axis] + 1)
        };
        let sizes_fit = (0..spatial).all(|axis| size(axis) == Some(y.dims[axis + 2]));
        if !channels_fit || !sizes_fit || y.dims[..2] != [x.dims[0], w.dims[0]] {
            return Err(BAD_PARAM);
        }
        let steps = Steps { pad: &self.before, stride: &self.stride, dilation: &self.dilation, flips: self.flips };
        Ok(Shape::of(&x.dims, &w.dims, &y.dims, steps))
    }
}

/// The settings of a pointwise operation.
pub(super) fn settings(descriptor: &Descriptor) -> Outcome<Pointwise> {
    let mode = descriptor.choice(0).ok_or(BAD_PARAM)?;
    operands(mode)?;
    let is_of_integers = match descriptor.choice(1).ok_or(BAD_PARAM)? {
        11 => true,
        number => matches!(Type::of(number)?, Type::Integer(..)),
    };
    // Operations whose results are those of floating point, too.
    if is_of_integers && !matches!(mode, 0..=3 | 9 | 10 | 16 | 21 | 300..=601) {
        return Err(NOT_SUPPORTED);
    }
    let number = |attribute, default| descriptor.number(attribute).unwrap_or(default);
    Ok(Pointwise {
        mode,
        clips: (descriptor.number(3), descriptor.number(4), number(5, 0.0)),
        elu: number(6, 1.0),
        softplus: number(7, 1.0),
        swish: number(8, 1.0),
        axis: descriptor.sizes(9)?.first().copied(),
    })
}

/// The algorithm of an operation.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// With the factors of the result and of the values that were there.
    Convolution(Kind, Shape, f64, f64),
    /// With the factors of both operands.
    Pointwise(Arc<Pointwise>, f64, f64),
    Product(Product),
    /// `cudnnReduceTensorOp_t`.
    Reduction(cudnnReduceTensorOp_t),
    /// For each element of the result, the number of its element of the input.
    Moved(Arc<[usize]>),
    Random(Random),
    BandMask(BandMask),
    Softmax(Part),
}

/// The sizes of an input, and its values in the order of its dimensions.
pub(super) type Operand<'a, W> = (&'a [usize], &'a [W]);

/// Whether a tensor has the sizes of another one, or parts of them, so that several elements of the other one belong to one of this.
pub(super) fn divides(small: &[usize], whole: &[usize]) -> bool {
    small.len() == whole.len() && small.iter().zip(whole).all(|(small, whole)| whole.is_multiple_of(*small))
}

/// A tensor with its name in findings.
pub(super) type Named = (&'static CStr, Arc<Tensor>);

/// An operation of a graph: its inputs in the order of the algorithm, and its result.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) step: Step,
    pub(super) inputs: Vec<Named>,
    pub(super) output: Named,
}

/// A convolution, or one of its gradients.
pub(super) fn convolution(descriptor: &Descriptor) -> Outcome<Operation> {
    // The attributes of x, w and y, or of their gradients.
    let (kind, first, [of_x, of_w, of_y]) = match descriptor.kind {
        CONVOLUTION_FORWARD => (Kind::Forward, 700, [704, 703, 705]),
        CONVOLUTION_DATA => (Kind::Data, 706, [710, 709, 711]),
        _ => (Kind::Filter, 712, [716, 715, 717]),
    };
    let (alpha, beta) = (descriptor.number(first), descriptor.number(first + 1));
    let (alpha, beta) = (alpha.ok_or(BAD_PARAM)?, beta.ok_or(BAD_PARAM)?);
    let Some(Made::Convolution(of)) = descriptor.part(first + 2)? else { return Err(BAD_PARAM) };
    let tensor = |attribute| descriptor.tensor(attribute)?.ok_or(BAD_PARAM);
    let (x, w, y) = (tensor(of_x)?, tensor(of_w)?, tensor(of_y)?);
    let shape = of.shape(&x.layout, &w.layout, &y.layout)?;
    for tensor in [&x, &w, &y] {
        check_compute(tensor.layout.kind, of.compute)?;
    }
    let (mut inputs, output): (Vec<Named>, Named) = match kind {
        Kind::Forward => (vec![(c"x", x), (c"w", w)], (c"y", y)),
        Kind::Data => (vec![(c"w", w), (c"dy", y)], (c"dx", x)),
        Kind::Filter => (vec![(c"x", x), (c"dy", y)], (c"dw", w)),
    };
    if beta != 0.0 {
        inputs.push(output.clone());
    }
    Ok(Operation { step: Step::Convolution(kind, shape, alpha, beta), inputs, output })
}

/// A pointwise operation.
pub(super) fn pointwise(descriptor: &Descriptor) -> Outcome<Operation> {
    let Some(Made::Pointwise(of)) = descriptor.part(750)? else { return Err(BAD_PARAM) };
    let tensor = |name, attribute| -> Outcome<Named> { Ok((name, descriptor.tensor(attribute)?.ok_or(BAD_PARAM)?)) };
    let (inputs, output) = match operands(of.mode)? {
        // A term whose factor is 0 is not read: XLA passes memory that nothing has written.
        Operands::Two if matches!(of.mode, ADD | SUB) && descriptor.number(755) == Some(0.0) => {
            (vec![tensor(c"x", 751)?], tensor(c"y", 753)?)
        }
        Operands::One => (vec![tensor(c"x", 751)?], tensor(c"y", 753)?),
        Operands::Two => (vec![tensor(c"x", 751)?, tensor(c"b", 752)?], tensor(c"y", 753)?),
        Operands::Selected => (vec![tensor(c"x", 751)?, tensor(c"b", 752)?, tensor(c"t", 758)?], tensor(c"y", 753)?),
        Operands::Gradient => {
            // Some gradients are known from the result.
            let x = if descriptor.tensor(751)?.is_some() { tensor(c"x", 751)? } else { tensor(c"y", 753)? };
            (vec![tensor(c"dy", 757)?, x], tensor(c"dx", 756)?)
        }
    };
    if inputs.iter().any(|(_, input)| !fits(&input.layout, &output.1.layout)) {
        return Err(BAD_PARAM);
    }
    if of.mode == INDEX && of.axis.is_none_or(|axis| axis >= output.1.layout.dims.len()) {
        return Err(BAD_PARAM);
    }
    let number = |attribute| descriptor.number(attribute).unwrap_or(1.0);
    Ok(Operation { step: Step::Pointwise(of, number(754), number(755)), inputs, output })
}

/// The operator of a reduction.
pub(super) fn operator(descriptor: &Descriptor) -> Outcome<cudnnReduceTensorOp_t> {
    Type::of(descriptor.choice(1601).ok_or(BAD_PARAM)?)?;
    descriptor.choice(1600).filter(|operator| (0..=8).contains(operator)).ok_or(BAD_PARAM)
}

/// A reduction of the dimensions in which the result is smaller.
pub(super) fn reduction(descriptor: &Descriptor) -> Outcome<Operation> {
    let Some(Made::Operator(operator)) = descriptor.part(1612)? else { return Err(BAD_PARAM) };
    let (x, y) = (descriptor.tensor(1610)?.ok_or(BAD_PARAM)?, descriptor.tensor(1611)?.ok_or(BAD_PARAM)?);
    if !divides(&y.layout.dims, &x.layout.dims) {
        return Err(BAD_PARAM);
    }
    Ok(Operation { step: Step::Reduction(operator), inputs: vec![(c"x", x)], output: (c"y", y) })
}

//! An attention as one operation: `O = softmax(Q Kᵀ scale) V`. It becomes the operations of its formula.

use super::descriptor::{Descriptor, Made};
use super::operation::{Named, Operation, Step, Tensor};
use super::pointwise::{MUL, Pointwise};
use super::product::Product;
use super::softmax::Part;
use crate::layout::{Layout, packed};
use crate::numbers::Type;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A tensor without memory of these sizes, whose number no program uses.
fn scores(dims: &[usize], id: Option<i64>) -> Outcome<Arc<Tensor>> {
    static NEXT: AtomicI64 = AtomicI64::new(i64::MIN);
    let layout = Layout::new(Type::Float, dims.to_vec(), packed(dims))?;
    let id = id.unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
    Ok(Arc::new(Tensor { id, layout, is_virtual: true, is_by_value: false }))
}

/// The factor of the scores, which may have one dimension, with as many dimensions as these.
fn spread(scale: &Tensor) -> Outcome<Arc<Tensor>> {
    if scale.layout.count() != 1 {
        return Err(BAD_PARAM);
    }
    let layout = Layout { dims: vec![1; 4], strides: vec![1; 4], ..scale.layout.clone() };
    Ok(Arc::new(Tensor { layout, ..scale.clone() }))
}

/// The operations of an attention.
pub(super) fn attention(descriptor: &Descriptor) -> Outcome<Vec<Operation>> {
    let tensor = |name, attribute| -> Outcome<Named> { Ok((name, descriptor.tensor(attribute)?.ok_or(BAD_PARAM)?)) };
    let [q, k, v, o] = [tensor(c"Q", 2800)?, tensor(c"K", 2801)?, tensor(c"V", 2802)?, tensor(c"O", 2803)?];
    if descriptor.number(2818).is_some_and(|probability| probability != 0.0) {
        return Err(NOT_SUPPORTED);
    }
    let [batch, heads, rows, _] = q.1.layout.dims[..] else { return Err(BAD_PARAM) };
    let [_, _, columns, _] = k.1.layout.dims[..] else { return Err(BAD_PARAM) };
    let dims = [batch, heads, rows, columns];
    let mut operations = Vec::new();
    let lengths = (descriptor.tensor(2809)?, descriptor.tensor(2810)?);
    let (of_scores, of_result, limits): ([Option<usize>; 3], [Option<usize>; 3], Vec<Named>) = match lengths {
        (None, None) => Default::default(),
        // Scores behind the lengths are minus infinity, so rows behind them are 0 in the result.
        (Some(of_q), Some(of_kv)) => {
            ([Some(2), Some(3), None], [Some(2), None, Some(3)], vec![(c"seqLenQ", of_q), (c"seqLenKV", of_kv)])
        }
        _ => return Err(BAD_PARAM),
    };
    let product = |operands: [Named; 2], limits: &[Named]| [&operands[..], limits].concat();

    let subgraph = match descriptor.part(2811)? {
        None => None,
        Some(Made::Graph(graph)) => match (&descriptor.integers(2812)[..], &descriptor.integers(2813)[..]) {
            ([from], [to]) => Some((graph, *from, *to)),
            _ => return Err(BAD_PARAM),
        },
        Some(_) => return Err(BAD_PARAM),
    };
    let scale = descriptor.tensor(2805)?.map(|scale| spread(&scale)).transpose()?;
    let first = subgraph.as_ref().map(|(_, from, _)| *from);
    let mut score = scores(&dims, first.filter(|_| scale.is_none()))?;
    let multiplied = Product { is_transposed: true, padding: f64::NEG_INFINITY, limits: of_scores };
    operations.push(multiplied.operation(product([q, k], &limits), (c"scores", Arc::clone(&score)))?);
    if let Some(scale) = scale {
        let scaled = scores(&dims, first)?;
        let step = Step::Pointwise(Arc::new(Pointwise::plain(MUL)), 1.0, 1.0);
        let inputs = vec![(c"scores", score), (c"scale", scale)];
        operations.push(Operation { step, inputs, output: (c"scores", Arc::clone(&scaled)) });
        score = scaled;
    }
    if let Some((graph, from, to)) = subgraph {
        // The program's own descriptor of the scores may have another type.
        let mut inputs = graph.operations.iter().flat_map(|operation| &operation.inputs);
        if let Some((_, known)) = inputs.find(|(_, tensor)| tensor.id == from)
            && let Some(last) = operations.last_mut()
        {
            last.output.1 = Arc::clone(known);
        }
        let changed = graph.operations.iter().map(|operation| &operation.output.1).find(|tensor| tensor.id == to);
        score = Arc::clone(changed.ok_or(BAD_PARAM)?);
        operations.extend(graph.operations.iter().map(|operation| Operation::clone(operation)));
    }
    if score.layout.dims != dims {
        return Err(BAD_PARAM);
    }

    let mut weights = None;
    if let Some(Made::Operations(parts)) = descriptor.part(2814)? {
        for part in parts.iter() {
            let Step::Softmax(step) = part.step else { return Err(BAD_PARAM) };
            let inputs = [&[(c"scores", Arc::clone(&score))], &part.inputs[1..]].concat();
            operations.push(step.operation(inputs, part.output.clone())?);
            if matches!(step, Part::Values) {
                weights = Some(Arc::clone(&part.output.1));
            }
        }
    } else {
        let inputs: Vec<Named> = vec![(c"scores", Arc::clone(&score))];
        if let Some(stats) = descriptor.tensor(2804)? {
            operations.push(Part::Logarithm(1.0).operation(inputs.clone(), (c"stats", stats))?);
        }
        let values = scores(&dims, None)?;
        operations.push(Part::Values.operation(inputs, (c"weights", Arc::clone(&values)))?);
        weights = Some(values);
    }
    let weights = weights.ok_or(BAD_PARAM)?;
    let multiplied = Product { is_transposed: false, padding: 0.0, limits: of_result };
    operations.push(multiplied.operation(product([(c"weights", weights), v], &limits), o)?);
    Ok(operations)
}

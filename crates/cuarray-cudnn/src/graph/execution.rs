//! The execution of plans.

use super::descriptor::{Descriptor, Made, find};
use super::operation::{Named, Operand, Operation, Step};
use super::plan::Graph;
use super::pointwise;
use crate::call::{Call, Input, Output};
use crate::convolution::Kind;
use crate::elementwise::places;
use crate::handle::Handle;
use crate::numbers::{Element, Factors, Real, Type, of_type};
use crate::reduction::reduced;
use crate::status::{BAD_PARAM, NULL_POINTER, Outcome, write};
use crate::types::cudnnBackendDescriptor_t;
use cuarray_stream_work::Data;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// The pointers of an execution by the numbers of tensors. A workspace has no effect.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    pointers: HashMap<i64, usize>,
}

impl Pack {
    pub(super) fn of(descriptor: &Descriptor) -> Outcome<Pack> {
        let (ids, addresses) = (descriptor.integers(1000), descriptor.addresses(1001));
        if ids.len() != addresses.len() {
            return Err(BAD_PARAM);
        }
        let count = ids.len();
        let pointers: HashMap<i64, usize> = ids.into_iter().zip(addresses).collect();
        if pointers.len() == count { Ok(Pack { pointers }) } else { Err(BAD_PARAM) }
    }

    fn address(&self, id: i64) -> Outcome<usize> {
        self.pointers.get(&id).copied().ok_or(BAD_PARAM)
    }
}

/// A tensor that is read: in stream order, or during the call.
enum Source<W> {
    Device(Type, Input),
    Host(Vec<W>),
}

/// Runs an expression with the type of elements, which may be integers and booleans of 8 bits.
macro_rules! of_any_type {
    ($kind:expr, $t:ident => $call:expr) => {
        match $kind {
            Type::Integer(3, _) => {
                type $t = i8;
                $call
            }
            Type::Integer(6 | 22, _) => {
                type $t = u8;
                $call
            }
            Type::Integer(4, _) => {
                type $t = i32;
                $call
            }
            Type::Integer(10, _) => {
                type $t = i64;
                $call
            }
            kind => of_type!(kind, $t => $call),
        }
    };
}

/// The values of a tensor, in another type.
fn values<W: Real>(kind: Type, input: &Input, data: &mut Data<'_>) -> Vec<W> {
    let read =
        of_any_type!(kind, T => Ok(input.values::<T>(data).into_iter().map(|value| W::of(value.double())).collect()));
    // A tensor with another type is in no operation.
    read.unwrap_or_default()
}

/// A tensor that is written.
enum Target {
    Single(Output<f32>),
    Double(Output<f64>),
}

impl Target {
    fn store<W: Real>(&self, kind: Type, data: &mut Data<'_>, values: &[W]) {
        let single = || values.iter().map(|value| f32::of(value.double())).collect::<Vec<_>>();
        match (self, kind) {
            (Target::Double(output), _) => {
                let values: Vec<f64> = values.iter().map(|value| value.double()).collect();
                match kind {
                    Type::Integer(3, _) => output.store::<i8>(data, &values),
                    Type::Integer(6 | 22, _) => output.store::<u8>(data, &values),
                    Type::Integer(4, _) => output.store::<i32>(data, &values),
                    Type::Integer(..) => output.store::<i64>(data, &values),
                    _ => output.store::<f64>(data, &values),
                }
            }
            (Target::Single(output), Type::Half) => output.store::<half::f16>(data, &single()),
            (Target::Single(output), Type::Bfloat16) => output.store::<half::bf16>(data, &single()),
            (Target::Single(output), _) => output.store::<f32>(data, &single()),
        }
    }
}

/// The objects of a plan and of a pack of pointers.
fn parts(plan: cudnnBackendDescriptor_t, pack: cudnnBackendDescriptor_t) -> Outcome<(Arc<Graph>, Arc<Pack>)> {
    let is_plan = find(plan)?.kind == super::kinds::PLAN;
    match (find(plan)?.made, find(pack)?.made) {
        (Some(Made::Graph(graph)), Some(Made::Pack(pack))) if is_plan => Ok((graph, pack)),
        _ => Err(BAD_PARAM),
    }
}

/// `cudnnGetExecutionPlanWorkspaceSize`: XLA passes none to a plan that it has not measured.
pub(crate) fn workspace_size(
    _: &Handle,
    plan: cudnnBackendDescriptor_t,
    pack: cudnnBackendDescriptor_t,
    to: *mut usize,
) -> Outcome {
    parts(plan, pack)?;
    write(to, 0)
}

/// Whether `float` has not all values of a type.
fn is_wide(kind: Type) -> bool {
    matches!(kind, Type::Double | Type::Integer(..))
}

/// `cudnnBackendExecute`.
pub(crate) fn execute(handle: &Handle, plan: cudnnBackendDescriptor_t, pack: cudnnBackendDescriptor_t) -> Outcome {
    let (graph, pack) = parts(plan, pack)?;
    let all = graph.inputs.iter().chain(&graph.outputs);
    let is_double = all.into_iter().any(|(_, tensor)| is_wide(tensor.layout.kind));
    if is_double { run::<f64>(handle, graph, &pack) } else { run::<f32>(handle, graph, &pack) }
}

/// A number on the host.
fn constant<W: Real>(kind: Type, address: usize) -> Outcome<W> {
    if address == 0 {
        return Err(NULL_POINTER);
    }
    of_any_type!(kind, T => {
        let at = std::ptr::with_exposed_provenance::<T>(address);
        // SAFETY: the pointer is not null, and by the contract of the C function that of a number of the tensor's type. Any alignment is read.
        Ok(W::of(unsafe { at.read_unaligned() }.widen().double()))
    })
}

fn run<W: Real>(handle: &Handle, graph: Arc<Graph>, pack: &Pack) -> Outcome {
    let mut call = Call::of(handle);
    let mut sources: Vec<(i64, Source<W>)> = Vec::new();
    for (name, tensor) in &graph.inputs {
        let address = pack.address(tensor.id)?;
        let kind = tensor.layout.kind;
        let source = if tensor.is_by_value {
            Source::Host(vec![constant(kind, address)?; tensor.layout.count()])
        } else {
            let at = std::ptr::without_provenance::<c_void>(address);
            Source::Device(kind, call.reads(name, &tensor.layout, at)?)
        };
        sources.push((tensor.id, source));
    }
    let mut targets: Vec<(Named, Target)> = Vec::new();
    for (name, tensor) in &graph.outputs {
        let at = std::ptr::without_provenance_mut::<c_void>(pack.address(tensor.id)?);
        let target = if is_wide(tensor.layout.kind) {
            Target::Double(call.writes(name, &tensor.layout, at, Factors::result())?)
        } else {
            Target::Single(call.writes(name, &tensor.layout, at, Factors::result())?)
        };
        targets.push(((*name, Arc::clone(tensor)), target));
    }
    call.computes(move |data| {
        let mut known: HashMap<i64, Vec<W>> = HashMap::new();
        for (id, source) in &sources {
            let read = match source {
                Source::Device(kind, input) => values(*kind, input, data),
                Source::Host(values) => values.clone(),
            };
            known.insert(*id, read);
        }
        for operation in &graph.operations {
            let result = step(operation, &known);
            known.insert(operation.output.1.id, result);
        }
        for ((_, tensor), target) in &targets {
            if let Some(result) = known.get(&tensor.id) {
                target.store(tensor.layout.kind, data, result);
            }
        }
    })
}

/// The result of an operation.
fn step<W: Real>(operation: &Operation, known: &HashMap<i64, Vec<W>>) -> Vec<W> {
    let input = |index: usize| operation.inputs.get(index).and_then(|(_, tensor)| known.get(&tensor.id));
    let given = |index: usize| input(index).map_or(&[][..], Vec::as_slice);
    let dims = &operation.output.1.layout.dims;
    let inputs = operation.inputs.iter().enumerate();
    let operands: Vec<Operand<'_, W>> =
        inputs.map(|(index, (_, tensor))| (&tensor.layout.dims[..], given(index))).collect();
    match &operation.step {
        Step::Convolution(kind, shape, alpha, beta) => {
            let mut result = match kind {
                Kind::Forward => shape.forward(given(0), given(1).to_vec()),
                Kind::Data => shape.backward_data(given(0).to_vec(), given(1)),
                Kind::Filter => shape.backward_filter(given(0), given(1)),
            };
            if *alpha != 1.0 {
                result.iter_mut().for_each(|value| *value = W::of(*alpha) * *value);
            }
            if *beta != 0.0 {
                result.iter_mut().zip(given(2)).for_each(|(value, before)| *value += W::of(*beta) * *before);
            }
            result
        }
        Step::Pointwise(of, ..) if of.mode == pointwise::INDEX => {
            let (axis, inner) = of.axis.map_or((1, 1), |axis| (dims[axis], dims[axis + 1..].iter().product()));
            (0..operation.output.1.layout.count()).map(|index| W::of((index / inner % axis) as f64)).collect()
        }
        Step::Product(of) => of.compute(&operands, dims),
        Step::Reduction(operator) => {
            let from = operands.first().map_or(&[][..], |(from, _)| from);
            let all = given(0).iter().map(|value| value.double()).zip(places(dims, from));
            reduced(*operator, true, dims.iter().product(), all).map(W::of).collect()
        }
        Step::Moved(from) => from.iter().map(|number| given(0)[*number]).collect(),
        Step::Random(of) => of.compute(&operands, dims.iter().product()),
        Step::BandMask(of) => of.compute(&operands, dims),
        Step::Softmax(part) => part.compute(&operands),
        Step::Pointwise(of, alpha1, alpha2) => {
            let spread = |index: usize| {
                let small = &operation.inputs[index].1.layout.dims;
                match small == dims {
                    true => given(index).to_vec(),
                    false => places(small, dims).into_iter().map(|place| given(index)[place]).collect::<Vec<W>>(),
                }
            };
            let inputs: Vec<Vec<W>> = (0..operation.inputs.len()).map(spread).collect();
            pointwise::compute(of, W::of(*alpha1), W::of(*alpha2), &inputs)
        }
    }
}

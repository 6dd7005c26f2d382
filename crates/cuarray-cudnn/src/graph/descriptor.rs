//! Descriptors: their attributes, and what they describe once they are finalized.

use super::attention::attention;
use super::attributes::{self, types};
use super::band_mask::band_mask;
use super::execution::Pack;
use super::kinds::*;
use super::moved;
use super::operation::{self, Convolution, Operation, Tensor};
use super::plan::Graph;
use super::pointwise::Pointwise;
use super::product;
use super::random::{self, Distribution};
use super::softmax::softmax;
use super::text::{self, Written};
use crate::descriptor_table::Kind;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, cudnnStatus_t, refuse, write};
use crate::types::*;
use cuarray_stream_work::{Objects, read};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The elements of an attribute.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) kind: c_int,
    pub(super) bytes: Vec<u8>,
    /// Descriptors that were finalized when the program named them. It may destroy them before it finalizes the one that names them.
    pub(super) finalized: Vec<Option<Arc<Descriptor>>>,
}

/// The object of a finalized descriptor.
#[derive(Clone, Debug)]
pub(super) enum Made {
    Tensor(Arc<Tensor>),
    Convolution(Arc<Convolution>),
    Pointwise(Arc<Pointwise>),
    /// The padding of products of matrices.
    Product(f64),
    /// The operator of reductions.
    Operator(cudnnReduceTensorOp_t),
    Distribution(Distribution),
    Operations(Arc<[Arc<Operation>]>),
    Graph(Arc<Graph>),
    Pack(Arc<Pack>),
    /// A descriptor whose attributes have no effect.
    Settings,
}

/// A descriptor.
#[derive(Clone, Debug)]
pub(super) struct Descriptor {
    pub(super) kind: c_int,
    pub(super) values: BTreeMap<c_int, Value>,
    /// Once the descriptor is finalized.
    pub(super) made: Option<Made>,
    /// The text of a finalized descriptor that a graph may have.
    pub(super) written: Option<Arc<Written>>,
}

pub(super) static DESCRIPTORS: Objects<Descriptor, cudnnStatus_t> = Kind::Graph.objects(BAD_PARAM);

impl Descriptor {
    /// A descriptor with these attributes.
    pub(super) fn new(kind: c_int, values: BTreeMap<c_int, Value>) -> Descriptor {
        Descriptor { kind, values, made: None, written: None }
    }

    /// The descriptor with its object.
    pub(super) fn finalized(self) -> Outcome<Descriptor> {
        let (made, written) = (self.finalize()?, Written::of(&self).ok().map(Arc::new));
        Ok(Descriptor { made: Some(made), written, ..self })
    }

    fn elements<const N: usize, V>(&self, attribute: c_int, of: impl Fn([u8; N]) -> V) -> Vec<V> {
        let bytes = self.values.get(&attribute).map_or(&[][..], |value| &value.bytes);
        bytes.as_chunks::<N>().0.iter().map(|element| of(*element)).collect()
    }

    /// Numbers of 64 bits; none if they are not set.
    pub(super) fn integers(&self, attribute: c_int) -> Vec<i64> {
        self.elements(attribute, i64::from_ne_bytes)
    }

    /// Sizes or strides.
    pub(super) fn sizes(&self, attribute: c_int) -> Outcome<Vec<usize>> {
        self.integers(attribute).into_iter().map(|size| usize::try_from(size).map_err(|_| BAD_PARAM)).collect()
    }

    /// Addresses.
    pub(super) fn addresses(&self, attribute: c_int) -> Vec<usize> {
        self.elements(attribute, usize::from_ne_bytes)
    }

    /// An enumeration.
    pub(super) fn choice(&self, attribute: c_int) -> Option<c_int> {
        self.elements(attribute, c_int::from_ne_bytes).first().copied()
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, attribute: c_int) -> bool {
        self.elements(attribute, |[byte]: [u8; 1]| byte != 0).contains(&true)
    }

    /// A number of floating point.
    pub(super) fn number(&self, attribute: c_int) -> Option<f64> {
        let is_float = self.values.get(&attribute)?.kind == types::FLOAT;
        let numbers = match is_float {
            true => self.elements(attribute, |bytes| f64::from(f32::from_ne_bytes(bytes))),
            false => self.elements(attribute, f64::from_ne_bytes),
        };
        numbers.first().copied()
    }

    /// The objects of descriptors that are finalized.
    pub(super) fn parts(&self, attribute: c_int) -> Outcome<Vec<Made>> {
        let made = |part: Descriptor| part.made.ok_or(cudnnStatus_t::BAD_PARAM_NOT_FINALIZED);
        self.named(attribute)?.into_iter().map(made).collect()
    }

    /// The descriptors that an attribute names.
    pub(super) fn named(&self, attribute: c_int) -> Outcome<Vec<Descriptor>> {
        let kept = self.values.get(&attribute).map_or(&[][..], |value| &value.finalized).iter().cloned();
        let named = |(number, kept): (usize, Option<Arc<Descriptor>>)| {
            kept.map_or_else(|| find(number), |kept| Ok((*kept).clone()))
        };
        self.addresses(attribute).into_iter().zip(kept.chain(std::iter::repeat(None))).map(named).collect()
    }

    /// The object of one descriptor; none if it is not set.
    pub(super) fn part(&self, attribute: c_int) -> Outcome<Option<Made>> {
        Ok(self.parts(attribute)?.into_iter().next())
    }

    /// A tensor; none if it is not set.
    pub(super) fn tensor(&self, attribute: c_int) -> Outcome<Option<Arc<Tensor>>> {
        match self.part(attribute)? {
            None => Ok(None),
            Some(Made::Tensor(tensor)) => Ok(Some(tensor)),
            Some(_) => Err(BAD_PARAM),
        }
    }

    /// The graph of another descriptor.
    fn graph(&self, attribute: c_int) -> Outcome<Made> {
        match self.part(attribute)? {
            Some(Made::Graph(graph)) if !graph.is_part => Ok(Made::Graph(graph)),
            _ => Err(BAD_PARAM),
        }
    }

    /// Whether an attribute that may have several types has descriptors.
    pub(super) fn has_descriptors(&self, attribute: c_int) -> bool {
        self.values.get(&attribute).is_some_and(|value| value.kind == types::DESCRIPTOR)
    }

    /// Checks the attributes, and makes the object.
    fn finalize(&self) -> Outcome<Made> {
        let several = |made: Outcome<Vec<Operation>>| {
            made.map(|operations| Made::Operations(operations.into_iter().map(Arc::new).collect()))
        };
        let one = |made: Outcome<Operation>| several(made.map(|operation| vec![operation]));
        match self.kind {
            TENSOR => Tensor::of(self).map(|made| Made::Tensor(Arc::new(made))),
            CONVOLUTION => Convolution::of(self).map(|made| Made::Convolution(Arc::new(made))),
            POINTWISE => operation::settings(self).map(|made| Made::Pointwise(Arc::new(made))),
            PRODUCT => product::settings(self).map(Made::Product),
            REDUCTION => operation::operator(self).map(Made::Operator),
            RANDOM => random::settings(self).map(Made::Distribution),
            CONVOLUTION_FORWARD | CONVOLUTION_DATA | CONVOLUTION_FILTER => one(operation::convolution(self)),
            OPERATION_POINTWISE => one(operation::pointwise(self)),
            OPERATION_PRODUCT => one(product::product(self)),
            OPERATION_REDUCTION => one(operation::reduction(self)),
            RESHAPE => one(moved::reshape(self)),
            TRANSPOSITION => one(moved::transposition(self)),
            OPERATION_RANDOM => one(random::random(self)),
            BAND_MASK => one(band_mask(self)),
            SOFTMAX => several(softmax(self)),
            ATTENTION => several(attention(self)),
            GRAPH => {
                let operations = |made: Made| match made {
                    Made::Operations(operations) => Ok(operations.to_vec()),
                    _ => Err(BAD_PARAM),
                };
                let parts: Vec<_> = self.parts(801)?.into_iter().map(operations).collect::<Outcome<_>>()?;
                Graph::of(parts.concat(), Written::of(self)?).map(|made| Made::Graph(Arc::new(made)))
            }
            // The one engine has number 0.
            ENGINE if self.integers(1301) == [0] => self.graph(1300),
            ENGINE => Err(BAD_PARAM),
            CONFIGURATION => self.graph(300),
            HEURISTICS if matches!(self.choice(200), Some(0..=3)) => self.graph(201),
            HEURISTICS => Err(BAD_PARAM),
            PLAN if self.values.contains_key(&405) => text::graph(&self.elements(405, |[byte]: [u8; 1]| byte)),
            PLAN => self.graph(401),
            PACK => Pack::of(self).map(|made| Made::Pack(Arc::new(made))),
            KNOB_CHOICE | DEVICE => Ok(Made::Settings),
            // The others are filled by the library.
            _ => Err(BAD_PARAM),
        }
    }
}

/// The descriptor of a number.
pub(super) fn find(number: cudnnBackendDescriptor_t) -> Outcome<Descriptor> {
    if number == 0 { Err(NULL_POINTER) } else { DESCRIPTORS.get(number) }
}

/// `cudnnBackendCreateDescriptor`.
pub(crate) fn create(kind: cudnnBackendDescriptorType_t, to: *mut cudnnBackendDescriptor_t) -> Outcome {
    if to.is_null() {
        return Err(NULL_POINTER);
    }
    match kind {
        POINTWISE..=OPERATION_POINTWISE
        | GRAPH..=OPERATION_PRODUCT
        | REDUCTION
        | OPERATION_REDUCTION
        | RESHAPE..=OPERATION_RANDOM
        | DEVICE
        | ATTENTION
        | BAND_MASK..=TRANSPOSITION => write(to, DESCRIPTORS.add(Descriptor::new(kind, BTreeMap::new()))),
        14..=60 => {
            static TOLD: AtomicBool = AtomicBool::new(false);
            Err(refuse(&format!("cudnnBackendDescriptorType_t {kind} of cudnnBackendCreateDescriptor"), &TOLD))
        }
        _ => Err(BAD_PARAM),
    }
}

/// `cudnnBackendDestroyDescriptor`.
pub(crate) fn destroy(number: cudnnBackendDescriptor_t) -> Outcome {
    if number == 0 { Ok(()) } else { DESCRIPTORS.remove(number).map(drop) }
}

/// `cudnnBackendFinalize`. A finalized descriptor stays as it is.
pub(crate) fn finalize(number: cudnnBackendDescriptor_t) -> Outcome {
    let descriptor = find(number)?;
    if descriptor.made.is_some() {
        return Ok(());
    }
    let finalized = descriptor.finalized()?;
    DESCRIPTORS.change(number, |descriptor| {
        *descriptor = finalized;
        Ok(())
    })
}

/// Checks the type and the bytes of an attribute of a descriptor of this kind.
pub(super) fn check(of: c_int, attribute: c_int, kind: c_int, bytes: usize) -> Outcome {
    let Some((kinds, most)) = attributes::settable(of, attribute) else {
        return Err(if attribute < 0 { BAD_PARAM } else { NOT_SUPPORTED });
    };
    let size = attributes::size(kind);
    let fits = kinds.contains(&kind) && bytes.is_multiple_of(size) && bytes / size <= most;
    if fits { Ok(()) } else { Err(BAD_PARAM) }
}

/// `cudnnBackendSetAttribute`.
pub(crate) fn set(
    number: cudnnBackendDescriptor_t,
    attribute: cudnnBackendAttributeName_t,
    kind: cudnnBackendAttributeType_t,
    count: i64,
    elements: *const c_void,
) -> Outcome {
    let descriptor = find(number)?;
    if descriptor.made.is_some() {
        return Err(cudnnStatus_t::NOT_INITIALIZED);
    }
    let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(attributes::size(kind)));
    let bytes = bytes.ok_or(BAD_PARAM)?;
    check(descriptor.kind, attribute, kind, bytes)?;
    let bytes = if bytes == 0 { Vec::new() } else { read::<u8, cudnnStatus_t>(elements.cast(), bytes)? };
    let mut value = Value { kind, bytes, finalized: Vec::new() };
    if kind == types::DESCRIPTOR {
        let numbers = value.bytes.as_chunks::<8>().0.iter().map(|number| usize::from_ne_bytes(*number));
        let kept = |number| find(number).ok().filter(|named| named.made.is_some()).map(Arc::new);
        value.finalized = numbers.map(kept).collect();
    }
    DESCRIPTORS.change(number, |descriptor| {
        descriptor.values.insert(attribute, value);
        Ok(())
    })
}

/// `cudnnBackendGetAttribute`. Descriptors that the program has made become copies of those of the attribute.
pub(crate) fn get(
    number: cudnnBackendDescriptor_t,
    attribute: cudnnBackendAttributeName_t,
    kind: cudnnBackendAttributeType_t,
    requested: i64,
    count: *mut i64,
    elements: *mut c_void,
) -> Outcome {
    let descriptor = find(number)?;
    let Some(made) = &descriptor.made else { return Err(cudnnStatus_t::NOT_INITIALIZED) };
    let requested = usize::try_from(requested).map_err(|_| BAD_PARAM)?;
    let kept = descriptor.values.get(&attribute);
    let is_right = match attributes::told(descriptor.kind, attribute) {
        Some(known) => known == kind,
        None => match attributes::settable(descriptor.kind, attribute) {
            Some((kinds, _)) => kept.map_or(kinds.contains(&kind), |value| value.kind == kind),
            None => return Err(if attribute < 0 { BAD_PARAM } else { NOT_SUPPORTED }),
        },
    };
    if !is_right {
        return Err(BAD_PARAM);
    }
    if kind == types::DESCRIPTOR {
        let found = described(&descriptor, attribute, made)?;
        if !count.is_null() {
            write(count, found.len() as i64)?;
        }
        let wanted = if elements.is_null() { 0 } else { requested.min(found.len()) };
        let targets = if wanted == 0 { Vec::new() } else { read::<usize, cudnnStatus_t>(elements.cast(), wanted)? };
        return targets.into_iter().zip(found).try_for_each(|(target, from)| fill(target, from));
    }
    let told = match (descriptor.kind, attribute) {
        (GRAPH, 802) => 1_i64.to_ne_bytes().to_vec(),
        // No workspace, and no shared memory.
        (CONFIGURATION, 303 | 304) | (PLAN, 402) => 0_i64.to_ne_bytes().to_vec(),
        (PLAN, 405) => match made {
            Made::Graph(graph) => graph.text()?,
            _ => return Err(BAD_PARAM),
        },
        _ => kept.map(|value| value.bytes.clone()).unwrap_or_default(),
    };
    let size = attributes::size(kind);
    if !count.is_null() {
        write(count, (told.len() / size) as i64)?;
    }
    let wanted = if elements.is_null() { 0 } else { told.len().min(requested.saturating_mul(size)) };
    let place = |index: usize| elements.cast::<u8>().wrapping_add(index);
    told.iter().take(wanted).enumerate().try_for_each(|(index, byte)| write(place(index), *byte))
}

/// The descriptors of an attribute.
fn described(descriptor: &Descriptor, attribute: c_int, made: &Made) -> Outcome<Vec<Descriptor>> {
    let with = |kind: c_int, values: &[(c_int, c_int, Vec<u8>)]| {
        let value = |(name, kind, bytes): &(c_int, c_int, Vec<u8>)| {
            (*name, Value { kind: *kind, bytes: bytes.clone(), finalized: Vec::new() })
        };
        Descriptor { made: Some(made.clone()), ..Descriptor::new(kind, values.iter().map(value).collect()) }
    };
    // The configurations of the library have one engine, which no descriptor of the program names.
    let engine = || with(ENGINE, &[(1301, types::INT64, 0_i64.to_ne_bytes().to_vec())]);
    match (descriptor.kind, attribute) {
        (HEURISTICS, 202) => Ok(vec![with(CONFIGURATION, &[])]),
        (PLAN, 401) if !descriptor.values.contains_key(&401) => Ok(vec![with(CONFIGURATION, &[])]),
        (CONFIGURATION, 300) if !descriptor.values.contains_key(&300) => Ok(vec![engine()]),
        _ => descriptor.named(attribute),
    }
}

/// Makes a descriptor of the program a copy of another one of the same type.
fn fill(target: cudnnBackendDescriptor_t, from: Descriptor) -> Outcome {
    if target == 0 {
        return Err(NULL_POINTER);
    }
    DESCRIPTORS.change(target, |descriptor| {
        if descriptor.kind != from.kind {
            return Err(BAD_PARAM);
        }
        *descriptor = from;
        Ok(())
    })
}

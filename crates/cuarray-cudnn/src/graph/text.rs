//! Graphs as JSON, from which a program makes a plan again: `CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION`.

use super::attributes::types;
use super::descriptor::{DESCRIPTORS, Descriptor, Made, Value, check, find};
use super::kinds::GRAPH;
use crate::status::{BAD_PARAM, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

/// A descriptor with those that it names.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Written {
    kind: c_int,
    attributes: BTreeMap<c_int, Attribute>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Attribute {
    /// The type of the elements, and their bytes.
    Elements(c_int, Vec<u8>),
    Descriptors(Vec<Arc<Written>>),
}

impl Written {
    /// The text of a descriptor, whose parts are finalized. A handle of cuDNN has no effect, and is left out.
    pub(super) fn of(descriptor: &Descriptor) -> Outcome<Written> {
        let mut attributes = BTreeMap::new();
        for (name, value) in &descriptor.values {
            let written = match value.kind {
                types::HANDLE => continue,
                types::DESCRIPTOR => {
                    // A program may destroy a descriptor once the one that names it is finalized.
                    let written = |part: Descriptor| part.written.ok_or(BAD_PARAM);
                    Attribute::Descriptors(descriptor.named(*name)?.into_iter().map(written).collect::<Outcome<_>>()?)
                }
                kind => Attribute::Elements(kind, value.bytes.clone()),
            };
            attributes.insert(*name, written);
        }
        Ok(Written { kind: descriptor.kind, attributes })
    }

    /// Adds the descriptor to `added`, after those that it names, and returns its number.
    fn add(&self, added: &mut Vec<usize>) -> Outcome<usize> {
        let mut values = BTreeMap::new();
        for (name, attribute) in &self.attributes {
            let (kind, bytes) = match attribute {
                Attribute::Elements(types::DESCRIPTOR | types::HANDLE, _) => return Err(BAD_PARAM),
                Attribute::Elements(kind, bytes) => (*kind, bytes.clone()),
                Attribute::Descriptors(parts) => {
                    let numbers = parts.iter().map(|part| part.add(added)).collect::<Outcome<Vec<_>>>()?;
                    (types::DESCRIPTOR, numbers.into_iter().flat_map(usize::to_ne_bytes).collect())
                }
            };
            check(self.kind, *name, kind, bytes.len())?;
            values.insert(*name, Value { kind, bytes, finalized: Vec::new() });
        }
        let number = DESCRIPTORS.add(Descriptor::new(self.kind, values).finalized()?);
        added.push(number);
        Ok(number)
    }
}

/// The graph of a text.
pub(super) fn graph(text: &[u8]) -> Outcome<Made> {
    let written: Written = serde_json::from_slice(text).map_err(|_| BAD_PARAM)?;
    let mut added = Vec::new();
    let made = match written.kind {
        GRAPH => written.add(&mut added).and_then(|number| find(number)?.made.ok_or(BAD_PARAM)),
        _ => Err(BAD_PARAM),
    };
    for number in added {
        // The program may guess a number and destroy it.
        let _ = DESCRIPTORS.remove(number);
    }
    made
}

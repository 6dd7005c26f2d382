//! What was found, each pair of places once.
//!
//! A loop finds the same race in every round. Findings of the same kind between the same calls from the same places are one, with
//! a count; where no place is known, lanes tell them apart.

use super::block::Block;
use super::operation::Operation;
use crate::finding::{Deed, KernelPlace, Kind, Object, Range, SourceLine, Variable};
use crate::site::Site;
use std::collections::HashMap;
use std::sync::Arc;

/// How many different findings are kept; more are counted.
const KEPT: usize = 1000;

/// One of the operations of a finding.
#[derive(Clone)]
pub(crate) struct Party {
    pub operation: Arc<Operation>,
    pub deed: Deed,
    pub bytes: Option<Range>,
    /// For a single access of a kernel: where in the kernel.
    pub place: Option<KernelPlace>,
}

impl Party {
    /// An operation, and the bytes that it is about.
    pub(crate) fn of(operation: &Arc<Operation>, deed: Deed, bytes: Option<Range>) -> Party {
        Party { operation: operation.clone(), deed, bytes, place: None }
    }

    /// An operation that touches these bytes; what it touched there in all is looked up in it.
    pub(crate) fn touching(operation: &Arc<Operation>, deed: Deed, start: u64, end: u64) -> Party {
        let meets = |bytes: &Range| bytes.address < end && bytes.address + bytes.length > start;
        let accesses = operation.accesses.get().map_or(&[][..], |accesses| accesses);
        let mut own = accesses.iter().filter(|access| access.deed == deed && meets(&access.bytes));
        let bytes = own.next().map_or(Range { address: start, length: end - start }, |access| access.bytes);
        Party::of(operation, deed, Some(bytes))
    }

    /// An operation that touches no bytes.
    pub(crate) fn naming(operation: &Arc<Operation>, deed: Deed) -> Party {
        Party::of(operation, deed, None)
    }
}

/// One finding.
#[derive(Clone)]
pub(crate) struct Found {
    pub kind: Kind,
    pub bytes: Option<Range>,
    pub block: Option<Arc<Block>>,
    pub variable: Option<Variable>,
    pub object: Option<Object>,
    pub parties: Vec<Party>,
    pub missing: Option<String>,
    pub count: u64,
}

/// A call, what it did, from where, in which lane if that place is not known, and in which line of a kernel.
type Place = (&'static str, Deed, Arc<Site>, Option<u32>, Option<SourceLine>);
/// A kind of finding, the variable that it is about, the operations.
type Key = (Kind, Option<String>, Vec<Place>);

/// All that was found.
#[derive(Default)]
pub(crate) struct Findings {
    pub all: Vec<Found>,
    pub not_kept: u64,
    known: HashMap<Key, usize>,
}

impl Findings {
    /// Adds a finding, or counts it.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        variable: Option<&Variable>,
        parties: Vec<Party>,
        found: impl FnOnce(Vec<Party>) -> Found,
    ) {
        let place = |party: &Party| {
            let Operation { call, site, lane, .. } = &*party.operation;
            let line = party.place.as_ref().and_then(|place| place.source.clone());
            (*call, party.deed, site.clone(), site.is_unknown().then_some(*lane), line)
        };
        let variable = variable.and_then(|variable| variable.name.clone());
        let key = (kind, variable, parties.iter().map(place).collect());
        if let Some(index) = self.known.get(&key) {
            self.all[*index].count += 1;
        } else if self.all.len() < KEPT {
            self.known.insert(key, self.all.len());
            self.all.push(found(parties));
        } else {
            self.not_kept += 1;
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Findings::default();
    }
}

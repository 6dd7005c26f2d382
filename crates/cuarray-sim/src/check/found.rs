//! What was found, each pair of places once.
//!
//! A loop finds the same race in every round. Findings of the same kind between the same calls from the same places are one, with
//! a count; where no place is known, lanes tell them apart.

use super::block::Block;
use super::operation::Operation;
use crate::finding::{Deed, Kind, Object, Range};
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
}

impl Party {
    /// An operation that touches these bytes; what it touched there in all is looked up in it.
    pub(crate) fn touching(operation: &Arc<Operation>, deed: Deed, start: u64, end: u64) -> Party {
        let meets = |bytes: &Range| bytes.address < end && bytes.address + bytes.length > start;
        let accesses = operation.accesses.get().map_or(&[][..], |accesses| accesses);
        let mut own = accesses.iter().filter(|access| access.deed == deed && meets(&access.bytes));
        let bytes = own.next().map_or(Range { address: start, length: end - start }, |access| access.bytes);
        Party { operation: operation.clone(), deed, bytes: Some(bytes) }
    }

    /// An operation that touches no bytes.
    pub(crate) fn naming(operation: &Arc<Operation>, deed: Deed) -> Party {
        Party { operation: operation.clone(), deed, bytes: None }
    }
}

/// One finding.
#[derive(Clone)]
pub(crate) struct Found {
    pub kind: Kind,
    pub bytes: Option<Range>,
    pub block: Option<Arc<Block>>,
    pub object: Option<Object>,
    pub parties: Vec<Party>,
    pub missing: Option<String>,
    pub count: u64,
}

/// A call, what it did, from where, and in which lane if that place is not known.
type Place = (&'static str, Deed, Arc<Site>, Option<u32>);

/// All that was found.
#[derive(Default)]
pub(crate) struct Findings {
    pub all: Vec<Found>,
    pub not_kept: u64,
    known: HashMap<(Kind, Vec<Place>), usize>,
}

impl Findings {
    /// Adds a finding, or counts it.
    pub(crate) fn add(&mut self, kind: Kind, parties: Vec<Party>, found: impl FnOnce(Vec<Party>) -> Found) {
        let place = |party: &Party| {
            let Operation { call, site, lane, .. } = &*party.operation;
            (*call, party.deed, site.clone(), site.is_unknown().then_some(*lane))
        };
        let key = (kind, parties.iter().map(place).collect());
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

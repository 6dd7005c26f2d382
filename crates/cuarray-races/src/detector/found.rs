//! The list of findings, with one entry for each pair of sites.
//!
//! A loop has the same race in every round. Findings of one kind between the same calls from the same sites are one
//! finding with a count. If no site is known, findings in different lanes are different.

use super::allocations::Block;
use super::operation::{Caller, Operation};
use crate::finding::{AccessKind, KernelPlace, Kind, Object, Range, Variable};
use crate::site::{Site, SourceLine};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of different findings. Further ones are only counted.
const MAX_FINDINGS: usize = 1000;

/// One of the operations of a finding.
#[derive(Clone)]
pub(super) struct Party {
    pub operation: Arc<Operation>,
    pub access: AccessKind,
    pub bytes: Option<Range>,
    /// The place in the kernel, for a single access of a kernel.
    pub place: Option<KernelPlace>,
}

impl Party {
    /// An operation and the conflicting bytes.
    pub(super) fn of(operation: &Arc<Operation>, access: AccessKind, bytes: Option<Range>) -> Party {
        Party { operation: operation.clone(), access, bytes, place: None }
    }

    /// An operation that accesses these bytes, with the whole range of that access.
    pub(super) fn touching(operation: &Arc<Operation>, access: AccessKind, start: u64, end: u64) -> Party {
        let meets = |bytes: &Range| bytes.address < end && bytes.address + bytes.length > start;
        let accesses = operation.accesses.get().map_or(&[][..], |accesses| accesses);
        let mut own = accesses.iter().filter(|own| own.kind == access && meets(&own.bytes));
        let bytes = own.next().map_or(Range { address: start, length: end - start }, |access| access.bytes);
        Party::of(operation, access, Some(bytes))
    }

    /// An operation that touches no bytes.
    pub(super) fn naming(operation: &Arc<Operation>, access: AccessKind) -> Party {
        Party::of(operation, access, None)
    }
}

/// One finding.
#[derive(Clone)]
pub(super) struct Found {
    pub kind: Kind,
    pub bytes: Option<Range>,
    pub block: Option<Arc<Block>>,
    pub variable: Option<Variable>,
    pub object: Option<Object>,
    pub parties: Vec<Party>,
    pub missing: Option<String>,
    pub count: u64,
}

/// A call, its access, its site, its lane if the site is unknown, and the line of the kernel.
type Place = (&'static str, AccessKind, Arc<Site>, Option<u32>, Option<SourceLine>);
/// A kind of finding, the variable with the conflict, the operations.
type Key = (Kind, Option<String>, Vec<Place>);

/// All findings.
#[derive(Default)]
pub(super) struct Findings {
    pub all: Vec<Found>,
    pub not_kept: u64,
    known: HashMap<Key, usize>,
}

impl Findings {
    /// Adds a finding, or increases the count of an equal one.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        variable: Option<&Variable>,
        parties: Vec<Party>,
        found: impl FnOnce(Vec<Party>) -> Found,
    ) {
        let place = |party: &Party| {
            let (Caller { call, site, .. }, lane) = (&party.operation.caller, &party.operation.lane);
            let line = party.place.as_ref().and_then(|place| place.source.clone());
            (*call, party.access, site.clone(), site.is_unknown().then_some(*lane), line)
        };
        let variable = variable.and_then(|variable| variable.name.clone());
        let key = (kind, variable, parties.iter().map(place).collect());
        if let Some(index) = self.known.get(&key) {
            self.all[*index].count += 1;
        } else if self.all.len() < MAX_FINDINGS {
            self.known.insert(key, self.all.len());
            self.all.push(found(parties));
        } else {
            self.not_kept += 1;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Findings::default();
    }
}

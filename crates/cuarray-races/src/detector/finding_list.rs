//! The list of findings, with one entry for each pair of sites.
//!
//! A loop has the same race in every round. Findings of one kind between the same calls from the same sites are one
//! finding with a count. If no site is known, findings in different lanes are different.

use super::allocations::Block;
use super::operation::{Caller, Operation};
use crate::finding::{AccessKind, KernelPlace, Kind, Object, Range, Variable};
use crate::site::{Site, SourceLine};
use std::collections::{HashMap, HashSet};
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
    /// The width of the missing synchronization, see [`KernelRace::width`](super::KernelRace::width).
    pub width: u8,
}

/// How often a finding was found, and the operations that made its allocations.
#[derive(Clone, Default)]
pub(super) struct Again {
    pub count: u64,
    pub blocks: HashSet<u64>,
}

/// A call, its access, its site, its lane if the site is unknown, and the line of the kernel.
type Place = (&'static str, AccessKind, Arc<Site>, Option<u32>, Option<SourceLine>);
/// A kind of finding, the variable with the conflict, the operations.
type Key = (Kind, Option<String>, Vec<Place>);

/// All findings.
#[derive(Default)]
pub(super) struct Findings {
    pub all: Vec<(Found, Again)>,
    pub not_kept: u64,
    known: HashMap<Key, usize>,
}

impl Findings {
    /// Adds a finding, or increases the count of an equal one, which takes the wider advice.
    pub(super) fn add(&mut self, found: Found) {
        let place = |party: &Party| {
            let (Caller { call, site, .. }, lane) = (&party.operation.caller, &party.operation.lane);
            let line = party.place.as_ref().and_then(|place| place.source.clone());
            (*call, party.access, site.clone(), site.is_unknown().then_some(*lane), line)
        };
        let variable = found.variable.as_ref().and_then(|variable| variable.name.clone());
        let key = (found.kind, variable, found.parties.iter().map(place).collect());
        let index = match self.known.get(&key) {
            Some(index) => *index,
            None if self.all.len() < MAX_FINDINGS => {
                self.known.insert(key, self.all.len());
                self.all.push((found.clone(), Again::default()));
                self.all.len() - 1
            }
            None => {
                self.not_kept += 1;
                return;
            }
        };
        let (first, again) = &mut self.all[index];
        again.count += 1;
        again.blocks.extend(found.block.as_ref().and_then(|block| block.made()).map(|made| made.ordinal));
        if found.width > first.width {
            *first = found;
        }
    }

    /// The number of findings that are kept.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn clear(&mut self) {
        *self = Findings::default();
    }
}

//! The list of findings, with one entry for each pair of sites.
//!
//! A loop has the same race in every round. Findings of one kind between the same calls from the same sites are one
//! finding with a count. If no site is known, findings in different lanes are different.
//!
//! One missing edge is one finding: in which allocation the same two operations race, and which of them read, makes no difference.
//! For two threads of a kernel, a write to bytes that were read too early follows from the read.

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

/// The most further allocations that a finding lists.
const LISTED: usize = 8;

/// How often a finding was found, and the operations that made its allocations.
#[derive(Clone, Default)]
pub(super) struct Again {
    pub count: u64,
    pub blocks: HashSet<u64>,
    /// An allocation of each site that made some.
    listed: Vec<Arc<Block>>,
}

impl Again {
    fn count_block(&mut self, block: &Arc<Block>) {
        let Some(made) = block.made() else { return };
        let is_new = self.blocks.insert(made.ordinal) && self.listed.iter().all(|other| !have_one_site(other, block));
        if is_new && self.listed.len() <= LISTED {
            self.listed.push(block.clone());
        }
    }

    /// The allocations from other sites than that of the first.
    pub(super) fn more(&self, first: Option<&Arc<Block>>) -> impl Iterator<Item = &Arc<Block>> {
        self.listed.iter().filter(move |block| first.is_some_and(|first| !have_one_site(first, block)))
    }
}

fn have_one_site(one: &Block, other: &Block) -> bool {
    one.made().map(|made| &made.caller.site) == other.made().map(|made| &made.caller.site)
}

/// A call, its access if that makes a difference, its site, its lane if the site is unknown, and the line of the kernel.
type Place = (&'static str, Option<AccessKind>, Arc<Site>, Option<u32>, Option<SourceLine>);
/// A kind of finding, the variable with the conflict, the operations.
type Key = (Kind, Option<String>, Vec<Place>);

/// The name of the variable with the conflict.
fn name(found: &Found) -> Option<&String> {
    found.variable.as_ref()?.name.as_ref()
}

/// The parts of a finding that equal ones have in common.
fn key(found: &Found) -> Key {
    let place = |(index, party): (usize, &Party)| {
        let (Caller { call, site, .. }, lane) = (&party.operation.caller, &party.operation.lane);
        let line = party.place.as_ref().and_then(|place| place.source.clone());
        let is_any = found.kind == Kind::KernelRace && index == 1 && line.is_some();
        (*call, (!is_any).then_some(party.access), site.clone(), site.is_unknown().then_some(*lane), line)
    };
    (found.kind, name(found).cloned(), found.parties.iter().enumerate().map(place).collect())
}

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
        let key = key(&found);
        let index = match self.known.get(&key).copied().or_else(|| self.cause_of(&found)) {
            Some(index) => {
                self.known.insert(key, index);
                index
            }
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
        found.block.iter().for_each(|block| again.count_block(block));
        if found.width > first.width {
            *first = found;
        }
    }

    /// The race whose correction also corrects this one: of the same two operations, or of the same access of a thread with an
    /// earlier access of the other thread.
    fn cause_of(&self, found: &Found) -> Option<usize> {
        let [one, other] = &found.parties[..] else { return None };
        let thread = |party: &Party| party.place.as_ref().map(|place| (place.block, place.thread));
        let follows = |cause: &Found| {
            let [first, second] = &cause.parties[..] else { return false };
            let is_one_bug = match found.kind {
                Kind::DataRace => Arc::ptr_eq(&other.operation, &second.operation) && name(found) == name(cause),
                Kind::KernelRace => {
                    (found.bytes, one.access, &one.place) == (cause.bytes, first.access, &first.place)
                        && thread(other) == thread(second)
                }
                _ => false,
            };
            is_one_bug
                && (found.kind, &found.missing) == (cause.kind, &cause.missing)
                && Arc::ptr_eq(&one.operation, &first.operation)
        };
        self.all.iter().position(|(cause, _)| follows(cause))
    }

    /// The number of findings that are kept.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn clear(&mut self) {
        *self = Findings::default();
    }
}

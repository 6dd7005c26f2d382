//! Calls that a driver refuses, and the findings for them.

use super::Detector;
use super::effect::Effect;
use super::finding_list::{Found, Party};
use super::operation::{Caller, Operation, Ticket};
use crate::advice::Advice;
use crate::finding::{AccessKind, KernelPlace, Kind, Object, Range, Variable};
use std::sync::Arc;

/// A group of threads of a launch that wait forever.
pub struct WaitingSide {
    /// A read of memory, a synchronization, or a use if they only run.
    pub access: AccessKind,
    /// The bytes that they read.
    pub bytes: Option<Range>,
    /// The place of the first of them.
    pub place: KernelPlace,
}

impl Detector {
    /// Reports a refused access that lies outside every allocation, or partly so. An access within one allocation is
    /// no finding. `more` continues the advice.
    pub fn refuse_access(
        &mut self,
        caller: Caller,
        access: AccessKind,
        address: u64,
        length: u64,
        more: Option<Advice>,
    ) {
        if self.blocks.at(address).is_some_and(|block| address.saturating_add(length) <= block.end()) {
            return;
        }
        let ticket = self.host_operation(caller, Effect::none());
        self.stray(Party::of(&ticket.operation, access, Some(Range { address, length })), more);
    }

    /// Reports a refused access to live memory for which the device lacks the right. `missing` is the advice.
    pub fn refuse_closed(&mut self, caller: Caller, access: AccessKind, bytes: Range, missing: Advice) {
        let ticket = self.host_operation(caller, Effect::none());
        let party = Party::of(&ticket.operation, access, Some(bytes));
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        self.find(Kind::OutOfBounds, range, None, vec![party], missing);
    }

    /// Reports a refused free. It is a finding if the memory was freed before.
    pub fn refuse_free(&mut self, caller: Caller, address: u64) {
        let gone = self.blocks.gone_at(address, 1).map(|(block, _)| block);
        let Some(size) = gone.filter(|block| block.address == address).map(|block| block.size) else { return };
        let ticket = self.host_operation(caller, Effect::none());
        let bytes = Some(Range { address, length: size });
        self.stray(Party::of(&ticket.operation, AccessKind::Release, bytes), None);
    }

    /// Reports an access that is refused because its address or pitch is not a multiple of `size`.
    pub fn refuse_misaligned(&mut self, caller: Caller, access: AccessKind, bytes: Range, size: u64) {
        let ticket = self.host_operation(caller, Effect::none());
        let party = Party::of(&ticket.operation, access, Some(bytes));
        let missing = Advice::AlignAddressAndPitch { size };
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        self.find(Kind::MisalignedAccess, range, None, vec![party], missing);
    }

    /// Reports a module that is refused although a driver can load it.
    pub fn refuse_module(&mut self, caller: Caller, reason: String) {
        let ticket = self.host_operation(caller, Effect::none());
        let parties = vec![Party::naming(&ticket.operation, AccessKind::Use)];
        self.find(Kind::RefusedModule, None, None, parties, Advice::LoadSupported { reason });
    }

    /// Reports a launch that failed by another cause than an access.
    pub fn kernel_failed(&mut self, ticket: &Ticket, failure: String, place: KernelPlace) {
        let party = Party { place: Some(place), ..Party::naming(&ticket.operation, AccessKind::Use) };
        self.find(Kind::KernelFailure, None, None, vec![party], Advice::CorrectKernel { failure });
    }

    /// Reports a loop of a graph that does not end.
    pub fn loop_failed(&mut self, ticket: &Ticket, failure: String) {
        let party = Party::naming(&ticket.operation, AccessKind::Use);
        self.find(Kind::KernelFailure, None, None, vec![party], Advice::EndLoop { failure });
    }

    /// Reports a stream that waits for a word of memory which nothing writes.
    pub fn stream_waits_forever(&mut self, ticket: &Ticket, word: Range) {
        let mut parties = vec![Party::of(&ticket.operation, AccessKind::Read, Some(word))];
        let writer = self.shadow.last_write(word.address).map(|record| record.operation.clone());
        parties.extend(writer.map(|writer| Party::of(&writer, AccessKind::Write, Some(word))));
        let range = Some((word.address, word.address + word.length));
        self.find(Kind::Deadlock, range, None, parties, Advice::WriteAwaitedWord);
    }

    /// Takes the memory of a failed launch's device as written: what the launch did not write any more is no finding.
    pub fn forgive_unwritten(&mut self, ticket: &Ticket) {
        let lane = self.lanes.get(ticket.clock.lane as usize);
        let Some(device) = lane.and_then(|lane| lane.device) else { return };
        for block in self.blocks.live().filter(|block| block.device == device) {
            self.shadow.take_as_written(block.address, block.end());
        }
    }

    /// Reports the access at which a launch failed. `wrong` has the kind of finding and the advice for an access to
    /// live memory; `more` continues the advice for any other access.
    pub fn launch_failed(
        &mut self,
        ticket: &Ticket,
        (access, bytes): (AccessKind, Range),
        wrong: Option<(Kind, Advice)>,
        place: KernelPlace,
        more: Option<Advice>,
    ) {
        let party = Party { place: Some(place), ..Party::of(&ticket.operation, access, Some(bytes)) };
        let Some((kind, missing)) = wrong else { return self.stray(party, more) };
        let range = Some((bytes.address, bytes.address.saturating_add(bytes.length)));
        self.find(kind, range, None, vec![party], missing);
    }

    /// Reports a launch whose threads wait forever. `polled` are the bytes that the first of them reads, with its variable if it is one
    /// of a block. Unless a thread of the launch has `written` them, the last work that did is a side too.
    pub fn launch_waits_forever(
        &mut self,
        ticket: &Ticket,
        (sides, written): (Vec<WaitingSide>, bool),
        (polled, variable): (Option<Range>, Option<Variable>),
        missing: Advice,
    ) {
        let operation = &ticket.operation;
        let mut parties: Vec<Party> = sides
            .into_iter()
            .map(|WaitingSide { access, bytes, place }| Party {
                place: Some(place),
                ..Party::of(operation, access, bytes)
            })
            .collect();
        let global = polled.filter(|_| variable.is_none());
        let writer = global.filter(|_| !written).and_then(|bytes| self.shadow.last_write(bytes.address));
        let writer = writer.map(|record| record.operation.clone());
        let writer = writer.filter(|writer| !Arc::ptr_eq(writer, operation));
        parties.extend(writer.map(|writer| Party::of(&writer, AccessKind::Write, global)));
        let block = global.and_then(|bytes| self.blocks.at(bytes.address)).cloned();
        let of_module = |bytes: Range| block.as_ref()?.variable_at(bytes.address);
        let variable = variable.or_else(|| global.and_then(of_module));
        let (kind, missing) = (Kind::Deadlock, Some(missing.to_string()));
        self.findings.add(Found { kind, bytes: polled, block, variable, object: None, parties, missing, width: 0 });
    }

    /// Reports a launch that failed because of a handle. It is a finding of a destroyed handle if it was destroyed; returns
    /// whether it was.
    pub fn launch_used_handle(&mut self, ticket: &Ticket, handle: u64, place: KernelPlace) -> bool {
        let Some((kind, by)) = self.handles.gone(handle).cloned() else { return false };
        let used = Party { place: Some(place), ..Party::naming(&ticket.operation, AccessKind::Use) };
        let missing = Advice::KeepForKernels { kind };
        let parties = vec![Party::naming(&by, AccessKind::Release), used];
        self.find(Kind::DestroyedHandle, None, Some(Object { kind, handle }), parties, missing);
        true
    }

    /// Reports a call that is refused because of a handle. It is a finding if the handle was destroyed.
    pub fn refuse_handle(&mut self, caller: Caller, handle: u64) {
        let Some((kind, by)) = self.handles.gone(handle).cloned() else { return };
        let ticket = self.host_operation(caller, Effect::none());
        let parties = vec![Party::naming(&by, AccessKind::Release), Party::naming(&ticket.operation, AccessKind::Use)];
        let missing = Advice::KeepForCalls { kind };
        self.find(Kind::DestroyedHandle, None, Some(Object { kind, handle }), parties, missing);
    }

    /// Reports a call that waits for, or queries, work that is only being captured. `begun` is the operation that
    /// began the capture.
    pub fn refuse_wait_for_capture(
        &mut self,
        caller: Caller,
        begun: Option<Arc<Operation>>,
        kind: &'static str,
        handle: u64,
    ) {
        let ticket = self.host_operation(caller, Effect::none());
        let begun = begun.map(|begun| Party::naming(&begun, AccessKind::Use));
        let waits = Party::naming(&ticket.operation, AccessKind::Synchronize);
        let object = Some(Object { kind, handle });
        let parties = begun.into_iter().chain([waits]).collect();
        self.find(Kind::CapturedStreamSynchronized, None, object, parties, Advice::EndCapture);
    }
}

//! Calls that a driver refuses, and the findings for them.

use super::Detector;
use super::effect::Effect;
use super::finding_list::Party;
use super::operation::{Caller, Operation, Ticket};
use crate::advice::Advice;
use crate::finding::{AccessKind, KernelPlace, Kind, Object, Range};
use std::sync::Arc;

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

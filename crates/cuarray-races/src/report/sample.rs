//! A sample report for the tests of the report formats.
//!
//! A copy in one stream races with a read in another, because the event was recorded before the copy. The name of the
//! file contains markup.

use crate::finding::{
    Access, AccessKind, Allocation, Finding, KernelPlace, Kind, Lane, LaneKind, Language, Operation, Range, Report,
    Side, Watched,
};
use crate::site::{Frame, Site, SourceLine};
use std::sync::Arc;

pub(crate) const HOSTILE: &str = "<script>alert('\"&\u{202e}\u{7}')</script>.py";

pub(crate) fn site(file: &str, line: u32) -> Arc<Site> {
    let user = Some(Frame { file: file.into(), line, function: "<module>".into() });
    let inner = "/usr/lib/python3/site-packages/numba_cuda/numba/cuda/cudadrv/driver.py";
    let innermost = Some(Frame { file: inner.into(), line: 2201, function: "host_to_device".into() });
    Arc::new(Site { user, innermost, native: None, library: Some("numba-cuda".into()) })
}

/// Lanes: host thread 1, stream 1 and stream 2.
pub(crate) fn report(file: &str) -> Report {
    let lane = |number, kind, name: &str| {
        let device = (kind != LaneKind::Host).then_some(0);
        Lane { number, kind, handle: u64::from(number), device, name: name.into(), made: None, variable: None }
    };
    let lanes = vec![
        lane(0, LaneKind::Host, "host thread 1"),
        lane(1, LaneKind::NonBlocking, "stream 1 (non-blocking)"),
        lane(2, LaneKind::NonBlocking, "stream 2 (non-blocking)"),
    ];
    let bytes = Range { address: 0x7ffd_0000_0000, length: 4096 };
    let part = Range { address: bytes.address + 1024, length: 1024 };
    let operation = |ordinal, lane, call, after: &[u64], accesses: &[(AccessKind, Range)]| Operation {
        ordinal,
        lane,
        call,
        detail: None,
        site: site(file, u32::try_from(ordinal).unwrap()),
        after: after.to_vec(),
        orders: matches!(call, "cuEventRecord" | "cuStreamWaitEvent" | "cuStreamSynchronize"),
        accesses: accesses.iter().map(|(kind, bytes)| Access { kind: *kind, bytes: *bytes }).collect(),
    };
    let operations = vec![
        operation(1, 0, "cuMemAlloc_v2", &[], &[]),
        operation(2, 1, "cuMemsetD8Async", &[], &[(AccessKind::Write, bytes)]),
        operation(3, 1, "cuEventRecord", &[], &[]),
        operation(4, 1, "cuMemcpyHtoDAsync_v2", &[], &[(AccessKind::Write, bytes)]),
        operation(5, 2, "cuStreamWaitEvent", &[3], &[]),
        operation(6, 2, "cuMemcpyDtoDAsync_v2", &[], &[(AccessKind::Read, part)]),
        operation(7, 0, "cuStreamSynchronize", &[4], &[]),
    ];
    let side = |index: usize, access, bytes| Side {
        call: operations[index].call,
        detail: None,
        access,
        lane: operations[index].lane,
        bytes: Some(bytes),
        site: operations[index].site.clone(),
        place: None,
        graph: None,
        ordinal: operations[index].ordinal,
    };
    let allocation = Allocation {
        address: bytes.address,
        size: bytes.length,
        kind: "device",
        device: 0,
        call: "cuMemAlloc_v2",
        site: site(file, 1),
        ordinal: 1,
    };
    let finding = Finding {
        number: 1,
        kind: Kind::DataRace,
        fingerprint: String::new(),
        bytes: Some(part),
        offset: Some(1024),
        allocation: Some(allocation),
        more_allocations: Vec::new(),
        variable: None,
        object: None,
        sides: vec![side(3, AccessKind::Write, bytes), side(5, AccessKind::Read, part)],
        missing: Some(
            "record an event on stream 1 after cuMemcpyHtoDAsync and make stream 2 wait for it before cuMemcpyDtoDAsync".into(),
        ),
        count: 1,
        allocations: 1,
    };
    let watched = Watched { bytes: 4096, memory: 512, history: 2048, left_out: 0 };
    Report { findings: vec![finding], lanes, operations, watched, ..Report::default() }
}

/// As [`report`], but the finding is a race of two threads of the launch that is operation 6.
pub(crate) fn kernel_race(file: &str) -> Report {
    let mut report = report(file);
    let place = |block, thread, source, ptx_line| KernelPlace {
        block: [block, 0, 0],
        thread: [thread, 0, 0],
        atomic: false,
        text: None,
        argument: None,
        waits: None,
        source,
        inlined_at: None,
        ptx_line,
        has_lines: false,
        language: Language::Cuda,
    };
    let line = SourceLine { file: "src/kernel.cu".into(), line: 8 };
    let places = [place(0, 0, Some(line), Some(30)), place(2, 7, None, Some(40))];
    let finding = &mut report.findings[0];
    finding.kind = Kind::KernelRace;
    let launch = finding.sides[1].clone();
    finding.sides = places.into_iter().map(|place| Side { place: Some(place), ..launch.clone() }).collect();
    report
}

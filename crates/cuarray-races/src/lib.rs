//! Happens-before for asynchronous work over shared memory: data races, with the missing edge of each.
//!
//! # The question
//!
//! A GPU program enqueues work in streams and continues. A copy in one stream and a kernel in another may access the
//! same bytes, and whether the result is right depends on which runs first. A run of the program shows one order out
//! of many. This crate answers the question for all orders at once: *does the program itself order the two?* If
//! neither happens before the other, and one of them writes, they are a data race, whatever the result of this run
//! was.
//!
//! # The model
//!
//! A [`Lane`] executes one operation after the other; it is a stream or a host thread. Operation A happens before
//! operation B in one of three cases:
//!
//! - Both are in one lane, and B is the later one.
//! - The host called B after it had waited for A.
//! - An event was recorded after A in one stream, and another stream waits for the event before B.
//!
//! Each operation has a [`Clock`], a sparse vector clock: for every lane, the last operation that happens before it.
//! *Shadow memory* holds the last write to every byte, and the reads since then, each with its lane and its number
//! there. A new access is compared with them: an older access that its clock does not reach is unordered. The cost of
//! an access grows with the logarithm of the number of differently treated ranges. Memory grows with the live
//! allocations, not with the length of the run.
//!
//! A clock is made when a function is *called*, so the findings do not depend on when the work ran. Some work
//! computes its addresses. Its accesses are reported when it has [run](Detector::resolve), and later calls are
//! checked after that.
//!
//! # Events
//!
//! The crate knows no driver. Handles are plain integers, and the caller reports each event:
//!
//! | event | method |
//! |---|---|
//! | a stream appears, ends | [`Detector::new_lane`], [`Detector::lane_ends`] |
//! | memory is allocated, freed | [`Detector::allocate`], [`Detector::free`] |
//! | work is enqueued, with its reads and writes | [`Detector::issue`] |
//! | such work has run | [`Detector::resolve`] |
//! | a stream waits for an event | [`Detector::join`] with the [`Clock`] of the record |
//! | the host waits | [`Detector::synchronize`] |
//! | a thread accesses memory itself | [`Detector::host_operation`] |
//! | a thread passes work on to another | [`Detector::hand_over`], [`Detector::take_over`] |
//! | a driver refuses a call | [`Detector::refuse_access`] and the other `refuse_` methods |
//!
//! [`Detector::report`] returns a [`finding::Report`]: plain data that prints as text, JSON, a timeline trace, or a page.
//!
//! # A race, and the edge that removes it
//!
//! ```
//! use cuarray_races::finding::{Kind, LaneKind};
//! use cuarray_races::{Block, Caller, Detector, Effect, HostThreads, Region};
//!
//! /// Fills 64 bytes in one stream and copies them to the host in another; returns the report.
//! fn run(with_edge: bool) -> cuarray_races::finding::Report {
//!     let mut detector = Detector::new(HostThreads::InOrderOfCalls);
//!     let call = |name| Caller::new(1, name); // all calls are made by thread 1
//!     let mut producer = detector.new_lane(LaneKind::NonBlocking, 0x10, Some(0));
//!     let mut consumer = detector.new_lane(LaneKind::NonBlocking, 0x20, Some(0));
//!     let bytes = Region::row(0x1000, 64);
//!
//!     detector.allocate(call("alloc"), Block::new(0x1000, 64, "device", 0), false);
//!     let fill = detector.issue(&mut producer, call("fill"), Effect::Fill(bytes.clone()));
//!     if with_edge {
//!         detector.join(&mut consumer, &fill.clock);
//!     }
//!     let from = Some(bytes);
//!     detector.issue(&mut consumer, call("copy"), Effect::Copy { from, to: Region::row(0x9000, 64), exact: true });
//!     detector.report(false)
//! }
//!
//! let report = run(false);
//! assert_eq!(report.findings[0].kind, Kind::DataRace);
//! assert!(report.text(false).contains("make stream 2 (non-blocking) wait for it before copy"));
//! assert!(run(true).findings.is_empty());
//! ```

mod advice;
mod detector;
pub mod finding;
pub mod report;
pub mod site;
pub mod suppression;
pub mod symbol;

pub use advice::Advice;
pub use detector::{
    Block, Caller, Clock, Detector, Effect, Extent, Fences, HostThreads, KernelMisuse, KernelRace, Lane, LaneNumber,
    Manner, Operation, Past, Region, Strength, Ticket, Touch, Touched, Unwritten, Values, WaitingSide,
};

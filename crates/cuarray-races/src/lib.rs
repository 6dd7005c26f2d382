//! Happens-before for asynchronous work over shared memory: data races, with the missing edge of each.
//!
//! # The question
//!
//! A GPU program enqueues work in streams and goes on. A copy in one stream and a kernel in another may touch the same bytes,
//! and whether the result is right depends on which runs first. Running the program shows one order out of many. This
//! crate answers the question for all orders at once: *does the program itself order the two?* If neither comes after the
//! other, and one of them writes, that is a data race, whatever the result of this run was.
//!
//! # The model
//!
//! A [`Lane`] does one thing after the other: a stream or a host thread. An operation comes after another for one of three
//! reasons. Both are in one lane, and it is the later one. The host called one before it called the other, and had waited for
//! it. Or an edge leads from the one to the other: an event was recorded in one stream, and the other stream waits for it.
//!
//! Each operation carries a [`Clock`], a sparse version vector that holds the last operation of every lane that comes before
//! it. *Shadow memory* holds the last write to every byte, and the reads since then, by their places in those vectors. A new
//! access is compared with them: an older access that its clock does not reach is unordered. The cost of an access grows with
//! the logarithm of the number of differently treated ranges; memory grows with what is live, not with the length of the run.
//!
//! Clocks are made when a function is *called*, so the findings do not depend on when the work ran. Some work computes its
//! addresses. Its accesses are reported when it has [run](Detector::resolve), and later calls are checked after it.
//!
//! # How it is fed
//!
//! The crate knows no driver. Handles are plain integers, and the feeder says what happens:
//!
//! | event | method |
//! |---|---|
//! | a stream appears, ends | [`Detector::new_lane`], [`Detector::lane_ends`] |
//! | memory is allocated, freed | [`Detector::allocate`], [`Detector::free`] |
//! | work is enqueued, with its reads and writes | [`Detector::issue`] |
//! | such work has run | [`Detector::resolve`] |
//! | a stream waits for an event | [`Detector::learn`] with the [`Clock`] of the record |
//! | the host waits | [`Detector::synchronize`] |
//! | a thread touches memory itself | [`Detector::host_operation`] |
//! | a thread passes work on to another | [`Detector::hand_over`], [`Detector::take_over`] |
//! | a driver refuses a call | [`Detector::refuse_access`] and its relatives |
//!
//! [`Detector::report`] returns a [`finding::Report`]: plain data that prints as text, JSON, a timeline trace, or a page.
//!
//! # A race, and the edge that ends it
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
//!     let fill = detector.issue(&mut producer, call("fill"), Effect::Fill(bytes));
//!     if with_edge {
//!         detector.learn(&mut consumer, &fill.clock);
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

mod detector;
pub mod finding;
pub mod report;
pub mod site;
pub mod suppression;
mod symbol;

pub use detector::{
    Block, Caller, Clock, Detector, Effect, Extent, HostThreads, KernelRace, Lane, LaneNumber, Operation, Region,
    Ticket, Touch, Touched,
};

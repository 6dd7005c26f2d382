//! The end of launches from outside: the limit of time, and signals. Also the lines about a launch that runs long.

use crate::objects::launch::Launch;
use crate::signals::Signals;
use cuarray_ptx::FaultKind;
use cuarray_races::report::kernel_name;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time after which signals are awaited.
const AWAITED: Duration = Duration::from_millis(5);
/// The time before the first line, and between two lines in a file and on a terminal.
const SILENT: Duration = Duration::from_secs(10);
const IN_A_FILE: Duration = Duration::from_secs(60);
const ON_A_TERMINAL: Duration = Duration::from_secs(1);

/// The watch over one launch.
pub(super) struct Watchdog<'a> {
    launch: &'a Launch,
    started: Instant,
    state: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    signals: Option<Signals>,
    /// The time of the last line.
    told: Option<Instant>,
    /// Whether the last line has no end yet.
    open: bool,
}

impl Watchdog<'_> {
    pub(super) fn new(launch: &Launch) -> Watchdog<'_> {
        Watchdog { launch, started: Instant::now(), state: Mutex::default() }
    }

    /// Looks at the time and at signals; returns how the launch has to end.
    pub(super) fn look(&self, pc: u32, finished: u64) -> Option<FaultKind> {
        let elapsed = self.started.elapsed();
        let settings = &self.launch.settings;
        // Another core may be looking.
        let mut seen = self.state.try_lock().ok()?;
        if settings.interrupts && seen.signals.is_none() && elapsed > AWAITED {
            seen.signals = Some(Signals::await_them());
        }
        if seen.signals.as_ref().is_some_and(Signals::came) {
            return Some(FaultKind::Interrupted);
        }
        if elapsed > settings.longest {
            return Some(FaultKind::TimeLimit);
        }
        if elapsed > SILENT && !settings.quiet {
            self.tell(&mut seen, elapsed, pc, finished);
        }
        None
    }

    /// Prints a line about the launch, if the last one is old.
    fn tell(&self, seen: &mut Seen, elapsed: Duration, pc: u32, finished: u64) {
        let terminal = std::io::stderr().is_terminal();
        let apart = if terminal { ON_A_TERMINAL } else { IN_A_FILE };
        if seen.told.is_some_and(|told| told.elapsed() < apart) {
            return;
        }
        seen.told = Some(Instant::now());
        let Launch { grid, settings, .. } = self.launch;
        let place = super::findings::place(self.launch, Some(pc), [0; 3], [0; 3], false);
        let line = match (place.source, place.ptx_line) {
            (Some(source), _) => format!(", now at {}:{}", source.file, source.line),
            (None, Some(line)) => format!(", now at line {line} of the PTX"),
            (None, None) => String::new(),
        };
        let blocks: u64 = grid.iter().map(|extent| u64::from(*extent)).product();
        let text = format!(
            "cuarray-sim: kernel {} has run for {} s{line}; {finished} of {blocks} blocks are done; the limit is {} s \
             (CUARRAY_SIM_LAUNCH_SECONDS)",
            kernel_name(self.launch.name()),
            elapsed.as_secs(),
            settings.longest.as_secs()
        );
        if terminal {
            eprint!("\r\x1b[K{text}");
            seen.open = true;
        } else {
            eprintln!("{text}");
        }
    }
}

impl Drop for Watchdog<'_> {
    fn drop(&mut self) {
        let seen = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if seen.open {
            eprintln!();
        }
    }
}

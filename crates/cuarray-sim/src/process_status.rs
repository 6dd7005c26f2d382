//! The system's description of a process, as that of its first thread: `/proc/PID/task/PID/stat`. Emulators such as qemu make up the file `/proc/PID/stat`
//! of their own process, with another start time than other processes read there.

use std::fs;

/// A process as the system describes it.
pub(crate) struct ProcessStatus {
    pub parent: u32,
    /// The start time in the system's ticks, which distinguishes the process from a later one with the same id.
    pub started: u64,
    /// Whether it has ended and was not waited for.
    pub ended: bool,
}

impl ProcessStatus {
    /// The description of a process; `None` if there is none.
    pub(crate) fn of(process: u32) -> Option<ProcessStatus> {
        ProcessStatus::parse(&fs::read_to_string(format!("/proc/{process}/task/{process}/stat")).ok()?)
    }

    fn parse(line: &str) -> Option<ProcessStatus> {
        // The second field is a name in parentheses, which may contain anything. The state is field 3, the parent field 4, and
        // the start time field 22.
        let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X" | "x");
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(ProcessStatus { parent, started, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_description_names_the_parent() {
        let own = ProcessStatus::of(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(!own.ended && own.started > 0);
        assert!(ProcessStatus::of(u32::MAX).is_none());
    }

    #[test]
    fn name_may_contain_parentheses_and_spaces() {
        let rest = "7 3 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2";
        for (state, ended) in [("S", false), ("Z", true), ("X", true)] {
            let parsed = ProcessStatus::parse(&format!("12 (a ) R 9 (b) {state} {rest}")).unwrap();
            assert_eq!((parsed.parent, parsed.started, parsed.ended), (7, 4711, ended));
        }
        for wrong in ["", "12 (a)", "12 (a) S 7 1 2", "12 a S 7"] {
            assert!(ProcessStatus::parse(wrong).is_none(), "{wrong:?}");
        }
    }
}

//! The wording of reports, shared by all formats for people.

use crate::finding::{
    AccessKind, Finding, KernelPlace, Kind, Lane, LaneKind, Language, Operation, Range, Side, Variable, Watched,
};
use crate::site::{Frame, Native, Site};
use crate::symbol::{call_name, kernel_name, variable_name};

/// The most bytes by which an address may lie behind the null pointer that explains it.
pub const BEHIND_NULL: u64 = 64 << 10;

/// `1 byte`, `4,096 bytes`.
pub(crate) fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{} bytes", number(count)) }
}

/// The memory that the search left out, and the memory that it took.
pub(crate) fn left_out(watched: &Watched) -> String {
    format!(
        "not searched: {} of launches; the search of {} took about {}",
        bytes(watched.left_out),
        bytes(watched.bytes),
        bytes(watched.memory.saturating_add(watched.history))
    )
}

/// A number with commas between its thousands.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The verb of an access: `stream 2 reads`.
pub(crate) fn does(access: AccessKind) -> &'static str {
    match access {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::Create => "makes",
        AccessKind::Release => "releases",
        AccessKind::Use => "uses",
        AccessKind::Synchronize => "waits for",
    }
}

/// The action of a side of a finding: `writes 4,096 bytes`, `destroys the stream`.
pub(crate) fn action(side: &Side, finding: &Finding) -> String {
    match (side.bytes, &finding.object) {
        (None, None) if finding.kind == Kind::Deadlock => {
            if side.access == AccessKind::Use { "runs" } else { "waits" }.to_owned()
        }
        (Some(range), _) => format!("{} {}", does(side.access), bytes(range.length)),
        (None, Some(object)) => {
            let verb = if side.access == AccessKind::Release { "destroys" } else { does(side.access) };
            format!("{verb} the {}", object.kind)
        }
        (None, None) if side.access == AccessKind::Synchronize => "synchronizes".to_owned(),
        (None, None) => does(side.access).to_owned(),
    }
}

/// More about an operation: the name of its kernel, printed beside the call, or a remark on its own line.
pub(crate) enum Detail<'a> {
    /// No detail.
    None,
    /// A name.
    Name(&'a str),
    /// Several words.
    Remark(&'a str),
}

/// The name of a variable of a kernel's module.
pub(crate) fn variable(variable: &Variable) -> String {
    match &variable.name {
        // Numba numbers its arrays, and does not keep the program's names.
        Some(name) if name.starts_with("_cudapy_smem") => "shared memory, in a cuda.shared.array".to_owned(),
        Some(name) => format!("the {} variable {}", variable.space, variable_name(name)),
        None if variable.space == "local" => "local memory of the thread".to_owned(),
        None => format!("dynamic {} memory", variable.space),
    }
}

/// The arguments of a kernel that point to the memory of its race, as a part of a sentence; nothing if none is known.
pub(crate) fn pointing(finding: &Finding) -> String {
    let argument = finding.sides.iter().find_map(|side| side.place.as_ref()?.argument.as_ref());
    match argument {
        None => String::new(),
        Some(names) if names.contains(" and ") => format!(", to which {names} point"),
        Some(name) => format!(", to which {name} points"),
    }
}

/// The call of a side, with the name of its kernel.
pub(crate) fn call(side: &Side) -> String {
    match detail(side.detail.as_deref()) {
        Detail::Name(name) => format!("{} {}", call_name(side.call), kernel_name(name)),
        _ => call_name(side.call).to_owned(),
    }
}

/// Classifies a detail: a text with a space is a remark, and any other text is a name.
pub(crate) fn detail(text: Option<&str>) -> Detail<'_> {
    match text {
        None => Detail::None,
        Some(remark) if remark.contains(' ') => Detail::Remark(remark),
        Some(name) => Detail::Name(name),
    }
}

/// The detail of an operation, with the name of a kernel as its source has it.
pub(crate) fn detail_text(text: &str) -> String {
    match detail(Some(text)) {
        Detail::Name(name) => kernel_name(name),
        _ => text.to_owned(),
    }
}

/// The count of a finding that was found several times, with its allocations.
pub(crate) fn again(finding: &Finding) -> String {
    // Each leak is of one allocation.
    let allocations = if finding.kind == Kind::Leak { 0 } else { finding.allocations };
    match (finding.count, allocations) {
        (0 | 1, _) => String::new(),
        (count, 0 | 1) => format!(" ({} times)", number(count)),
        (count, allocations) => format!(" ({} times, in {} allocations)", number(count), number(allocations)),
    }
}

/// A hint for a place in a kernel without a line of its source, by the library that launched it.
pub(crate) fn hint(place: &KernelPlace, site: &Site) -> String {
    let library = site.library.as_deref();
    let [lines, unoptimized] = match (place.language, library) {
        _ if place.source.is_some() => return String::new(),
        (Language::Numba, _) => ["lineinfo=True", "debug=True, opt=False"],
        (Language::Cuda, Some("cupy")) => ["options=(\"-lineinfo\",)", "options=(\"-G\",)"],
        (Language::Cuda, Some("cuda.core")) => ["ProgramOptions(lineinfo=True)", "ProgramOptions(debug=True)"],
        (Language::Triton | Language::Other, _) => return String::new(),
        (Language::Cuda, _) => ["-lineinfo", "-G"],
    };
    match place.has_lines {
        true => format!(
            "; the compiler has no line of the source here: compile without optimization ({unoptimized}) to see it"
        ),
        false => format!("; compile with line information ({lines}) to see the line of the source"),
    }
}

/// The frame that a reader looks for first: the user's own, else the innermost.
pub(crate) fn frame(site: &Site) -> Option<&Frame> {
    site.user.as_ref().or(site.innermost.as_ref())
}

/// The line of source that a reader looks for first, with its file.
pub(crate) fn line(site: &Site) -> Option<(&str, u32)> {
    let native = || site.native.as_ref()?.source.as_ref();
    match frame(site) {
        Some(frame) => Some((&frame.file, frame.line)),
        None => native().map(|source| (&*source.file, source.line)),
    }
}

/// A short form of a place in a kernel: the line of its source, or of its PTX.
pub(crate) fn place_in_kernel(place: &KernelPlace) -> String {
    match (place.lines().0, place.ptx_line) {
        (Some(source), _) => format!("{}:{}", base(&source.file), source.line),
        (None, Some(line)) => format!("line {line} of the PTX"),
        (None, None) => String::new(),
    }
}

/// The name of a file without its folders.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of a lane without its kind: `stream 2`.
pub(crate) fn lane(lanes: &[Lane], number: u32) -> String {
    match lanes.iter().find(|lane| lane.number == number) {
        Some(lane) => lane.name.split(" (").next().unwrap_or(&lane.name).to_owned(),
        None => format!("lane {number}"),
    }
}

/// The line that made a stream, if it is known.
pub(crate) fn made(lane: &Lane) -> Option<String> {
    let made = lane.made.as_deref()?;
    match (frame(made), &made.native) {
        (Some(frame), _) => Some(frame.to_string()),
        (None, Some(Native { source: Some(source), .. })) => Some(format!("{}:{}", source.file, source.line)),
        _ => None,
    }
}

/// The variable of a stream in front of more text; nothing if it is not known.
pub(crate) fn variable_of(lane: &Lane) -> String {
    lane.variable.as_ref().map(|name| format!("`{name}`, ")).unwrap_or_default()
}

/// The names of the streams of a finding, with their variables and the lines that made them.
pub(crate) fn made_streams(finding: &Finding, lanes: &[Lane]) -> Vec<(String, String)> {
    let mut numbers: Vec<u32> = finding.sides.iter().map(|side| side.lane).collect();
    numbers.dedup();
    let known = numbers.iter().filter_map(|number| lanes.iter().find(|lane| lane.number == *number));
    known
        .filter_map(|each| Some((lane(lanes, each.number), format!("{}made at {}", variable_of(each), made(each)?))))
        .collect()
}

/// Whether both operations of a finding are work of one stream.
fn in_one_stream(finding: &Finding, lanes: &[Lane]) -> bool {
    let [first, last] = &finding.sides[..] else { return false };
    let lane = lanes.iter().find(|lane| lane.number == first.lane);
    first.lane == last.lane && lane.is_some_and(|lane| lane.kind != LaneKind::Host)
}

/// The problem, in one sentence without its full stop.
pub(crate) fn headline(finding: &Finding, lanes: &[Lane]) -> String {
    let subject = |side: Option<&Side>| side.map_or("the program".into(), |side| lane(lanes, side.lane));
    let access = |side: Option<&Side>| does(side.map_or(AccessKind::Use, |side| side.access));
    let name = |side: Option<&Side>| side.map_or("a call", |side| call_name(side.call)).to_owned();
    let object = finding.object.as_ref().map(|object| object.kind);
    let (first, last) = (finding.sides.first(), finding.sides.last());
    let how_many = finding.bytes.map_or("bytes".into(), |range| bytes(range.length));
    match finding.kind {
        // Only a dependent launch is unordered with work of its own stream.
        Kind::DataRace if in_one_stream(finding, lanes) => {
            let (stream, last, first) = (subject(last), access(last), access(first));
            format!("{stream} {last} {how_many} before its kernel waits for the earlier kernel that {first} them")
        }
        Kind::DataRace => {
            let (one, other) = (subject(first), subject(last));
            format!("{other} {} {how_many} that {one} {}, and nothing orders the two", access(last), access(first))
        }
        Kind::KernelRace => {
            let kernel = kernel_name(first.and_then(|side| side.detail.as_deref()).unwrap_or("a kernel"));
            let blocks = |side: Option<&Side>| side.and_then(|side| side.place.as_ref()).map(|place| place.block);
            let where_ = if blocks(first) == blocks(last) { "one block" } else { "different blocks" };
            let (one, other) = (access(first), access(last));
            let thread = |side: Option<&Side>| Some(side?.place.as_ref()?.thread);
            if blocks(first) == blocks(last) && thread(first) == thread(last) && thread(first).is_some() {
                return format!(
                    "an asynchronous copy of {kernel} {one} {how_many} that its own thread {other} before it has waited for the copy"
                );
            }
            format!(
                "threads of {where_} of {kernel} race: one {one} {how_many} that another {other}, and nothing orders the two"
            )
        }
        Kind::UseAfterFree => format!("{} {} memory after its release", subject(last), access(last)),
        Kind::UseBeforeAllocation => format!("{} {} memory that may not be allocated yet", subject(last), access(last)),
        Kind::FreeBeforePendingWork => {
            format!("memory is released, and nothing makes the release wait for the pending work of {}", subject(first))
        }
        Kind::UninitializedRead => format!("{} reads {how_many} that nothing has written", subject(last)),
        Kind::SynchronizationError => {
            let kernel = kernel_name(first.and_then(|side| side.detail.as_deref()).unwrap_or("a kernel"));
            format!("threads of {kernel} synchronize in a way that is undefined")
        }
        Kind::OutOfBounds => match finding.bytes.filter(|bytes| bytes.address < BEHIND_NULL) {
            Some(Range { address: 0, .. }) => format!("{} {} through a null pointer", subject(last), access(last)),
            Some(Range { address, .. }) => {
                format!("{} {} {} behind a null pointer", subject(last), access(last), bytes(address))
            }
            None => format!("{} {} outside of the allocation", subject(last), access(last)),
        },
        Kind::MisalignedAccess => {
            format!("{} {} at an address that is not a multiple of the element size", subject(last), access(last))
        }
        Kind::KernelFailure => {
            let kernel = kernel_name(last.and_then(|side| side.detail.as_deref()).unwrap_or("a kernel"));
            format!("{kernel} failed, and its context with it")
        }
        Kind::RefusedModule => format!("{} loads a module that the simulated driver refuses", name(last)),
        Kind::DestroyedHandle => {
            let object = object.unwrap_or("handle");
            let article = if object.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            format!("{} names {article} {object} that was destroyed", name(last))
        }
        Kind::CapturedStreamSynchronized => format!("{} waits for a stream that is capturing", name(last)),
        Kind::Deadlock => {
            let kernel = kernel_name(first.and_then(|side| side.detail.as_deref()).unwrap_or("a kernel"));
            format!("the threads of {kernel} wait forever, and nothing can end that")
        }
        Kind::Leak => match (object, &finding.allocation) {
            (Some(object), _) => format!("a {object} is never destroyed").replace("a event", "an event"),
            (None, Some(allocation)) => {
                format!("{} of {} memory are never freed", bytes(allocation.size), allocation.kind)
            }
            (None, None) => "an object still exists at the end".into(),
        },
    }
}

/// Whether a finding of this kind lacks an edge between its two sides, which a picture can show.
pub(crate) fn lacks_an_edge(kind: Kind) -> bool {
    matches!(kind, Kind::DataRace | Kind::UseBeforeAllocation | Kind::FreeBeforePendingWork)
}

/// Whether an operation only orders others and touches no memory.
pub(crate) fn orders(operation: &Operation) -> bool {
    operation.accesses.is_empty() && (operation.orders || !operation.after.is_empty())
}

/// Whether a character is a control or formatting character, or not allowed in a text.
pub(crate) fn is_harmful(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_name_of_a_shared_array_is_not_shown() {
        let variable = |name: &str| Variable { name: Some(name.into()), space: "shared", offset: 0 };
        assert_eq!(super::variable(&variable("_cudapy_smem_1")), "shared memory, in a cuda.shared.array");
        assert_eq!(super::variable(&variable("_ZZ6smoothPfE4part")), "the shared variable smooth::part");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(4096), "4,096 bytes");
        assert_eq!(number(u64::MAX), "18,446,744,073,709,551,615");
    }
}

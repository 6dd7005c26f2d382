//! The debug information of one object: functions and lines of source for places in machine code.
//!
//! Opening an object takes milliseconds.

use super::object::path_of;
use crate::pages::page_size;
use addr2line::Loader;
use cuarray_races::site::SourceLine;
use object::{Object, ObjectSegment as _, ReadCache};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A line and the function around it.
#[derive(Clone, Default)]
pub(super) struct Location {
    pub source: Option<SourceLine>,
    pub function: Option<String>,
}

/// The debug information of one object.
pub(super) struct DebugInfo {
    loader: Loader,
    /// The address of the object's first byte, as the object file numbers addresses.
    base: u64,
}

impl DebugInfo {
    /// Opens the debug information of an object, by the name that the dynamic linker has for it.
    pub(super) fn of_object(object: &str) -> Option<DebugInfo> {
        DebugInfo::open(&path_of(object), false)
    }

    /// As [`of_object`](DebugInfo::of_object); `None` for an object that has symbols at most.
    pub(super) fn with_lines(object: &str) -> Option<DebugInfo> {
        DebugInfo::open(&path_of(object), true)
    }

    fn open(path: &Path, lines: bool) -> Option<DebugInfo> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let first = file.segments().map(|segment| segment.address()).min()?;
        // The dynamic linker maps whole pages.
        let base = first - first % page_size();
        let own = file.section_by_name(".debug_info").is_some();
        let separate = if own { None } else { separate_files(path, &file).into_iter().find(|file| file.is_file()) };
        if lines && !own && separate.is_none() {
            return None;
        }
        Some(DebugInfo { loader: Loader::new(separate.as_deref().unwrap_or(path)).ok()?, base })
    }

    /// The function at an offset and the functions that it is inlined into, innermost first.
    pub(super) fn frames(&self, offset: u64) -> Vec<Location> {
        let mut frames = Vec::new();
        let Ok(mut found) = self.loader.find_frames(self.base + offset) else { return frames };
        while let Ok(Some(frame)) = found.next() {
            let source =
                frame.location.and_then(|place| Some(SourceLine { file: place.file?.to_owned(), line: place.line? }));
            let function = frame.function.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            frames.push(Location { source, function });
        }
        frames
    }

    /// The line and the symbol at an offset, whatever is inlined there.
    pub(super) fn location(&self, offset: u64) -> Location {
        let probe = self.base + offset;
        let found = self.loader.find_location(probe).ok().flatten();
        let source = found.and_then(|found| Some(SourceLine { file: found.file?.to_owned(), line: found.line? }));
        // Without a line, the symbol table may name a nearby function of another object file, so its name is not
        // used.
        let function = source.as_ref().and_then(|_| self.loader.find_symbol(probe)).map(str::to_owned);
        Location { source, function }
    }
}

/// The files in which the debug information of a stripped object may lie: those that its build id and its debug link
/// name, in the folders that debuggers search.
fn separate_files<'data>(path: &Path, file: &impl Object<'data>) -> Vec<PathBuf> {
    let system = Path::new("/usr/lib/debug");
    let mut files = Vec::new();
    if let Ok(Some([first, rest @ ..])) = file.build_id() {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(system.join(format!(".build-id/{first:02x}/{rest}.debug")));
    }
    let folder = std::fs::canonicalize(path).ok().and_then(|path| path.parent().map(Path::to_owned));
    if let (Ok(Some((name, _))), Some(folder)) = (file.gnu_debuglink(), folder) {
        let name = String::from_utf8_lossy(name).into_owned();
        files.push(folder.join(&name));
        files.push(folder.join(".debug").join(&name));
        let within = folder.strip_prefix("/").unwrap_or(&folder);
        files.push(system.join(within).join(&name));
    }
    files
}

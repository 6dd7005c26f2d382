//! Lines of source for places in machine code, from the debug information of programs and shared objects.
//!
//! Lines are looked up when a report is made, never when a call is captured: opening an object takes milliseconds. Each place
//! is looked up once in a process. An object stays open only while one report is made.

use super::{generated, skip};
use addr2line::Loader;
use cuarray_races::finding::Report;
use cuarray_races::site::SourceLine;
use cuarray_races::site::{Native, Site};
use object::{Object, ObjectSegment as _, ReadCache};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A line and the function around it.
#[derive(Clone, Default)]
pub(super) struct Location {
    pub source: Option<SourceLine>,
    pub function: Option<String>,
}

/// The locations looked up so far, by object and probed offset.
static KNOWN: Mutex<Option<HashMap<(String, u64), Location>>> = Mutex::new(None);

/// Adds source lines to the sites of a report, if it has findings.
///
/// Every site of a finding gets its line. The rest of the history gets lines only where no Python frame names one.
pub(crate) fn add_lines(report: &mut Report) {
    if report.findings.is_empty() {
        return;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = Lines { known: known.get_or_insert_default(), objects: HashMap::new(), sites: HashMap::new() };
    for finding in &mut report.findings {
        finding.sides.iter_mut().for_each(|side| lines.add(&mut side.site));
        finding.allocation.iter_mut().for_each(|allocation| lines.add(&mut allocation.site));
    }
    for operation in &mut report.operations {
        if operation.site.user.is_none() && operation.site.innermost.is_none() {
            lines.add(&mut operation.site);
        }
    }
}

/// The lookups of one report.
struct Lines<'a> {
    known: &'a mut HashMap<(String, u64), Location>,
    objects: HashMap<String, Option<DebugInfo>>,
    /// Completed sites by the addresses of the captured sites, so that sites stay shared. Each entry keeps its
    /// captured site alive.
    sites: HashMap<*const Site, (Arc<Site>, Arc<Site>)>,
}

impl Lines<'_> {
    fn add(&mut self, site: &mut Arc<Site>) {
        let Some(native) = &site.native else { return };
        if let Some((_, completed)) = self.sites.get(&Arc::as_ptr(site)) {
            *site = completed.clone();
            return;
        }
        let Location { source, function } = self.location(native);
        let symbol = native.symbol.clone().or(function);
        let native = Some(Native { source, symbol, ..native.clone() });
        let completed = Arc::new(Site { native, ..Site::clone(site) });
        let captured = std::mem::replace(site, completed.clone());
        self.sites.insert(Arc::as_ptr(&captured), (captured, completed));
    }

    fn location(&mut self, native: &Native) -> Location {
        // The call instruction precedes its return address.
        let offset = native.offset.saturating_sub(u64::from(native.is_return_address));
        let key = (native.object.clone(), offset);
        if let Some(location) = self.known.get(&key) {
            return location.clone();
        }
        let debug_info =
            self.objects.entry(native.object.clone()).or_insert_with(|| DebugInfo::of_object(&native.object));
        let location = debug_info.as_ref().map_or_else(Location::default, |info| info.location(offset));
        self.known.insert(key, location.clone());
        location
    }
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
        // SAFETY: the call has no preconditions.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        // The dynamic linker maps whole pages.
        let base = first - first % page;
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

    fn location(&self, offset: u64) -> Location {
        let probe = self.base + offset;
        if skip::is_active() {
            let kept = |frame: &Location| {
                let file = frame.source.as_ref().map(|source| source.file.as_str());
                frame.source.is_some() && !skip::matches(frame.function.as_deref(), file)
            };
            if let Some(frame) = self.frames(offset).into_iter().find(kept) {
                return frame;
            }
        }
        if let Some(frame) = generated::outside(self.frames(offset)) {
            return frame;
        }
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

/// The absolute paths of objects whose names are relative, by name.
static PATHS: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);

/// Remembers the absolute path of an object that the dynamic linker knows by a relative name, because the program may
/// change its directory before the report. `address` lies in the object.
pub(super) fn remember_path(object: &str, address: usize) {
    if object.starts_with('/') {
        return;
    }
    let mut paths = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
    paths.get_or_insert_default().entry(object.to_owned()).or_insert_with(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mapped = maps.lines().find_map(|line| {
            let (start, rest) = line.split_once('-')?;
            let (end, _) = rest.split_once(' ')?;
            let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
            let path = &line[line.find('/')?..];
            range.contains(&(address - 1)).then(|| PathBuf::from(path))
        });
        mapped.or_else(|| std::path::absolute(object).ok()).unwrap_or_else(|| PathBuf::from(object))
    });
}

/// The file of an object. The name of the program itself is the name that it was called by, which may not be a path.
fn path_of(object: &str) -> PathBuf {
    let path = Path::new(object);
    let known = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = known.as_ref().and_then(|paths| paths.get(object)).filter(|path| path.is_file()) {
        return path.clone();
    }
    drop(known);
    let program = || std::fs::read_link("/proc/self/exe").ok();
    match program() {
        Some(program) if !path.is_absolute() && program.file_name() == path.file_name() => program,
        _ => path.to_owned(),
    }
}

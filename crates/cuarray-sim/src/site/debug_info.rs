//! Lines of source for places in machine code, from the debug information of programs and shared objects.
//!
//! Lines are looked up when a report is made, never when a call is captured: opening an object takes milliseconds. Each place
//! is looked up once in a process. An object stays open only while one report is made.

use addr2line::Loader;
use cuarray_races::finding::Report;
use cuarray_races::site::SourceLine;
use cuarray_races::site::{Native, Site};
use object::{Object as _, ObjectSegment as _, ReadCache};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A line and the function around it.
#[derive(Clone, Default)]
struct Location {
    source: Option<SourceLine>,
    function: Option<String>,
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
            self.objects.entry(native.object.clone()).or_insert_with(|| DebugInfo::open(&path_of(&native.object)));
        let location = debug_info.as_ref().map_or_else(Location::default, |info| info.location(offset));
        self.known.insert(key, location.clone());
        location
    }
}

/// The debug information of one object.
struct DebugInfo {
    loader: Loader,
    /// The address of the object's first byte, as the object file numbers addresses.
    base: u64,
}

impl DebugInfo {
    fn open(path: &Path) -> Option<DebugInfo> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let first = object::File::parse(&cache).ok()?.segments().map(|segment| segment.address()).min()?;
        // SAFETY: the call has no preconditions.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        // The dynamic linker maps whole pages.
        let base = first - first % page;
        Some(DebugInfo { loader: Loader::new(path).ok()?, base })
    }

    fn location(&self, offset: u64) -> Location {
        let probe = self.base + offset;
        let found = self.loader.find_location(probe).ok().flatten();
        let source = found.and_then(|found| Some(SourceLine { file: found.file?.to_owned(), line: found.line? }));
        // Without a line, the symbol table may name a nearby function of another object file, so its name is not
        // used.
        let function = source.as_ref().and_then(|_| self.loader.find_symbol(probe)).map(str::to_owned);
        Location { source, function }
    }
}

/// The file of an object. The name of the program itself is the name that it was called by, which may not be a path.
fn path_of(object: &str) -> PathBuf {
    let path = Path::new(object);
    let program = || std::fs::read_link("/proc/self/exe").ok();
    match program() {
        Some(program) if !path.is_absolute() && program.file_name() == path.file_name() => program,
        _ => path.to_owned(),
    }
}

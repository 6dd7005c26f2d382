//! Lines of source for the sites of a report, from the debug information of programs and shared objects.
//!
//! Lines are looked up when a report is made, never when a call is captured: opening an object takes milliseconds. Each place
//! is looked up once in a process. An object stays open only while one report is made.

use super::debug_info::{DebugInfo, Location};
use super::{generated, skip};
use cpp_demangle::DemangleOptions;
use cuarray_races::finding::Report;
use cuarray_races::site::{Native, Site};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The locations looked up so far, by object and probed offset.
static KNOWN: Mutex<Option<HashMap<(String, u64), Location>>> = Mutex::new(None);

/// Adds source lines to the sites of a report, if it has findings.
///
/// Every site of a finding gets its line. Streams, and the rest of the history, get lines only where no Python frame names one.
pub(crate) fn add_lines(report: &mut Report) {
    if report.findings.is_empty() {
        return;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = Lines::new(&mut known);
    for finding in &mut report.findings {
        let sides = finding.sides.iter_mut();
        sides.flat_map(|side| std::iter::once(&mut side.site).chain(&mut side.graph)).for_each(|site| lines.add(site));
        let allocations = finding.allocation.iter_mut().chain(&mut finding.more_allocations);
        allocations.for_each(|allocation| lines.add(&mut allocation.site));
    }
    let operations = report.operations.iter_mut().map(|operation| &mut operation.site);
    let streams = report.lanes.iter_mut().filter_map(|lane| lane.made.as_mut());
    for site in operations.chain(streams) {
        if site.user.is_none() && site.innermost.is_none() {
            lines.add(site);
        }
    }
}

/// A site with its source line.
pub(crate) fn with_line(site: &Arc<Site>) -> Arc<Site> {
    let mut site = site.clone();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Lines::new(&mut known).add(&mut site);
    site
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
    fn new(known: &mut Option<HashMap<(String, u64), Location>>) -> Lines<'_> {
        Lines { known: known.get_or_insert_default(), objects: HashMap::new(), sites: HashMap::new() }
    }

    fn add(&mut self, site: &mut Arc<Site>) {
        let Some(native) = &site.native else { return };
        if let Some((_, completed)) = self.sites.get(&Arc::as_ptr(site)) {
            *site = completed.clone();
            return;
        }
        let Location { source, function } = self.location(native);
        let symbol = native.symbol.clone().or(function).map(|symbol| name_in_source(&symbol));
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
        let location = debug_info.as_ref().map_or_else(Location::default, |info| in_program(info, offset));
        self.known.insert(key, location.clone());
        location
    }
}

/// The name of a function as its source has it, without parameters: `_ZN3lib4FastIfE3addEv` is `lib::Fast<float>::add`.
fn name_in_source(symbol: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let parsed = cpp_demangle::Symbol::new(symbol).ok();
    parsed.and_then(|parsed| parsed.demangle_with_options(&options).ok()).unwrap_or_else(|| symbol.to_owned())
}

/// The place at an offset, without the inlined functions that are skipped or generated.
fn in_program(info: &DebugInfo, offset: u64) -> Location {
    if skip::is_active() {
        let kept = |frame: &Location| {
            let file = frame.source.as_ref().map(|source| source.file.as_str());
            frame.source.is_some() && !skip::matches(frame.function.as_deref(), file)
        };
        if let Some(frame) = info.frames(offset).into_iter().find(kept) {
            return frame;
        }
    }
    generated::outside(info.frames(offset)).unwrap_or_else(|| info.location(offset))
}

#[cfg(test)]
mod tests {
    use super::name_in_source;

    #[test]
    fn functions_have_the_names_of_their_source() {
        for (symbol, name) in [
            ("main", "main"),
            ("_Z5scalePfi", "scale"),
            ("_ZN3lib4FastIfE3addEv", "lib::Fast<float>::add"),
            ("_ZNK3lib4Fast3getEv", "lib::Fast::get"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator() const"),
            ("_Znot_a_symbol", "_Znot_a_symbol"),
        ] {
            assert_eq!(name_in_source(symbol), name);
        }
    }
}

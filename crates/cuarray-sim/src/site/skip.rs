//! Frames that the setting `CUARRAY_SIM_SKIP_FRAMES` names: they forward calls, and do not count as the driver's caller.
//!
//! A program may pass all driver calls through one wrapper. Then all its calls have one site, unless the wrapper's frames
//! are skipped. Finding them needs the debug information, so it is slow, and each return address is looked up once.

use super::debug_info::{DebugInfo, Location};
use super::looked_up::LookedUp;
use cuarray_races::suppression::glob;
use std::cell::RefCell;
use std::sync::OnceLock;

/// The patterns of the setting.
fn patterns() -> &'static [String] {
    static PATTERNS: OnceLock<Vec<String>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let value = std::env::var("CUARRAY_SIM_SKIP_FRAMES").unwrap_or_default();
        value.split(':').filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect()
    })
}

/// Whether the setting names any frames.
pub(super) fn is_active() -> bool {
    !patterns().is_empty()
}

/// Whether a pattern matches the name of a function, or the path or the name of its source file or object.
pub(super) fn matches(function: Option<&str>, file: Option<&str>) -> bool {
    let name = file.and_then(|file| file.rsplit('/').next());
    let texts = [function, file, name];
    patterns().iter().any(|pattern| texts.iter().flatten().any(|text| glob(pattern, text)))
}

thread_local! {
    static LOOKED_UP: RefCell<LookedUp> = RefCell::default();
}

/// Whether the frame with a return address is skipped. A frame with inlined functions is skipped if all are.
pub(super) fn is_skipped(address: usize) -> bool {
    let skipped =
        |frame: &Location| matches(frame.function.as_deref(), frame.source.as_ref().map(|source| source.file.as_str()));
    let found = LOOKED_UP.try_with(|looked_up| {
        let looked_up = &mut *looked_up.try_borrow_mut().ok()?;
        looked_up.known(address).or_else(|| {
            looked_up.look_up(address, DebugInfo::of_object, |native, frames| {
                let by_object = matches(native.symbol.as_deref(), Some(&native.object));
                by_object || (!frames.is_empty() && frames.iter().all(skipped))
            })
        })
    });
    found.ok().flatten().unwrap_or(false)
}

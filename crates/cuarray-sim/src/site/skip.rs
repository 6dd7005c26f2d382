//! Frames that the setting `CUARRAY_SIM_SKIP_FRAMES` names: they forward calls, and do not count as the driver's caller.
//!
//! A program may pass all driver calls through one wrapper. Then all its calls have one site, unless the wrapper's frames
//! are skipped. Finding them needs the debug information, so it is slow, and each return address is looked up once.

use super::debug_info::DebugInfo;
use super::native::object_of;
use cuarray_races::suppression::glob;
use std::cell::RefCell;
use std::collections::HashMap;
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

/// The return addresses looked up so far, and the debug information of their objects.
#[derive(Default)]
struct LookedUp {
    addresses: HashMap<usize, bool>,
    objects: HashMap<String, Option<DebugInfo>>,
}

thread_local! {
    static LOOKED_UP: RefCell<LookedUp> = RefCell::default();
}

/// Whether the frame with a return address is skipped. A frame with inlined functions is skipped if all are.
pub(super) fn is_skipped(address: usize) -> bool {
    let found = LOOKED_UP.try_with(|looked_up| {
        let LookedUp { addresses, objects } = &mut *looked_up.try_borrow_mut().ok()?;
        if let Some(skipped) = addresses.get(&address) {
            return Some(*skipped);
        }
        let native = object_of(address)?;
        let info = objects.entry(native.object.clone()).or_insert_with(|| DebugInfo::of_object(&native.object));
        let frames = info.as_ref().map(|info| info.frames(native.offset.saturating_sub(1))).unwrap_or_default();
        let by_object = matches(native.symbol.as_deref(), Some(&native.object));
        let by_frames = !frames.is_empty()
            && frames.iter().all(|frame| {
                matches(frame.function.as_deref(), frame.source.as_ref().map(|source| source.file.as_str()))
            });
        addresses.insert(address, by_object || by_frames);
        Some(by_object || by_frames)
    });
    found.ok().flatten().unwrap_or(false)
}

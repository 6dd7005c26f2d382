//! The program's objects: the executable and the shared objects that it has loaded.

use super::Native;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The object that contains a return address.
pub(super) fn object_of(address: usize) -> Option<Native> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // A return address may already belong to the next function, but the call lies before it.
    // SAFETY: any address is allowed; `info` is a local variable.
    let found = address > 0 && unsafe { libc::dladdr((address - 1) as *const c_void, &mut info) } != 0;
    // SAFETY: the linker returns null, or strings of loaded objects.
    let text =
        |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    let object = text(info.dli_fname).filter(|_| found)?;
    remember_path(&object, address);
    let offset = address.wrapping_sub(info.dli_fbase as usize) as u64;
    Some(Native { object, offset, is_return_address: true, symbol: text(info.dli_sname), source: None })
}

/// The absolute paths of objects whose names are relative, by name.
static PATHS: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);

/// Remembers the absolute path of an object that the dynamic linker knows by a relative name, because the program may
/// change its directory before the report. `address` lies in the object.
fn remember_path(object: &str, address: usize) {
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
pub(super) fn path_of(object: &str) -> PathBuf {
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

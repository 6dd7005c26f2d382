//! The table of registered binaries, kernels and variables, by the addresses that the program knows them by.

use super::binary::Binary;
use super::record::Kernel;
use crate::driver::cu;
use crate::result::Result;
use cuarray_abi::{Api, CUdeviceptr, CUkernel};
use rustc_hash::FxHashMap;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Arc, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A registered variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// The name in the image.
    pub(crate) name: *const c_char,
    /// Where the program reads the address of a managed variable; null for other variables.
    pub(crate) managed: *mut *mut c_void,
}

impl Variable {
    /// The address that the program has for a managed variable; `None` for another variable, and before the initialization.
    fn told(&self) -> Option<*mut c_void> {
        // SAFETY: the pointer of a registered variable is readable until its binary is unregistered.
        let told = (!self.managed.is_null()).then(|| unsafe { self.managed.read_unaligned() });
        told.filter(|told| !told.is_null())
    }

    /// The address and the size on the device.
    ///
    /// # Errors
    /// `cudaErrorSymbolNotFound` for a name that the binary does not have; the driver's refusal of the image.
    pub(crate) fn place(&self, api: &Api, binary: &Binary) -> Result<(CUdeviceptr, usize)> {
        let library = binary.library(api)?;
        let (mut address, mut size) = (0, 0);
        match self.managed.is_null() {
            true => cu!(api.cuLibraryGetGlobal(&raw mut address, &raw mut size, library, self.name))?,
            false => cu!(api.cuLibraryGetManaged(&raw mut address, &raw mut size, library, self.name))?,
        }
        Ok((address, size))
    }
}

type Map<T> = FxHashMap<usize, T>;

struct Entry {
    binary: Arc<Binary>,
    /// The host addresses of its kernels and variables.
    kernels: Vec<usize>,
    variables: Vec<usize>,
}

#[derive(Default)]
struct Table {
    /// By handle.
    binaries: Map<Entry>,
    /// The record of the kernel that a host function launches.
    kernels: Map<usize>,
    variables: Map<(usize, Variable)>,
    /// Records that are free again.
    free: Vec<usize>,
    /// The number of records that have been used.
    used: usize,
}

// SAFETY: the pointers of variables are addresses in the program, which only the caller's own calls read.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

static TABLE: RwLock<Option<Table>> = RwLock::new(None);

fn read() -> RwLockReadGuard<'static, Option<Table>> {
    TABLE.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Option<Table>> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a thread while it forks, so that the child's table is whole and unlocked.
struct HeldByFork(UnsafeCell<Option<RwLockWriteGuard<'static, Option<Table>>>>);

// SAFETY: only a thread that holds the lock reaches the guard.
unsafe impl Sync for HeldByFork {}

static HELD_BY_FORK: HeldByFork = HeldByFork(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let guard = write();
    // SAFETY: this thread holds the lock.
    unsafe { *HELD_BY_FORK.0.get() = Some(guard) };
}

extern "C" fn after_fork() {
    // SAFETY: this thread, or its copy in the child, has held the lock since `before_fork`.
    let guard = unsafe { (*HELD_BY_FORK.0.get()).take() };
    drop(guard);
}

/// Adds a binary, and returns its handle.
pub(super) fn add_binary(image: *const c_void) -> *const *mut c_void {
    static ONCE: Once = Once::new();
    // SAFETY: the handlers only lock and unlock the table, which no handler of another library reaches.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork));
    });
    let binary = Arc::new(Binary::new(image));
    let handle = Arc::as_ptr(&binary).cast::<*mut c_void>();
    let entry = Entry { binary, kernels: Vec::new(), variables: Vec::new() };
    write().get_or_insert_default().binaries.insert(handle.addr(), entry);
    handle
}

/// Removes a binary with its kernels and variables; `None` for an unknown handle.
pub(super) fn remove_binary(handle: *mut *mut c_void) -> Option<Arc<Binary>> {
    let mut table = write();
    let table = table.as_mut()?;
    let entry = table.binaries.remove(&handle.addr())?;
    for host in entry.kernels {
        if let Some(index) = table.kernels.remove(&host) {
            Kernel::at(index)?.clear();
            table.free.push(index);
        }
    }
    for host in entry.variables {
        table.variables.remove(&host);
    }
    Some(entry.binary)
}

/// Adds a kernel. An unknown handle and a kernel beyond the last record are ignored: a launch then fails.
pub(super) fn add_kernel(handle: *mut *mut c_void, host: *const c_void, name: *const c_char) {
    if name.is_null() {
        return;
    }
    let mut table = write();
    let Some(table) = table.as_mut() else { return };
    let Some(entry) = table.binaries.get_mut(&handle.addr()) else { return };
    let index = table.free.last().copied().unwrap_or(table.used);
    let Some(record) = Kernel::at(index) else { return };
    if table.free.pop().is_none() {
        table.used += 1;
    }
    record.set(handle, name);
    if let Some(old) = table.kernels.insert(host.addr(), index)
        && let Some(record) = Kernel::at(old)
    {
        record.clear();
        table.free.push(old);
    }
    entry.kernels.push(host.addr());
}

/// Adds a variable. An unknown handle is ignored: the use of the variable then fails.
pub(super) fn add_variable(handle: *mut *mut c_void, host: *const c_void, variable: Variable) {
    if variable.name.is_null() {
        return;
    }
    let mut table = write();
    let Some(table) = table.as_mut() else { return };
    let Some(entry) = table.binaries.get_mut(&handle.addr()) else { return };
    entry.variables.push(host.addr());
    table.variables.insert(host.addr(), (handle.addr(), variable));
}

/// The binary of a handle.
pub(super) fn binary(handle: *const *mut c_void) -> Option<Arc<Binary>> {
    Some(read().as_ref()?.binaries.get(&handle.addr())?.binary.clone())
}

/// The kernel that a host function launches.
#[inline]
pub(crate) fn kernel_of(host: *const c_void) -> Option<&'static Kernel> {
    let index = *read().as_ref()?.kernels.get(&host.addr())?;
    Kernel::at(index)
}

/// The host functions whose kernels are loaded, with these kernels.
pub(super) fn loaded() -> Vec<(*const c_void, CUkernel)> {
    let table = read();
    let Some(table) = table.as_ref() else { return Vec::new() };
    let loaded =
        |(host, index): (&usize, &usize)| Some((ptr::without_provenance(*host), Kernel::at(*index)?.loaded_now()?));
    table.kernels.iter().filter_map(loaded).collect()
}

/// The variable with a host address, and its binary. A program names a managed variable by its own address.
pub(crate) fn variable_of(host: *const c_void) -> Option<(Arc<Binary>, Variable)> {
    let table = read();
    let table = table.as_ref()?;
    let is_managed = |(_, variable): &&(usize, Variable)| variable.told().is_some_and(|told| told.cast_const() == host);
    let known = table.variables.get(&host.addr()).or_else(|| table.variables.values().find(is_managed));
    let (handle, variable) = *known.filter(|_| !host.is_null())?;
    Some((table.binaries.get(&handle)?.binary.clone(), variable))
}

/// The binary of a handle, with its managed variables.
pub(super) fn managed_of(handle: *mut *mut c_void) -> Option<(Arc<Binary>, Vec<Variable>)> {
    let table = read();
    let table = table.as_ref()?;
    let entry = table.binaries.get(&handle.addr())?;
    let own = entry.variables.iter().filter_map(|host| table.variables.get(host)).map(|(_, variable)| *variable);
    Some((entry.binary.clone(), own.filter(|variable| !variable.managed.is_null()).collect()))
}

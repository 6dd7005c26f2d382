//! The MPI library of the process: its functions, by the names of the profiling interface, and its kind of handles.

use crate::Address;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The SONAMEs of MPI libraries: Open MPI, MPICH and its relatives, and the standard ABI.
const SONAMES: [&CStr; 4] = [c"libmpi.so.40", c"libmpi.so.12", c"libmpi_abi.so.1", c"libmpi_abi.so.0"];

/// A function of the MPI library, looked up at its first use.
pub(crate) struct Function {
    name: &'static str,
    address: AtomicPtr<c_void>,
    /// Whether the library lacks the form with large counts, so that the address is that of the form with `int`.
    narrow: AtomicBool,
}

impl Function {
    /// The function of a name, which ends with a nul.
    pub(crate) const fn new(name: &'static str) -> Function {
        Function { name, address: AtomicPtr::new(ptr::null_mut()), narrow: AtomicBool::new(false) }
    }

    /// The function's address; `None` if no MPI library is loaded, or if it lacks the function.
    pub(crate) fn get(&self) -> Option<*mut c_void> {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return Some(known);
        }
        let mut address = find(CStr::from_bytes_with_nul(self.name.as_bytes()).ok()?);
        if address.is_null()
            && let Some(small) = self.name.strip_suffix("_c\0")
        {
            // A program that asks whether there is such a function finds the one of this library.
            address = find(&CString::new(small).ok()?);
            self.narrow.store(true, Ordering::Relaxed);
        }
        self.address.store(address, Ordering::Release);
        (!address.is_null()).then_some(address)
    }

    /// Whether the function takes an argument as it is. An `int` is the lower half of a word, so a count that fits is passed unchanged.
    pub(crate) fn takes(&self, argument: impl Argument) -> bool {
        !self.narrow.load(Ordering::Relaxed) || argument.fits()
    }
}

/// An argument of a function of MPI.
pub(crate) trait Argument: Copy {
    /// Whether an `int` holds it, if it is a count.
    fn fits(self) -> bool {
        true
    }
}
impl Argument for c_int {}
impl Argument for usize {}
impl<T> Argument for *const T {}
impl Argument for i64 {
    fn fits(self) -> bool {
        c_int::try_from(self).is_ok()
    }
}

/// The result of a call whose count is too large for the library: an error in each of them.
pub(crate) const TOO_LARGE: c_int = 2;

/// Looks a function up in the libraries that the program is linked with, and then in a library that it has loaded for itself.
fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return next;
    }
    for soname in SONAMES {
        // SAFETY: the name is a string; no library is loaded that is not loaded yet. The library stays loaded.
        let library = unsafe { libc::dlopen(soname.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if !library.is_null() {
            // SAFETY: the library is loaded, and the name is a string.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            if !found.is_null() {
                return found;
            }
        }
    }
    ptr::null_mut()
}

/// Declares functions of the MPI library that this one calls for itself. They return `None` without the library, or if the call fails.
macro_rules! ask {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal($($arg:ident: $ty:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The arguments are as MPI defines them.
        pub(crate) unsafe fn $name($($arg: $ty),*) -> Option<()> {
            static REAL: Function = Function::new(concat!($symbol, "\0"));
            let real = REAL.get()?;
            // SAFETY: the function of this name has these parameters.
            let real: unsafe extern "C" fn($($ty),*) -> c_int = unsafe { std::mem::transmute(real) };
            // SAFETY: by this function's contract.
            (unsafe { real($($arg),*) } == crate::SUCCESS).then_some(())
        }
    )*};
}

ask! {
    /// The distance between two elements of a datatype.
    type_extent = "PMPI_Type_get_extent"(datatype: usize, lower: *mut isize, extent: *mut isize);
    /// The bytes of a datatype from the first to the last.
    type_true_extent = "PMPI_Type_get_true_extent"(datatype: usize, lower: *mut isize, extent: *mut isize);
    /// The number of bytes in an element of a datatype.
    type_size = "PMPI_Type_size"(datatype: usize, size: *mut c_int);
    /// The most bytes of a packed message.
    pack_size = "PMPI_Pack_size"(count: c_int, datatype: usize, comm: usize, size: *mut c_int);
    /// Packs elements.
    pack = "PMPI_Pack"(from: Address, count: c_int, datatype: usize, to: *mut u8, size: c_int, position: *mut c_int, comm: usize);
    /// Unpacks elements.
    unpack = "PMPI_Unpack"(from: *const u8, size: c_int, position: *mut c_int, to: Address, count: c_int, datatype: usize, comm: usize);
    /// The calling process's number in a group.
    comm_rank = "PMPI_Comm_rank"(comm: usize, rank: *mut c_int);
    /// The number of processes in a group.
    comm_size = "PMPI_Comm_size"(comm: usize, size: *mut c_int);
    /// Whether a communicator connects two groups.
    comm_test_inter = "PMPI_Comm_test_inter"(comm: usize, flag: *mut c_int);
    library_version = "PMPI_Get_library_version"(text: *mut c_char, length: *mut c_int);
    abi_version = "PMPI_Abi_get_version"(major: *mut c_int, minor: *mut c_int);
}

/// The bytes of a text of `MPI_Get_library_version`: more than `MPI_MAX_LIBRARY_VERSION_STRING` of each library.
const TEXT: usize = 1 << 14;

/// The kinds of MPI libraries whose handles and constants differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Abi {
    OpenMpi,
    Mpich,
    Standard,
}

/// The kind of the loaded library.
fn abi() -> Abi {
    static ABI: OnceLock<Abi> = OnceLock::new();
    *ABI.get_or_init(|| {
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: both numbers are live. Libraries with another ABI set them to -1.
        if unsafe { abi_version(&mut major, &mut minor) }.is_some() && major > 0 {
            return Abi::Standard;
        }
        let (mut text, mut length) = (vec![0_u8; TEXT], 0);
        // SAFETY: the buffer is longer than the longest text.
        let known = unsafe { library_version(text.as_mut_ptr().cast(), &mut length) }.is_some();
        if known && text.starts_with(b"Open MPI") { Abi::OpenMpi } else { Abi::Mpich }
    })
}

/// Whether the number of a partner is `MPI_PROC_NULL`: then the call accesses no memory.
pub(crate) fn is_nobody(partner: c_int) -> bool {
    // Other negative numbers are `MPI_ANY_SOURCE`.
    partner
        == match abi() {
            Abi::OpenMpi => -2,
            Abi::Mpich => -1,
            Abi::Standard => -3,
        }
}

/// The size of a handle in memory: that of an `int` in MPICH and its relatives.
pub(crate) fn handle_size() -> usize {
    if abi() == Abi::Mpich { size_of::<c_int>() } else { size_of::<usize>() }
}

/// The handle at an address.
///
/// # Safety
/// The address is that of a handle.
pub(crate) unsafe fn handle_at(address: Address) -> u64 {
    if abi() == Abi::Mpich {
        // SAFETY: by this function's contract.
        unsafe { (address as *const u32).read_unaligned() }.into()
    } else {
        // SAFETY: by this function's contract.
        unsafe { (address as *const u64).read_unaligned() }
    }
}

/// The result of a call without an MPI library: an error in each of them.
pub(crate) fn missing(name: &str) -> c_int {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "cuarray-sim: {name} was called, and no MPI library with it is loaded");
    16
}

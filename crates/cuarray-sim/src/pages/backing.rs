//! Physical memory of `cuMemCreate`: an anonymous file, which processes share as a file descriptor.
//!
//! The bytes come first. A label follows them, so that an importer recognises the file and learns its properties.

use crate::pages::ipc;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

/// The name of the file, which the system shows in `/proc`.
const FILE_NAME: &std::ffi::CStr = c"cuarray simulated memory";
const MAGIC: u64 = u64::from_ne_bytes(*b"cuarrvmm");
/// The number of words of a label in the file.
const WORDS: usize = 10;

/// The properties of physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The size in bytes.
    pub size: u64,
    /// The process that created the memory, its start time, and the memory's number in it.
    pub origin: (u64, u64, u64),
    /// The kind of location (`CUmemLocationType`), and its id: for a device, its number in the machine.
    pub location: (u32, i32),
    /// The handle types that the memory can be exported as.
    pub handle_types: u32,
    /// Whether the program asked for memory that is capable of GPUDirect RDMA.
    pub rdma: bool,
    /// Whether the file stands for a memory pool, and holds no memory.
    pub pool: bool,
}

impl Label {
    fn words(&self) -> [u64; WORDS] {
        let Label { size, origin, location, handle_types, rdma, pool } = *self;
        let (kind, id) = (u64::from(location.0), location.1 as u64);
        let flags = [u64::from(rdma), u64::from(pool)];
        [MAGIC, size, origin.0, origin.1, origin.2, kind, id, u64::from(handle_types), flags[0], flags[1]]
    }

    fn of_words(words: [u64; WORDS]) -> Option<Label> {
        let [magic, size, process, started, id, kind, place, handle_types, rdma, pool] = words;
        let location = (u32::try_from(kind).ok()?, place as i32);
        let handle_types = u32::try_from(handle_types).ok()?;
        let (origin, rdma, pool) = ((process, started, id), rdma != 0, pool != 0);
        let label = Label { size, origin, location, handle_types, rdma, pool };
        (magic == MAGIC).then_some(label)
    }
}

/// The file of physical memory.
pub(crate) struct Backing {
    file: File,
    pub label: Label,
}

impl Backing {
    /// Creates memory that holds zeros.
    pub(crate) fn new(label: Label) -> io::Result<Backing> {
        // SAFETY: the name is a nul-terminated literal.
        let file = unsafe { libc::memfd_create(FILE_NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the file was just created and has no other owner.
        let file = unsafe { File::from_raw_fd(file) };
        let words = label.words().map(u64::to_ne_bytes);
        file.write_all_at(words.as_flattened(), label.size)?;
        Ok(Backing { file, label })
    }

    /// Opens memory by a file descriptor of this process; `None` if no simulated driver exported it.
    pub(crate) fn open(descriptor: RawFd) -> Option<Backing> {
        if descriptor < 0 {
            return None;
        }
        let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
        let expected = format!("/memfd:{}", FILE_NAME.to_string_lossy());
        if !name.as_os_str().to_string_lossy().starts_with(&expected) {
            return None;
        }
        // SAFETY: the system has just resolved the descriptor, so it is open; the program keeps it open during the call.
        let file = File::from(unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().ok()?);
        let mut words = [[0; 8]; WORDS];
        let place = file.metadata().ok()?.len().checked_sub(size_of_val(&words) as u64)?;
        file.read_exact_at(words.as_flattened_mut(), place).ok()?;
        let label = Label::of_words(words.map(u64::from_ne_bytes)).filter(|label| label.size == place)?;
        Some(Backing { file, label })
    }

    /// A descriptor for the program, which closes it.
    pub(crate) fn export(&self) -> io::Result<OwnedFd> {
        Ok(OwnedFd::from(self.file.try_clone()?))
    }

    /// This process's descriptor of the file.
    pub(crate) fn file(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// The origin of memory that this process creates.
pub(crate) fn origin(id: u64) -> (u64, u64, u64) {
    let (process, started) = ipc::this_process();
    (process, started, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;

    #[test]
    fn exported_descriptor_opens_the_same_bytes() {
        let label =
            Label { size: 1 << 16, origin: origin(7), location: (1, 3), handle_types: 1, rdma: true, pool: false };
        let memory = Backing::new(label).unwrap();
        memory.file.write_all_at(&[5], 100).unwrap();
        let exported = memory.export().unwrap();
        let opened = Backing::open(exported.as_raw_fd()).unwrap();
        assert_eq!(opened.label, label);
        drop((memory, exported));
        let mut byte = [0];
        opened.file.read_exact_at(&mut byte, 100).unwrap();
        assert_eq!(byte, [5]);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Backing::open(-1).is_none());
        assert!(Backing::open(1 << 20).is_none());
        let other = File::open("/proc/self/exe").unwrap().into_raw_fd();
        assert!(Backing::open(other).is_none());
        // SAFETY: this test owns the descriptor.
        drop(unsafe { OwnedFd::from_raw_fd(other) });
    }
}

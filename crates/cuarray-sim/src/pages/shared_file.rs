//! A file of memory whose allocations other processes may open.

use super::page_size;
use crate::pages::allocator::FreeRanges;
use crate::pages::ipc;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// An anonymous file, which holds memory and the table of its exports.
pub(crate) struct SharedFile {
    file: File,
    /// The length of the memory.
    length: u64,
    page: u64,
    free: FreeRanges,
    /// The offsets of allocations that other processes may open.
    exported: HashSet<u64>,
    /// Offset and size of memory freed while another process has it open.
    held: Vec<(u64, u64)>,
}

impl SharedFile {
    /// A file with `length` bytes of memory. The system provides a page when it is first written.
    pub(crate) fn new(length: u64) -> io::Result<SharedFile> {
        // SAFETY: the name is a nul-terminated literal.
        let file = unsafe { libc::memfd_create(ipc::FILE_NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the file was just created and has no other owner.
        let file = unsafe { File::from_raw_fd(file) };
        file.set_len(
            ipc::file_length(length).ok_or_else(|| io::Error::other("the memory exceeds the address space"))?,
        )?;
        let (free, exported, held) = (FreeRanges::new(length), HashSet::new(), Vec::new());
        Ok(SharedFile { file, length, page: page_size(), free, exported, held })
    }

    /// This process's descriptor of the file.
    pub(crate) fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Takes a range of the file; returns its offset. Two ranges share no page if all sizes are whole pages.
    pub(crate) fn take(&mut self, size: u64) -> Option<u64> {
        for (offset, size) in std::mem::take(&mut self.held) {
            if ipc::is_open(&self.file, offset, size) {
                self.held.push((offset, size));
            } else {
                self.free(offset, size);
            }
        }
        self.free.take(size).map(|(offset, _)| offset)
    }

    /// Frees a range of [`SharedFile::take`]. Memory that another process has open is reused only after that process closes
    /// it.
    pub(crate) fn release(&mut self, offset: u64, size: u64) {
        if self.exported.remove(&offset) && ipc::withdraw(&self.file, self.length, offset, size) {
            self.held.push((offset, size));
        } else {
            self.free(offset, size);
        }
    }

    /// Exports the allocation `id` of `size` bytes at an offset to other processes.
    pub(crate) fn export(&mut self, offset: u64, id: u64, size: u64) -> io::Result<()> {
        ipc::export(&self.file, self.length, offset, id, size)?;
        self.exported.insert(offset);
        Ok(())
    }

    /// Notes for importers whether this process has not waited for its work on an exported allocation.
    pub(crate) fn set_unwaited(&mut self, offset: u64, unwaited: bool) {
        if self.exported.contains(&offset) {
            ipc::set_unwaited(&self.file, self.length, offset, unwaited);
        }
    }

    /// Frees a range and returns its pages to the system.
    fn free(&mut self, offset: u64, size: u64) {
        let (start, end) = self.free.release(offset, size);
        // Only pages that this range touched and that are completely free.
        let first = (offset - offset % self.page).max(start.next_multiple_of(self.page));
        let last = (offset + size).next_multiple_of(self.page).min(end - end % self.page);
        if first < last {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: this value owns the file, and no allocation lies in the hole. If the system cannot punch holes,
            // the pages only stay allocated.
            unsafe {
                libc::fallocate(self.file.as_raw_fd(), mode, first as libc::off_t, (last - first) as libc::off_t)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::ipc::{Exporter, Handle, Imported};
    use cuarray_abi::CU_DEVICE_CPU;

    #[test]
    fn range_that_another_process_has_open_is_reused_after_it_closes_it() {
        let whole = 1 << 21;
        let mut file = SharedFile::new(whole).unwrap();
        let offset = file.take(whole).unwrap();
        file.export(offset, 7, whole).unwrap();
        let exporter = Exporter::here(file.descriptor()).unwrap();
        let handle = Handle { exporter, device: CU_DEVICE_CPU, offset, id: 7, pool: 0 };
        let imported = Imported::open(handle, false).unwrap();
        file.release(offset, whole);
        assert!(!imported.is_live());
        assert_eq!(file.take(512), None);
        drop(imported);
        assert_eq!(file.take(whole), Some(0));
    }
}

//! Unique ids, communicators, and memory that is registered or allocated for them.

use crate::driver::{self, Rank};
use crate::group::{answer_in_group, submit};
use crate::result::{Error, Outcome, answer, ncclResult_t, write};
use crate::state::{self, Handle, Id, Job};
use cuarray_stand_in::report_use;
use std::ffi::{c_int, c_uint, c_void};
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

const ID_BYTES: usize = 128;
const MARK: &[u8; 8] = b"cuarray\0";
/// `NCCL_API_MAGIC`.
const CONFIG_MAGIC: c_uint = 0xcafe_beef;
/// `NCCL_SPLIT_NOCOLOR`.
const NO_COLOR: c_int = -1;

/// `ncclUniqueId`: a mark, the process, and a number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId([u8; ID_BYTES]);

impl UniqueId {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut bytes = [0; ID_BYTES];
        bytes[..8].copy_from_slice(MARK);
        bytes[8..16].copy_from_slice(&u64::from(process::id()).to_le_bytes());
        bytes[16..24].copy_from_slice(&NUMBER.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        Self(bytes)
    }

    /// The id, if this process has made it.
    fn checked(self) -> Outcome<Id> {
        if &self.0[..8] != MARK {
            return Err(Error::argument("the unique id does not come from ncclGetUniqueId"));
        }
        if self.0[8..16] != u64::from(process::id()).to_le_bytes() {
            return Err(Error::usage(
                "the unique id comes from another process, and this stand-in supports the ranks of one process only; \
                 use one process with several devices",
            ));
        }
        Ok(self.0.to_vec())
    }
}

fn report() {
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use("libnccl.so.2"));
}

/// Checks the fields of an `ncclConfig_t` that tell whether it was initialized.
///
/// # Safety
/// `config` is null or points to an `ncclConfig_t`.
unsafe fn check_config(config: *const c_void) -> Outcome {
    #[repr(C)]
    struct Head {
        size: usize,
        magic: c_uint,
        version: c_uint,
    }
    if config.is_null() {
        return Ok(());
    }
    // SAFETY: by the contract the pointer points to the structure, which begins with these fields.
    let head = unsafe { config.cast::<Head>().read_unaligned() };
    if head.magic != CONFIG_MAGIC || head.size < size_of::<Head>() {
        return Err(Error::argument("config was not initialized with NCCL_CONFIG_INITIALIZER"));
    }
    Ok(())
}

/// Joins a communicator.
///
/// # Safety
/// `comm` is null or may be written; `config` is null or points to an `ncclConfig_t`.
unsafe fn join(comm: *mut Handle, ranks: c_int, id: UniqueId, rank: c_int, config: *const c_void) -> Outcome {
    report();
    // SAFETY: the contract is the same.
    unsafe { check_config(config) }?;
    let place = Rank::current;
    // SAFETY: the contract is the same.
    unsafe { join_at(comm, ranks, id.checked()?, rank, place) }
}

/// Joins a communicator with a rank that `place` makes.
///
/// # Safety
/// `comm` is null or may be written.
unsafe fn join_at(
    comm: *mut Handle,
    ranks: c_int,
    id: Id,
    rank: c_int,
    place: impl FnOnce() -> Outcome<Rank>,
) -> Outcome {
    let invalid = || Error::argument(format!("rank {rank} of {ranks} ranks"));
    let ranks = usize::try_from(ranks).map_err(|_| invalid())?;
    let rank = usize::try_from(rank).ok().filter(|rank| *rank < ranks).ok_or_else(invalid)?;
    // SAFETY: by the contract the pointer is null or may be written.
    unsafe { write("comm", comm, 0) }?;
    let place = place()?;
    let handle = state::reserve(rank, ranks, place.device);
    // Written before other ranks join, as a group writes nothing when it ends.
    // SAFETY: the pointer has been written above.
    unsafe { write("comm", comm, handle) }?;
    let joined = submit(vec![Job::Join { handle, id, ranks, rank, place }]);
    if joined.is_err() {
        // SAFETY: the pointer has been written above.
        unsafe { write("comm", comm, 0) }?;
    }
    joined
}

/// `ncclGetUniqueId`.
///
/// # Safety
/// `id` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> ncclResult_t {
    report();
    // SAFETY: the contract is that of `write`.
    answer("ncclGetUniqueId", unsafe { write("uniqueId", id, UniqueId::new()) })
}

/// `ncclCommInitRank`.
///
/// # Safety
/// `comm` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRank(
    comm: *mut Handle,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
) -> ncclResult_t {
    // SAFETY: the contract is the same.
    answer_in_group("ncclCommInitRank", unsafe { join(comm, ranks, id, rank, std::ptr::null()) })
}

/// `ncclCommInitRankConfig`. The configuration is checked and has no effect; all communicators are blocking.
///
/// # Safety
/// `comm` is null or may be written; `config` is null or points to an `ncclConfig_t`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut Handle,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
    config: *const c_void,
) -> ncclResult_t {
    // SAFETY: the contract is the same.
    answer_in_group("ncclCommInitRankConfig", unsafe { join(comm, ranks, id, rank, config) })
}

/// `ncclCommInitRankScalable`: the first id is used.
///
/// # Safety
/// `comm` is null or may be written; `ids` is null or points to an id; `config` is null or points to an `ncclConfig_t`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankScalable(
    comm: *mut Handle,
    ranks: c_int,
    rank: c_int,
    count: c_int,
    ids: *const UniqueId,
    config: *const c_void,
) -> ncclResult_t {
    let outcome = if ids.is_null() || count < 1 {
        Err(Error::argument("commIds is null or empty"))
    } else {
        // SAFETY: by the contract the pointer points to an id; the rest is the contract of `join`.
        unsafe { join(comm, ranks, ids.read_unaligned(), rank, config) }
    };
    answer_in_group("ncclCommInitRankScalable", outcome)
}

/// `ncclCommInitAll`.
///
/// # Safety
/// `comms` is null or has room for `count` handles; `devices` is null or has `count` numbers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitAll(
    comms: *mut Handle,
    count: c_int,
    devices: *const c_int,
) -> ncclResult_t {
    report();
    let number = usize::try_from(count).unwrap_or_default();
    if comms.is_null() || number == 0 {
        return answer("ncclCommInitAll", Err(Error::argument("comm is null, or ndev is not positive")));
    }
    let id = UniqueId::new().0.to_vec();
    let mut jobs = Vec::new();
    let mut outcome = Ok(());
    for rank in 0..number {
        // SAFETY: by the contract the pointer is null or has that many numbers.
        let device = if devices.is_null() { rank as c_int } else { unsafe { devices.add(rank).read_unaligned() } };
        match Rank::of_device(device) {
            Ok(place) => {
                let handle = state::reserve(rank, number, device);
                // SAFETY: by the contract there is room for that many handles.
                unsafe { comms.add(rank).write_unaligned(handle) };
                jobs.push(Job::Join { handle, id: id.clone(), ranks: number, rank, place });
            }
            Err(error) => {
                outcome = Err(Error { message: format!("device {device}: {}", error.message), ..error });
                break;
            }
        }
    }
    let outcome = match outcome {
        Ok(()) => submit(jobs),
        Err(error) => {
            jobs.into_iter().for_each(state::give_up);
            Err(error)
        }
    };
    answer_in_group("ncclCommInitAll", outcome)
}

/// `ncclCommSplit`.
///
/// # Safety
/// `new` is null or may be written; `config` is null or points to an `ncclConfig_t`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommSplit(
    comm: Handle,
    color: c_int,
    key: c_int,
    new: *mut Handle,
    config: *const c_void,
) -> ncclResult_t {
    let outcome = (|| {
        state::describe(comm)?;
        // SAFETY: the contract is the same.
        unsafe { check_config(config) }?;
        if color < NO_COLOR {
            return Err(Error::argument(format!("color {color} is negative")));
        }
        let handle = if color == NO_COLOR { 0 } else { state::reserve_number() };
        // SAFETY: by the contract the pointer is null or may be written.
        unsafe { write("newcomm", new, handle) }?;
        submit(vec![Job::Split { handle: comm, color, key, new: handle }])
    })();
    answer_in_group("ncclCommSplit", outcome)
}

/// `ncclCommFinalize`: operations are complete on the host when their calls return.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommFinalize(comm: Handle) -> ncclResult_t {
    answer("ncclCommFinalize", state::describe(comm).map(|_| ()))
}

/// `ncclCommDestroy`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDestroy(comm: Handle) -> ncclResult_t {
    if comm == 0 {
        return ncclResult_t::SUCCESS;
    }
    answer("ncclCommDestroy", state::destroy(comm, false))
}

/// `ncclCommAbort`: calls of other ranks that wait for this one fail.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommAbort(comm: Handle) -> ncclResult_t {
    if comm == 0 {
        return ncclResult_t::SUCCESS;
    }
    answer("ncclCommAbort", state::destroy(comm, true))
}

/// `ncclCommGetAsyncError`.
///
/// # Safety
/// `error` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommGetAsyncError(comm: Handle, error: *mut ncclResult_t) -> ncclResult_t {
    let outcome = state::asynchronous_error(comm).and_then(|found| {
        let result = found.map_or(ncclResult_t::SUCCESS, |found| found.result);
        // SAFETY: the contract is that of `write`.
        unsafe { write("asyncError", error, result) }
    });
    answer("ncclCommGetAsyncError", outcome)
}

/// `ncclCommCount`.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommCount(comm: Handle, count: *mut c_int) -> ncclResult_t {
    // SAFETY: the contract is that of `write`.
    let outcome = state::describe(comm).and_then(|(_, ranks, _)| unsafe { write("count", count, ranks as c_int) });
    answer("ncclCommCount", outcome)
}

/// `ncclCommCuDevice`.
///
/// # Safety
/// `device` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommCuDevice(comm: Handle, device: *mut c_int) -> ncclResult_t {
    // SAFETY: the contract is that of `write`.
    let outcome = state::describe(comm).and_then(|(_, _, number)| unsafe { write("device", device, number) });
    answer("ncclCommCuDevice", outcome)
}

/// `ncclCommUserRank`.
///
/// # Safety
/// `rank` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommUserRank(comm: Handle, rank: *mut c_int) -> ncclResult_t {
    // SAFETY: the contract is that of `write`.
    let outcome = state::describe(comm).and_then(|(own, ..)| unsafe { write("rank", rank, own as c_int) });
    answer("ncclCommUserRank", outcome)
}

/// `ncclCommProperties_t`. There is no device-side interface, so all of its fields are zero.
#[repr(C)]
pub(crate) struct Properties {
    size: usize,
    magic: c_uint,
    version: c_uint,
    rank: c_int,
    ranks: c_int,
    device: c_int,
    nvml_device: c_int,
    has_device_api: bool,
    has_multimem: bool,
    gin: c_uint,
    lsa_teams: c_int,
    has_host_rma: bool,
    railed_gin: c_uint,
}

/// `ncclCommQueryProperties`.
///
/// # Safety
/// `properties` is null or points to an initialized `ncclCommProperties_t`, which may be shorter in an older version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommQueryProperties(comm: Handle, properties: *mut Properties) -> ncclResult_t {
    let outcome = state::describe(comm).and_then(|(rank, ranks, device)| {
        // SAFETY: the contract is the same, as the structure begins with the fields of a configuration.
        unsafe { check_config(properties.cast_const().cast()) }?;
        if properties.is_null() {
            return Err(Error::argument("props is null"));
        }
        // SAFETY: by the contract the structure begins with its size and its version, which stay as they are.
        let (size, version) = unsafe {
            (properties.cast::<usize>().read_unaligned(), properties.cast::<c_uint>().add(3).read_unaligned())
        };
        let found = Properties {
            size,
            magic: CONFIG_MAGIC,
            version,
            rank: rank as c_int,
            ranks: ranks as c_int,
            device,
            nvml_device: device,
            has_device_api: false,
            has_multimem: false,
            gin: 0,
            lsa_teams: 0,
            has_host_rma: false,
            railed_gin: 0,
        };
        // SAFETY: the structure of the caller has `size` bytes, and this one `size_of` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(
                (&raw const found).cast::<u8>(),
                properties.cast::<u8>(),
                size.min(size_of::<Properties>()),
            );
        }
        Ok(())
    });
    answer("ncclCommQueryProperties", outcome)
}

/// `ncclCommRegister`: registration has no effect, as copies need none.
///
/// # Safety
/// `handle` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommRegister(
    comm: Handle,
    buffer: usize,
    _size: usize,
    handle: *mut usize,
) -> ncclResult_t {
    // SAFETY: the contract is that of `write`.
    let outcome = state::describe(comm).and_then(|_| unsafe { write("handle", handle, buffer) });
    answer("ncclCommRegister", outcome)
}

/// `ncclCommDeregister`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDeregister(comm: Handle, _handle: usize) -> ncclResult_t {
    answer("ncclCommDeregister", state::describe(comm).map(|_| ()))
}

/// `ncclMemAlloc`.
///
/// # Safety
/// `to` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclMemAlloc(to: *mut u64, size: usize) -> ncclResult_t {
    let outcome = (|| {
        // SAFETY: the contract is that of `write`.
        unsafe { write("ptr", to, 0) }?;
        if size == 0 {
            return Ok(());
        }
        let address = driver::allocate(size)?;
        // SAFETY: the pointer has been written above.
        unsafe { write("ptr", to, address) }
    })();
    answer("ncclMemAlloc", outcome)
}

/// `ncclMemFree`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclMemFree(address: u64) -> ncclResult_t {
    answer("ncclMemFree", if address == 0 { Ok(()) } else { driver::free(address) })
}

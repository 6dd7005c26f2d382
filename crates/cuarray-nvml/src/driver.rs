//! The driver: opened by name at run time, and initialized at the first query of a device.

use crate::result::nvmlReturn_t;
use cuarray_abi::{Api, CUcontext, CUdevice, CUresult, CUuuid};
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

/// A device, with the answers that never change: a child of `fork`, which cannot use the driver, has them too.
pub(crate) struct Device {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) uuid: CUuuid,
    pub(crate) domain: u32,
    pub(crate) bus: u32,
    pub(crate) slot: u32,
    pub(crate) total: u64,
    pub(crate) capability: (c_int, c_int),
    pub(crate) multiprocessors: u32,
    pub(crate) bus_width: u32,
    pub(crate) ecc: bool,
    ordinal: CUdevice,
}

impl Device {
    /// The UUID as text: `GPU-`, and groups of 8, 4, 4, 4 and 12 digits.
    pub(crate) fn uuid_text(&self) -> String {
        let digits: Vec<String> = self.uuid.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let groups = [0..4, 4..6, 6..8, 8..10, 10..16].map(|group| digits[group].concat());
        format!("GPU-{}", groups.join("-"))
    }

    /// The serial number: digits that tell the devices apart.
    pub(crate) fn serial(&self) -> String {
        format!("{:013}", u64::from(self.domain) << 16 | u64::from(self.bus) << 8 | u64::from(self.slot))
    }

    /// The name on the bus, with a domain of 4 or 8 digits.
    pub(crate) fn bus_id(&self, digits: usize) -> String {
        format!("{:0digits$X}:{:02X}:{:02X}.0", self.domain, self.bus, self.slot)
    }
}

/// The driver of the process; `None` if there is none.
fn api() -> Option<&'static Api> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    let open = || {
        // SAFETY: the name is a string; the initializers of a driver are the process's own choice.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        // SAFETY: the library is open and never closed; its documented symbols have the documented signatures.
        (!library.is_null())
            .then(|| unsafe { Api::resolve_with(|symbol: &CStr| libc::dlsym(library, symbol.as_ptr()).cast_const()) })
    };
    API.get_or_init(open).as_ref()
}

/// Whether there is a driver.
pub(crate) fn is_present() -> bool {
    api().is_some()
}

/// Calls a function of the driver; a missing function is a failure.
macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),*)) => {
        match $api.$name {
            // SAFETY: the pointers among the arguments point to live variables of the documented types.
            Some(function) => checked(unsafe { function($($argument),*) }),
            None => Err(nvmlReturn_t::UNKNOWN),
        }
    };
}

fn checked(result: CUresult) -> Result<(), nvmlReturn_t> {
    if result.is_success() { Ok(()) } else { Err(nvmlReturn_t::UNKNOWN) }
}

/// The newest CUDA that the driver supports.
pub(crate) fn cuda_version() -> Result<c_int, nvmlReturn_t> {
    let api = api().ok_or(nvmlReturn_t::LIBRARY_NOT_FOUND)?;
    let mut version = 0;
    call!(api, cuDriverGetVersion(&mut version))?;
    Ok(version)
}

/// The devices; the first successful call initializes the driver.
pub(crate) fn devices() -> Result<&'static [Device], nvmlReturn_t> {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    if let Some(devices) = DEVICES.get() {
        return Ok(devices);
    }
    let api = api().ok_or(nvmlReturn_t::DRIVER_NOT_LOADED)?;
    call!(api, cuInit(0))?;
    let mut count = 0;
    call!(api, cuDeviceGetCount(&mut count))?;
    let devices = (0..count).map(|number| describe(api, number)).collect::<Result<Vec<_>, _>>()?;
    Ok(DEVICES.get_or_init(|| devices))
}

fn describe(api: &Api, number: c_int) -> Result<Device, nvmlReturn_t> {
    let mut ordinal = CUdevice::default();
    call!(api, cuDeviceGet(&mut ordinal, number))?;
    let mut name: [c_char; 256] = [0; 256];
    call!(api, cuDeviceGetName(name.as_mut_ptr(), 255, ordinal))?;
    // SAFETY: the last byte is 0 in every case.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let mut uuid = CUuuid { bytes: [0; 16] };
    call!(api, cuDeviceGetUuid_v2(&mut uuid, ordinal))?;
    let mut total = 0;
    call!(api, cuDeviceTotalMem_v2(&mut total, ordinal))?;
    let attribute = |number| {
        let mut value = 0;
        call!(api, cuDeviceGetAttribute(&mut value, number, ordinal))?;
        Ok(value)
    };
    let positive = |number| attribute(number).map(|value: c_int| value.unsigned_abs());
    Ok(Device {
        index: number.unsigned_abs(),
        name,
        uuid,
        bus: positive(33)?,
        slot: positive(34)?,
        domain: positive(50)?,
        total: total as u64,
        capability: (attribute(75)?, attribute(76)?),
        multiprocessors: positive(16)?,
        bus_width: positive(37)?,
        ecc: attribute(32)? != 0,
        ordinal,
    })
}

/// The free bytes of a device, if this process has its primary context.
///
/// # Errors
/// The driver refuses a call, for example in the child of a fork.
pub(crate) fn free_memory(device: &Device) -> Result<Option<u64>, nvmlReturn_t> {
    let api = api().ok_or(nvmlReturn_t::DRIVER_NOT_LOADED)?;
    let (mut flags, mut active) = (0, 0);
    call!(api, cuDevicePrimaryCtxGetState(device.ordinal, &mut flags, &mut active))?;
    if active == 0 {
        return Ok(None);
    }
    let mut context = CUcontext::default();
    call!(api, cuDevicePrimaryCtxRetain(&mut context, device.ordinal))?;
    let (mut free, mut total) = (0, 0);
    let asked = call!(api, cuCtxPushCurrent_v2(context)).and_then(|()| {
        let asked = call!(api, cuMemGetInfo_v2(&mut free, &mut total));
        let mut popped = CUcontext::default();
        asked.and(call!(api, cuCtxPopCurrent_v2(&mut popped)))
    });
    call!(api, cuDevicePrimaryCtxRelease_v2(device.ordinal))?;
    asked.map(|()| Some(free as u64))
}

/// Whether a device can access the memory of another.
pub(crate) fn can_access(device: &Device, other: &Device) -> Result<bool, nvmlReturn_t> {
    let api = api().ok_or(nvmlReturn_t::DRIVER_NOT_LOADED)?;
    let mut can = 0;
    call!(api, cuDeviceCanAccessPeer(&mut can, device.ordinal, other.ordinal))?;
    Ok(can != 0)
}

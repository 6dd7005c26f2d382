//! [`Device`]: a GPU, by its ordinal, and its primary context.
//!
//! Driver API: [device management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html),
//! [primary contexts](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html).

use super::{Driver, call};
use crate::Result;
use cuarray_abi::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CUdevice,
    CUdevice_attribute, CUuuid,
};
use std::ffi::{CStr, c_char};

impl Driver {
    /// The number of devices that the process sees, after `CUDA_VISIBLE_DEVICES`.
    ///
    /// Driver API: [`cuDeviceGetCount`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub(crate) fn device_count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the driver writes one int, which outlives the call.
        unsafe { call!(self, cuDeviceGetCount(&mut count)) }?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The device with an ordinal.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE`: there is no such device.
    ///
    /// Driver API: [`cuDeviceGet`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub fn device(&self, ordinal: i32) -> Result<Device> {
        let mut raw = 0;
        // SAFETY: the driver writes one int, which outlives the call.
        unsafe { call!(self, cuDeviceGet(&mut raw, ordinal)) }?;
        Ok(Device { driver: self.clone(), raw })
    }

    /// The device with an ordinal that the driver returned for an address or a context. So the driver need not check
    /// it.
    #[cfg(feature = "python")]
    pub(crate) fn named_device(&self, ordinal: i32) -> Device {
        Device::known(self.clone(), ordinal)
    }

    /// All devices, in the order of their ordinals.
    pub fn devices(&self) -> Result<Vec<Device>> {
        (0..).take(self.device_count()?).map(|ordinal| self.device(ordinal)).collect()
    }
}

/// A GPU. A clone is the same device.
///
/// ```
/// # use cuarray::Driver;
/// # cuarray::__simulated!(driver);
/// for device in driver.devices()? {
///     let (major, minor) = device.compute_capability()?;
///     println!("{}: {}, {major}.{minor}, {} bytes", device.ordinal(), device.name()?, device.total_memory()?);
/// }
/// let first = driver.device(0)?;
/// assert_eq!(first.ordinal(), 0);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    driver: Driver,
    raw: CUdevice,
}

impl Device {
    /// A device whose ordinal the driver returned.
    pub(super) fn known(driver: Driver, raw: CUdevice) -> Device {
        Device { driver, raw }
    }

    /// The driver of the device.
    pub(crate) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The device's ordinal, from 0. It is also the driver's handle of the device.
    pub fn ordinal(&self) -> i32 {
        self.raw
    }

    /// The device's name, as text for people.
    ///
    /// Driver API: [`cuDeviceGetName`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub fn name(&self) -> Result<String> {
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: the driver writes at most 255 characters and a nul; the last byte of the buffer stays zero.
        unsafe { call!(self.driver, cuDeviceGetName(name.as_mut_ptr(), 255, self.raw)) }?;
        let bytes = name.map(|character| character as u8);
        let text = CStr::from_bytes_until_nul(&bytes).map(CStr::to_bytes).unwrap_or(&bytes);
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// The device's memory in bytes.
    ///
    /// Driver API: [`cuDeviceTotalMem`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub fn total_memory(&self) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: the driver writes one size, which outlives the call.
        unsafe { call!(self.driver, cuDeviceTotalMem_v2(&mut bytes, self.raw)) }?;
        Ok(bytes)
    }

    /// The compute capability: (9, 0) means 9.0.
    pub fn compute_capability(&self) -> Result<(i32, i32)> {
        Ok((
            self.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    /// The value of an attribute, by its number in the manual.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`: the driver does not know the attribute.
    ///
    /// Driver API: [`cuDeviceGetAttribute`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub(crate) fn attribute(&self, attribute: CUdevice_attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the driver writes one int, which outlives the call; it rejects an unknown attribute.
        unsafe { call!(self.driver, cuDeviceGetAttribute(&mut value, attribute, self.raw)) }?;
        Ok(value)
    }

    /// The device's 16-byte identifier, equal in every process.
    ///
    /// Driver API: [`cuDeviceGetUuid`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub(crate) fn uuid(&self) -> Result<[u8; 16]> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the driver writes 16 bytes, which outlive the call.
        unsafe { call!(self.driver, cuDeviceGetUuid_v2 | cuDeviceGetUuid(&mut uuid, self.raw)) }?;
        Ok(uuid.bytes)
    }
}

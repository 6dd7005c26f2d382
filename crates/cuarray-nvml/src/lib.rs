//! The shared library `libnvidia-ml.so.1`: NVML's documented interface, for programs on the simulated driver.
//!
//! All answers come from the documented driver API of the `libcuda.so.1` that the process has loaded. The devices are those that
//! `cuDeviceGet` numbers, and the used memory is that of this process. [`nvmlInit_v2`](system) does not initialize the driver; the first
//! query of a device does.
//!
//! The versions are those of a driver of NVIDIA with the CUDA version of the simulated one, and the branch has the first number: `r580_00` for
//! 580.65.06.
//!
//! Functions without a counterpart in a simulation, for example power, temperature, clocks and MIG, are exported and answer
//! `NVML_ERROR_NOT_SUPPORTED`, as NVML does for a device without the sensor.

mod bus_name;
mod device;
mod driver;
mod fabric;
mod memory;
mod not_supported;
mod pci;
mod result;
mod system;

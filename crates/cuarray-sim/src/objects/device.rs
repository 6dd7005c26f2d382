//! One device: its address range, its primary context.

use crate::config::Config;
use crate::objects::graph_data::GraphMemory;
use crate::pages::arena::Arena;
use cuarray_abi::*;
use std::io;

/// One device.
pub(crate) struct Device {
    pub ordinal: CUdevice,
    /// The device's number in the machine, independent of visibility; it determines UUID and PCI address.
    pub physical: i32,
    pub arena: Arena,
    /// The device's primary context: one handle for the driver's lifetime, active while it is retained.
    pub primary: CUcontext,
    pub primary_retained: usize,
    pub primary_flags: u32,
    pub graph_memory: GraphMemory,
}

/// Makes the devices of a configuration.
pub(crate) fn of_config(config: &Config) -> io::Result<Vec<Device>> {
    let visible = config.visible.clone().unwrap_or_else(|| (0..config.devices).collect());
    let made = visible.into_iter().enumerate().map(|(index, physical)| {
        Ok(Device {
            ordinal: index as CUdevice,
            physical: physical as i32,
            arena: Arena::new(config.memory, config.host_readable)?,
            primary: CUcontext(crate::handle::fresh()),
            primary_retained: 0,
            primary_flags: 0,
            graph_memory: GraphMemory::default(),
        })
    });
    made.collect()
}

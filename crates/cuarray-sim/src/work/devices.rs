//! The devices of a driver, created when the driver is initialized.

use crate::config::Config;
use crate::memory::arena::Arena;
use crate::objects::device::Device;
use crate::objects::graph::GraphMemory;
use crate::objects::pool::Pool;
use crate::state::State;
use cuarray_abi::*;
use std::io;

impl State {
    /// Creates the devices of the configuration.
    pub(crate) fn make_devices(&mut self, config: &Config) -> io::Result<()> {
        let visible = config.visible.clone().unwrap_or_else(|| (0..config.devices).collect());
        let arenas =
            visible.into_iter().map(|physical| Ok((physical, Arena::new(config.memory, config.host_readable)?)));
        for (index, (physical, arena)) in arenas.collect::<io::Result<Vec<_>>>()?.into_iter().enumerate() {
            let pool = CUmemoryPool(crate::handle::fresh());
            self.pools.insert(pool, Pool::of_device(index));
            self.devices.push(Device {
                ordinal: index as CUdevice,
                physical: physical as i32,
                arena,
                primary: CUcontext(crate::handle::fresh()),
                primary_retained: 0,
                primary_flags: 0,
                default_pool: pool,
                current_pool: pool,
                graph_memory: GraphMemory::default(),
            });
        }
        Ok(())
    }
}

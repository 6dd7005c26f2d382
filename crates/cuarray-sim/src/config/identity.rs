//! The simulated devices: names, memory and attributes.
//!
//! The attributes are those of a server GPU of compute capability 9.0 without the unsupported features:
//! cooperative multi-device launches. A program that queries first can then use a
//! supported alternative.

use crate::config::{Config, textures};
use cuarray_abi::*;

/// The name that `cuDeviceGetName` returns.
pub(crate) const NAME: &str = "cuarray simulated device";

/// The clock rate of the devices in kHz.
pub(crate) const CLOCK_RATE: u32 = 1_755_000;

/// The PCI bus number of a physical device; its device number on the bus is 0.
pub(crate) fn pci_bus(physical: i32) -> i32 {
    0x3b + 0x10 * physical
}

/// The UUID of a physical device: recognisable, and equal in every run.
pub(crate) fn uuid(physical: i32) -> CUuuid {
    let mut bytes = *b"cuarray-sim\0GPU\0";
    bytes[15] = physical as u8;
    CUuuid { bytes }
}

/// The UUID as text: groups of 8, 4, 4, 4 and 12 digits.
pub(crate) fn uuid_text(physical: i32) -> String {
    let digits: Vec<String> = uuid(physical).bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [0..4, 4..6, 6..8, 8..10, 10..16].map(|group| digits[group].concat()).join("-")
}

/// The limits of a multiprocessor.
pub(crate) struct Multiprocessor {
    pub warps: u32,
    pub blocks: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Bytes of shared memory that a block can opt in to.
    pub shared_of_block: u32,
    /// Bytes of shared memory that the driver reserves for each block.
    pub reserved: u32,
}

/// The limits of a compute capability, by the technical specifications in the CUDA C++ programming guide.
pub(crate) fn multiprocessor(capability: (u32, u32)) -> Multiprocessor {
    let (warps, blocks, shared) = match capability {
        (7, _) => (32, 16, 64 << 10),
        (8, 0) => (64, 32, 164 << 10),
        (8, 7) => (48, 16, 164 << 10),
        (8, 9) => (48, 24, 100 << 10),
        (8, _) => (48, 16, 100 << 10),
        (11, _) => (48, 24, 228 << 10),
        (12, _) => (48, 24, 100 << 10),
        _ => (64, 32, 228 << 10),
    };
    let reserved = if capability.0 >= 8 { 1024 } else { 0 };
    Multiprocessor { warps, blocks, shared, shared_of_block: shared - reserved, reserved }
}

/// The value of a device attribute; `None` for an unknown attribute.
#[expect(clippy::too_many_lines, reason = "a table with a line for each attribute")]
pub(crate) fn attribute(config: &Config, physical: i32, attribute: CUdevice_attribute) -> Option<i32> {
    let (major, minor) = config.compute_capability;
    let limits = multiprocessor(config.compute_capability);
    if let Some(limit) = textures::limit(attribute) {
        return Some(limit);
    }
    let value = match attribute {
        1 => 1024,     // threads per block
        2 | 3 => 1024, // block dimensions
        4 => 64,
        5 => i32::MAX, // grid dimensions
        6 | 7 => 65535,
        8 => 49152,              // shared memory per block
        9 => 65536,              // constant memory
        10 => 32,                // warp size
        11 => i32::MAX,          // pitch
        12 => 65536,             // registers per block
        13 => CLOCK_RATE as i32, // kHz
        15 => 1,                 // overlap of copies and kernels
        16 => config.multiprocessors as i32,
        17 | 18 => 0, // kernel timeout, integrated
        19 => 1,      // can map host memory
        20 => 0,      // compute mode: default
        31 | 32 => 1, // concurrent kernels, ECC
        33 => pci_bus(physical),
        34 | 35 | 50 => 0,              // PCI device, TCC, PCI domain
        36 => 2_619_000,                // memory clock, kHz
        37 => 5120,                     // bus width, bits
        38 => 50 << 20,                 // L2 cache
        39 => limits.warps as i32 * 32, // threads per multiprocessor
        40 => 3,                        // copy engines
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING => 1,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => major as i32,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => minor as i32,
        78..=80 => 1,               // stream priorities, L1 caching
        81 => limits.shared as i32, // shared memory per multiprocessor
        82 => 65536,                // registers per multiprocessor
        CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY => 1,
        84 => 0, // multi-GPU board
        85 => physical,
        86 => 0, // native host atomics
        87 => 2, // single to double performance
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS => i32::from(config.pageable_memory),
        CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS => 1,
        90 | 91 => 1, // preemption, host pointer of registered memory
        92..=94 => 1, // stream memory operations, version 1
        95 => 1,      // cooperative launch
        96 => 0,
        97 => limits.shared_of_block as i32, // shared memory per block, opt-in
        98 => 1,                             // flush of remote writes, which simulated memory has at once
        99 => 1,                             // host registration
        100 | 101 => 0,                      // host page tables, direct managed access
        CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED => 1,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED => 1,
        104 | 105 => 0,              // handle types of Windows
        106 => limits.blocks as i32, // blocks per multiprocessor
        107 => 0,
        108 => 0, // persisting L2
        109 => 0,
        110 => 0,
        111 => limits.reserved as i32, // reserved shared memory
        112 => 0,
        113 => 1, // read-only registration
        114 => 0,
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
        116..=118 => 0, // GPUDirect
        CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES => CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR as i32,
        120 => i32::from(major >= 9), // clusters
        121 | 124 => 0,               // deferred mapping of arrays, dma-buf
        122 | 123 => 1,               // stream memory operations
        CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED => 1,
        126 => 1, // memory synchronization domains
        127 | 128 => 0,
        129 => 0,  // unified function pointers
        130 => 0,  // NUMA configuration of device memory: none
        131 => -1, // NUMA node of device memory: none
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID => 0,
        132 | 133 | 135..=138 => 0,
        139 | 140 => 0, // PCI ids of a vendor: none
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED => 1,
        143 | 146 | 147 | 149..=161 => 0,
        148 => 1, // atomic reductions of streams
        _ => return None,
    };
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_of_the_header_has_a_value() {
        let config = Config::default();
        for number in 1..=161 {
            assert!(attribute(&config, 0, number).is_some(), "attribute {number}");
        }
        assert_eq!(attribute(&config, 0, 0), None);
        assert_eq!(attribute(&config, 0, 5000), None);
    }

    #[test]
    fn devices_have_distinct_attributes() {
        assert_ne!(uuid(0), uuid(1));
        assert_ne!(pci_bus(0), pci_bus(1));
    }
}

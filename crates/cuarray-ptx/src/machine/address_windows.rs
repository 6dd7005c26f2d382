//! Windows among generic addresses, which no device or host address uses: shared, local and parameter memory.

/// The generic address of the first byte of shared memory.
pub const SHARED_WINDOW: u64 = 0x0100_0000_0000_0000;
/// The generic address of the first byte of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0200_0000_0000_0000;
/// The generic address of the first byte of a kernel's parameters.
pub(crate) const PARAM_WINDOW: u64 = 0x0300_0000_0000_0000;

/// Splits a generic address in a thread's windows into the memory (`"shared"`, `"local"` or `"parameter"`) and the
/// offset.
pub fn in_window(address: u64) -> Option<(&'static str, u64)> {
    let name = match address & !(SHARED_WINDOW - 1) {
        SHARED_WINDOW => "shared",
        LOCAL_WINDOW => "local",
        PARAM_WINDOW => "parameter",
        _ => return None,
    };
    Some((name, address & (SHARED_WINDOW - 1)))
}

//! Names of devices on the bus.

use crate::driver::Device;
use crate::result::nvmlReturn_t;
use crate::system::find;

/// The device with a name on the bus: `domain:bus:device.function`, or without the domain or the function.
pub(crate) fn device(name: &str) -> Result<&'static Device, nvmlReturn_t> {
    let (domain, bus, slot) = parse(name).ok_or(nvmlReturn_t::INVALID_ARGUMENT)?;
    find(|device| (device.domain, device.bus, device.slot) == (domain, bus, slot))
}

fn parse(name: &str) -> Option<(u32, u32, u32)> {
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
    let (rest, function) = name.rsplit_once('.').unwrap_or((name, "0"));
    if hexadecimal(function)? != 0 {
        return None;
    }
    let mut parts = rest.rsplit(':').map(hexadecimal);
    let slot = parts.next()??;
    let bus = parts.next()??;
    let domain = parts.next().unwrap_or(Some(0))?;
    parts.next().is_none().then_some((domain, bus, slot))
}

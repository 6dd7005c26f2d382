//! Surfaces: the place of an access, whose first coordinate counts bytes or samples.

use super::image::{Geometry, Image};
use super::table::Surface;

/// The treatment of an access outside of a surface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outside {
    /// The launch fails.
    Trap,
    /// The nearest place inside is accessed.
    Clamp,
    /// Loads return zeros, and stores do nothing.
    Zero,
}

impl Outside {
    pub(crate) const ALL: [Outside; 3] = [Outside::Trap, Outside::Clamp, Outside::Zero];
}

/// An access of one lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Place {
    pub geometry: Geometry,
    /// The coordinates: bytes of the row, or samples, then the row, then the depth.
    pub coordinates: [i32; 3],
    pub layer: u32,
    /// Whether the first coordinate counts samples.
    pub samples: bool,
    /// The size of the access in bytes.
    pub size: u32,
}

impl Surface {
    /// The device address of an access; `None` outside of the surface.
    pub(crate) fn address(&self, place: &Place, outside: Outside) -> Option<u64> {
        let image: &Image = &self.image;
        let level = image.levels.first()?;
        let unit = if place.samples { image.format.bytes() } else { 1 };
        let row = i64::from(level.extents[0]) * i64::from(image.format.bytes());
        let last = row - i64::from(place.size);
        let [x, y, z] = place.coordinates.map(i64::from);
        let (x, layer) = (x * i64::from(unit), i64::from(place.layer));
        let layered = matches!(place.geometry, Geometry::OneDLayered | Geometry::TwoDLayered);
        let used = match place.geometry {
            Geometry::OneD | Geometry::OneDLayered => 1,
            Geometry::ThreeD => 3,
            _ => 2,
        };
        // The coordinates with the greatest value of each. A coordinate that the instruction lacks is zero.
        let rows = if used > 1 { (y, i64::from(level.extents[1]) - 1) } else { (0, 0) };
        let depths = if used > 2 { (z, i64::from(level.extents[2]) - 1) } else { (0, 0) };
        let layers = if layered { (layer, i64::from(image.layers(place.geometry)) - 1) } else { (0, 0) };
        let all = [(x, last), rows, depths, layers];
        if all.iter().any(|(_, last)| *last < 0) {
            return None;
        }
        let inside = all.iter().all(|(value, last)| (0..=*last).contains(value));
        if !inside && outside != Outside::Clamp {
            return None;
        }
        let [x, y, z, layer] = all.map(|(value, last)| value.clamp(0, last));
        // A clamped access keeps its alignment.
        let x = if inside { x } else { x - x % i64::from(place.size) };
        let slice = (z + layer) as u64;
        let within = (x as u64).wrapping_add((y as u64).wrapping_mul(level.pitch));
        Some(level.address.wrapping_add(within).wrapping_add(slice.wrapping_mul(level.slice_pitch)))
    }
}

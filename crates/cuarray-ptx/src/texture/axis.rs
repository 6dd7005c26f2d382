//! Coordinates along one axis: the texels that they mean, and the weights of these.
//!
//! The guide computes the weight of a linear filter from `x - 0.5`, whose fraction has 8 bits; it has 9 bits in all, so that
//! 1.0 is exact. Here the coordinate is rounded to the nearest of these numbers, and a tie is rounded up.

use super::sampler::{AddressMode, FilterMode, Sampler};

/// The number of steps between two texels.
pub(crate) const STEPS: i64 = 256;

/// A coordinate with its image's extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// The number of texels, at least 1.
    pub size: u32,
    pub mode: AddressMode,
    /// Whether the coordinate spans the image from 0 to 1.
    pub normalized: bool,
    /// A number of texels that is added to the coordinate.
    pub offset: i32,
}

/// The texels of a coordinate, each with its weight in units of 1 / [`STEPS`]. A texel outside of the image is `None`.
pub(crate) type Texels = [(Option<u32>, i64); 2];

impl Axis {
    /// The axis of a sampler.
    pub(crate) fn new(sampler: &Sampler, axis: usize, size: u32, offset: i32) -> Axis {
        let mode = match sampler.address[axis] {
            // The guide has these modes for normalized coordinates only.
            AddressMode::Wrap | AddressMode::Mirror if !sampler.normalized => AddressMode::Clamp,
            mode => mode,
        };
        Axis { size: size.max(1), mode, normalized: sampler.normalized, offset }
    }

    /// Finds the texel of an index, which may be outside of the image.
    pub(crate) fn texel(self, index: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let inside = match self.mode {
            _ if (0..size).contains(&index) => index,
            AddressMode::Border => return None,
            AddressMode::Clamp => index.clamp(0, size - 1),
            AddressMode::Wrap => index.rem_euclid(size),
            AddressMode::Mirror => {
                let place = index.rem_euclid(2 * size);
                place.min(2 * size - 1 - place)
            }
        };
        Some(inside as u32)
    }

    /// Finds the texels of a coordinate, and their weights.
    pub(crate) fn texels(self, coordinate: f32, filter: FilterMode) -> Texels {
        let place = self.place(coordinate);
        match filter {
            FilterMode::Point => [(self.texel(place.floor() as i64), STEPS), (None, 0)],
            FilterMode::Linear => {
                let (first, weight) = neighbours(place);
                [(self.texel(first), STEPS - weight), (self.texel(first + 1), weight)]
            }
        }
    }

    /// Finds the texel of an integer coordinate, which counts texels.
    pub(crate) fn integral(self, coordinate: i32) -> Option<u32> {
        self.texel(i64::from(coordinate) + i64::from(self.offset))
    }

    /// The coordinate in texels. It is in the image for the modes that repeat it; otherwise it is at most far outside.
    fn place(self, coordinate: f32) -> f64 {
        let size = f64::from(self.size);
        let coordinate = if coordinate.is_nan() { 0.0 } else { f64::from(coordinate) };
        let scaled = if self.normalized { coordinate * size } else { coordinate };
        let place = (scaled + f64::from(self.offset)).clamp(-FAR, FAR);
        let copies = (place / size).floor();
        match self.mode {
            AddressMode::Clamp | AddressMode::Border => place,
            AddressMode::Mirror if copies.rem_euclid(2.0) == 1.0 => size - (place - copies * size),
            AddressMode::Wrap | AddressMode::Mirror => place - copies * size,
        }
    }
}

/// A coordinate that is farther outside than any texel, and whose steps are still exact.
const FAR: f64 = (1_u64 << 40) as f64;

/// The first of the two texels around a place, and the weight of the second one.
pub(crate) fn neighbours(place: f64) -> (i64, i64) {
    let steps = ((place - 0.5) * STEPS as f64 + 0.5).floor() as i64;
    (steps.div_euclid(STEPS), steps.rem_euclid(STEPS))
}

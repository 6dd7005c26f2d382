//! The texels of a fetch: where they lie, and with which weight each enters the result.

use super::axis::{Axis, STEPS, Texels, neighbours};
use super::detail::{self, Levels};
use super::image::{Geometry, Image, Level};
use super::sampler::{AddressMode, FilterMode, Sampler};
use super::table::Texture;
use super::{cube, format};

/// The most texels of a fetch: eight in each of two levels.
pub(crate) const MOST: usize = 16;

/// A texel of a fetch.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Tap {
    /// The device address; `None` for the border colour.
    pub address: Option<u64>,
    /// The weight. The weights of a fetch have the sum 1.
    pub weight: f64,
}

/// The level of detail of a fetch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Detail {
    /// The largest level, without a choice.
    Base,
    Level(f32),
    /// The changes of the coordinates along the two axes of an image that is drawn.
    Gradients([[f32; 3]; 2]),
}

/// A fetch of one lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fetch {
    pub geometry: Geometry,
    /// The bits of the coordinates: floating point, or integers that count texels.
    pub coordinates: [u32; 3],
    pub integral: bool,
    pub layer: u32,
    pub offset: [i32; 3],
    pub detail: Detail,
}

/// The texels of a fetch.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Footprint {
    taps: [Tap; MOST],
    count: usize,
}

impl Footprint {
    pub(crate) fn taps(&self) -> &[Tap] {
        &self.taps[..self.count]
    }

    fn push(&mut self, address: Option<u64>, weight: f64) {
        if let Some(tap) = self.taps.get_mut(self.count) {
            *tap = Tap { address, weight };
            self.count += 1;
        }
    }
}

impl Texture {
    /// Whether the texture returns integers.
    pub(crate) fn returns_integers(&self) -> bool {
        format::is_integral(self.image.format.kind, self.read)
    }

    /// The texels of a fetch with a sampler. The geometry must suit the image: [`Image::suits`].
    pub(crate) fn footprint(&self, sampler: &Sampler, fetch: &Fetch) -> Footprint {
        let mut footprint = Footprint::default();
        let image = &self.image;
        if image.linear {
            return self.in_linear_memory(fetch);
        }
        let filter = if self.returns_integers() || fetch.integral { FilterMode::Point } else { sampler.filter };
        for (number, share) in chosen_levels(image, sampler, fetch).into_iter().filter(|(_, share)| *share != 0) {
            let Some(level) = image.levels.get(number) else { continue };
            let share = share as f64 / STEPS as f64;
            match fetch.geometry {
                Geometry::Cube | Geometry::CubeLayered => {
                    faces(&mut footprint, image, level, sampler, filter, fetch, share);
                }
                _ => {
                    let axes = [0, 1, 2].map(|axis| along(level, sampler, filter, fetch, axis));
                    let layer = image.layer(fetch.geometry, fetch.layer);
                    boxes(&mut footprint, image, level, axes, layer, share);
                }
            }
        }
        footprint
    }

    /// A fetch from linear memory has no sampler. Outside of the memory it returns zeros.
    fn in_linear_memory(&self, fetch: &Fetch) -> Footprint {
        let [x, ..] = fetch.coordinates;
        let index = if fetch.integral { i64::from(x as i32) } else { f64::from(f32::from_bits(x)).floor() as i64 };
        let index = index + i64::from(fetch.offset[0]);
        let level = self.image.levels.first();
        let inside = level.filter(|level| (0..i64::from(level.extents[0])).contains(&index));
        let mut footprint = Footprint::default();
        footprint.push(inside.map(|level| self.image.address(level, [index as u32, 0, 0], 0)), 1.0);
        footprint
    }

    /// The four texels around a place, in the order of `tld4`: counter-clockwise from the lower left one.
    pub(crate) fn gathered(&self, sampler: &Sampler, fetch: &Fetch) -> Footprint {
        let mut footprint = Footprint::default();
        let Some(level) = self.image.levels.first() else { return footprint };
        const ORDER: [[usize; 2]; 4] = [[0, 1], [1, 1], [1, 0], [0, 0]];
        if matches!(fetch.geometry, Geometry::Cube | Geometry::CubeLayered) {
            let place = cube::project(fetch.direction());
            let size = level.extents[0];
            let [(x, _), (y, _)] = place.place.map(|part| neighbours(part * f64::from(size)));
            for [right, down] in ORDER {
                let index = [x + right as i64, y + down as i64];
                let outside = index.map(|index| !(0..i64::from(size)).contains(&index));
                let (face, index) = match outside {
                    // A corner has no texel of its own.
                    [true, false] | [false, true] if sampler.seamless_cube => cube::beyond(place.face, index, size),
                    _ => (place.face, index),
                };
                let layer = self.image.face(fetch.layer, face);
                let index = index.map(|index| index.clamp(0, i64::from(size) - 1) as u32);
                footprint.push(Some(self.image.address(level, [index[0], index[1], 0], layer)), 1.0);
            }
            return footprint;
        }
        let layer = self.image.layer(fetch.geometry, fetch.layer);
        let axes = [0, 1].map(|axis| along(level, sampler, FilterMode::Linear, fetch, axis));
        for [right, down] in ORDER {
            let place = axes[0][right].0.zip(axes[1][down].0);
            footprint.push(place.map(|(x, y)| self.image.address(level, [x, y, 0], layer)), 1.0);
        }
        footprint
    }
}

impl Fetch {
    /// The floating-point coordinates.
    fn floats(&self) -> [f32; 3] {
        self.coordinates.map(f32::from_bits)
    }

    fn direction(&self) -> [f64; 3] {
        self.floats().map(f64::from)
    }

    /// The number of coordinates, without the layer.
    fn dimensions(&self) -> usize {
        match self.geometry {
            Geometry::OneD | Geometry::OneDLayered => 1,
            Geometry::TwoD | Geometry::TwoDLayered => 2,
            Geometry::ThreeD | Geometry::Cube | Geometry::CubeLayered => 3,
        }
    }
}

fn chosen_levels(image: &Image, sampler: &Sampler, fetch: &Fetch) -> Levels {
    let (count, Some(base)) = (image.levels.len(), image.levels.first()) else { return detail::BASE };
    match fetch.detail {
        _ if count == 1 => detail::BASE,
        Detail::Base => detail::BASE,
        Detail::Level(level) => detail::levels(sampler, level.into(), count),
        Detail::Gradients(changes) => {
            let changes = changes.map(|change| {
                let change = change.map(f64::from);
                let size = base.extents.map(f64::from);
                match fetch.geometry {
                    Geometry::Cube | Geometry::CubeLayered => {
                        let [x, y] = cube::derivative(fetch.direction(), change);
                        [x * size[0], y * size[0], 0.0]
                    }
                    _ => [0, 1, 2].map(|axis| match axis < fetch.dimensions() {
                        true if sampler.normalized => change[axis] * size[axis],
                        true => change[axis],
                        false => 0.0,
                    }),
                }
            });
            detail::levels(sampler, detail::of_changes(changes), count)
        }
    }
}

/// The texels along an axis.
fn along(level: &Level, sampler: &Sampler, filter: FilterMode, fetch: &Fetch, axis: usize) -> Texels {
    if axis >= fetch.dimensions() {
        return [(Some(0), STEPS), (None, 0)];
    }
    let line = Axis::new(sampler, axis, level.extents[axis], fetch.offset[axis]);
    if fetch.integral {
        // Integers count texels, so no copy of the image follows it.
        let mode = if line.mode == AddressMode::Border { AddressMode::Border } else { AddressMode::Clamp };
        return [(Axis { mode, ..line }.integral(fetch.coordinates[axis] as i32), STEPS), (None, 0)];
    }
    line.texels(fetch.floats()[axis], filter)
}

/// Adds the texels whose places are the products of those along the axes.
fn boxes(footprint: &mut Footprint, image: &Image, level: &Level, axes: [Texels; 3], layer: u64, share: f64) {
    let [x, y, z] = axes;
    for (depth, third) in z {
        for (row, second) in y {
            for (column, first) in x {
                let weight = [first, second, third].iter().fold(share, |all, part| all * *part as f64 / STEPS as f64);
                if weight == 0.0 {
                    continue;
                }
                let place = column.zip(row).zip(depth);
                let address = place.map(|((column, row), depth)| image.address(level, [column, row, depth], layer));
                footprint.push(address, weight);
            }
        }
    }
}

/// Adds the texels of a cube.
fn faces(
    footprint: &mut Footprint,
    image: &Image,
    level: &Level,
    sampler: &Sampler,
    filter: FilterMode,
    fetch: &Fetch,
    share: f64,
) {
    let place = cube::project(fetch.direction());
    let size = level.extents[0].max(1);
    let last = i64::from(size) - 1;
    let address = |face: u32, index: [i64; 2]| {
        let [column, row] = index.map(|index| index.clamp(0, last) as u32);
        Some(image.address(level, [column, row, 0], image.face(fetch.layer, face)))
    };
    let places = place.place.map(|part| part * f64::from(size));
    if filter == FilterMode::Point {
        return footprint.push(address(place.face, places.map(|part| part.floor() as i64)), share);
    }
    let [(column, right), (row, down)] = places.map(neighbours);
    let weights = |weight: i64| [STEPS - weight, weight].map(|weight| weight as f64 / STEPS as f64);
    let mut texels = Vec::with_capacity(4);
    let mut corner = 0.0;
    for (below, down) in weights(down).into_iter().enumerate() {
        for (beside, right) in weights(right).into_iter().enumerate() {
            let index = [column + beside as i64, row + below as i64];
            let weight = right * down;
            match index.map(|index| !(0..=last).contains(&index)) {
                [true, true] if sampler.seamless_cube => corner = weight,
                [true, false] | [false, true] if sampler.seamless_cube => {
                    let (face, index) = cube::beyond(place.face, index, size);
                    texels.push((address(face, index), weight));
                }
                _ => texels.push((address(place.face, index), weight)),
            }
        }
    }
    // Three faces meet in a corner of the cube, so the fourth texel is the mean of the others.
    for (address, weight) in texels {
        let weight = share * (weight + corner / 3.0);
        if weight != 0.0 {
            footprint.push(address, weight);
        }
    }
}

impl Texture {
    /// The result of a fetch: the bits of four channels. `texel` gives the bytes of each texel.
    pub(crate) fn blend(
        &self,
        sampler: &Sampler,
        footprint: &Footprint,
        texel: impl Fn(usize) -> [u8; 16],
    ) -> [u32; 4] {
        let channels = |index: usize, tap: &Tap| match tap.address {
            Some(_) => self.channels(texel(index)),
            None => self.border(sampler),
        };
        if let [tap] = footprint.taps() {
            return channels(0, tap);
        }
        let mut sums = [0.0_f64; 4];
        for (index, tap) in footprint.taps().iter().enumerate() {
            for (sum, channel) in sums.iter_mut().zip(channels(index, tap)) {
                *sum += tap.weight * f64::from(f32::from_bits(channel));
            }
        }
        sums.map(|sum| (sum as f32).to_bits())
    }

    /// One component of each of the four texels that [`Texture::gathered`] found.
    pub(crate) fn component(
        &self,
        sampler: &Sampler,
        footprint: &Footprint,
        component: u32,
        texel: impl Fn(usize) -> [u8; 16],
    ) -> [u32; 4] {
        let mut components = [0; 4];
        for (index, (target, tap)) in components.iter_mut().zip(footprint.taps()).enumerate() {
            let channels = if tap.address.is_some() { self.channels(texel(index)) } else { self.border(sampler) };
            *target = channels[component as usize & 3];
        }
        components
    }

    /// The channels of a texel as a fetch returns them.
    pub(crate) fn channels(&self, bytes: [u8; 16]) -> [u32; 4] {
        format::channels(self.image.format, self.read, self.srgb, bytes)
    }

    /// The channels outside of the image. Linear memory has zeros there.
    pub(crate) fn border(&self, sampler: &Sampler) -> [u32; 4] {
        if self.image.linear { [0; 4] } else { sampler.border }
    }
}

//! Spatial transformers: grids of affine maps, bilinear samples of images at the places of a grid, and their gradients.
//!
//! A grid has two coordinates for each place of the result. -1 and 1 are the centers of the first and the last element of a row or column.

use crate::call::Call;
use crate::descriptor_table::descriptors;
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::{Element, Factors, Real, Type, of_type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use crate::tensor_descriptor::{sizes, tensor};
use crate::types::*;
use std::ffi::{c_int, c_void};

/// A transformer: the type of its numbers, and the sizes of its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transformer {
    kind: Type,
    images: usize,
    channels: usize,
    height: usize,
    width: usize,
}

descriptors!(SpatialTransformer TRANSFORMERS: Option<Transformer> = None, create destroy);

/// `cudnnSetSpatialTransformerNdDescriptor`.
pub(crate) fn set(
    number: cudnnSpatialTransformerDescriptor_t,
    sampler: cudnnSamplerType_t,
    kind: cudnnDataType_t,
    count: c_int,
    dims: *const c_int,
) -> Outcome {
    TRANSFORMERS.get(number)?;
    // `CUDNN_SAMPLER_BILINEAR` is the only one.
    if sampler != 0 {
        return Err(BAD_PARAM);
    }
    if count != 4 {
        // Documented: results have four dimensions.
        return Err(if (1..=8).contains(&count) { NOT_SUPPORTED } else { BAD_PARAM });
    }
    let kind = Type::of(kind)?;
    let sizes = sizes(dims, 4)?;
    let [images, channels, height, width] = sizes[..] else { return Err(BAD_PARAM) };
    // The sizes are those of a tensor.
    Layout::new(kind, sizes.clone(), packed(&sizes))?;
    match kind {
        Type::Integer(..) => Err(NOT_SUPPORTED),
        _ => TRANSFORMERS.set(number, Transformer { kind, images, channels, height, width }),
    }
}

impl Transformer {
    fn of(number: cudnnSpatialTransformerDescriptor_t) -> Outcome<Transformer> {
        TRANSFORMERS.described(number)
    }

    /// The places of an image of the result.
    fn places(&self) -> usize {
        self.height * self.width
    }

    fn packed(&self, dims: &[usize]) -> Outcome<Layout> {
        Layout::new(self.kind, dims.to_vec(), packed(dims))
    }

    fn grid(&self) -> Outcome<Layout> {
        self.packed(&[self.images, self.height, self.width, 2])
    }

    /// The maps of the images, each with two rows of three numbers.
    fn maps(&self) -> Outcome<Layout> {
        self.packed(&[self.images, 2, 3])
    }

    /// The place in a row of a result, as a map sees it: both coordinates and 1.
    fn point(&self, place: usize) -> [f64; 3] {
        [coordinate(place % self.width, self.width), coordinate(place / self.width, self.height), 1.0]
    }

    /// Checks the tensors of images that are sampled and of results.
    fn check(&self, images: &[&Layout], results: &[&Layout]) -> Outcome {
        let is_image = |layout: &&Layout| layout.dims.len() == 4 && layout.dims[..2] == [self.images, self.channels];
        let is_result = |layout: &&Layout| layout.dims == [self.images, self.channels, self.height, self.width];
        let alike = images.windows(2).all(|pair| pair[0].dims == pair[1].dims);
        let kinds = images.iter().chain(results).all(|layout| layout.kind == self.kind);
        let right = images.iter().all(is_image) && results.iter().all(is_result);
        if right && alike && kinds { Ok(()) } else { Err(BAD_PARAM) }
    }

    /// The grid of maps.
    fn generate<R: Real>(&self, maps: &[R]) -> Vec<R> {
        let of_map = |map: &[R]| {
            let place = |place: usize| {
                let point = self.point(place);
                let row = |row: usize| (0..3).map(|at| map[row * 3 + at].double() * point[at]).sum::<f64>();
                [R::of(row(0)), R::of(row(1))]
            };
            (0..self.places()).flat_map(place).collect::<Vec<_>>()
        };
        maps.chunks_exact(6).flat_map(of_map).collect()
    }

    /// The gradients of maps from those of their grid.
    fn generate_backward<R: Real>(&self, grid: &[R]) -> Vec<R> {
        let of_map = |grid: &[R]| {
            let mut sums = [0.0; 6];
            for (place, pair) in grid.chunks_exact(2).enumerate() {
                let point = self.point(place);
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum += pair[index / 3].double() * point[index % 3];
                }
            }
            sums.map(R::of)
        };
        grid.chunks_exact(2 * self.places()).flat_map(of_map).collect()
    }

    /// Calls a function with each element of the result: the image and channel, the place, and its neighbours in the image that is sampled.
    fn each<R: Real>(&self, grid: &[R], [height, width]: [usize; 2], mut f: impl FnMut(usize, usize, &[Neighbour])) {
        for (number, pair) in grid.chunks_exact(2).enumerate() {
            let (image, place) = (number / self.places(), number % self.places());
            let [columns, rows] = [axis(pair[0].double(), width), axis(pair[1].double(), height)];
            let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
            let near: Vec<Neighbour> = pairs.filter_map(|(row, column)| Neighbour::of(row, column, width)).collect();
            (0..self.channels).for_each(|channel| f(image * self.channels + channel, place, &near));
        }
    }

    fn sample<R: Real>(&self, x: &[R], grid: &[R], size: [usize; 2]) -> Vec<R> {
        let mut y = vec![R::zero(); self.images * self.channels * self.places()];
        self.each(grid, size, |plane, place, near| {
            let start = plane * size[0] * size[1];
            let sum = near.iter().map(|near| near.weight * x[start + near.place].double()).sum();
            y[plane * self.places() + place] = R::of(sum);
        });
        y
    }

    /// The gradients of the image and of the grid.
    fn sample_backward<R: Real>(&self, x: &[R], dy: &[R], grid: &[R], size: [usize; 2]) -> [Vec<R>; 2] {
        let (mut dx, mut dgrid) = (vec![0.0; x.len()], vec![0.0; grid.len()]);
        self.each(grid, size, |plane, place, near| {
            let start = plane * size[0] * size[1];
            let change = dy[plane * self.places() + place].double();
            let at = 2 * (plane / self.channels * self.places() + place);
            for near in near {
                dx[start + near.place] += change * near.weight;
                let value = change * x[start + near.place].double();
                near.slopes.iter().enumerate().for_each(|(index, slope)| dgrid[at + index] += value * slope);
            }
        });
        [dx, dgrid].map(|values| values.into_iter().map(R::of).collect())
    }
}

/// The coordinate of an element; 0 if there is one element only.
fn coordinate(index: usize, size: usize) -> f64 {
    if size == 1 { 0.0 } else { 2.0 * index as f64 / (size - 1) as f64 - 1.0 }
}

/// An element on one side of a coordinate: its index, its weight, and the slope of the weight.
type Side = Option<(usize, f64, f64)>;

/// The elements of a row or column around a coordinate. Those outside of the image have the value 0.
fn axis(coordinate: f64, size: usize) -> [Side; 2] {
    let (scale, last) = ((size - 1) as f64 / 2.0, (size - 1) as f64);
    let position = (coordinate + 1.0) * scale;
    let first = position.floor();
    let inside = |index: f64| (index >= 0.0 && index <= last).then_some(index as usize);
    [
        inside(first).map(|index| (index, first + 1.0 - position, -scale)),
        inside(first + 1.0).map(|index| (index, position - first, scale)),
    ]
}

/// An element of an image: its place, its weight in the sample, and the slopes of the weight along both coordinates.
struct Neighbour {
    place: usize,
    weight: f64,
    slopes: [f64; 2],
}

impl Neighbour {
    fn of(row: &Side, column: &Side, width: usize) -> Option<Neighbour> {
        let ((row, of_row, row_slope), (column, of_column, column_slope)) = ((*row)?, (*column)?);
        let slopes = [column_slope * of_row, of_column * row_slope];
        Some(Neighbour { place: row * width + column, weight: of_row * of_column, slopes })
    }
}

/// `cudnnSpatialTfGridGeneratorForward`.
pub(crate) fn generate(
    handle: &Handle,
    number: cudnnSpatialTransformerDescriptor_t,
    theta: *const c_void,
    grid: *mut c_void,
) -> Outcome {
    let of = Transformer::of(number)?;
    of_type!(of.kind, T => {
        let mut call = Call::of(handle);
        let theta = call.reads(c"theta", &of.maps()?, theta)?;
        let grid = call.writes(c"grid", &of.grid()?, grid, Factors::result())?;
        call.computes(move |data| {
            let result = of.generate::<<T as Element>::Wide>(&theta.values::<T>(data));
            grid.store::<T>(data, &result);
        })
    })
}

/// `cudnnSpatialTfGridGeneratorBackward`.
pub(crate) fn generate_backward(
    handle: &Handle,
    number: cudnnSpatialTransformerDescriptor_t,
    dgrid: *const c_void,
    dtheta: *mut c_void,
) -> Outcome {
    let of = Transformer::of(number)?;
    of_type!(of.kind, T => {
        let mut call = Call::of(handle);
        let dgrid = call.reads(c"dgrid", &of.grid()?, dgrid)?;
        let dtheta = call.writes(c"dtheta", &of.maps()?, dtheta, Factors::result())?;
        call.computes(move |data| {
            let result = of.generate_backward::<<T as Element>::Wide>(&dgrid.values::<T>(data));
            dtheta.store::<T>(data, &result);
        })
    })
}

/// `cudnnSpatialTfSamplerForward`.
pub(crate) fn sample(
    handle: &Handle,
    number: cudnnSpatialTransformerDescriptor_t,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    grid: *const c_void,
    beta: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
) -> Outcome {
    let (of, of_x, of_y) = (Transformer::of(number)?, tensor(x_desc)?, tensor(y_desc)?);
    of.check(&[&of_x], &[&of_y])?;
    let size = [of_x.dims[2], of_x.dims[3]];
    of_type!(of.kind, T => {
        let mut call = Call::of(handle);
        let (x, grid) = (call.reads(c"x", &of_x, x)?, call.reads(c"grid", &of.grid()?, grid)?);
        let y = call.writes(c"y", &of_y, y, Factors::at(alpha, beta)?)?;
        call.computes(move |data| {
            let (x, grid) = (x.values::<T>(data), grid.values::<T>(data));
            y.store::<T>(data, &of.sample::<<T as Element>::Wide>(&x, &grid, size));
        })
    })
}

/// `cudnnSpatialTfSamplerBackward`.
pub(crate) fn sample_backward(
    handle: &Handle,
    number: cudnnSpatialTransformerDescriptor_t,
    alpha: *const c_void,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    beta: *const c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
    alpha_of_grid: *const c_void,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    grid: *const c_void,
    beta_of_grid: *const c_void,
    dgrid: *mut c_void,
) -> Outcome {
    let of = Transformer::of(number)?;
    let (of_x, of_dx, of_dy) = (tensor(x_desc)?, tensor(dx_desc)?, tensor(dy_desc)?);
    of.check(&[&of_x, &of_dx], &[&of_dy])?;
    let size = [of_x.dims[2], of_x.dims[3]];
    of_type!(of.kind, T => {
        let mut call = Call::of(handle);
        let (x, dy) = (call.reads(c"x", &of_x, x)?, call.reads(c"dy", &of_dy, dy)?);
        let grid = call.reads(c"grid", &of.grid()?, grid)?;
        let dx = call.writes(c"dx", &of_dx, dx, Factors::at(alpha, beta)?)?;
        let dgrid = call.writes(c"dgrid", &of.grid()?, dgrid, Factors::at(alpha_of_grid, beta_of_grid)?)?;
        call.computes(move |data| {
            let (x, dy, grid) = (x.values::<T>(data), dy.values::<T>(data), grid.values::<T>(data));
            let [of_x, of_grid] = of.sample_backward::<<T as Element>::Wide>(&x, &dy, &grid, size);
            dx.store::<T>(data, &of_x);
            dgrid.store::<T>(data, &of_grid);
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Transformer, Type};

    #[test]
    fn gradients_are_the_slopes_of_the_sample() {
        let of = Transformer { kind: Type::Double, images: 2, channels: 2, height: 2, width: 3 };
        let size = [3, 4];
        let x: Vec<f64> = (0..48).map(|index| f64::from(index * 7 % 11) - 4.0).collect();
        let dy: Vec<f64> = (0..24).map(|index| f64::from(index * 3 % 7) - 2.0).collect();
        // Some places are outside of the image.
        let grid: Vec<f64> = (0..24).map(|index| f64::from(index * 5 % 13) / 5.0 - 1.31).collect();
        let loss =
            |x: &[f64], grid: &[f64]| of.sample(x, grid, size).iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>();
        let [dx, dgrid] = of.sample_backward(&x, &dy, &grid, size);
        let slope = |values: &[f64], index: usize, loss: &dyn Fn(&[f64]) -> f64| {
            let moved = |step: f64| {
                let mut values = values.to_vec();
                values[index] += step;
                loss(&values)
            };
            (moved(1e-6) - moved(-1e-6)) / 2e-6
        };
        for (index, gradient) in dx.iter().enumerate() {
            assert!((gradient - slope(&x, index, &|x| loss(x, &grid))).abs() < 1e-7, "x {index}");
        }
        for (index, gradient) in dgrid.iter().enumerate() {
            assert!((gradient - slope(&grid, index, &|grid| loss(&x, grid))).abs() < 1e-7, "grid {index}");
        }
    }
}

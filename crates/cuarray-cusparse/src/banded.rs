//! Equations with tridiagonal and pentadiagonal matrices.

use crate::call::{Call, WORKSPACE, leading, size, values};
use crate::dense::Matrix;
use crate::handle::Handle;
use crate::numbers::{Number, Scalar, update, widen, with_numbers};
use crate::status::{INVALID_VALUE, Outcome, write};
use cuarray_stream_work::{Argument, Region, Rows};
use std::ffi::{CStr, c_int, c_void};

/// The equations of one matrix with `K` diagonals on each side, `2 * K + 1` in all: from the lowest to the highest.
struct Band<'a, W> {
    diagonals: &'a [Vec<W>],
    /// The place of the element of a row in each diagonal and in a right side.
    place: &'a dyn Fn(usize) -> usize,
    rows: usize,
    pivots: bool,
}

impl<W: Number> Band<'_, W> {
    /// Solves for right sides, which are lists of the elements by rows, by elimination with row exchanges.
    fn solve(&self, sides: &mut [Vec<W>]) {
        let (n, k) = (self.rows, self.diagonals.len() / 2);
        let width = 3 * k + 1;
        // The element of row i and column j is at j - i + k; row exchanges fill up to 2 * k places right of the diagonal.
        let element = |row: usize, slot: usize| match self.diagonals.get(slot) {
            Some(diagonal) if (k..n + k).contains(&(row + slot)) => diagonal[(self.place)(row)],
            _ => W::default(),
        };
        let mut rows: Vec<Vec<W>> = (0..n).map(|row| (0..width).map(|slot| element(row, slot)).collect()).collect();
        for column in 0..n {
            let last = (column + k).min(n - 1);
            let at = |rows: &[Vec<W>], row: usize| rows[row][column + k - row];
            if self.pivots {
                let mut pivot = column;
                for row in column + 1..=last {
                    if at(&rows, row).magnitude() > at(&rows, pivot).magnitude() {
                        pivot = row;
                    }
                }
                exchange(&mut rows, sides, column, pivot);
            }
            for row in column + 1..=last {
                let factor = at(&rows, row) / at(&rows, column);
                let (upper, lower) = rows.split_at_mut(row);
                for other in column + 1..(column + 2 * k + 1).min(n) {
                    lower[0][other + k - row] -= factor * upper[column][other + k - column];
                }
                sides.iter_mut().for_each(|side| {
                    let known = side[column];
                    side[row] -= factor * known;
                });
            }
        }
        for side in sides {
            for row in (0..n).rev() {
                let known = (row + 1..(row + 2 * k + 1).min(n))
                    .fold(W::default(), |sum, other| sum + rows[row][other + k - row] * side[other]);
                side[row] = (side[row] - known) / rows[row][k];
            }
        }
    }
}

/// Exchanges two rows of a band, whose elements lie at other places in each, and those of the right sides.
fn exchange<W: Number>(rows: &mut [Vec<W>], sides: &mut [Vec<W>], row: usize, other: usize) {
    if row == other {
        return;
    }
    let shift = other - row;
    let width = rows[row].len();
    let (upper, lower) = rows.split_at_mut(other);
    let (first, second) = (&mut upper[row], &mut lower[0]);
    // The first row has no elements left of its column, and the second none beyond its band.
    for slot in shift..width {
        std::mem::swap(&mut first[slot], &mut second[slot - shift]);
    }
    sides.iter_mut().for_each(|side| side.swap(row, other));
}

/// Three diagonals of a call.
struct Diagonals<T> {
    pointers: [*const T; 3],
}

const NAMES: [&CStr; 3] = [c"dl", c"d", c"du"];

impl<T: Scalar> Diagonals<T> {
    fn reads(&self, call: &mut Call<'_>, region: impl Fn(u64) -> Region) -> Outcome<[Argument; 3]> {
        let [lower, middle, upper] = self.pointers.map(|pointer| pointer.addr() as u64);
        Ok([
            call.reads(NAMES[0], region(lower))?,
            call.reads(NAMES[1], region(middle))?,
            call.reads(NAMES[2], region(upper))?,
        ])
    }
}

/// The number of equations: at least three.
fn order(m: c_int) -> Outcome<usize> {
    size(m).ok().filter(|m| *m >= 3).ok_or(INVALID_VALUE)
}

/// `cusparse<t>gtsv2_bufferSizeExt` and `cusparse<t>gtsv2_nopivot_bufferSizeExt`.
pub(crate) fn gtsv2_size<T: Scalar>(
    _: &Handle,
    m: c_int,
    n: c_int,
    _: *const T,
    _: *const T,
    _: *const T,
    _: *const T,
    ldb: c_int,
    bytes: *mut usize,
) -> Outcome {
    leading(ldb, order(m)?)?;
    size(n)?;
    write(bytes, WORKSPACE)
}

/// `cusparse<t>gtsv2`: equations of one tridiagonal matrix.
pub(crate) fn gtsv2<T: Scalar>(
    handle: &Handle,
    m: c_int,
    n: c_int,
    dl: *const T,
    d: *const T,
    du: *const T,
    b: *mut T,
    ldb: c_int,
    buffer: *mut c_void,
) -> Outcome {
    tridiagonal(handle, (m, n), [dl, d, du], (b, ldb), buffer, true)
}

/// `cusparse<t>gtsv2_nopivot`: as `gtsv2`, without row exchanges.
pub(crate) fn gtsv2_nopivot<T: Scalar>(
    handle: &Handle,
    m: c_int,
    n: c_int,
    dl: *const T,
    d: *const T,
    du: *const T,
    b: *mut T,
    ldb: c_int,
    buffer: *mut c_void,
) -> Outcome {
    tridiagonal(handle, (m, n), [dl, d, du], (b, ldb), buffer, false)
}

fn tridiagonal<T: Scalar>(
    handle: &Handle,
    (m, n): (c_int, c_int),
    pointers: [*const T; 3],
    (b, ldb): (*mut T, c_int),
    buffer: *mut c_void,
    pivots: bool,
) -> Outcome {
    let (rows, columns, kind) = (order(m)?, size(n)?, T::TYPE);
    let b = Matrix::by_columns((rows, columns), leading(ldb, rows)?, b.cast(), kind);
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let diagonals = Diagonals { pointers }.reads(&mut call, |address| values(address, rows, kind))?;
    let sides = call.updates(c"B", b.region())?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let diagonals = diagonals.map(|argument| widen::<W>(data, argument, kind));
        let band = Band { diagonals: &diagonals, place: &|row| row, rows, pivots };
        update::<W>(data, sides, kind, |memory| {
            let mut sides: Vec<Vec<W>> = memory.chunks(rows).map(<[W]>::to_vec).collect();
            band.solve(&mut sides);
            memory.chunks_mut(rows).zip(sides).for_each(|(to, side)| to.copy_from_slice(&side));
        });
    }))
}

/// `cusparse<t>gtsv2StridedBatch_bufferSizeExt`.
pub(crate) fn strided_size<T: Scalar>(
    _: &Handle,
    m: c_int,
    _: *const T,
    _: *const T,
    _: *const T,
    _: *const T,
    count: c_int,
    stride: c_int,
    bytes: *mut usize,
) -> Outcome {
    leading(stride, order(m)?)?;
    size(count)?;
    write(bytes, WORKSPACE)
}

/// `cusparse<t>gtsv2StridedBatch`: equations of several tridiagonal matrices, one after the other.
pub(crate) fn strided<T: Scalar>(
    handle: &Handle,
    m: c_int,
    dl: *const T,
    d: *const T,
    du: *const T,
    x: *mut T,
    count: c_int,
    stride: c_int,
    buffer: *mut c_void,
) -> Outcome {
    let (rows, count, kind) = (order(m)?, size(count)?, T::TYPE);
    let stride = leading(stride, rows)?;
    let region = |address: u64| Region::from(Rows::matrix::<T>(address, rows, count, stride));
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let diagonals = Diagonals { pointers: [dl, d, du] }.reads(&mut call, region)?;
    let sides = call.updates(c"x", region(x.addr() as u64))?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let diagonals = diagonals.map(|argument| widen::<W>(data, argument, kind));
        update::<W>(data, sides, kind, |memory| {
            for (index, x) in memory.chunks_mut(rows).enumerate() {
                let band = Band { diagonals: &diagonals, place: &|row| index * rows + row, rows, pivots: false };
                let mut sides = [x.to_vec()];
                band.solve(&mut sides);
                x.copy_from_slice(&sides[0]);
            }
        });
    }))
}

/// The number of equations and matrices of an interleaved batch, whose elements in all matrices are together.
fn interleaved_sizes(algorithm: c_int, last: c_int, m: c_int, count: c_int) -> Outcome<(usize, usize)> {
    if !(0..=last).contains(&algorithm) {
        return Err(INVALID_VALUE);
    }
    let (rows, count) = (size(m)?, size(count)?);
    if rows == 0 { Err(INVALID_VALUE) } else { Ok((rows, count)) }
}

/// Enqueues equations of an interleaved batch. The diagonals are not constant in the interface, and keep their values here.
fn interleaved<T: Scalar, const N: usize>(
    handle: &Handle,
    (rows, count): (usize, usize),
    diagonals: [(&'static CStr, *mut T); N],
    x: *mut T,
    (buffer, pivots): (*mut c_void, bool),
) -> Outcome {
    let kind = T::TYPE;
    let region = |pointer: *mut T| values(pointer.addr() as u64, rows.saturating_mul(count), kind);
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let mut arguments = Vec::with_capacity(N);
    for (name, pointer) in diagonals {
        arguments.push(call.updates(name, region(pointer))?);
    }
    let sides = call.updates(c"x", region(x))?;
    with_numbers!(kind.is_complex(), W => call.computes(move |data| {
        let diagonals: Vec<Vec<W>> = arguments.iter().map(|argument| widen::<W>(data, *argument, kind)).collect();
        update::<W>(data, sides, kind, |memory| {
            for index in 0..count {
                let place = |row: usize| row * count + index;
                let band = Band { diagonals: &diagonals, place: &place, rows, pivots };
                let mut sides = [(0..rows).map(|row| memory[place(row)]).collect::<Vec<W>>()];
                band.solve(&mut sides);
                (0..rows).for_each(|row| memory[place(row)] = sides[0][row]);
            }
        });
    }))
}

/// `cusparse<t>gtsvInterleavedBatch_bufferSizeExt`.
pub(crate) fn three_size<T: Scalar>(
    _: &Handle,
    algorithm: c_int,
    m: c_int,
    _: *const T,
    _: *const T,
    _: *const T,
    _: *const T,
    count: c_int,
    bytes: *mut usize,
) -> Outcome {
    interleaved_sizes(algorithm, 2, m, count)?;
    write(bytes, WORKSPACE)
}

/// `cusparse<t>gtsvInterleavedBatch`. The first algorithm exchanges no rows.
pub(crate) fn three<T: Scalar>(
    handle: &Handle,
    algorithm: c_int,
    m: c_int,
    dl: *mut T,
    d: *mut T,
    du: *mut T,
    x: *mut T,
    count: c_int,
    buffer: *mut c_void,
) -> Outcome {
    let sizes = interleaved_sizes(algorithm, 2, m, count)?;
    interleaved(handle, sizes, [(c"dl", dl), (c"d", d), (c"du", du)], x, (buffer, algorithm != 0))
}

/// `cusparse<t>gpsvInterleavedBatch_bufferSizeExt`.
pub(crate) fn five_size<T: Scalar>(
    _: &Handle,
    algorithm: c_int,
    m: c_int,
    _: *const T,
    _: *const T,
    _: *const T,
    _: *const T,
    _: *const T,
    _: *const T,
    count: c_int,
    bytes: *mut usize,
) -> Outcome {
    interleaved_sizes(algorithm, 0, m, count)?;
    write(bytes, WORKSPACE)
}

/// `cusparse<t>gpsvInterleavedBatch`.
pub(crate) fn five<T: Scalar>(
    handle: &Handle,
    algorithm: c_int,
    m: c_int,
    ds: *mut T,
    dl: *mut T,
    d: *mut T,
    du: *mut T,
    dw: *mut T,
    x: *mut T,
    count: c_int,
    buffer: *mut c_void,
) -> Outcome {
    let sizes = interleaved_sizes(algorithm, 0, m, count)?;
    let diagonals = [(c"ds", ds), (c"dl", dl), (c"d", d), (c"du", du), (c"dw", dw)];
    interleaved(handle, sizes, diagonals, x, (buffer, true))
}

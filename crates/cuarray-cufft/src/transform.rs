//! A transform of arrays in staging memory.

use crate::kinds::{Direction, Kind};
use crate::layout::View;
use crate::numbers::Number;
use crate::problem::Problem;
use cuarray_stream_work::{Argument, Data};
use num_complex::Complex;
use realfft::num_traits::Zero;

/// The arguments of a transform, with their places in staging memory.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    pub(crate) input: (Argument, View),
    pub(crate) output: (Argument, View),
}

/// Transforms numbers of a type.
pub(crate) fn run<N: Number>(problem: &Problem, direction: Direction, sides: &Staged, data: &mut Data<'_>) {
    let (input, output) = (&sides.input, &sides.output);
    let engine = N::engine(problem, direction);
    match problem.types.0 {
        Kind::ComplexToComplex => {
            let (from, to) = (data.take::<Complex<N>>(input.0), data.take::<Complex<N>>(output.0));
            with_input(from, &input.1, N::same_complex, load, |from| {
                with_output(to, &output.1, N::same_complex, store, |to| engine.complex(from, to));
            });
        }
        Kind::RealToComplex => {
            let (from, to) = (data.take::<N>(input.0), data.take::<Complex<N>>(output.0));
            with_input(from, &input.1, N::same, N::load, |from| {
                with_output(to, &output.1, N::same_complex, store, |to| engine.forward(from, to));
            });
        }
        Kind::ComplexToReal => {
            let (from, to) = (data.take::<Complex<N>>(input.0), data.take::<N>(output.0));
            with_input(from, &input.1, N::same_complex, load, |from| {
                with_output(to, &output.1, N::same, N::store, |to| engine.inverse(from, to));
            });
        }
    }
}

fn load<N: Number>(value: Complex<N>) -> Complex<N::Work> {
    Complex { re: value.re.load(), im: value.im.load() }
}

fn store<N: Number>(value: Complex<N::Work>) -> Complex<N> {
    Complex { re: N::store(value.re), im: N::store(value.im) }
}

/// The number of elements in a row.
fn row(view: &View) -> usize {
    view.dimensions.last().map_or(0, |last| last.count)
}

/// The number of indices.
fn count(view: &View) -> usize {
    view.dimensions.iter().map(|dimension| dimension.count).product()
}

/// Calls a function with the elements in the order of their indices, which it may change.
fn with_input<A: Copy, B: Copy>(
    memory: &mut [A],
    view: &View,
    same: impl Fn(&mut [A]) -> Option<&mut [B]>,
    load: impl Fn(A) -> B,
    f: impl FnOnce(&mut [B]),
) {
    if view.is_packed()
        && view.size == count(view)
        && let Some(elements) = same(memory)
    {
        return f(elements);
    }
    let mut elements = Vec::with_capacity(count(view));
    let length = row(view);
    view.rows(|start, step| elements.extend((0..length).map(|index| load(memory[start + index * step]))));
    f(&mut elements);
}

/// Calls a function that writes the elements in the order of their indices.
fn with_output<A: Copy, B: Copy + Zero>(
    memory: &mut [A],
    view: &View,
    same: impl Fn(&mut [A]) -> Option<&mut [B]>,
    store: impl Fn(B) -> A,
    f: impl FnOnce(&mut [B]),
) {
    if view.is_packed()
        && view.size == count(view)
        && let Some(elements) = same(memory)
    {
        return f(elements);
    }
    let mut elements = vec![B::zero(); count(view)];
    f(&mut elements);
    let (length, mut rows) = (row(view), elements.chunks_exact(row(view).max(1)));
    view.rows(|start, step| {
        let values = rows.next().unwrap_or_default();
        for (index, value) in values.iter().enumerate().take(length) {
            memory[start + index * step] = store(*value);
        }
    });
}

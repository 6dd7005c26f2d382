//! The values that a forward pass keeps for the gradients, and those that the gradients of the data keep for the gradients of the weights. Both
//! lie in the reserve space, one after the other.

use super::network::{Mode, Network};

/// The values of one direction of a layer for each row. Slices of values that a network does not have are empty.
#[derive(Debug)]
pub(super) struct CellTape<'a, W> {
    /// The gates, as [`Network::cell_values`] says.
    pub(super) gates: &'a mut [W],
    /// The states of LSTM cells.
    pub(super) cells: &'a mut [W],
    /// The outputs before their projection.
    pub(super) raw: &'a mut [W],
}

/// The values of a layer.
#[derive(Debug)]
pub(super) struct LayerTape<'a, W> {
    pub(super) directions: Vec<CellTape<'a, W>>,
    /// The outputs, for all layers but the last.
    pub(super) output: &'a mut [W],
    /// The factors of a dropout of these.
    pub(super) kept: &'a mut [W],
}

/// The gradients of one direction of a layer for each row.
#[derive(Debug)]
pub(super) struct CellGradients<'a, W> {
    /// Those of the gates before their activation.
    pub(super) gates: &'a mut [W],
    /// Those of the outputs, if there is a projection.
    pub(super) output: &'a mut [W],
}

/// Takes elements from the front of a slice.
fn take<'a, W>(rest: &mut &'a mut [W], count: usize) -> &'a mut [W] {
    let (taken, others) = std::mem::take(rest).split_at_mut(count);
    *rest = others;
    taken
}

impl Network {
    /// The elements of each row in the parts of a [`CellTape`].
    fn cell_tape(&self) -> [usize; 3] {
        let cells = if self.mode == Mode::Lstm { self.hidden } else { 0 };
        let raw = if self.projects() { self.hidden } else { 0 };
        [self.cell_values(), cells, raw]
    }

    /// The elements of each row in the parts of [`CellGradients`].
    fn cell_gradients(&self) -> [usize; 2] {
        [self.cell_values(), if self.projects() { self.state } else { 0 }]
    }

    /// The elements of each row that a forward pass keeps.
    pub(super) fn tape_width(&self, drops: bool) -> usize {
        let between = (self.layers - 1) * self.width() * (1 + usize::from(drops));
        self.pseudo_layers() * self.cell_tape().iter().sum::<usize>() + between
    }

    /// The elements of each row that the gradients of the data keep.
    pub(super) fn gradient_width(&self) -> usize {
        self.pseudo_layers() * self.cell_gradients().iter().sum::<usize>()
    }

    /// The parts of a tape.
    pub(super) fn tape<'a, W>(&self, rows: usize, drops: bool, mut memory: &'a mut [W]) -> Vec<LayerTape<'a, W>> {
        let mut part = |width: usize| take(&mut memory, rows * width);
        let layer = |layer: usize| {
            let cell = |_| {
                let [gates, cells, raw] = self.cell_tape().map(&mut part);
                CellTape { gates, cells, raw }
            };
            let directions = (0..self.directions).map(cell).collect();
            let width = if layer + 1 < self.layers { self.width() } else { 0 };
            LayerTape { directions, output: part(width), kept: part(if drops { width } else { 0 }) }
        };
        (0..self.layers).map(layer).collect()
    }

    /// The parts of the gradients, one for each pseudo-layer.
    pub(super) fn gradients<'a, W>(&self, rows: usize, mut memory: &'a mut [W]) -> Vec<CellGradients<'a, W>> {
        let cell = |_| {
            let [gates, output] = self.cell_gradients().map(|width| take(&mut memory, rows * width));
            CellGradients { gates, output }
        };
        (0..self.pseudo_layers()).map(cell).collect()
    }
}

//! E0277
//! `usize` cannot be an element of a device array
//! numbers of a stated size

fn typed(view: cuarray::RawView) {
    let _ = view.typed::<usize, cuarray::Ix1, cuarray::AnyLayout>();
}

fn main() {}

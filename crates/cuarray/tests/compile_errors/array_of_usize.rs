//! E0277
//! `usize` cannot be an element of a device array
//! numbers of a stated size
// The compiler's errors for this program must contain each text above.

fn typed(view: cuarray::RawView) {
    let _ = view.typed::<usize, cuarray::Ix1, cuarray::AnyLayout>();
}

fn main() {}

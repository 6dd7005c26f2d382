//! E0277
//! `bool` cannot be an element of a device array
//! `Bool8` for truth values

fn typed(view: cuarray::RawView) {
    let _ = view.typed::<bool, cuarray::Ix1, cuarray::AnyLayout>();
}

fn main() {}

//! E0277
//! `bool` cannot be an element of a device array
//! `Bool8` for truth values
// The compiler's errors for this program must contain each text above.

fn typed(view: cuarray::RawView) {
    let _ = view.typed::<bool, cuarray::Ix1, cuarray::AnyLayout>();
}

fn main() {}

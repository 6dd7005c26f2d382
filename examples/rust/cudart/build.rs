//! Links the CUDA runtime, from the folder that `CUDART_LIB` names: that of a CUDA toolkit, or one with the runtime of cuarray-sim.

fn main() {
    println!("cargo:rerun-if-env-changed=CUDART_LIB");
    if let Ok(folder) = std::env::var("CUDART_LIB") {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=cudart");
}

//! The command line of the stand-in `ptxas`: options, messages, exit statuses and output.

mod accepted;
mod options;
mod output;

use cuarray_toolchain::ptxas::Ptxas;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A kernel with a variable of each state space.
const KERNEL: &str = ".version 8.0
.target sm_80
.address_size 64
.global .u32 counter[4];
.visible .entry add(.param .u64 p) {
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    .shared .align 4 .b8 buffer[128];
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    add.u32 %r1, %r1, 1;
    st.shared.u32 [buffer], %r1;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cuarray-ptxas-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file; returns its path.
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The exit status, standard output and standard error of a command line, for the driver of CUDA 13.0.
fn ptxas(arguments: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let status = Ptxas { driver_version: 13000 }.run(&arguments, &mut out, &mut err);
    (status, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// Runs a command line on `text` in the file `k.ptx`, with its output in `k.o`: the status, the messages with the file
/// named `k.ptx`, and the output if there is one.
fn assemble(text: &str, options: &[&str]) -> (u8, String, Option<Vec<u8>>) {
    let folder = Folder::new();
    let (input, output) = (folder.file("k.ptx", text), folder.path("k.o"));
    let (status, out, err) = ptxas(&[options, &[&input, "-o", &output]].concat());
    assert_eq!(out, "");
    (status, err.replace(&input, "k.ptx").replace(&output, "k.o"), std::fs::read(Path::new(&output)).ok())
}

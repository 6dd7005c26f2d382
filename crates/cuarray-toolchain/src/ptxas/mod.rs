//! A stand-in for NVIDIA's assembler `ptxas`, whose output is its input.
//!
//! It takes the command line of NVIDIA's assembler. The PTX is checked as the simulated driver checks it, names and types
//! included. Errors are reported in the assembler's form, with its exit status 255. The output is the PTX with a nul behind
//! it, which a driver takes as an image. Output of several files, or with a limit of registers, is a linked image.

mod architecture;
mod assemble;
mod messages;
mod options;
mod values;

use messages::Messages;
use options::Options;
use std::io::Write;

/// The exit status after an error, as that of NVIDIA's assembler.
pub const FAILURE: u8 = 255;

/// The assembler for a driver.
#[derive(Clone, Copy, Debug)]
pub struct Ptxas {
    /// The version of the driver: 1000 × major + 10 × minor. The assembler is that of the same release of CUDA, so callers
    /// emit PTX that the driver reads.
    pub driver_version: u32,
}

impl Ptxas {
    /// Runs a command line, without the program's name. Returns the exit status.
    pub fn run(&self, arguments: &[String], out: &mut dyn Write, err: &mut dyn Write) -> u8 {
        let mut messages = Messages::default();
        let status = match Options::read(arguments, &mut messages) {
            Ok(options) if options.help || arguments.is_empty() => {
                print(out, &options::help());
                0
            }
            Ok(options) if options.version => {
                print(out, &self.version());
                0
            }
            Ok(options) if options.list_architectures => {
                print(out, &architecture::list(self.driver_version));
                0
            }
            Ok(options) if options.list_versions => {
                print(out, &architecture::versions(self.driver_version));
                0
            }
            Ok(options) => assemble::assemble(&options, self.driver_version, &mut messages),
            Err(()) => FAILURE,
        };
        print(err, &messages.text());
        status
    }

    /// The text of `--version`. Callers read the release from its fourth line.
    fn version(&self) -> String {
        let (major, minor) = (self.driver_version / 1000, self.driver_version % 1000 / 10);
        format!(
            "ptxas: PTX assembler of cuarray-sim {}, in place of NVIDIA's\n\
             It checks PTX and hands it on; it makes no machine code.\n\
             Built for the simulated CUDA driver\n\
             Cuda compilation tools, release {major}.{minor}, V{major}.{minor}.0\n\
             Build cuarray_sim_{major}.{minor}.r{major}.{minor}/compiler.0\n",
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Writes text to a stream. A caller that closed the stream does not read it.
fn print(stream: &mut dyn Write, text: &str) {
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

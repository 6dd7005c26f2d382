//! A link: its inputs, and its result.

use super::options::Options;
use super::{Failure, Input, Result, kept, real};
use cuarray_ptx::{Image, ImageError};
use std::collections::BTreeSet;

/// The kinds of inputs: `nvJitLinkInputType`.
pub mod kind {
    #![allow(missing_docs)]
    pub const NONE: i32 = 0;
    pub const CUBIN: i32 = 1;
    pub const PTX: i32 = 2;
    pub const LTOIR: i32 = 3;
    pub const FATBIN: i32 = 4;
    pub const OBJECT: i32 = 5;
    pub const LIBRARY: i32 = 6;
    pub const INDEX: i32 = 7;
    pub const ANY: i32 = 10;
}

/// The module of a link without inputs.
const EMPTY: &str = ".version 6.3\n.target sm_52\n.address_size 64\n";

/// The magic number of a container of LTO-IR.
const LTO_CONTAINER: [u8; 4] = 0x7f4e_43ed_u32.to_le_bytes();
const BITCODE: &[u8] = b"BC\xc0\xde";
const FAT: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// A link, from its creation to its results.
#[derive(Debug, Default)]
pub struct Link {
    major: u32,
    options: Options,
    modules: Vec<(String, String)>,
    /// The functions that the modules declare.
    declared: BTreeSet<String>,
    /// The functions that the modules define.
    defined: BTreeSet<String>,
    /// The inputs with LTO-IR.
    lto: Vec<Input>,
    cubin: Option<Vec<u8>>,
    ptx: Option<String>,
    /// The error log: lines, each with its end.
    pub errors: String,
    /// The info log.
    pub info: String,
}

impl Link {
    /// Creates a link. An error is in the log of the link, which cannot be used for anything else.
    pub fn new<'a>(options: impl IntoIterator<Item = &'a str>, major: u32) -> (Link, Result<()>) {
        let mut link = Link { major, ..Link::default() };
        let result = Options::parse(options, major).map(|options| link.options = options);
        let result = link.logged(result);
        (link, result)
    }

    /// Adds an input.
    ///
    /// # Errors
    /// If the bytes are not of the kind, or are not valid, or are for a newer device.
    pub fn add(&mut self, kind: i32, data: &[u8], name: &str) -> Result<()> {
        let result = self.try_add(kind, data, name);
        self.logged(result)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// As for [`add`](Link::add), and if the file cannot be read.
    pub fn add_file(&mut self, kind: i32, path: &str) -> Result<()> {
        let read = std::fs::read(path)
            .map_err(|_| Failure::new(Failure::INVALID_INPUT, format!("no such file: {path}")))
            .and_then(|data| self.try_add(kind, &data, path));
        self.logged(read)
    }

    /// Links the inputs.
    ///
    /// # Errors
    /// For undefined names, and for LTO-IR that cannot be compiled.
    pub fn complete(&mut self) -> Result<()> {
        let result = self.try_complete();
        self.logged(result)
    }

    /// The image for the driver.
    ///
    /// # Errors
    /// Before the link is complete, and if PTX is the result.
    pub fn cubin(&self) -> Result<&[u8]> {
        self.cubin.as_deref().ok_or_else(|| Failure::new(Failure::INTERNAL, String::new()))
    }

    /// The linked PTX, without a nul.
    ///
    /// # Errors
    /// Without the option `-ptx`, and before the link is complete.
    pub fn ptx(&self) -> Result<&str> {
        let code = if self.options.ptx { Failure::INTERNAL } else { Failure::INVALID_INPUT };
        self.ptx.as_deref().ok_or_else(|| Failure::new(code, String::new()))
    }

    /// Appends the message of an error to the log.
    fn logged(&mut self, result: Result<()>) -> Result<()> {
        if let Err(failure) = &result
            && !failure.text.is_empty()
        {
            self.errors.push_str(&failure.text);
            self.errors.push('\n');
        }
        result
    }

    fn try_add(&mut self, given: i32, data: &[u8], name: &str) -> Result<()> {
        let type_name = match given {
            kind::CUBIN => "CUBIN",
            kind::PTX => "PTX",
            kind::LTOIR => "LTOIR",
            kind::FATBIN => "FATBIN",
            kind::OBJECT => "OBJECT",
            kind::LIBRARY => "LIBRARY",
            kind::ANY => "ANY",
            _ => return Err(Failure::new(Failure::INCORRECT_INPUT_TYPE, format!("unsupported input type: {name}"))),
        };
        if data.is_empty() {
            return Err(Failure::new(Failure::INVALID_INPUT, String::new()));
        }
        let is_lto = data.starts_with(&LTO_CONTAINER) || data.starts_with(BITCODE);
        // This linker and NVRTC's stand-in produce PTX where a cubin is wanted, so a cubin may be PTX.
        let fits = match given {
            kind::LTOIR => is_lto,
            kind::PTX => !is_lto && !data.starts_with(b"\x7f") && !data.starts_with(&FAT),
            kind::CUBIN => data.starts_with(b"\x7f") || is_text(data),
            kind::FATBIN => data.starts_with(&FAT),
            kind::OBJECT => data.starts_with(b"\x7fELF"),
            kind::LIBRARY => data.starts_with(b"!<arch>\n"),
            _ => true,
        };
        if !fits {
            let text = format!("ERROR 1: bad input: does not match type NVJITLINK_INPUT_{type_name}: {name}");
            return Err(Failure::new(Failure::INCORRECT_INPUT_TYPE, text));
        }
        if is_lto {
            return self.add_lto(given, data, name);
        }
        match Image::read_for(data, self.options.architecture).and_then(Image::for_link) {
            Ok(image) => {
                for (inner, text) in image.modules {
                    let name = if inner.is_empty() { name } else { &inner };
                    self.add_ptx(name, text)?;
                }
                Ok(())
            }
            // A container without PTX may have LTO-IR.
            Err(ImageError::MachineCode | ImageError::Intermediate | ImageError::LtoIr)
                if self.options.lto && given != kind::CUBIN =>
            {
                self.add_lto(given, data, name)
            }
            Err(
                error @ (ImageError::MachineCode
                | ImageError::Intermediate
                | ImageError::LtoIr
                | ImageError::NewerTarget(_)),
            ) => {
                let text = format!(
                    "ERROR NVJITLINK_ERROR_INVALID_INPUT: {name}: {error}; the linker of the simulated driver links PTX"
                );
                Err(Failure::new(Failure::INVALID_INPUT, text))
            }
            Err(ImageError::Unknown) => {
                Err(Failure::new(Failure::UNRECOGNIZED_INPUT, format!("unrecognized input type: {name}")))
            }
        }
    }

    fn add_lto(&mut self, kind: i32, data: &[u8], name: &str) -> Result<()> {
        if !self.options.lto {
            let text = format!("ERROR NVJITLINK_ERROR_LTO_NOT_ENABLED: {name} is LTO-IR, which requires -lto");
            return Err(Failure::new(Failure::LTO_NOT_ENABLED, text));
        }
        self.lto.push(Input { kind, name: name.to_owned(), data: data.to_vec() });
        Ok(())
    }

    fn add_ptx(&mut self, name: &str, text: String) -> Result<()> {
        let failed = |text: String| {
            let text = format!("{text}\nERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX ({name})");
            Failure::new(Failure::PTX_COMPILE, text)
        };
        let image = Image { modules: vec![(name.to_owned(), text)], ..Image::default() };
        let refused = |error: cuarray_ptx::Error| failed(message(&error));
        let headers = cuarray_ptx::headers(&image).map_err(refused)?;
        let architecture = self.options.architecture;
        if headers.iter().any(|header| !header.runs_on(architecture)) {
            return Err(failed(format!(
                "ptxas fatal   : SM version specified by .target is higher than default SM version assumed, or of another family: sm_{architecture}"
            )));
        }
        match cuarray_ptx::check(&image) {
            Ok(functions) => {
                for function in functions {
                    let names = if function.is_defined() { &mut self.defined } else { &mut self.declared };
                    names.insert(function.name);
                }
            }
            // The driver explains which instruction it does not execute.
            Err(error) if error.unsupported => {}
            Err(error) => return Err(refused(error)),
        }
        self.modules.extend(image.modules);
        Ok(())
    }

    /// Compiles the LTO-IR to PTX, with the functions that the modules call.
    fn compile_lto(&self) -> Result<String> {
        let names = self.declared.difference(&self.defined).cloned().collect::<Vec<_>>();
        let kept = if names.is_empty() {
            None
        } else {
            real::ltoir_of(&kept::source(&names), &self.options.virtual_architecture(), self.major)
        };
        let Some(data) = kept else {
            return real::ptx_of(&self.lto, &self.options.forwarded, self.major);
        };
        let mut inputs = self.lto.clone();
        inputs.push(Input { kind: kind::LTOIR, name: "kept".to_owned(), data });
        Ok(kept::publish(&real::ptx_of(&inputs, &self.options.forwarded, self.major)?, &names))
    }

    fn try_complete(&mut self) -> Result<()> {
        if self.options.ptx && !self.modules.is_empty() {
            let text = "ERROR: -ptx requires that all inputs have LTOIR".to_owned();
            return Err(Failure::new(Failure::INCORRECT_INPUT_TYPE, text));
        }
        let mut modules = self.modules.clone();
        if self.options.lto {
            if self.lto.is_empty() {
                let text = "ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram callback".to_owned();
                return Err(Failure::new(Failure::NVVM_COMPILE, text));
            }
            let ptx = self.compile_lto()?;
            if self.options.ptx {
                self.ptx = Some(ptx);
                return Ok(());
            }
            modules.push((String::new(), ptx));
        }
        if modules.is_empty() {
            modules.push((String::new(), EMPTY.to_owned()));
        }
        let image = Image { modules, max_registers: self.options.max_registers, ..Image::default() };
        match cuarray_ptx::load(&image) {
            Ok(program) if self.options.verbose => {
                let functions = program.functions().len();
                self.info
                    .push_str(&format!("info    : {functions} functions, {} instructions\n", program.instructions()));
            }
            Err(error) if !error.unsupported => {
                let (text, number) = match error.undefined_reference() {
                    Some(undefined) => (undefined, 9),
                    None => (message(&error), 1),
                };
                return Err(Failure::new(Failure::INTERNAL, format!("{text}\nERROR {number}: complete")));
            }
            _ => {}
        }
        self.cubin = Some(image.to_bytes());
        Ok(())
    }
}

/// The message of an error of PTX, in the form of the assembler's messages.
fn message(error: &cuarray_ptx::Error) -> String {
    let name = if error.module.is_empty() { "application ptx input" } else { &error.module };
    format!("ptxas {name}, line {}; error   : '{}': {}", error.line, error.token, error.message)
}

/// Whether bytes begin as PTX text does.
fn is_text(data: &[u8]) -> bool {
    data.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || *byte == 0)
}

//! The check of the inputs, and the output.

use super::FAILURE;
use super::architecture::{self, Architecture};
use super::messages::Messages;
use super::options::{Input, Options};
use cuarray_ptx::{Error, Function, Image, Program, Space};
use std::collections::HashSet;
use std::io::Read;

/// Checks the inputs and writes the output. Returns the exit status.
pub(super) fn assemble(options: &Options, driver_version: u32, messages: &mut Messages) -> u8 {
    match run(options, driver_version, messages) {
        Some(()) => 0,
        None => FAILURE,
    }
}

/// Returns `None` after an error; the message is added.
fn run(options: &Options, driver_version: u32, messages: &mut Messages) -> Option<()> {
    if options.inputs.is_empty() {
        messages.fatal("No input files specified; use option --help for more information");
        return None;
    }
    let architecture = architecture::parse(options.value("gpu-name").unwrap_or("sm_75"))?;
    let texts = options.inputs.iter().filter_map(|input| read(input, messages)).collect::<Vec<_>>();
    if messages.abort_after_errors() || texts.len() < options.inputs.len() {
        return None;
    }
    let mut modules = Vec::new();
    for (name, bytes) in texts {
        modules.push((name.clone(), text(&name, &bytes, messages)?));
    }
    let image = Image { modules, ..Image::default() };
    check_headers(&image, architecture, driver_version, messages)?;
    let usage = match check(&image, options.has("compile-only")) {
        Ok(usage) => usage,
        Err(error) => {
            refuse(&error, &image, messages);
            return None;
        }
    };
    for name in options.value("entry").iter().flat_map(|list| list.split(',')) {
        if !usage.functions.iter().any(|function| function.function.entry && function.function.name == name) {
            messages.fatal(&format!("Unknown function {name}"));
            return None;
        }
    }
    let max_registers = registers_limit(options, messages);
    report(&usage, options, messages);
    if messages.abort_after_errors() {
        return None;
    }
    if architecture.real {
        write(options, image, max_registers, messages)?;
    }
    Some(())
}

/// Reads an input: its name in messages, and its bytes.
fn read(input: &Input, messages: &mut Messages) -> Option<(String, Vec<u8>)> {
    match input {
        Input::File(name) => match std::fs::read(name) {
            Ok(bytes) => Some((name.clone(), bytes)),
            Err(_) => {
                messages.unreadable(name);
                None
            }
        },
        Input::Standard => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            if read.is_err() {
                messages.unreadable("-");
            }
            read.ok().map(|_| ("<stdin>".to_owned(), bytes))
        }
        Input::Text(text) => Some(("application ptx input".to_owned(), text.clone().into_bytes())),
    }
}

/// The PTX text of an input.
fn text(name: &str, bytes: &[u8], messages: &mut Messages) -> Option<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.trim().is_empty() && !text.contains('\0'));
    if text.is_none() {
        messages.fatal_at(name, 1, &format!("Missing .version directive at start of file '{name}'"));
        messages.abort_after_errors();
    }
    text.map(str::to_owned)
}

/// Checks `.version` and `.target` of each module.
fn check_headers(
    image: &Image,
    architecture: Architecture,
    driver_version: u32,
    messages: &mut Messages,
) -> Option<()> {
    for (name, text) in &image.modules {
        let alone = Image { modules: vec![(name.clone(), text.clone())], ..Image::default() };
        let header = match cuarray_ptx::headers(&alone) {
            Ok(headers) => *headers.first()?,
            Err(error) => {
                let which = if error.message == "expected .target" { ".target" } else { ".version" };
                messages.fatal_at(name, error.line, &format!("Missing {which} directive at start of file '{name}'"));
                messages.abort_after_errors();
                return None;
            }
        };
        let newest = architecture::newest_ptx(driver_version);
        if header.version > newest {
            let ((major, minor), (newest_major, newest_minor)) = (header.version, newest);
            let text =
                format!("Unsupported .version {major}.{minor}; current version is '{newest_major}.{newest_minor}'");
            messages.fatal_at(name, header.lines[0], &text);
            messages.abort_after_errors();
            return None;
        }
        if let Some(text) = architecture::refusal(&header, architecture) {
            messages.fatal(&text);
            return None;
        }
    }
    Some(())
}

/// A function, with the memory that it uses.
struct Used {
    function: Function,
    /// The bytes of static shared memory; 0 in a relocatable object, where others may add to it.
    shared: u64,
}

/// The memory that the modules use.
struct Usage {
    functions: Vec<Used>,
    global: u64,
    constant: u64,
}

/// Checks the modules: with definitions for all names, unless they are linked later.
fn check(image: &Image, relocatable: bool) -> Result<Usage, Error> {
    if relocatable {
        let functions = cuarray_ptx::check(image)?.into_iter();
        let functions = functions.map(|function| Used { function, shared: 0 }).collect();
        return Ok(Usage { functions, global: 0, constant: 0 });
    }
    let program = cuarray_ptx::load(image)?;
    let shared = |number: usize, function: &Function| {
        if function.entry { program.shared_bytes(number as u32) } else { 0 }
    };
    let functions = program.functions().iter().enumerate();
    let functions =
        functions.map(|(number, function)| Used { function: function.clone(), shared: shared(number, function) });
    Ok(Usage {
        functions: functions.collect(),
        global: bytes(&program, Space::Global),
        constant: bytes(&program, Space::Const),
    })
}

/// The bytes of the variables in a state space.
fn bytes(program: &Program, space: Space) -> u64 {
    let variables = program.variables().iter().filter(|variable| variable.space == space);
    variables.fold(0, |end, variable| end.next_multiple_of(variable.align.max(1)) + variable.size)
}

/// Reports the error of a module.
fn refuse(error: &Error, image: &Image, messages: &mut Messages) {
    // A device function of the runtime has a reason behind these words.
    if error.message.starts_with("no module defines the function") {
        messages.fatal(&format!("Unresolved extern function '{}'", error.token));
        return;
    }
    // Resolution names no module. The error of a single one is in it.
    let name = match (error.module.as_str(), image.modules.as_slice()) {
        ("", [(name, _), ..]) => name,
        (name, _) => name,
    };
    messages.error_at(name, error);
    messages.abort_after_errors();
}

/// The limit of registers that the options ask for; 0 means none.
fn registers_limit(options: &Options, messages: &mut Messages) -> u32 {
    let Some(value) = options.value("maxrregcount") else { return 0 };
    let (least, most) = (24, 255);
    match value.parse::<i64>() {
        Ok(count) if (0..=i64::from(least)).contains(&count) => {
            let name = options.value("gpu-name").unwrap_or("sm_75");
            if count < i64::from(least) {
                messages.warning(&format!(
                    "For profile {name} adjusting per thread register count of {count} to lower bound of {least}"
                ));
            }
            least
        }
        Ok(count) if count > i64::from(most) || count < 0 => {
            messages.warning(&format!("Too big maxrregcount value specified {count}, will be ignored"));
            0
        }
        Ok(count) => count as u32,
        Err(_) if value == "archmin" => least,
        Err(_) => most,
    }
}

/// Reports the memory that functions use.
fn report(usage: &Usage, options: &Options, messages: &mut Messages) {
    let of_code = |used: &&Used| used.function.registers > 0 || used.function.entry;
    if options.has("warn-on-local-memory-usage") {
        for used in usage.functions.iter().filter(of_code).filter(|used| used.function.local_variables > 0) {
            let (name, stack) = (&used.function.name, used.function.local_variables);
            let text = format!("Local memory used for function '{name}', size of stack frame: {stack} bytes");
            messages.warning(&text);
        }
    }
    let name = options.value("gpu-name").unwrap_or("sm_75");
    if !(options.has("verbose") || options.has("verbose2")) || !name.starts_with("sm_") {
        return;
    }
    let constant = if usage.constant > 0 { format!(", {} bytes cmem[3]", usage.constant) } else { String::new() };
    messages.info(&format!("{} bytes gmem{constant}", usage.global));
    let entries: Option<HashSet<&str>> = options.value("entry").map(|list| list.split(',').collect());
    for Used { function, shared } in usage.functions.iter().filter(of_code) {
        if function.entry && entries.as_ref().is_some_and(|entries| !entries.contains(function.name.as_str())) {
            continue;
        }
        if function.entry {
            messages.info(&format!("Compiling entry function '{}' for '{name}'", function.name));
        }
        messages.info(&format!("Function properties for {}", function.name));
        let stack = function.local_variables;
        messages.detail(&format!("{stack} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
        if function.entry {
            let stack = if stack > 0 { format!(", {stack} bytes cumulative stack size") } else { String::new() };
            let shared = if *shared > 0 { format!(", {shared} bytes smem") } else { String::new() };
            messages.info(&format!("Used {} registers{stack}{shared}", function.registers));
        }
    }
}

/// Writes the output: the PTX with a nul, which is an image. Several modules, or a limit of registers, need a linked image.
fn write(options: &Options, image: Image, max_registers: u32, messages: &mut Messages) -> Option<()> {
    let bytes = match image.modules.as_slice() {
        [(_, text)] if max_registers == 0 => [text.as_bytes(), b"\0"].concat(),
        _ => Image { max_registers, ..image }.to_bytes(),
    };
    let path = options.value("output-file").unwrap_or("elf.o");
    if std::fs::write(path, bytes).is_err() {
        messages.fatal(&format!("Output file '{path}' could not be opened"));
        return None;
    }
    Some(())
}

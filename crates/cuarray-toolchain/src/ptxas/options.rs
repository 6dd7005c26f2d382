//! The command line.

use super::messages::Messages;
use super::values::{Known, OPTIONS, Value};
use std::collections::HashMap;

/// An input of the assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    File(String),
    /// Standard input.
    Standard,
    /// PTX on the command line.
    Text(String),
}

/// A command line that was read.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub inputs: Vec<Input>,
    /// The last value of each option, by its long name.
    values: HashMap<&'static str, String>,
    pub help: bool,
    pub version: bool,
    pub list_architectures: bool,
    pub list_versions: bool,
}

/// The deepest nesting of options files.
const DEPTH: usize = 16;

impl Options {
    /// Reads a command line, without the program's name. Conflicts between options are reported too.
    ///
    /// # Errors
    /// For an unknown option or a wrong value; the message is added.
    pub fn read(arguments: &[String], messages: &mut Messages) -> Result<Options, ()> {
        let mut options = Options::default();
        options.words(arguments, messages, 0)?;
        messages.quiet = options.has("disable-warnings");
        messages.strict = options.has("warning-as-error");
        options.conflicts(messages)?;
        options.help = options.has("help");
        options.version = options.has("version");
        options.list_architectures = options.has("list-arch");
        options.list_versions = options.has("list-version");
        Ok(options)
    }

    /// Whether an option is given.
    pub fn has(&self, long: &str) -> bool {
        self.values.contains_key(long)
    }

    /// The value of an option.
    pub fn value(&self, long: &str) -> Option<&str> {
        self.values.get(long).map(String::as_str)
    }

    fn words(&mut self, words: &[String], messages: &mut Messages, depth: usize) -> Result<(), ()> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "-" {
                self.inputs.push(Input::Standard);
                continue;
            }
            let Some(name) = word.strip_prefix('-') else {
                self.inputs.push(Input::File(word.clone()));
                continue;
            };
            let Some((known, attached)) = find(name) else {
                messages.fatal(&format!("Unknown option '{}'", name.split('=').next().unwrap_or(name)));
                return Err(());
            };
            let value = match (known.value, attached) {
                (Value::None, Some(_)) => {
                    let given = word.split('=').next().unwrap_or(word);
                    messages.fatal(&format!("no argument expected after '{given}'"));
                    return Err(());
                }
                (Value::None, None) => String::new(),
                (_, Some(value)) => value.to_owned(),
                // `-O` alone is the default level, and the next word is a file.
                (_, None) if name == "O" => "3".to_owned(),
                (_, None) => words.next().cloned().ok_or_else(|| {
                    messages.fatal(&format!("argument expected after '{word}'"));
                })?,
            };
            if let Some(text) = known.refusal(&value) {
                messages.fatal(&text);
                return Err(());
            }
            self.set(known, value, messages, depth)?;
        }
        Ok(())
    }

    fn set(&mut self, known: &'static Known, value: String, messages: &mut Messages, depth: usize) -> Result<(), ()> {
        match known.long {
            "input-as-string" => self.inputs.push(Input::Text(value)),
            "options-file" => {
                for file in value.split(',') {
                    let text = std::fs::read_to_string(file).ok().filter(|_| depth < DEPTH);
                    let Some(text) = text else {
                        messages.fatal(&format!("Could not open options file '{file}'"));
                        return Err(());
                    };
                    self.words(&split(&text), messages, depth + 1)?;
                }
            }
            long if known.value == Value::List => {
                let list = self.values.entry(long).or_default();
                *list = if list.is_empty() { value } else { format!("{list},{value}") };
            }
            long => {
                if self.values.get(long).is_some_and(|before| *before != value) {
                    messages.warning(&format!(
                        "incompatible redefinition for option '{long}', the last value of this option was used"
                    ));
                }
                self.values.insert(long, value);
            }
        }
        Ok(())
    }

    /// Reports options that exclude each other.
    fn conflicts(&self, messages: &mut Messages) -> Result<(), ()> {
        let (debug, lines) = (self.has("device-debug"), self.has("generate-line-info"));
        if debug && self.value("opt-level").is_some_and(|level| level != "0") {
            messages.fatal("Optimized debugging not supported");
            return Err(());
        }
        if debug && lines {
            messages.warning(
                "Conflicting options --device-debug and --generate-line-info specified, ignoring \
                 --generate-line-info option",
            );
        }
        if self.has("suppress-debug-info") && !debug && !lines {
            messages.warning(
                "Option suppress-debug-info requires option device-debug or lineinfo; ignoring since latter is not \
                 specified",
            );
        }
        if self.value("position-independent-code") == Some("true")
            && !self.has("suppress-position-independent-code-warning")
        {
            messages.warning(
                "'--position-independent-code' is a deprecated option and is no longer functional. It will be removed \
                 in a future release",
            );
        }
        if let Some(level) = self.value("register-usage-level").and_then(|level| level.parse::<i64>().ok())
            && !(0..=10).contains(&level)
        {
            messages.warning(&format!(
                "Value of RegUsageLevel ({level}) is out of valid range {{0..10}}, option will be ignored"
            ));
        }
        Ok(())
    }
}

/// Finds an option by the word after its first dash: a long name after a second dash, else a short name. Returns a value
/// that is attached to it too.
fn find(name: &str) -> Option<(&'static Known, Option<&str>)> {
    let (plain, attached) = match name.split_once('=') {
        Some((plain, value)) => (plain, Some(value)),
        None => (name, None),
    };
    if let Some(long) = plain.strip_prefix('-') {
        return OPTIONS.iter().find(|known| known.long == long).map(|known| (known, attached));
    }
    if let Some(known) = OPTIONS.iter().find(|known| known.short == plain) {
        return Some((known, attached));
    }
    // `-O2` and `-m64`.
    let (letter, value) = (plain.get(..1)?, plain.get(1..)?);
    let attachable =
        matches!(letter, "O" | "m") && attached.is_none() && value.bytes().all(|byte| byte.is_ascii_digit());
    OPTIONS.iter().find(|known| attachable && known.short == letter).map(|known| (known, Some(value)))
}

/// Splits the text of an options file at white space outside of quotes.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The text of `--help`.
pub(super) fn help() -> String {
    let mut text = "\nUsage  : ptxas [options] <ptx file>,...\n\n\
                    The assembler of cuarray-sim checks PTX and hands it on. Options about machine code are accepted \
                    and change nothing.\n\nOptions\n=======\n\n"
        .to_owned();
    for known in OPTIONS {
        let value = match known.value {
            Value::None => String::new(),
            Value::Bool => " <true|false>".to_owned(),
            Value::Number => " <N>".to_owned(),
            Value::Registers => " <archmax/archmin/N>".to_owned(),
            Value::OneOf(values) => format!(" <{}>", values.join("|")),
            Value::Architecture => " <gpu name>".to_owned(),
            Value::Text => " <value>".to_owned(),
            Value::List => " <value>,...".to_owned(),
        };
        let long = format!("--{}{value}", known.long);
        text += &format!("{long:<52}(-{})\n", known.short);
    }
    text
}

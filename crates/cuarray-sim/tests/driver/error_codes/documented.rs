//! Each code of the table is returned by a sweep or asserted by a single case, or it has a reason.

use super::calls::CALLS;
use super::objects::Objects;
use super::sweeps::{Outcome, before_init, ended_handles, one_wrong_argument, without_context, zeros};
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const TABLE: &str = include_str!("documented.txt");

/// The reason of a code that only some versions of a function return.
const VERSION: &str = "version";

/// The reasons why no call of a function returns a code, each with its code.
fn reasons() -> BTreeMap<&'static str, &'static str> {
    let lines = TABLE.lines().filter_map(|line| line.strip_prefix('='));
    lines.map(|line| line.splitn(3, ' ').collect::<Vec<_>>()).map(|parts| (parts[0], parts[1])).collect()
}

/// The documented codes of each name, with their reasons.
fn table() -> BTreeMap<&'static str, Vec<(&'static str, Option<&'static str>)>> {
    let lines = TABLE.lines().filter(|line| line.starts_with("cu"));
    let code = |text: &'static str| match text.split_once('=') {
        Some((code, reason)) => (code, Some(reason)),
        None => (text, None),
    };
    lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, codes)| (name, codes.split_whitespace().map(code).collect()))
        .collect()
}

/// The codes that each symbol returned.
type Shown = BTreeMap<String, BTreeSet<String>>;

fn note(shown: &mut Shown, symbol: &str, code: &str) {
    if let Some(code) = code.strip_prefix("CUDA_ERROR_") {
        shown.entry(symbol.to_owned()).or_default().insert(code.to_owned());
    }
}

/// Adds the codes of all sweeps.
fn sweep(shown: &mut Shown) {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (ended, context) = (Objects::new(&p), p.context);
    ended.end(&p);
    let current = || {
        // Some calls change the current context, or end it.
        if !call!(p, cuCtxSetCurrent(context)).is_success() {
            p.primary(0);
            ok!(p, cuCtxSetCurrent(context));
        }
    };
    let outcomes: Vec<Outcome> = [
        zeros(&p.api, current),
        ended_handles(&p.api, &ended, current),
        before_init(),
        one_wrong_argument(),
        without_context(),
    ]
    .into_iter()
    .flatten()
    .collect();
    outcomes.iter().for_each(|outcome| note(shown, outcome.symbol, outcome.result.name().unwrap()));
    for (symbol, code) in teardown::outcomes() {
        note(shown, symbol, code);
    }
}

/// The sources of the crate's tests.
fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    texts
}

fn all_sources() -> Vec<String> {
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"))
}

/// Adds the codes that the tests of this crate assert: `fails!(program, CODE, symbol(...))`.
fn cases(shown: &mut Shown) {
    for text in all_sources() {
        for assertion in text.split("fails!(").skip(1) {
            let mut parts = assertion.splitn(3, ',').map(str::trim);
            let (Some(_), Some(code), Some(call)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let symbol: String = call.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            note(shown, &symbol, &format!("CUDA_ERROR_{code}"));
        }
    }
}

#[test]
fn each_documented_code_is_returned_or_has_a_reason() {
    let (table, reasons, mut shown) = (table(), reasons(), Shown::new());
    sweep(&mut shown);
    cases(&mut shown);
    let mut wrong = Vec::new();
    for (name, codes) in &table {
        let symbols: Vec<&str> =
            ENTRY_POINTS.iter().filter(|entry| entry.name == *name).map(|entry| entry.symbol).collect();
        assert!(!symbols.is_empty(), "{name} is no implemented entry point");
        for (code, reason) in codes {
            let returned = |symbol: &&&str| shown.get(**symbol).is_some_and(|codes| codes.contains(*code));
            let count = symbols.iter().filter(returned).count();
            let fits = match reason {
                None => count == symbols.len(),
                Some(VERSION) => (1..symbols.len()).contains(&count),
                Some(reason) => count == 0 && reasons.get(reason) == Some(code),
            };
            if !fits {
                let without: Vec<_> = symbols.iter().filter(|symbol| !returned(symbol)).collect();
                wrong.push(format!("{name} {code} {reason:?}: not returned by {without:?} of {symbols:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} codes:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn table_has_every_implemented_function() {
    let table = table();
    for entry in ENTRY_POINTS {
        assert!(table.contains_key(entry.name), "{}: run test_driver_error_codes with UPDATE=1", entry.name);
    }
}

#[test]
fn every_function_is_called_by_its_name_in_a_test() {
    let sources = all_sources();
    let words = sources.iter().flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    let names: BTreeSet<&str> = words.collect();
    let without: Vec<&str> =
        ENTRY_POINTS.iter().map(|entry| entry.symbol).filter(|symbol| !names.contains(symbol)).collect();
    assert!(without.is_empty(), "{without:?}: the sweeps show error codes only, so each needs a test of its result");
}

#[test]
fn every_reason_is_used() {
    let table = table();
    let used: BTreeSet<&str> = table.values().flatten().filter_map(|(_, reason)| *reason).collect();
    assert_eq!(used, reasons().into_keys().collect());
}

#[test]
fn wrong_handle_is_refused_by_every_call() {
    for Outcome { symbol, wrong, result } in one_wrong_argument() {
        assert_ne!(result, CUresult::CUDA_ERROR_UNKNOWN, "{symbol}: a panic");
        let Some((index, value)) = wrong else { continue };
        let call = CALLS.iter().find(|call| call.symbol == symbol).unwrap();
        let ty = call.parameters[index].ty;
        // Null is a default stream, a context or an address in some calls. The others are never valid.
        let is_handle = value != 0 && (ty.starts_with("CU") && objects::KINDS.contains(&ty));
        assert!(!is_handle || !result.is_success(), "{symbol} accepts {value:#x} as {ty}");
    }
}

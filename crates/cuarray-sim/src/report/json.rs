//! The report as JSON: one object, described in `docs/reference/findings.md`.

use crate::finding::{Allocation, Finding, KernelPlace, Lane, Operation, Range, Report, Side};
use crate::site::{Frame, Site};
use std::fmt::Write as _;

/// Appends a JSON string.
pub(crate) fn quote(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            control if control < ' ' => text.push_str(&format!("\\u{:04x}", control as u32)),
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Appends a number.
fn decimal(text: &mut String, value: impl std::fmt::Display) {
    let _ = write!(text, "{value}");
}

/// Writes an object or an array member by member.
struct Writer<'a> {
    text: &'a mut String,
    end: char,
    first: bool,
}

impl<'a> Writer<'a> {
    fn object(text: &'a mut String) -> Writer<'a> {
        text.push('{');
        Writer { text, end: '}', first: true }
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.text.push(',');
        }
    }

    fn key(&mut self, key: &str) -> &mut String {
        self.separate();
        quote(self.text, key);
        self.text.push(':');
        self.text
    }

    fn number(&mut self, key: &str, value: impl std::fmt::Display) {
        decimal(self.key(key), value);
    }

    fn string(&mut self, key: &str, value: &str) {
        quote(self.key(key), value);
    }

    /// `null` where there is none.
    fn optional<T>(&mut self, key: &str, value: Option<T>, write: impl FnOnce(&mut String, T)) {
        let text = self.key(key);
        match value {
            Some(value) => write(text, value),
            None => text.push_str("null"),
        }
    }

    fn list<T>(&mut self, key: &str, values: &[T], mut write: impl FnMut(&mut String, &T)) {
        self.key(key).push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            write(self.text, value);
        }
        self.text.push(']');
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.text.push(self.end);
    }
}

impl Report {
    /// The report as one JSON object (`docs/reference/findings.md`).
    ///
    /// ```
    /// let empty = cuarray_sim::finding::Report::default();
    /// assert_eq!(
    ///     empty.json(),
    ///     r#"{"version":1,"findings":[],"not_kept":0,"suppressed":[],"lanes":[],"operations":[],"forgotten":0}"#
    /// );
    /// ```
    pub fn json(&self) -> String {
        let mut text = String::new();
        let mut object = Writer::object(&mut text);
        object.number("version", 1);
        object.list("findings", &self.findings, finding);
        object.number("not_kept", self.not_kept);
        object.list("suppressed", &self.suppressed, |text, suppressed| {
            let mut object = Writer::object(text);
            object.number("line", suppressed.line);
            object.string("text", &suppressed.text);
            object.number("count", suppressed.count);
        });
        object.list("lanes", &self.lanes, lane);
        object.list("operations", &self.operations, operation);
        object.number("forgotten", self.forgotten);
        drop(object);
        text
    }
}

fn finding(text: &mut String, finding: &Finding) {
    let mut object = Writer::object(text);
    object.number("number", finding.number);
    object.string("kind", finding.kind.name());
    object.number("count", finding.count);
    object.optional("bytes", finding.bytes, |text, value| range(text, &value));
    object.optional("offset", finding.offset, decimal);
    object.optional("allocation", finding.allocation.as_ref(), allocation);
    object.optional("variable", finding.variable.as_ref(), |text, value| {
        let mut object = Writer::object(text);
        object.optional("name", value.name.as_deref(), quote);
        object.string("space", value.space);
        object.number("offset", value.offset);
    });
    object.optional("object", finding.object.as_ref(), |text, value| {
        let mut object = Writer::object(text);
        object.string("kind", value.kind);
        object.number("handle", value.handle);
    });
    object.list("sides", &finding.sides, side);
    object.optional("missing", finding.missing.as_deref(), quote);
}

fn range(text: &mut String, range: &Range) {
    let mut object = Writer::object(text);
    object.number("address", range.address);
    object.number("length", range.length);
}

fn allocation(text: &mut String, allocation: &Allocation) {
    let mut object = Writer::object(text);
    object.number("address", allocation.address);
    object.number("size", allocation.size);
    object.string("kind", allocation.kind);
    object.number("device", allocation.device);
    object.string("call", allocation.call);
    object.optional("site", Some(&*allocation.site), site);
    object.number("ordinal", allocation.ordinal);
}

fn side(text: &mut String, side: &Side) {
    let mut object = Writer::object(text);
    object.string("call", side.call);
    object.optional("detail", side.detail.as_deref(), quote);
    object.string("deed", side.deed.name());
    object.number("lane", side.lane);
    object.optional("bytes", side.bytes, |text, value| range(text, &value));
    object.optional("site", Some(&*side.site), site);
    object.optional("place", side.place.as_ref(), place);
    object.number("ordinal", side.ordinal);
}

fn place(text: &mut String, place: &KernelPlace) {
    let mut object = Writer::object(text);
    object.list("block", &place.block, |text, index| decimal(text, *index));
    object.list("thread", &place.thread, |text, index| decimal(text, *index));
    object.key("atomic").push_str(if place.atomic { "true" } else { "false" });
    object.optional("source", place.source.as_ref(), |text, value| {
        let mut object = Writer::object(text);
        object.string("file", &value.file);
        object.number("line", value.line);
    });
    object.optional("ptx_line", place.ptx_line, decimal);
}

/// Appends a site.
pub(crate) fn site(text: &mut String, site: &Site) {
    let mut object = Writer::object(text);
    object.optional("user", site.user.as_ref(), frame);
    object.optional("innermost", site.innermost.as_ref(), frame);
    object.optional("native", site.native.as_ref(), |text, native| {
        let mut object = Writer::object(text);
        object.string("object", &native.object);
        object.number("offset", native.offset);
        object.optional("symbol", native.symbol.as_deref(), quote);
    });
    object.optional("library", site.library.as_deref(), quote);
}

fn frame(text: &mut String, frame: &Frame) {
    let mut object = Writer::object(text);
    object.string("file", &frame.file);
    object.number("line", frame.line);
    object.string("function", &frame.function);
}

fn lane(text: &mut String, lane: &Lane) {
    let mut object = Writer::object(text);
    object.number("number", lane.number);
    object.string("kind", lane.kind.name());
    object.number("handle", lane.handle);
    object.optional("device", lane.device, decimal);
    object.string("name", &lane.name);
}

fn operation(text: &mut String, operation: &Operation) {
    let mut object = Writer::object(text);
    object.number("ordinal", operation.ordinal);
    object.number("lane", operation.lane);
    object.string("call", operation.call);
    object.optional("detail", operation.detail.as_deref(), quote);
    object.optional("site", Some(&*operation.site), site);
    object.list("after", &operation.after, |text, ordinal| decimal(text, *ordinal));
    object.list("accesses", &operation.accesses, |text, access| {
        let mut object = Writer::object(text);
        object.string("deed", access.deed.name());
        object.number("address", access.bytes.address);
        object.number("length", access.bytes.length);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::*;
    use std::sync::Arc;

    #[test]
    fn a_name_is_quoted() {
        let mut text = String::new();
        quote(&mut text, "a\"\\\n");
        assert_eq!(text, "\"a\\\"\\\\\\u000a\"");
    }

    #[test]
    fn a_finding_is_written_whole() {
        let frame = Some(Frame { file: "a.py".into(), line: 3, function: "f".into() });
        let site = Arc::new(Site { user: frame, ..Site::default() });
        let bytes = Some(Range { address: 0x10, length: 4 });
        let side = |deed, ordinal| Side {
            call: "cuMemsetD8Async",
            detail: None,
            deed,
            lane: 1,
            bytes,
            site: site.clone(),
            place: None,
            ordinal,
        };
        let finding = Finding {
            number: 1,
            kind: Kind::DataRace,
            bytes,
            offset: None,
            allocation: None,
            variable: None,
            object: None,
            sides: vec![side(Deed::Write, 1), side(Deed::Read, 2)],
            missing: Some("wait".into()),
            count: 2,
        };
        let report = Report { findings: vec![finding], ..Report::default() };
        let (before, site) = (
            r#"{"version":1,"findings":[{"number":1,"kind":"data-race","count":2,"bytes":{"address":16,"length":4},"offset":null,"allocation":null,"variable":null,"object":null,"sides":["#,
            r#""site":{"user":{"file":"a.py","line":3,"function":"f"},"innermost":null,"native":null,"library":null}"#,
        );
        let side = |deed, ordinal| {
            format!(
                r#"{{"call":"cuMemsetD8Async","detail":null,"deed":"{deed}","lane":1,"bytes":{{"address":16,"length":4}},{site},"place":null,"ordinal":{ordinal}}}"#
            )
        };
        let (first, second) = (side("write", 1), side("read", 2));
        let after = r#"],"missing":"wait"}],"not_kept":0,"suppressed":[],"lanes":[],"operations":[],"forgotten":0}"#;
        assert_eq!(report.json(), format!("{before}{first},{second}{after}"));
    }
}

//! The report as JSON: one object, described in `docs/reference/findings.md`.

use crate::finding::Report;
use serde::Serialize;

/// The version of the format. It changes when a key is removed or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    version: u32,
    #[serde(flatten)]
    report: &'a Report,
}

impl Report {
    /// The report as one JSON object (`docs/reference/findings.md`).
    ///
    /// ```
    /// let empty = cuarray_races::finding::Report::default();
    /// assert_eq!(
    ///     empty.json(),
    ///     concat!(
    ///         r#"{"version":1,"findings":[],"not_kept":0,"suppressed":[],"lanes":[],"operations":[],"forgotten":0,"#,
    ///         r#""watched":{"bytes":0,"memory":0,"history":0,"left_out":0}}"#
    ///     )
    /// );
    /// ```
    pub fn json(&self) -> String {
        // Serialization of plain data into memory does not fail.
        serde_json::to_string(&Document { version: VERSION, report: self }).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Document, VERSION};
    use crate::finding::*;
    use crate::site::{Frame, Site};
    use std::sync::Arc;
    use std::{env, fs};

    #[test]
    fn schema_of_the_python_package_is_the_generated_one() {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<Document<'_>>();
        schema.insert("title".into(), "A report of the simulated CUDA driver".into());
        schema.pointer_mut("/properties/version").unwrap()["const"] = VERSION.into();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/cuarray-sim/cuarray_sim/report.schema.json");
        if env::var_os("UPDATE").is_some_and(|update| update == "1") {
            fs::write(file, &text).unwrap();
        }
        assert_eq!(fs::read_to_string(file).unwrap(), text, "UPDATE=1 writes the file, if each difference is right");
    }

    #[test]
    fn finding_is_written_with_all_keys_in_order() {
        let frame = Some(Frame { file: "a.py".into(), line: 3, function: "f".into() });
        let site = Arc::new(Site { user: frame, ..Site::default() });
        let bytes = Some(Range { address: 0x10, length: 4 });
        let side = |access, ordinal| Side {
            call: "cuMemsetD8Async",
            detail: None,
            access,
            lane: 1,
            bytes,
            site: site.clone(),
            place: None,
            graph: None,
            ordinal,
        };
        let finding = Finding {
            number: 1,
            kind: Kind::DataRace,
            fingerprint: String::new(),
            bytes,
            offset: None,
            allocation: None,
            more_allocations: Vec::new(),
            variable: None,
            object: None,
            sides: vec![side(AccessKind::Write, 1), side(AccessKind::Read, 2)],
            missing: Some("wait".into()),
            count: 2,
            allocations: 1,
        };
        let watched = Watched { bytes: 4, memory: 8, history: 16, left_out: 32 };
        let report = Report { findings: vec![finding], watched, ..Report::default() };
        let (before, site) = (
            r#"{"version":1,"findings":[{"number":1,"kind":"data-race","fingerprint":"","count":2,"allocations":1,"bytes":{"address":16,"length":4},"offset":null,"allocation":null,"more_allocations":[],"variable":null,"object":null,"sides":["#,
            r#""site":{"user":{"file":"a.py","line":3,"function":"f"},"innermost":null,"native":null,"library":null}"#,
        );
        let side = |access, ordinal| {
            format!(
                r#"{{"call":"cuMemsetD8Async","detail":null,"access":"{access}","lane":1,"bytes":{{"address":16,"length":4}},{site},"place":null,"graph":null,"ordinal":{ordinal}}}"#
            )
        };
        let (first, second) = (side("write", 1), side("read", 2));
        let after = r#"],"missing":"wait"}],"not_kept":0,"suppressed":[],"lanes":[],"operations":[],"forgotten":0,"#;
        let watched = r#""watched":{"bytes":4,"memory":8,"history":16,"left_out":32}}"#;
        assert_eq!(report.json(), format!("{before}{first},{second}{after}{watched}"));
    }
}

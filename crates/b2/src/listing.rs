//! What `b2 info` shows of a store: a line for each frame in it.

use crate::failure::Result;
use crate::input::Input;
use crate::json::Json;
use crate::source::Frame;
use crate::store::{Kind, Member, Store, Unopened, kind_of};
use crate::summary::{array_fields, tuple};
use crate::text::{bytes, clean, grouped, plural, ratio};
use oxiblosc_repair::array_meta;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The most columns of a table that are named.
const COLUMNS: usize = 12;

/// The line of a member.
struct MemberRow {
    key: String,
    kind: &'static str,
    shape: String,
    nbytes: Option<u64>,
    cbytes: u64,
    json: Vec<(String, Json)>,
}

/// What is printed of a store, as text or as JSON. Texts are safe for terminals.
pub struct Listing {
    name: String,
    kind: &'static str,
    form: &'static str,
    file_size: u64,
    rows: Vec<MemberRow>,
    /// The columns of each table by its key.
    tables: BTreeMap<String, Vec<String>>,
    notes: Vec<String>,
    problems: Vec<String>,
}

impl MemberRow {
    fn of(store: &Store, member: &Member, opened: &std::result::Result<Frame, Unopened>) -> Self {
        let mut row = Self {
            key: clean(member.key.as_bytes()),
            kind: "",
            shape: String::new(),
            nbytes: None,
            cbytes: store.size(member),
            json: Vec::new(),
        };
        let mut json = vec![("key", Json::from(row.key.clone()))];
        match opened {
            Ok(frame) => {
                let kind = kind_of(frame);
                let nbytes = frame.header.nbytes.max(0) as u64;
                (row.kind, row.nbytes) = (kind.name(), Some(nbytes));
                let meta = frame.array().and_then(array_meta);
                json.extend([("kind", Json::from(row.kind)), ("nbytes", nbytes.into())]);
                match meta.filter(|_| kind == Kind::Array) {
                    Some(meta) => {
                        let shape = &meta.shape[..meta.ndim];
                        let dtype = clean(meta.dtype.unwrap_or_default());
                        row.shape = format!("{} {dtype}", tuple(shape));
                        json.push(("array", array_fields(&meta).1));
                    }
                    None => row.shape = plural(frame.nchunks(), "chunk", "chunks"),
                }
            }
            Err(Unopened::Elsewhere(address)) => {
                let address = clean(address.as_bytes());
                (row.kind, row.shape) = ("reference", address.clone());
                json.extend([("kind", Json::from(row.kind)), ("address", address.into())]);
            }
            Err(Unopened::Damaged(why)) => {
                (row.kind, row.shape) = ("damaged", why.clone());
                json.extend([
                    ("kind", Json::from(row.kind)),
                    ("error", why.clone().into()),
                ]);
            }
        }
        let file = member.file.as_ref();
        let file = file.map_or(Json::Null, |file| Json::from(clean(file.as_bytes())));
        json.extend([("cbytes", Json::from(row.cbytes)), ("file", file)]);
        let json = json.into_iter();
        row.json = json
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        row
    }
}

impl Listing {
    /// Opens all members, and lists what is in them.
    pub fn of(store: &Store, input: &Input) -> Result<Self> {
        let mut rows = Vec::new();
        let mut tables = BTreeMap::new();
        for member in &store.members {
            let opened = store.frame(member)?;
            rows.push(MemberRow::of(store, member, &opened));
            if let Ok(frame) = &opened
                && let Some(root) = member.key.strip_suffix("/_meta")
                && kind_of(frame) == Kind::TableManifest
            {
                tables.insert(root.to_string(), Vec::new());
            }
        }
        add_columns(store, &mut tables);
        input.faults().check()?;
        Ok(Self {
            name: clean(input.name().as_bytes()),
            kind: match tables.contains_key("") {
                true => "CTable",
                false => store.kind.name(),
            },
            form: store.form(),
            file_size: rows.iter().map(|row| row.cbytes).sum(),
            rows,
            tables,
            notes: cleaned(&store.notes),
            problems: store.problems.clone(),
        })
    }

    /// Prints the listing for a person.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let nbytes: u64 = self.rows.iter().filter_map(|row| row.nbytes).sum();
        let count = plural(self.rows.len(), "frame", "frames");
        writeln!(
            out,
            "store       {}: {} of python-blosc2 in a {}",
            self.name, self.kind, self.form
        )?;
        writeln!(out, "data        {} in {count}", bytes(nbytes))?;
        let (size, ratio) = (bytes(self.file_size), ratio(nbytes, self.file_size));
        writeln!(out, "compressed  {size}, ratio {ratio}")?;
        for (root, columns) in &self.tables {
            let shown: Vec<&str> = columns.iter().take(COLUMNS).map(String::as_str).collect();
            let more = if shown.len() < columns.len() {
                ", ..."
            } else {
                ""
            };
            let root = if root.is_empty() { "/" } else { root };
            writeln!(
                out,
                "table       {}: {}{more}",
                clean(root.as_bytes()),
                shown.join(", ")
            )?;
        }
        for note in &self.notes {
            writeln!(out, "note        {note}")?;
        }
        for problem in &self.problems {
            writeln!(out, "damaged     {problem}")?;
        }
        let width = self.rows.iter().map(|row| row.key.chars().count());
        let width = width.max().unwrap_or(0).clamp(3, 40);
        writeln!(
            out,
            "\n{:<width$} {:>14} {:>13} {:>13}  shape",
            "key", "kind", "bytes", "compressed"
        )?;
        for row in &self.rows {
            let nbytes = row.nbytes.map_or("?".into(), |n| grouped(n.into()));
            let cbytes = grouped(row.cbytes.into());
            let (key, kind, shape) = (&row.key, row.kind, &row.shape);
            writeln!(
                out,
                "{key:<width$} {kind:>14} {nbytes:>13} {cbytes:>13}  {shape}"
            )?;
        }
        Ok(())
    }

    /// The members of the JSON object for a program.
    pub fn into_json(self) -> Vec<(String, Json)> {
        let tables = self.tables.into_iter().map(|(root, columns)| {
            let root = if root.is_empty() { "/".into() } else { root };
            (clean(root.as_bytes()), Json::list(columns))
        });
        let members = [
            ("file", Json::from(self.name)),
            ("store", Json::from(self.kind)),
            ("form", Json::from(self.form)),
            ("tables", Json::Object(tables.collect())),
            ("notes", Json::list(self.notes)),
            ("problems", Json::list(self.problems)),
            (
                "members",
                Json::List(
                    self.rows
                        .into_iter()
                        .map(|row| Json::Object(row.json))
                        .collect(),
                ),
            ),
        ];
        let members = members.into_iter();
        members
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }
}

fn cleaned(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| clean(line.as_bytes())).collect()
}

/// Adds the names of the columns, which have a frame each, to the tables by their keys. Goes
/// through the members once, however many tables there are.
fn add_columns(store: &Store, tables: &mut BTreeMap<String, Vec<String>>) {
    for member in &store.members {
        for (at, columns) in member.key.match_indices("/_cols/") {
            if let Some(table) = tables.get_mut(&member.key[..at]) {
                let name = &member.key[at + columns.len()..];
                table.push(clean(name.as_bytes()));
            }
        }
    }
}

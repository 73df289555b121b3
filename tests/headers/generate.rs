//! Writes the C headers. cbindgen turns the types, the functions and the integer constants of
//! `src/capi` into C; this puts each item into its header, joins enumerators that belong together
//! into one `enum`, and sets the hand-written fragments around them. `src/capi/headers/README.md`
//! tells the rules from the side of who adds an item.

use cbindgen::{Builder, Config, Language};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Item, Visibility};

/// One header: which items of `src/capi` it holds.
struct Header {
    /// Its path below `include/`.
    path: &'static str,
    /// The stem of its fragments in `src/capi/headers`.
    fragments: &'static str,
    /// Files of `constants/`, in the order of the header.
    constants: &'static [&'static str],
    /// Files of `types/`.
    types: &'static [&'static str],
    /// Where several headers share a file: the start of the names of this header's constants, and
    /// its types.
    only: Option<(&'static str, &'static [&'static str])>,
    /// Whether a function belongs here.
    function: fn(&str) -> bool,
}

/// The headers of the library: the eight that the reference has, and one of its own.
const HEADERS: [Header; 9] = [
    Header {
        path: "blosc2.h",
        fragments: "blosc2",
        constants: &["macros", "blosc1", "blosc2", "errors"],
        types: &["context", "io", "plugin", "schunk"],
        only: None,
        function: |name| !is_b2nd(name) && !is_stdio(name) && !is_own(name),
    },
    Header {
        path: "oxiblosc.h",
        fragments: "oxiblosc",
        constants: &[],
        types: &[],
        only: None,
        function: is_own,
    },
    Header {
        path: "b2nd.h",
        fragments: "b2nd",
        constants: &["b2nd"],
        types: &["b2nd"],
        only: None,
        function: is_b2nd,
    },
    Header {
        path: "blosc2/blosc2-stdio.h",
        fragments: "blosc2-stdio",
        constants: &[],
        types: &["stdio"],
        only: None,
        function: is_stdio,
    },
    Header {
        path: "blosc2/codecs-registry.h",
        fragments: "codecs-registry",
        constants: &["registry"],
        types: &["registry"],
        only: Some(("BLOSC_CODEC_", &["codec_info"])),
        function: |_| false,
    },
    Header {
        path: "blosc2/filters-registry.h",
        fragments: "filters-registry",
        constants: &["registry"],
        types: &["registry"],
        only: Some(("BLOSC_FILTER_", &["filter_info"])),
        function: |_| false,
    },
    Header {
        path: "blosc2/tuners-registry.h",
        fragments: "tuners-registry",
        constants: &["registry"],
        types: &["registry"],
        only: Some(("BLOSC_BTUNE", &["tuner_info"])),
        function: |_| false,
    },
    Header {
        path: "blosc2/blosc2-common.h",
        fragments: "blosc2-common",
        constants: &[],
        types: &[],
        only: None,
        function: |_| false,
    },
    Header {
        path: "blosc2/blosc2-export.h",
        fragments: "blosc2-export",
        constants: &[],
        types: &[],
        only: None,
        function: |_| false,
    },
];

/// Files of `constants/` whose integers are `#define`s, for programs that test them with `#if`.
const MACRO_FILES: [&str; 2] = ["macros", "b2nd"];

/// The file of `constants/` that steps back when Blosc 1's header was included before ours.
const BLOSC1_FILE: &str = "blosc1";

fn is_b2nd(name: &str) -> bool {
    name.starts_with("b2nd_")
}

/// Whether the reference has no function of this name.
fn is_own(name: &str) -> bool {
    name.starts_with("oxiblosc_")
}

fn is_stdio(name: &str) -> bool {
    name.starts_with("blosc2_stdio_")
}

/// The root of the crate.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The paths of all headers below `include/`.
pub fn paths() -> impl Iterator<Item = &'static str> {
    HEADERS.iter().map(|header| header.path)
}

/// Every header, by its path below `include/`.
pub fn all() -> BTreeMap<&'static str, String> {
    let values = constant_values();
    HEADERS
        .iter()
        .map(|header| (header.path, header.text(&values)))
        .collect()
}

/// The names of all constants that are integers.
pub fn integer_constants() -> Vec<String> {
    let values = constant_values().into_iter();
    values
        .filter(|(_, constant)| !constant.is_text)
        .map(|(name, _)| name)
        .collect()
}

/// A text that defines, as other values, what Blosc 1's header defines.
pub fn blosc1_header() -> String {
    let mut out = String::from("#define BLOSC_H\n");
    let values = constant_values();
    for item in items(&capi().join(format!("constants/{BLOSC1_FILE}.rs"))) {
        let Item::Const(constant) = item else {
            continue;
        };
        let name = constant.ident.to_string();
        let _ = match values[&name].is_text {
            true => writeln!(out, "#define {name} \"Blosc 1\""),
            false => writeln!(out, "enum {{ {name} = 99 }};"),
        };
    }
    out
}

/// The names of the functions that `src/capi` exports.
pub fn exported_functions() -> BTreeSet<String> {
    rust_files(&capi())
        .iter()
        .flat_map(|file| items(file))
        .filter_map(|item| match item {
            Item::Fn(function) if is_exported(&function) => Some(function.sig.ident.to_string()),
            _ => None,
        })
        .collect()
}

impl Header {
    /// The whole text of this header.
    fn text(&self, values: &BTreeMap<String, Constant>) -> String {
        let mut out = String::from(concat!(
            "/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */\n",
            "/* Generated from src/capi by the test `headers`: change it there. */\n\n",
        ));
        let guard = format!(
            "BLOSC_{}",
            self.path.to_uppercase().replace(['/', '.', '-'], "_")
        );
        let _ = write!(out, "#ifndef {guard}\n#define {guard}\n\n");
        let head = self.fragment("head");
        if !head.is_empty() {
            out += &(head + "\n");
        }
        let tail = self.fragment("tail");
        let parts = [self.constants(values), self.types(), self.functions(), tail];
        if parts.iter().any(|part| !part.is_empty()) {
            out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
            for part in parts.iter().filter(|part| !part.is_empty()) {
                let _ = write!(out, "\n{}\n", part.trim_end());
            }
            out += "\n#ifdef __cplusplus\n}\n#endif\n\n";
        }
        let _ = writeln!(out, "#endif /* {guard} */");
        tidy(&out)
    }

    /// A hand-written part: `head` stands before the items, `tail` after them.
    fn fragment(&self, part: &str) -> String {
        let file = capi().join(format!("headers/{}.{part}.h", self.fragments));
        fs::read_to_string(file).unwrap_or_default()
    }

    /// The constants, paragraph by paragraph.
    fn constants(&self, values: &BTreeMap<String, Constant>) -> String {
        let mut out = String::new();
        for &stem in self.constants {
            let text = read(&capi().join(format!("constants/{stem}.rs")));
            let mut part = String::new();
            for paragraph in text.split("\n\n") {
                part += &self.paragraph(paragraph, MACRO_FILES.contains(&stem), values);
            }
            if stem == BLOSC1_FILE {
                part = format!(
                    "#ifndef BLOSC_H /* Blosc 1 defines these too */\n\n{part}#endif /* BLOSC_H */\n\n"
                );
            }
            out += &part;
        }
        out
    }

    /// One paragraph of constants: `#define`s, or one `enum`.
    fn paragraph(
        &self,
        paragraph: &str,
        macros: bool,
        values: &BTreeMap<String, Constant>,
    ) -> String {
        let prefix = self.only.map_or("", |(prefix, _)| prefix);
        let constants: Vec<_> = paragraph
            .lines()
            .filter_map(|line| line.strip_prefix("pub const "))
            .map(|line| {
                line.split(':')
                    .next()
                    .expect("split gives at least one part")
                    .trim()
            })
            .filter(|name| name.starts_with(prefix))
            .map(|name| {
                (
                    name,
                    values
                        .get(name)
                        .unwrap_or_else(|| panic!("no value for {name}")),
                )
            })
            .collect();
        if constants.is_empty() {
            return String::new();
        }
        let heading: Vec<_> = paragraph
            .lines()
            .filter_map(|line| line.strip_prefix("// "))
            .collect();
        let mut out = if heading.is_empty() {
            String::new()
        } else {
            format!("/* {} */\n", heading.join("\n   "))
        };
        let define = macros || constants.iter().any(|(_, constant)| constant.is_text);
        if define {
            for (name, Constant { doc, value, .. }) in constants {
                // Builders read versions line by line, some with the words of the comment:
                // PyTables' setup.py.
                let _ = match doc.lines().collect::<Vec<_>>()[..] {
                    ["/**", text, " */"] if name.contains("_VERSION_") => {
                        let text = text.trim_start_matches(" * ");
                        writeln!(out, "#define {name} {value} /**< {text} */")
                    }
                    _ => writeln!(out, "{doc}#define {name} {value}"),
                };
            }
        } else {
            out += "enum {\n";
            for (name, Constant { doc, value, .. }) in constants {
                for line in doc.lines() {
                    let _ = writeln!(out, "  {line}");
                }
                let _ = writeln!(out, "  {name} = {value},");
            }
            out += "};\n";
        }
        out + "\n"
    }

    /// The types, as cbindgen writes them.
    fn types(&self) -> String {
        let mut config = config();
        let mut builder = Builder::new();
        for &stem in self.types {
            let file = capi().join(format!("types/{stem}.rs"));
            let names = items(&file).into_iter().filter_map(|item| match item {
                Item::Struct(item) => Some(item.ident.to_string()),
                Item::Type(item) => Some(item.ident.to_string()),
                _ => None,
            });
            let wanted = |name: &String| {
                self.only
                    .is_none_or(|(_, types)| types.contains(&name.as_str()))
            };
            config.export.include.extend(names.filter(wanted));
            builder = builder.with_src(file);
        }
        without_tag_typedefs(&generate(builder, config))
    }

    /// The prototypes, as cbindgen writes them. The types are not shown to it, so that it goes by
    /// their names.
    fn functions(&self) -> String {
        let mut config = config();
        let mut builder = Builder::new();
        for file in rust_files(&capi()) {
            let (mut ours, mut others) = (0, Vec::new());
            for item in items(&file) {
                match item {
                    Item::Fn(function) if is_exported(&function) => {
                        let name = function.sig.ident.to_string();
                        match (self.function)(&name) {
                            true => ours += 1,
                            false => others.push(name),
                        }
                    }
                    Item::Const(constant) => others.push(constant.ident.to_string()),
                    _ => {}
                }
            }
            if ours > 0 {
                config.export.exclude.extend(others);
                builder = builder.with_src(with_plain_attributes(&file));
            }
        }
        generate(builder, config)
    }
}

/// A copy of a file of the border in which the attribute `export` is what it becomes, which
/// cbindgen knows.
fn with_plain_attributes(file: &Path) -> PathBuf {
    let name = file.strip_prefix(root()).expect("a file of ours");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(copy.parent().expect("it is in a folder")).expect("a folder");
    let text = read(file).replace("#[export]", "#[unsafe(no_mangle)]");
    let unfinished = copy.with_extension(format!("{:?}", std::thread::current().id()));
    fs::write(&unfinished, text).expect("a file in the target folder");
    fs::rename(&unfinished, &copy)
        .expect("it replaces the one of another thread, which is the same");
    copy
}

/// Takes away the typedefs of names that end in `_s`. The reference has only the tags, and a
/// program that includes its private headers beside the public ones declares some of these names
/// itself.
fn without_tag_typedefs(types: &str) -> String {
    let is_tag = |name: &str| name.ends_with("_s");
    let mut out = String::new();
    if types.trim().is_empty() {
        return out;
    }
    for paragraph in types.split("\n\n") {
        let (doc, code) = match paragraph.split_once("typedef struct ") {
            Some((doc, code)) if doc.is_empty() || doc.ends_with('\n') => (doc, code),
            _ => ("", ""),
        };
        let name = code.trim_end().trim_end_matches(';');
        let name = name.rsplit([' ', '\n']).next().unwrap_or_default();
        if !is_tag(name) {
            out += paragraph;
        } else if let Some((_, fields)) = code.split_once('{') {
            let fields = fields.rsplit_once('}').map_or("", |(fields, _)| fields);
            let _ = write!(out, "{doc}struct {name} {{{fields}}};");
        } else {
            // A typedef of another name declares the tag.
            continue;
        }
        out += "\n\n";
    }
    out
}

/// A constant as C writes it.
struct Constant {
    /// Its comment: lines of C, or nothing.
    doc: String,
    value: String,
    is_text: bool,
}

/// Every constant by its name. cbindgen knows the integers; strings it does not, so that those are
/// read here.
fn constant_values() -> BTreeMap<String, Constant> {
    let mut builder = Builder::new();
    let mut values = BTreeMap::new();
    for file in rust_files(&capi().join("constants")) {
        for item in items(&file) {
            let Item::Const(item) = item else { continue };
            if let syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::CStr(text),
                ..
            }) = &*item.expr
            {
                let value = format!(
                    "{:?}",
                    text.value()
                        .to_str()
                        .expect("the strings of the headers are ASCII")
                );
                let doc = doc_comment(&item.attrs);
                values.insert(
                    item.ident.to_string(),
                    Constant {
                        doc,
                        value,
                        is_text: true,
                    },
                );
            }
        }
        builder = builder.with_src(file);
    }
    let mut doc = String::new();
    for line in generate(builder, config()).lines() {
        if let Some((name, value)) = line
            .strip_prefix("#define ")
            .and_then(|rest| rest.split_once(' '))
        {
            let doc = std::mem::take(&mut doc);
            values.insert(
                name.to_owned(),
                Constant {
                    doc,
                    value: value.to_owned(),
                    is_text: false,
                },
            );
        } else if !line.is_empty() {
            let _ = writeln!(doc, "{line}");
        }
    }
    values
}

/// A doc comment in cbindgen's style.
fn doc_comment(attrs: &[syn::Attribute]) -> String {
    let mut out = String::from("/**\n");
    for attr in attrs {
        if let syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value:
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(text),
                    ..
                }),
            ..
        }) = &attr.meta
            && path.is_ident("doc")
        {
            let _ = writeln!(out, " *{}", text.value());
        }
    }
    out + " */\n"
}

/// Puts a comment of one line on one line, and turns Rust's links and headings into plain words.
fn tidy(text: &str) -> String {
    const WIDTH: usize = 118;
    let text = text
        .replace("[`", "`")
        .replace("`]", "`")
        .replace("# Safety", "Required of the caller:")
        // cbindgen puts the semicolon behind the condition of the last field.
        .replace("\n#endif\n  ;", ";\n#endif");
    let mut lines = text.lines().peekable();
    let mut out = String::new();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let is_open = line.trim_start() == "/**";
        let only = lines
            .peek()
            .and_then(|next| next.trim_start().strip_prefix("* "))
            .map(str::to_owned);
        match only {
            Some(only) if is_open && indent + only.len() + 7 <= WIDTH => {
                lines.next();
                if lines.next_if(|next| next.trim_start() == "*/").is_some() {
                    let _ = writeln!(out, "{:indent$}/** {only} */", "");
                } else {
                    let _ = writeln!(out, "{line}\n{:indent$} * {only}", "");
                }
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// Runs cbindgen; panics with its complaint, since this is a test.
fn generate(builder: Builder, config: Config) -> String {
    let mut out = Vec::new();
    builder
        .with_config(config)
        .generate()
        .expect("cbindgen reads src/capi")
        .write(&mut out);
    String::from_utf8(out).expect("cbindgen writes UTF-8")
}

/// The settings of every run, from `src/capi/headers/cbindgen.toml`.
fn config() -> Config {
    let config = Config::from_file(capi().join("headers/cbindgen.toml"))
        .expect("cbindgen.toml is there and valid");
    assert_eq!(config.language, Language::C);
    config
}

/// The folder of the border.
pub fn capi() -> PathBuf {
    root().join("src/capi")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The items of a Rust file.
pub fn items(path: &Path) -> Vec<Item> {
    syn::parse_file(&read(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .items
}

/// Every Rust file in a folder and below, in a fixed order.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| match path.is_dir() {
            true => rust_files(&path),
            false if path.extension().is_some_and(|extension| extension == "rs") => vec![path],
            false => Vec::new(),
        })
        .collect()
}

/// Whether C sees a function: it is public and keeps its name.
fn is_exported(function: &syn::ItemFn) -> bool {
    let unmangled = function.attrs.iter().any(|attr| {
        let mut found = attr.path().is_ident("export");
        if attr.path().is_ident("unsafe") {
            found = attr
                .parse_args::<syn::Path>()
                .is_ok_and(|path| path.is_ident("no_mangle"));
        }
        found
    });
    unmangled && matches!(function.vis, Visibility::Public(_))
}

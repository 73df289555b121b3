//! Which part of the sources may use which: no circles of more than two files or
//! of folders in any crate, and the library's users name its front only.
//!
//! The sources are parsed and their paths resolved, through imports and re-exports to the file that
//! defines the item. An arrow goes from a file to each file whose items it names. A module that
//! declares or re-exports a child does not use it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree, Visibility};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Crates of ours that users of the library may name: the C library, the tool and examples. Their
/// tests may name the last.
const FRONT: [&str; 6] = [
    "oxiblosc",
    "oxiblosc_base",
    "oxiblosc_border",
    "oxiblosc_startup",
    "oxiblosc_repair",
    "oxiblosc_testing",
];

// -------------------------------------------------------------------------------------------------
// Modules and what they name.

type ModuleId = usize;
type FileId = usize;

/// A name that a `use` binds, or everything in a module.
struct Import {
    /// `None` for `*`.
    name: Option<String>,
    path: Vec<String>,
    /// A re-export: not a use by itself.
    is_public: bool,
}

#[derive(Default)]
struct Module {
    file: FileId,
    parent: Option<ModuleId>,
    children: BTreeMap<String, ModuleId>,
    /// What it defines, and in which file. That is another one for exported macros only.
    items: BTreeMap<String, FileId>,
    imports: Vec<Import>,
    code: Vec<TokenStream>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(ModuleId),
    Item(FileId),
}

#[derive(Default)]
struct Crate {
    modules: Vec<Module>,
    /// Paths without `src/`.
    files: Vec<String>,
    macros: BTreeMap<String, FileId>,
}

/// Whether the item is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.to_token_stream().to_string();
        let condition: String = condition.split_whitespace().collect();
        condition == "cfg(test)" || condition.starts_with("cfg(all(test,")
    })
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that the item defines.
fn defined(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

fn imports(tree: &UseTree, path: &mut Vec<String>, is_public: bool, all: &mut Vec<Import>) {
    let mut import = |name: Option<String>, last: Option<String>| {
        let path = path.iter().cloned().chain(last).collect();
        all.push(Import {
            name,
            path,
            is_public,
        });
    };
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            imports(&inner.tree, path, is_public, all);
            path.pop();
        }
        UseTree::Name(name) if name.ident == "self" => import(path.last().cloned(), None),
        UseTree::Name(name) => import(Some(name.ident.to_string()), Some(name.ident.to_string())),
        UseTree::Rename(name) if name.ident == "self" => {
            import(Some(name.rename.to_string()), None)
        }
        UseTree::Rename(name) => {
            import(Some(name.rename.to_string()), Some(name.ident.to_string()))
        }
        UseTree::Glob(_) => import(None, None),
        UseTree::Group(group) => {
            for tree in &group.items {
                imports(tree, path, is_public, all);
            }
        }
    }
}

impl Crate {
    /// Parses the crate whose root is `source`/lib.rs or main.rs.
    fn parse(source: &Path) -> Self {
        let mut parsed = Self::default();
        let main = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let main = main.iter().find(|path| path.exists()).expect("a root");
        parsed.add_file(source, main, source, None);
        parsed
    }

    fn add_file(
        &mut self,
        source: &Path,
        path: &Path,
        folder: &Path,
        parent: Option<ModuleId>,
    ) -> ModuleId {
        let text =
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let syntax =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(source).expect("a file of the crate");
        self.files
            .push(name.to_str().expect("plain names").to_owned());
        let file = self.files.len() - 1;
        self.add_module(source, folder, syntax.items, file, parent)
    }

    fn add_module(
        &mut self,
        source: &Path,
        folder: &Path,
        items: Vec<Item>,
        file: FileId,
        parent: Option<ModuleId>,
    ) -> ModuleId {
        let id = self.modules.len();
        self.modules.push(Module {
            file,
            parent,
            ..Module::default()
        });
        for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            if let Some(name) = defined(&item) {
                self.modules[id].items.insert(name.to_string(), file);
                if let Item::Macro(definition) = &item {
                    self.macros.insert(name.to_string(), file);
                    if definition
                        .attrs
                        .iter()
                        .any(|attribute| attribute.path().is_ident("macro_export"))
                    {
                        self.modules[0].items.insert(name.to_string(), file);
                    }
                }
            }
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let inner = folder.join(&name);
                    let child = match module.content {
                        Some((_, items)) => self.add_module(source, &inner, items, file, Some(id)),
                        None => {
                            let beside = folder.join(format!("{name}.rs"));
                            let path = if beside.exists() {
                                beside
                            } else {
                                inner.join("mod.rs")
                            };
                            self.add_file(source, &path, &inner, Some(id))
                        }
                    };
                    self.modules[id].children.insert(name, child);
                }
                Item::Use(import) => {
                    let is_public = !matches!(import.vis, Visibility::Inherited);
                    let all = &mut self.modules[id].imports;
                    imports(&import.tree, &mut Vec::new(), is_public, all);
                }
                item => self.modules[id].code.push(item.to_token_stream()),
            }
        }
        id
    }

    /// What a name means in a module, seen from outside or inside.
    fn look_up(
        &self,
        module: ModuleId,
        name: &str,
        seen: &mut BTreeSet<(ModuleId, String)>,
    ) -> BTreeSet<Target> {
        let mut found = BTreeSet::new();
        if !seen.insert((module, name.to_owned())) {
            return found;
        }
        let inside = &self.modules[module];
        found.extend(
            inside
                .children
                .get(name)
                .map(|&child| Target::Module(child)),
        );
        found.extend(inside.items.get(name).map(|&file| Target::Item(file)));
        for import in &inside.imports {
            if import.name.as_deref() == Some(name) {
                found.extend(self.resolve(module, &import.path, seen));
            }
        }
        if found.is_empty() {
            for import in inside.imports.iter().filter(|import| import.name.is_none()) {
                for target in self.resolve(module, &import.path, seen) {
                    if let Target::Module(from) = target {
                        found.extend(self.look_up(from, name, seen));
                    }
                }
            }
        }
        seen.remove(&(module, name.to_owned()));
        found
    }

    /// What a path in a module leads to: nothing if it leads out of the crate.
    fn resolve(
        &self,
        module: ModuleId,
        path: &[String],
        seen: &mut BTreeSet<(ModuleId, String)>,
    ) -> BTreeSet<Target> {
        let mut at = BTreeSet::from([Target::Module(module)]);
        for (number, name) in path.iter().enumerate() {
            let modules = at.iter().filter_map(|target| match target {
                Target::Module(module) => Some(*module),
                Target::Item(_) => None,
            });
            let next: BTreeSet<Target> = match &**name {
                "crate" => BTreeSet::from([Target::Module(0)]),
                "self" => continue,
                "super" => modules
                    .filter_map(|module| self.modules[module].parent)
                    .map(Target::Module)
                    .collect(),
                name => modules
                    .flat_map(|module| self.look_up(module, name, seen))
                    .collect(),
            };
            // What is behind an item (a variant, a method) is in the same file.
            let items: BTreeSet<Target> = at
                .into_iter()
                .filter(|target| matches!(target, Target::Item(_)))
                .collect();
            if next.is_empty() && number > 0 {
                return items;
            }
            at = next;
        }
        at
    }

    /// Adds the files whose items a path means, or also those of modules.
    fn uses(
        &self,
        module: ModuleId,
        path: &[String],
        or_module: bool,
        into: &mut BTreeSet<FileId>,
    ) {
        let found = self.resolve(module, path, &mut BTreeSet::new());
        into.extend(found.into_iter().filter_map(|target| match target {
            Target::Item(file) => Some(file),
            Target::Module(module) => Some(self.modules[module].file).filter(|_| or_module),
        }));
    }

    /// The files that a piece of code names items of.
    fn scan(&self, module: ModuleId, code: TokenStream, into: &mut BTreeSet<FileId>) {
        let tokens: Vec<TokenTree> = code.into_iter().collect();
        let is = |at: usize, mark: &str| {
            tokens
                .get(at)
                .is_some_and(|token| token.to_string() == mark)
        };
        let mut at = 0;
        while at < tokens.len() {
            let start = at;
            at += 1;
            let first = match &tokens[start] {
                TokenTree::Group(group) => {
                    self.scan(module, group.stream(), into);
                    continue;
                }
                TokenTree::Ident(first) => first,
                _ => continue,
            };
            let before = |back: usize, mark: &str| start >= back && is(start - back, mark);
            if before(1, ".") && !before(2, ".") {
                // A field or a method.
                continue;
            }
            let mut path = vec![first.to_string()];
            let mut tree = None;
            while tree.is_none() && is(at, ":") && is(at + 1, ":") {
                match tokens.get(at + 2) {
                    Some(TokenTree::Ident(name)) => path.push(name.to_string()),
                    Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                        tree = Some(format!("{}::{group}", path.join("::")));
                    }
                    _ => break,
                }
                at += 3;
            }
            match tree {
                Some(tree) => self.import_in_code(module, &tree, into),
                None => self.uses(module, &path, before(1, "use"), into),
            }
            if path.len() == 1 && is(at, "!") {
                into.extend(self.macros.get(&path[0]));
            }
        }
    }

    fn import_in_code(&self, module: ModuleId, tree: &str, into: &mut BTreeSet<FileId>) {
        let Ok(tree) = syn::parse_str::<UseTree>(tree) else {
            return;
        };
        let mut all = Vec::new();
        imports(&tree, &mut Vec::new(), false, &mut all);
        for import in all {
            self.uses(module, &import.path, true, into);
        }
    }

    /// Whether two files are never compiled together.
    fn are_twins(&self, a: FileId, b: FileId) -> bool {
        let is_in = |file: FileId, folder: &str| self.files[file].contains(folder);
        let differ = |a, b| is_in(a, "/unix/") && is_in(b, "/windows/");
        differ(a, b) || differ(b, a)
    }

    /// For each file the files whose items it names.
    fn arrows(&self) -> Vec<BTreeSet<FileId>> {
        let mut arrows = vec![BTreeSet::new(); self.files.len()];
        for (id, module) in self.modules.iter().enumerate() {
            let into = &mut arrows[module.file];
            for import in module.imports.iter().filter(|import| !import.is_public) {
                self.uses(id, &import.path, false, into);
            }
            for code in &module.code {
                self.scan(id, code.clone(), into);
            }
            let is_other = |to: &FileId| *to != module.file && !self.are_twins(module.file, *to);
            into.retain(is_other);
        }
        arrows
    }
}

// -------------------------------------------------------------------------------------------------
// Circles.

/// The groups of two and more nodes that reach each other.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reach = |from: &String| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(node) = next.pop() {
            for to in arrows.get(node).into_iter().flatten() {
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|node| (node, reach(node))).collect();
    let mut found = BTreeSet::new();
    for (node, others) in &reached {
        let circle = others
            .iter()
            .filter(|&&other| reached.get(other).is_some_and(|back| back.contains(node)));
        let circle: BTreeSet<String> = circle.map(|&name| name.clone()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

/// The folders from the root of the crate to a module, and its name: of `a/b.rs` and `a/b/mod.rs`
/// these are `a`, `b`.
fn place(file: &str) -> Vec<&str> {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/')
        .filter(|name| !["lib", "main"].contains(name))
        .collect()
}

/// Files or folders that reach each other, and the arrows between them.
struct Circle {
    names: BTreeSet<String>,
    arrows: Vec<String>,
}

/// The circles of a crate: those of more than two files, and those in which a folder (with the file
/// of its module) and what stands beside it use each other.
fn circles_of(source: &Path) -> Vec<Circle> {
    let parsed = Crate::parse(source);
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // For each folder the arrows between what stands in it, and between which files these are.
    let mut levels: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    let mut all = Vec::new();
    let mut folders = BTreeSet::new();
    for (from, uses) in parsed.arrows().into_iter().enumerate() {
        let from = &parsed.files[from];
        let here = place(from);
        folders.extend((1..here.len()).map(|depth| here[..depth].join("/")));
        for to in uses.into_iter().map(|to| &parsed.files[to]) {
            let there = place(to);
            let common = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
            files.entry(from.clone()).or_default().insert(to.clone());
            all.push((from.clone(), to.clone(), format!("{from} -> {to}")));
            if common < here.len() && common < there.len() {
                let units = [&here, &there].map(|place| place[..=common].join("/"));
                let level = levels.entry(here[..common].join("/")).or_default();
                let [unit, other] = units.clone();
                all.push((unit.clone(), other.clone(), format!("{from} -> {to}")));
                level.entry(unit).or_default().insert(other);
            }
        }
    }
    let arrows = |circle: &BTreeSet<String>| {
        let within = all
            .iter()
            .filter(|(from, to, _)| circle.contains(from) && circle.contains(to));
        within.map(|(_, _, arrow)| arrow.clone()).collect()
    };
    let long = circles(&files).into_iter().filter(|names| names.len() > 2);
    let mut found: Vec<Circle> = long
        .map(|names| Circle {
            arrows: arrows(&names),
            names,
        })
        .collect();
    for units in levels.values().flat_map(circles) {
        if units.iter().any(|unit| folders.contains(unit)) {
            let suffix = |unit: &String| if folders.contains(unit) { "/" } else { ".rs" };
            found.push(Circle {
                arrows: arrows(&units),
                names: units
                    .iter()
                    .map(|unit| format!("{unit}{}", suffix(unit)))
                    .collect(),
            });
        }
    }
    found
}

/// The folders with a `src`: all crates but the helpers of tests, and the C library.
fn crates() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(root().join("crates")).expect("crates");
    let folders = entries.map(|entry| entry.expect("a crate").path());
    let named = folders.map(|path| {
        (
            path.file_name().unwrap().to_str().unwrap().to_owned(),
            path.join("src"),
        )
    });
    let library = ("C library".to_owned(), root().join("src"));
    named
        .filter(|(name, _)| name != "testing")
        .chain([library])
        .collect()
}

#[test]
fn no_module_uses_itself_through_others() {
    let mut details = String::new();
    for (name, source) in crates() {
        for circle in circles_of(&source) {
            let arrows = circle.arrows.join("\n    ");
            details += &format!("{name}: {:?}\n    {arrows}\n", circle.names);
        }
    }
    assert!(details.is_empty(), "{details}");
}

#[test]
fn paths_are_resolved_through_imports() {
    let folder = std::env::temp_dir().join(format!("architecture-{}", std::process::id()));
    fs::create_dir_all(folder.join("deep")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write(
        "lib.rs",
        "mod deep; mod user; mod glob; mod macros; mod quiet; pub use user::User;",
    );
    write(
        "deep/mod.rs",
        "mod inner; pub use inner::{Inner as Renamed}; pub(crate) struct Own;",
    );
    write(
        "deep/inner.rs",
        "pub struct Inner; fn f() -> super::Own { super::Own }",
    );
    write(
        "user.rs",
        "use crate::deep; pub struct User(deep::Renamed); #[cfg(test)] mod tests { use \
         crate::glob::g; }",
    );
    write(
        "glob.rs",
        "use crate::deep::*; pub fn g(own: &Own) { own.quiet(); made!(); }",
    );
    write("macros.rs", "macro_rules! made { () => { $crate::User }; }");
    write(
        "quiet.rs",
        "pub fn quiet() { use super::{glob::g, user}; let _ = vec![user::User::new()]; }",
    );
    let parsed = Crate::parse(&folder);
    let arrows = parsed.arrows();
    fs::remove_dir_all(&folder).unwrap();
    let uses = |from: &str| {
        let from = parsed.files.iter().position(|name| name == from).unwrap();
        let mut names: Vec<_> = arrows[from].iter().map(|&to| &*parsed.files[to]).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(uses("lib.rs"), [""; 0]);
    assert_eq!(uses("deep/mod.rs"), [""; 0]);
    assert_eq!(uses("deep/inner.rs"), ["deep/mod.rs"]);
    assert_eq!(uses("user.rs"), ["deep/inner.rs"]);
    assert_eq!(uses("glob.rs"), ["deep/mod.rs", "macros.rs"]);
    assert_eq!(uses("macros.rs"), ["user.rs"]);
    assert_eq!(uses("quiet.rs"), ["glob.rs", "user.rs"]);
}

/// The files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, into),
            false => into
                .extend(Some(path).filter(|path| path.extension().is_some_and(|end| end == "rs"))),
        }
    }
}

/// The crates of ours that a piece of code names.
fn named(code: TokenStream, into: &mut BTreeSet<String>) {
    for token in code {
        match token {
            TokenTree::Group(group) => named(group.stream(), into),
            TokenTree::Ident(name) => {
                into.extend(Some(name.to_string()).filter(|name| name.starts_with("oxiblosc")))
            }
            _ => {}
        }
    }
}

#[test]
fn users_of_the_library_name_its_front_only() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in ["src", "crates/b2/src", "crates/oxiblosc/examples"] {
        let mut files = Vec::new();
        sources(&root().join(folder), &mut files);
        let mut names = BTreeSet::new();
        for path in files {
            let text = fs::read_to_string(&path).expect("a source");
            named(text.parse().expect("Rust"), &mut names);
        }
        let is_crate = |name: &str| {
            let folder = name.strip_prefix("oxiblosc_").unwrap_or_default();
            root().join("crates").join(folder).is_dir()
        };
        names.retain(|name| is_crate(name) && !FRONT.contains(&&**name));
        found.insert(folder.to_owned(), names);
    }
    found.retain(|_, names| !names.is_empty());
    assert!(found.is_empty(), "{found:#?}");
}

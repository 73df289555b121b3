//! Everything but macros with parameters, as libclang sees it: one run of bindgen, cut into items.

use quote::ToTokens;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use syn::{ForeignItem, Item as Rust};

/// What the headers say under one name.
#[derive(Debug, PartialEq, Eq)]
pub enum Declaration {
    /// An enumerator: its value.
    Enumerator(String),
    /// A macro with a value: its value, with its type for what is not an integer.
    Macro(String),
    /// A struct: its fields, each with its type, and its size, alignment and offsets.
    Struct {
        fields: Vec<String>,
        layout: BTreeMap<String, String>,
    },
    /// A typedef: what it stands for.
    Typedef(String),
    /// A function that the library exports: its parameters' types and what it returns.
    Function(String),
    /// A function that the headers define: the same.
    Inline(String),
    /// A function that the headers declare and the shared library keeps to itself: the same.
    Private(String),
    /// A `static const`: its type.
    Static(String),
}

impl Declaration {
    /// The word for what this is.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Enumerator(_) => "enumerators",
            Self::Macro(_) => "macros with a value",
            Self::Struct { .. } => "structs",
            Self::Typedef(_) => "typedefs",
            Self::Function(_) => "functions",
            Self::Inline(_) => "inline functions",
            Self::Private(_) => "private functions",
            Self::Static(_) => "static constants",
        }
    }
}

/// The items of the headers in a folder, by name. `all` is a C text that includes them; files are
/// made in `scratch`.
pub fn of(include: &Path, all: &str, scratch: &Path) -> BTreeMap<String, Declaration> {
    let file = syn::parse_file(&bindings(include, all, scratch)).expect("bindgen writes Rust");
    let mut items = BTreeMap::new();
    let mut layouts = Vec::new();
    for item in file.items {
        match item {
            Rust::Const(item) if item.ident == "_" => layouts.extend(layout(&item.expr)),
            Rust::Const(item) => {
                let (ty, value) = (text(&item.ty), text(&item.expr));
                // bindgen numbers the types of anonymous enums: the number does not matter.
                let item_is = if ty.starts_with("_bindgen_ty_") {
                    Declaration::Enumerator(value)
                } else if matches!(&*item.ty, syn::Type::Path(_)) {
                    Declaration::Macro(value)
                } else {
                    Declaration::Macro(format!("{ty} = {value}"))
                };
                items.insert(item.ident.to_string(), item_is);
            }
            Rust::Struct(item) => {
                let fields = item.fields.iter().map(|field| {
                    let name = field
                        .ident
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    format!("{name}: {}", text(&field.ty))
                });
                let fields = fields.collect();
                items.insert(
                    item.ident.to_string(),
                    Declaration::Struct {
                        fields,
                        layout: BTreeMap::new(),
                    },
                );
            }
            Rust::Type(item) if !item.ident.to_string().starts_with("_bindgen_ty_") => {
                items.insert(item.ident.to_string(), Declaration::Typedef(text(&item.ty)));
            }
            Rust::ForeignMod(block) => items.extend(block.items.into_iter().map(foreign)),
            _ => {}
        }
    }
    for (name, what, value) in layouts {
        let Some(Declaration::Struct { layout, .. }) = items.get_mut(&name) else {
            panic!("the layout of no struct: {name}")
        };
        layout.insert(what, value);
    }
    items
}

/// A declaration in an `extern` block.
fn foreign(item: ForeignItem) -> (String, Declaration) {
    match item {
        ForeignItem::Fn(item) => {
            let name = item.sig.ident.to_string();
            let parameters: Vec<_> = item
                .sig
                .inputs
                .iter()
                .map(|parameter| match parameter {
                    syn::FnArg::Typed(typed) => text(&typed.ty),
                    syn::FnArg::Receiver(_) => unreachable!("C has no methods"),
                })
                .collect();
            let variadic = if item.sig.variadic.is_some() {
                ", ..."
            } else {
                ""
            };
            let signature = format!(
                "({}{variadic}) {}",
                parameters.join(", "),
                text(&item.sig.output)
            );
            // bindgen calls a function of the headers through one of its own, under a name with
            // this ending.
            let is_inline = item
                .attrs
                .iter()
                .any(|attr| text(attr).contains("__extern"));
            let is_private =
                ["register_codecs", "register_filters", "register_tuners"].contains(&name.as_str());
            let item = match (is_inline, is_private) {
                (true, _) => Declaration::Inline(signature),
                (false, true) => Declaration::Private(signature),
                (false, false) => Declaration::Function(signature),
            };
            (name, item)
        }
        ForeignItem::Static(item) => (item.ident.to_string(), Declaration::Static(text(&item.ty))),
        other => panic!("bindgen wrote something new: {}", text(&other)),
    }
}

/// bindgen's assertions about a struct: `["Size of S"][size_of::<S>() - 8usize];`, as the struct,
/// what is asserted, and the number.
fn layout(block: &syn::Expr) -> Vec<(String, String, String)> {
    let syn::Expr::Block(block) = block else {
        panic!("not a block: {}", text(block))
    };
    let statements = block
        .block
        .stmts
        .iter()
        .filter_map(|statement| match statement {
            syn::Stmt::Expr(syn::Expr::Index(index), _) => Some((text(&index.expr), &*index.index)),
            _ => None,
        });
    let assertions = statements.map(|(what, index)| {
        let syn::Expr::Binary(difference) = index else {
            panic!("not a difference: {}", text(index))
        };
        let what = what.trim_matches(['[', ']', ' ', '"']).to_owned();
        let subject = what
            .rsplit(' ')
            .next()
            .expect("rsplit gives at least one part");
        let name = subject
            .split("::")
            .next()
            .expect("split gives at least one part")
            .to_owned();
        (name, what, text(&difference.right))
    });
    assertions.collect()
}

/// What bindgen makes of the headers in a folder.
fn bindings(include: &Path, all: &str, scratch: &Path) -> String {
    let include = include.to_str().expect("a path in UTF-8");
    // libclang as PyPI ships it has no headers of its own: those of gcc serve, but for its vector
    // types.
    let gcc = Command::new("gcc")
        .arg("-print-file-name=include")
        .output()
        .expect("gcc is here");
    let gcc = String::from_utf8(gcc.stdout).expect("a path in UTF-8");
    let wrappers = scratch.join("inline_functions");
    bindgen::builder()
        .header_contents("all_headers.h", all)
        .clang_args([
            "-std=c11",
            "-U__SSE2__",
            "-I",
            include,
            "-isystem",
            gcc.trim(),
        ])
        .allowlist_file(format!("{}/.*", include.replace('.', "\\.")))
        .allowlist_recursively(false)
        .wrap_static_fns(true)
        .wrap_static_fns_path(wrappers)
        .default_macro_constant_type(bindgen::MacroTypeVariation::Signed)
        .prepend_enum_name(false)
        .generate_comments(false)
        .formatter(bindgen::Formatter::None)
        .generate()
        .expect("libclang reads the headers")
        .to_string()
}

fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

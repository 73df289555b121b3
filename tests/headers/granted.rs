//! Rules for the sources of the border. `unsafe_granted!` relies on the word of a function's
//! caller, so it stands in functions whose callers give one. Nothing calls an export.

use super::generate::{capi, exported_functions, items, rust_files};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::{ImplItem, Item, Signature};

fn check(file: &std::path::Path, signature: &Signature, body: &impl ToTokens) {
    let granted = body
        .to_token_stream()
        .to_string()
        .contains("unsafe_granted");
    assert!(
        !granted || signature.unsafety.is_some(),
        "{}: {} is no unsafe function",
        file.display(),
        signature.ident
    );
}

#[test]
fn only_unsafe_functions_rely_on_their_callers() {
    for file in rust_files(&capi()) {
        for item in items(&file) {
            match item {
                Item::Fn(function) => check(&file, &function.sig, &function.block),
                Item::Impl(block) => {
                    for item in block.items {
                        if let ImplItem::Fn(function) = item {
                            check(&file, &function.sig, &function.block);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// Names of exports that are called in some code: an export stops panics and traces errors under
/// its own name, so what several of them do is a function by itself.
fn calls<'e>(code: &impl ToTokens, exports: &'e BTreeSet<String>) -> Vec<&'e String> {
    let code = code.to_token_stream().to_string().replace('(', " ( ");
    let tokens: Vec<_> = code.split_whitespace().collect();
    let called = |name: &&String| tokens.windows(2).any(|pair| pair == [name.as_str(), "("]);
    exports.iter().filter(called).collect()
}

#[test]
fn no_function_of_the_border_calls_an_export() {
    let exports = exported_functions();
    let code = quote::quote!({
        g(blosc2_init(), blosc2_destroy);
        (x::blosc2_free_ctx(c))
    });
    assert_eq!(calls(&code, &exports), ["blosc2_free_ctx", "blosc2_init"]);
    for file in rust_files(&capi()) {
        for item in items(&file) {
            // The signature of an export has its name before a parenthesis, too.
            let called = match item {
                Item::Fn(function) => calls(&function.block, &exports),
                item => calls(&item, &exports),
            };
            assert!(called.is_empty(), "{}: calls {called:?}", file.display());
        }
    }
}

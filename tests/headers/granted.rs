//! `unsafe_granted!` relies on the word of a function's caller, so it stands in functions whose callers give one.

use super::generate::{capi, items, rust_files};
use quote::ToTokens;
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

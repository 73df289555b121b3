//! The attribute `#[export]`, with which the functions of the C border are written.
//!
//! The attribute is a crate of its own because Rust wants it so; `oxiblosc_border` has what it calls.

use proc_macro::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};

/// Exports a C function whose body gives a `Result`, which becomes what the function returns: see `oxiblosc_border::returned`, which also
/// stops panics. So `?` stands in the body as in any other function.
///
/// ```ignore
/// #[export]
/// pub unsafe extern "C" fn f(value: *const c_int) -> c_int {
///     not_null!(value)?;
///     g(*value)
/// }
/// ```
///
/// is
///
/// ```ignore
/// #[unsafe(no_mangle)]
/// pub unsafe extern "C" fn f(value: *const c_int) -> c_int {
///     unsafe {
///         oxiblosc_border::returned("f", || {
///             not_null!(value)?;
///             g(*value)
///         })
///     }
/// }
/// ```
///
/// The `unsafe` block is there if the function is `unsafe`: what it relies on is what the function's `# Safety` section demands. What
/// relies on anything else stands in an `unsafe` block with a proof of its own, also in such a body.
#[proc_macro_attribute]
pub fn export(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident.to_string() == word);
    let at = tokens.iter().position(|token| is(token, "fn"));
    let at = at.expect("`export` is for functions");
    let is_unsafe = tokens[..at].iter().any(|token| is(token, "unsafe"));
    let name = Literal::string(&tokens[at + 1].to_string());
    let body = tokens.pop().expect("a function has a body");

    let braces = |tokens| TokenTree::from(Group::new(Delimiter::Brace, tokens));
    let mut arguments = TokenStream::from(TokenTree::from(name));
    arguments.extend(parsed(", ||"));
    arguments.extend([body]);
    let mut call = parsed("::oxiblosc_border::returned");
    call.extend([TokenTree::from(Group::new(
        Delimiter::Parenthesis,
        arguments,
    ))]);
    if is_unsafe {
        let word = Ident::new("unsafe", Span::call_site());
        call = TokenStream::from_iter([TokenTree::from(word), braces(call)]);
    }
    tokens.push(braces(call));

    let mut exported = parsed("#[unsafe(no_mangle)] #[allow(unused_unsafe)]");
    exported.extend(tokens);
    exported
}

fn parsed(text: &str) -> TokenStream {
    text.parse().expect("it is Rust")
}

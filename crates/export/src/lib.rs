//! The attribute `#[export]`, with which the functions of the C border are written.
//!
//! The attribute is a crate of its own because Rust wants it so; `oxiblosc_border` has what it
//! calls.

use proc_macro::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};

/// Exports a C function whose body gives a `Result`, which becomes what the function returns: see
/// `oxiblosc_border::returned`, which also stops panics. So `?` stands in the body as in any other
/// function.
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
///         oxiblosc_border::returned("f", || [], || {
///             not_null!(value)?;
///             g(*value)
///         })
///     }
/// }
/// ```
///
/// The first closure gives the arguments that a trace of an error shows: numbers, texts, and the
/// paths of super-chunks and arrays.
///
/// The `unsafe` block is there if the function is `unsafe`: what it relies on is what the
/// function's `# Safety` section demands. What relies on anything else stands in an `unsafe` block
/// with a proof of its own, also in such a body.
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
    let shown = shown_arguments(&tokens[at + 1].to_string(), &tokens[at + 2]);
    let mut arguments = TokenStream::from(TokenTree::from(name));
    arguments.extend(parsed(&format!(", || [{shown}], ||")));
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

/// The arguments of the function `function` that a trace shows, as items of an array.
fn shown_arguments(function: &str, parameters: &TokenTree) -> String {
    const NUMBERS: [&str; 12] = [
        "c_int", "c_uint", "bool", "usize", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
    ];
    let TokenTree::Group(parameters) = parameters else {
        panic!("`export` is for functions that are not generic");
    };
    let tokens: Vec<TokenTree> = parameters.stream().into_iter().collect();
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',');
    let mut shown = String::new();
    for parameter in tokens.split(is_comma) {
        let words: Vec<String> = parameter.iter().map(ToString::to_string).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let argument = match words[..] {
            [name, ":", number] if NUMBERS.contains(&number) => {
                format!("number({name:?}, {name} as i64)")
            }
            [name, ":", "*", "const", "c_char"] => format!("text({name:?}, {name})"),
            // What is freed has no path any more.
            [name, ":", "*", _, "blosc2_schunk" | "b2nd_array_t"] if !function.contains("free") => {
                format!("text({name:?}, crate::capi::traced::path({name}))")
            }
            _ => continue,
        };
        shown += &format!("::oxiblosc_border::Argument::{argument}, ");
    }
    shown
}

fn parsed(text: &str) -> TokenStream {
    text.parse().expect("it is Rust")
}

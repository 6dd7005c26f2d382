//! Attribute macros that rewrite a structure.
// The compiler's errors for this program must contain each text above.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Replaces the tokens between the braces of a structure.
fn with_fields(item: TokenStream, fields: impl Fn(TokenStream) -> TokenStream) -> TokenStream {
    let rewrite = |token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            Group::new(Delimiter::Brace, fields(group.stream())).into()
        }
        other => other,
    };
    item.into_iter().map(rewrite).collect()
}

/// Adds the field `flag: bool`.
#[proc_macro_attribute]
pub fn add_bool(_: TokenStream, item: TokenStream) -> TokenStream {
    with_fields(item, |mut fields| {
        fields.extend(", flag: bool".parse::<TokenStream>());
        fields
    })
}

/// Replaces all fields.
#[proc_macro_attribute]
pub fn with_only(only: TokenStream, item: TokenStream) -> TokenStream {
    with_fields(item, |_| only.clone())
}

/// Moves the structure into a module, where the argument is in scope too.
#[proc_macro_attribute]
pub fn in_a_module_with(extra: TokenStream, item: TokenStream) -> TokenStream {
    format!("mod hidden {{ {extra} {item} }} use hidden::*;").parse().unwrap()
}

/// Changes nothing.
#[proc_macro_attribute]
pub fn unchanged(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

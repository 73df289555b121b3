//! The metalayer of a frame that is an array.

use oxiblosc::b2nd::meta::{Meta, NAME, OLD_NAME};
use oxiblosc_frame::meta::Metalayer;

/// The content of the array's metalayer, if there is one.
pub fn array_layer(metalayers: &[Metalayer]) -> Option<&[u8]> {
    let find = |name: &[u8]| metalayers.iter().find(|layer| layer.name == name);
    let layer = find(NAME).or_else(|| find(OLD_NAME))?;
    Some(&layer.content)
}

/// Parses an array's metalayer; none if it makes no sense.
pub fn array_meta(content: &[u8]) -> Option<Meta<'_>> {
    Meta::parse(content, true).ok().map(|(meta, _)| meta)
}

//! Many disks that are almost alike, in little memory: what they have in common is kept once.

use super::disk::Tree;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::rc::Rc;

const PAGE: usize = 4096;

/// A disk's files and directories, cut into pages.
pub type Packed = BTreeMap<String, Option<Vec<Rc<[u8]>>>>;

/// All pages that there are.
#[derive(Default)]
pub struct Pages(HashSet<Rc<[u8]>>);

impl Pages {
    pub fn pack(&mut self, tree: Tree) -> Packed {
        let mut kept = |page: &[u8]| match self.0.get(page) {
            Some(kept) => kept.clone(),
            None => {
                let page: Rc<[u8]> = page.into();
                self.0.insert(page.clone());
                page
            }
        };
        let mut pages = |bytes: Vec<u8>| bytes.chunks(PAGE).map(&mut kept).collect();
        let files = tree.into_iter();
        files
            .map(|(name, bytes)| (name, bytes.map(&mut pages)))
            .collect()
    }
}

pub fn unpacked(packed: &Packed) -> Tree {
    let bytes = |pages: &Vec<Rc<[u8]>>| pages.concat();
    let files = packed.iter();
    files
        .map(|(name, pages)| (name.clone(), pages.as_ref().map(bytes)))
        .collect()
}

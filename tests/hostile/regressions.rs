//! Every input in `fuzz/regressions/<target>` once made that fuzz target fail.

use super::{memory, panics_are_fatal};
use oxiblosc_testing::fuzz::targets;
use std::path::Path;

#[test]
fn inputs_that_once_broke_something() {
    let _alone = memory::alone();
    panics_are_fatal(|| "the input named above".into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/regressions");
    let mut known = 0;
    for (target, run) in targets::ALL {
        let Ok(entries) = folder.join(target).read_dir() else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("a folder that can be listed").path();
            println!("{}", path.display());
            run(&std::fs::read(&path).expect("a file that can be read"));
            known += 1;
        }
    }
    // A folder that was renamed would otherwise never be missed.
    let files = walk(&folder);
    assert_eq!(known, files, "files that belong to no target");
}

/// The number of files under `folder`, but for what explains them.
fn walk(folder: &Path) -> usize {
    let Ok(entries) = folder.read_dir() else {
        return 0;
    };
    let count = |path: &Path| match path.is_dir() {
        true => walk(path),
        false => usize::from(path.extension().is_none_or(|ext| ext != "md")),
    };
    entries.flatten().map(|entry| count(&entry.path())).sum()
}

//! Frames that are written where something is already: everything that can stand at a path, and
//! every call that writes a frame there.
//!
//! Each case is run with the reference and with this library, as root (if the test is) and as a
//! user who is not. What they return is the same, and so is what is then at the path and around it:
//! names, kinds, modes, owners, attributes, links and contents. Where this library differs,
//! `differs` says why, and either nothing has changed or what is at the path is the whole new
//! frame. A call that returns an error has changed nothing, and none leaves a name behind.

mod attributes;
mod calls;
mod standing;

use calls::{CALLS, Call};
use oxiblosc_testing::folder::{Folder, without_syncs};
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::needs::skip;
use oxiblosc_testing::report::Report;
use standing::{All, Listing, Nesting, STANDING};

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Own,
    /// Root gives up what it may.
    Nobody,
}

const NOBODY: u32 = 65534;

impl User {
    /// Becomes this user for good.
    fn become_it(self) {
        if self == Self::Nobody {
            // SAFETY: system calls without pointers.
            let done = unsafe {
                libc::setgroups(0, std::ptr::null()) == 0
                    && libc::setgid(NOBODY) == 0
                    && libc::setuid(NOBODY) == 0
            };
            assert!(done, "another user");
        }
    }
}

fn is_root() -> bool {
    // SAFETY: a system call without pointers.
    unsafe { libc::geteuid() == 0 }
}

/// Why this library does something else here than the reference, which writes over the bytes of the
/// file.
fn differs(standing: Nesting, call: &Call, user: User) -> Option<&'static str> {
    if !call.replaces {
        return None;
    }
    match (standing, user) {
        (Nesting::Pipe, _) => Some("a pipe from which somebody reads is written"),
        (Nesting::HardLink, _) => Some("the other name keeps the old frame"),
        (Nesting::Foreign(mode), User::Nobody) if mode & 0o002 != 0 => {
            Some("the new file cannot be another user's")
        }
        (Nesting::ForeignGroup(_) | Nesting::ForeignList, User::Nobody) => {
            Some("the new file cannot be another group's")
        }
        (Nesting::ForeignFolder | Nesting::Sticky, User::Nobody) => {
            Some("the file's name cannot be given to another")
        }
        _ => None,
    }
}

/// What a call left, and what it returned.
struct Done {
    rc: i64,
    before: Listing,
    after: Listing,
}

impl Done {
    fn is_unchanged(&self) -> bool {
        self.before == self.after
    }

    /// What holds for every call of this library.
    fn is_right(&self, all: &All, standing: Nesting) -> Result<(), String> {
        if self.rc < 0 {
            return match self.is_unchanged() {
                true => Ok(()),
                false => Err(format!("an error, and a change: {}", self.changes())),
            };
        }
        let (new, frame) = (
            |name: &&String| !self.before.contains_key(*name),
            all.place(standing),
        );
        let mut names = self.after.keys().filter(new);
        match names.find(|name| !name.starts_with(frame)) {
            Some(name) => Err(format!("{name} is left behind")),
            None => Ok(()),
        }
    }

    /// What holds where the reference does something else: nothing has changed, or the frame is the
    /// new one, and no user has got more rights.
    fn is_replaced(&self) -> bool {
        let (old, new) = (&self.before["in/path"], &self.after["in/path"]);
        self.rc < 0 || (new.is_frame() && new.has_no_more_rights_than(old))
    }

    fn changes(&self) -> String {
        let gone = self
            .before
            .iter()
            .filter(|(name, entry)| self.after.get(*name) != Some(entry));
        let now = self
            .after
            .iter()
            .filter(|(name, entry)| self.before.get(*name) != Some(entry));
        format!(
            "{:?} is now {:?}",
            gone.collect::<Vec<_>>(),
            now.collect::<Vec<_>>()
        )
    }
}

/// One library.
fn run(all: &All, standing: Nesting, call: &Call, user: User) -> Result<Option<Done>, String> {
    if !all.make(standing)? {
        return Ok(None);
    }
    let source = call.source(all);
    let before = all.seen();
    let pipe = all.pipe();
    // The mode of new files.
    // SAFETY: a system call without pointers.
    unsafe { libc::umask(0o022) };
    let path = all.path(standing);
    let rc = isolated(20, || {
        user.become_it();
        let rc = (call.make)(&source, &path);
        std::fs::write(all.answer(), rc.to_string()).map_err(|error| error.to_string())
    });
    rc?;
    let rc = std::fs::read_to_string(all.answer()).expect("what the call returned");
    let mut after = all.seen();
    if let Some(mut pipe) = pipe {
        all.add_pipe(&mut pipe, &mut after);
    }
    Ok(Some(Done {
        rc: rc.parse().expect("a number"),
        before,
        after,
    }))
}

fn look_at(all: [&All; 2], standing: Nesting, call: &Call, user: User) -> Result<bool, String> {
    let [ours, theirs] = all.map(|all| run(all, standing, call, user));
    let Some(ours) = ours? else {
        return Ok(false);
    };
    ours.is_right(all[0], standing)?;
    let theirs = theirs
        .map_err(|error| format!("the reference: {error}"))?
        .expect("the same place");
    let same = ours.rc == theirs.rc && ours.after == theirs.after;
    let told = format!(
        "returns {}, not {}; {}; the reference: {}",
        ours.rc,
        theirs.rc,
        ours.changes(),
        theirs.changes()
    );
    match differs(standing, call, user) {
        None if same => Ok(true),
        Some(_) if !same && ours.is_replaced() => Ok(true),
        Some(why) => Err(format!("although {why}: {told}")),
        None => Err(told),
    }
}

#[test]
fn everything_at_a_path_and_every_call() {
    oxiblosc_testing::own_process!();
    let Some(reference) = All::libraries() else {
        return skip("the reference");
    };
    let mut report = Report::default();
    for user in [User::Own, User::Nobody] {
        if user == User::Nobody && !is_root() {
            continue;
        }
        let folder =
            Folder(without_syncs().join(format!("oxiblosc-replacing-{}", std::process::id())));
        let owner = (user == User::Nobody).then_some(NOBODY);
        let [ours, theirs] = reference.map(|libraries| All::new(libraries, &folder.0, owner));
        for (standing, call) in STANDING
            .iter()
            .flat_map(|standing| CALLS.iter().map(move |call| (*standing, call)))
        {
            match look_at([&ours, &theirs], standing, call, user) {
                Ok(true) => report.case(),
                Ok(false) => report.note("cannot be made here"),
                Err(wrong) => {
                    report.case();
                    report.fail(call.name, format!("{standing:?} as {user:?}: {wrong}"));
                }
            }
        }
    }
    report.finish("frames where something is already");
}

//! One sequence, from its number.

use super::chunks::{Chunk, Written};
use super::compare;
use super::model::{Code, Model};
use super::ops::{Op, Plan};
use super::subject::Subject;
use super::wrong::{self, Wrong};
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::library::ours;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_state::read;
use std::path::Path;

/// The libraries of a run; either may be missing.
#[derive(Clone, Copy)]
pub struct Libraries {
    pub ours: Option<&'static SchunkLib>,
    pub reference: Option<&'static SchunkLib>,
}

/// Takes what a sequence has to say.
pub trait Listener {
    /// Before a step: the last word when the process dies in it.
    fn step(&mut self, what: String);
    fn fail(&mut self, what: &str, which: String);
    fn note(&mut self, what: &str);
    /// The reference goes no further.
    fn lost(&mut self, why: &str);
}

struct Run<'a> {
    plan: &'a Plan,
    model: Model,
    ours: Option<Subject>,
    reference: Option<Subject>,
    /// Whether the reference was not asked the last question, so that it last looked at another
    /// chunk.
    skipped: bool,
    title: String,
}

/// The name of an operation, to group failures by.
fn name(op: &Op) -> String {
    let all = format!("{op:?}");
    let end = all.find([' ', '{']).unwrap_or(all.len());
    all[..end].to_owned()
}

/// Runs sequence number `number` in `folder`.
pub fn run(number: u64, libraries: Libraries, folder: &Path, listener: &mut impl Listener) {
    let mut rng = Rng(mix(number));
    let mut plan = Plan::new(&mut rng);
    plan.maker.lib = Some(ours());
    let title = format!(
        "{:?} codec {} level {} filters {:?} threads {} typesize {} blocksize {} chunksize {}",
        plan.storage,
        plan.maker.cparams.compcode,
        plan.maker.cparams.clevel,
        plan.maker.cparams.filters,
        plan.nthreads,
        plan.maker.cparams.typesize,
        plan.maker.cparams.blocksize,
        plan.chunksize
    );
    listener.step(format!("{title}: new"));
    let new = |lib: Option<&'static SchunkLib>, name: &str| {
        lib.map(|lib| Subject::new(lib, &folder.join(name), &plan))
    };
    let (ours, reference) = (
        new(libraries.ours, "ours"),
        new(libraries.reference, "reference"),
    );
    if matches!(ours, Some(None)) || matches!(reference, Some(None)) {
        listener.fail("new", title);
        return;
    }
    let mut run = Run {
        plan: &plan,
        model: Model::new(plan.maker.typesize()),
        ours: ours.flatten(),
        reference: reference.flatten(),
        skipped: false,
        title,
    };
    let steps = 20 + rng.below(20);
    for step in 0..steps {
        let op = match step + 1 == steps {
            true => Op::Reopen,
            false => plan.op(&mut rng, &run.model),
        };
        if !run.step(step, &op, listener) {
            break;
        }
    }
    for subject in [run.ours, run.reference].into_iter().flatten() {
        drop(subject);
    }
}

impl Run<'_> {
    fn lose_reference(&mut self, why: &str, listener: &mut impl Listener) {
        if let Some(reference) = self.reference.take() {
            listener.lost(why);
            reference.abandon();
        }
    }

    /// Takes a step on all sides; false when it was wrong.
    fn step(&mut self, step: usize, op: &Op, listener: &mut impl Listener) -> bool {
        let chunks: Vec<usize> = self.model.chunks.iter().map(Chunk::len).collect();
        let mut which = format!(
            "{}; step {step}, chunks {chunks:?} of {}: {op:?}",
            self.title, self.model.chunksize
        );
        which.truncate(700);
        let known = wrong::step(&self.model, op, self.plan);
        let expect = self.model.step(op, self.plan);
        let mut asked = self.reference.is_some();
        match known {
            Some(Wrong::Skip(why)) if asked => {
                listener.note(why);
                asked = false;
            }
            Some(Wrong::Lost(why)) => self.lose_reference(why, listener),
            _ => {}
        }
        if let Some(why) = wrong::state(&self.model, self.plan) {
            self.lose_reference(why, listener);
        }
        asked &= self.reference.is_some();
        self.skipped = !asked;
        listener.step(format!("{which} (reference: {asked})"));

        if let (Op::Swap, Some(ours), Some(reference)) = (op, &mut self.ours, &mut self.reference)
            && self.plan.storage.framed()
        {
            self.model.exchanged = true;
            return self::swap(ours, reference, &self.model, self.plan, &which, listener);
        }
        let ours = self.ours.as_mut().map(|ours| ours.apply(op, self.plan));
        let reference = match &mut self.reference {
            Some(reference) if asked => {
                listener.step(format!("{which} (the reference)"));
                Some(reference.apply(op, self.plan))
            }
            _ => None,
        };
        let mut right = true;
        for (who, outcome) in [("ours", &ours), ("reference", &reference)] {
            if let Some(outcome) = outcome
                && let Some(difference) = compare::outcome(&self.model, op, &expect, outcome)
            {
                listener.fail(
                    &format!("{who} against the model: {}", name(op)),
                    format!("{which}: {difference}"),
                );
                right = false;
            }
        }
        if let (Some(ours), Some(reference)) = (&ours, &reference)
            && let Some(difference) = compare::libraries(&self.model, op, &expect, ours, reference)
        {
            listener.fail(
                &format!("against the reference: {}", name(op)),
                format!("{which}: {difference}"),
            );
            right = false;
        }
        self.look_at_rewritten();
        if let (Op::MetaAdd { name, content }, Some(rc)) = (op, ours.as_ref().map(|ours| ours.rc))
            && expect.rc == Code::Unknown
            && rc >= 0
        {
            self.model
                .meta
                .push((name.to_bytes().to_vec(), content.clone()));
        }
        self.follow_chunksize(listener);
        let refused = ours
            .as_ref()
            .or(reference.as_ref())
            .is_some_and(|outcome| outcome.rc < 0);
        self.skipped |= refused;
        right && self.fields(op, &which, listener)
    }

    /// What the reference cannot hold, ours may hold as chunks of different sizes.
    fn follow_chunksize(&mut self, listener: &mut impl Listener) {
        let Some(ours) = &self.ours else {
            return;
        };
        let irregular = self.model.irregular();
        let beyond = irregular || wrong::state(&self.model, self.plan).is_some();
        if beyond && ours.fields().chunksize == 0 && self.model.chunksize > 0 {
            self.model.chunksize = 0;
            self.lose_reference(
                "a short chunk that was moved inside leaves chunksize",
                listener,
            );
        }
    }

    fn fields(&mut self, op: &Op, which: &str, listener: &mut impl Listener) -> bool {
        let fields = |subject: &Option<Subject>| subject.as_ref().map(Subject::fields);
        let (ours, reference) = (fields(&self.ours), fields(&self.reference));
        let mut right = true;
        for (who, fields) in [("ours", &ours), ("reference", &reference)] {
            if let Some(fields) = fields
                && let Some(difference) =
                    compare::fields(&self.model, fields, self.plan.storage, who == "ours")
            {
                let field = difference.split(' ').next().unwrap_or("");
                listener.fail(
                    &format!("{who} against the model: {field} after {}", name(op)),
                    format!("{which}: {difference}"),
                );
                right = false;
            }
        }
        if let (Some(ours), Some(mut reference)) = (ours, reference) {
            if !looks_at_one_chunk(op) || self.skipped {
                reference.current_nchunk = ours.current_nchunk;
            }
            // Each was held against the model.
            reference.cbytes = ours.cbytes;
            if self.model.irregular() && ours.chunksize == 0 {
                reference.chunksize = 0;
            }
            for difference in ours.differences(&reference) {
                let field = difference.split(' ').next().unwrap_or("");
                listener.fail(
                    &format!("{field} after {}", name(op)),
                    format!("{which}: {difference}"),
                );
                right = false;
            }
        }
        right
    }

    /// Finds out what chunks that the library compressed are stored as.
    fn look_at_rewritten(&mut self) {
        let Some(subject) = self.ours.as_ref().or(self.reference.as_ref()) else {
            return;
        };
        let storage = self.plan.storage;
        for (at, chunk) in self.model.chunks.iter_mut().enumerate() {
            if let Some(written) = chunk.written.take() {
                let given = subject.schunk().get_chunk(at as i64);
                if given.rc >= 32 {
                    let old = match written {
                        Written::Appended => Model::stored(chunk, storage),
                        Written::InPart => Model::removed(chunk),
                    };
                    *chunk = chunk.stored_as(given.bytes);
                    self.model.cbytes += Model::stored(chunk, storage) - old;
                }
            }
        }
    }
}

/// Whether an operation says which chunk is being worked on: those on several chunks may take them
/// in any order.
fn looks_at_one_chunk(op: &Op) -> bool {
    matches!(
        op,
        Op::Append { .. }
            | Op::AppendBuffer { .. }
            | Op::Insert { .. }
            | Op::Update { .. }
            | Op::Delete { .. }
            | Op::Decompress { .. }
            | Op::Get { .. }
            | Op::Lazy { .. }
    )
}

/// Each library goes on with what the other one wrote.
fn swap(
    ours: &mut Subject,
    reference: &mut Subject,
    model: &Model,
    plan: &Plan,
    which: &str,
    listener: &mut impl Listener,
) -> bool {
    let closed = [ours.close(plan.storage), reference.close(plan.storage)];
    let [Ok(by_ours), Ok(by_reference)] = closed else {
        listener.fail("to_buffer before a swap", which.to_owned());
        return false;
    };
    std::mem::swap(&mut ours.path, &mut reference.path);
    let mut right = true;
    for (who, subject, buffer) in [
        ("the reference opens ours", reference, by_ours),
        ("ours opens the reference's", ours, by_reference),
    ] {
        if !subject.open(plan.storage, &buffer) {
            listener.fail(who, format!("{which}: cannot be opened"));
            return false;
        }
        let read = read(subject.schunk());
        if let Some(difference) = compare::state(model, &read) {
            listener.fail(who, format!("{which}: {difference}"));
            right = false;
        }
    }
    right
}

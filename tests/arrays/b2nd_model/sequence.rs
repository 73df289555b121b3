//! One sequence, from its number.

use super::ops::{Op, Storage, bytes, op, spec};
use oxiblosc_testing::b2nd::{Array, B2ndLib, Spec, c_path};
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::fuzz::model::{Model, count, indices, place};
use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What an operation gave: a code, and bytes if it reads.
type Outcome = (c_int, Vec<u8>);

/// One library's array.
struct Side {
    lib: &'static B2ndLib,
    array: Option<Array>,
    folder: PathBuf,
    path: PathBuf,
    spare: u32,
}

pub struct Run<'a> {
    rng: Rng,
    storage: Storage,
    pub spec: Spec,
    pub model: Model,
    ours: Side,
    reference: Option<Side>,
    /// The padding may hold what the reference brings to light again.
    pub dirty: bool,
    /// The item that all of the array was at first: chunks that were never written may have it in
    /// their padding, too.
    repeated: Option<Vec<u8>>,
    log: &'a mut File,
}

/// Lets the items that came to an array of shape `old` be `item` where `data` has it.
fn adopt(model: &mut Model, old: &[i64], item: &[u8], data: &[u8]) {
    if data.len() != model.data.len() {
        return;
    }
    for index in indices(&model.shape) {
        let from = place(&model.shape, &index) * model.typesize;
        let range = from..from + model.typesize;
        let came = index.iter().zip(old).any(|(i, len)| i >= len);
        if came && data[range.clone()] == *item {
            model.data[range].copy_from_slice(item);
        }
    }
}

fn with_path(spec: &Spec, storage: Storage, path: &Path) -> Spec {
    let on_disk = matches!(storage, Storage::File | Storage::Directory);
    Spec {
        contiguous: matches!(storage, Storage::Frame | Storage::File),
        path: on_disk.then(|| c_path(path)),
        ..spec.clone()
    }
}

/// How an array begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Zeros,
    Full,
    Nans,
    Buffer,
}

impl Side {
    fn new(
        lib: &'static B2ndLib,
        folder: &Path,
        (spec, storage): (&Spec, Storage),
        (start, data): (Start, &[u8]),
    ) -> Result<Side, c_int> {
        std::fs::create_dir_all(folder).expect("a folder for the test");
        let path = folder.join("array");
        let spec = with_path(spec, storage, &path);
        // SAFETY: parameters, a place, and an item.
        let array = unsafe {
            match start {
                Start::Buffer => lib.array_of(&spec, data),
                Start::Zeros => lib.make(&spec, |ctx, array| (lib.f.b2nd_zeros)(ctx, array)),
                Start::Nans => lib.make(&spec, |ctx, array| (lib.f.b2nd_nans)(ctx, array)),
                Start::Full => lib.make(&spec, |ctx, array| {
                    (lib.f.b2nd_full)(ctx, array, data.as_ptr().cast())
                }),
            }
        }?;
        Ok(Side {
            lib,
            array: Some(array),
            folder: folder.to_owned(),
            path,
            spare: 0,
        })
    }

    fn array(&self) -> &Array {
        self.array.as_ref().expect("open between steps")
    }

    fn fresh(&mut self) -> PathBuf {
        self.spare += 1;
        self.folder.join(format!("spare{}", self.spare))
    }

    /// Puts the array down, and gives it as a frame if it is in memory.
    fn put_down(&mut self, storage: Storage) -> Result<Vec<u8>, c_int> {
        let frame = match storage {
            Storage::Memory | Storage::Frame => self.array().to_frame()?,
            _ => Vec::new(),
        };
        self.array = None;
        Ok(frame)
    }

    fn take_up(&mut self, storage: Storage, frame: Vec<u8>) -> c_int {
        let opened = match storage {
            Storage::Memory => self.lib.open_frame(frame, true),
            Storage::Frame => self.lib.open_frame(frame, false),
            _ => self.lib.open_path(&self.path),
        };
        match opened {
            Ok(array) => {
                self.array = Some(array);
                0
            }
            Err(rc) => rc,
        }
    }

    /// A derived array, read and thrown away.
    fn read(created: Result<Array, c_int>) -> Outcome {
        match created.and_then(|array| array.to_buffer()) {
            Ok(data) => (0, data),
            Err(rc) => (rc, Vec::new()),
        }
    }

    fn apply(&mut self, op: &Op, run: &Given) -> Outcome {
        let capacity = |shape: &[i64]| {
            let shape: Vec<i64> = shape.iter().map(|len| (*len).max(0)).collect();
            count(&shape) * run.typesize
        };
        match op {
            Op::Set {
                start,
                stop,
                capacity,
            } => (self.array().set(start, stop, capacity, run.data), vec![]),
            Op::Get {
                start,
                stop,
                capacity: shape,
            } => {
                let mut buffer = vec![0x5a; run.data.len().max(capacity(shape))];
                let rc = self.array().get(start, stop, shape, &mut buffer);
                (rc, if rc == 0 { buffer } else { vec![] })
            }
            Op::Resize { shape } => (self.array().resize(shape, None), vec![]),
            Op::ResizeAt { shape, start } => (self.array().resize(shape, Some(start)), vec![]),
            Op::Append { axis, .. } => (self.array().append(*axis, run.data), vec![]),
            Op::Insert { axis, at, .. } => (self.array().insert(*axis, *at, run.data), vec![]),
            Op::Delete { axis, at, len } => (self.array().delete(*axis, *at, *len), vec![]),
            Op::GetPicked { lists } => {
                let mut buffer = vec![0; run.data.len()];
                let rc = self.array().get_picked(lists, &mut buffer);
                (rc, if rc == 0 { buffer } else { vec![] })
            }
            Op::SetPicked { lists } => (self.array().set_picked(lists, run.data), vec![]),
            Op::Sparse { coords } => {
                let mut buffer = vec![0; coords.len() * run.typesize];
                let rc = self.array().get_sparse(coords, &mut buffer);
                (rc, if rc == 0 { buffer } else { vec![] })
            }
            Op::Copy { chunks, blocks } => {
                let path = self.fresh();
                let mut spec = with_path(run.spec, run.storage, &path);
                (spec.chunks, spec.blocks) = (chunks.clone(), blocks.clone());
                Self::read(self.array().copy(&spec))
            }
            Op::Slice { start, stop } => {
                let path = self.fresh();
                let spec = with_path(run.spec, run.storage, &path);
                Self::read(self.array().slice(&spec, start, stop))
            }
            Op::Join { axis, copy, .. } => {
                let mut other = with_path(run.spec, Storage::Memory, Path::new(""));
                other.shape = run.other.to_vec();
                let other = match self.lib.array_of(&other, run.data) {
                    Ok(other) => other,
                    Err(rc) => return (rc, vec![]),
                };
                if *copy {
                    let path = self.fresh();
                    let spec = with_path(run.spec, run.storage, &path);
                    return Self::read(self.array().joined(&spec, &other, *axis));
                }
                (self.array().extend(&other, *axis), vec![])
            }
            Op::View => {
                let mut axes = vec![false; run.ndim];
                if axes.len() < 16 {
                    axes.insert(run.ndim / 2, true);
                }
                Self::read(self.array().expand(&axes))
            }
            Op::Squeeze => Self::read(self.array().squeeze()),
            Op::Reopen => {
                let rc = match self.put_down(run.storage) {
                    Ok(frame) => self.take_up(run.storage, frame),
                    Err(rc) => rc,
                };
                (rc, vec![])
            }
            Op::Swap => (0, vec![]),
        }
    }
}

/// What an operation needs beyond its arguments.
struct Given<'a> {
    typesize: usize,
    ndim: usize,
    data: &'a [u8],
    spec: &'a Spec,
    storage: Storage,
    /// Shape of the array that is joined.
    other: &'a [i64],
}

impl Run<'_> {
    fn note(&mut self, what: &str) {
        writeln!(self.log, "note {what}").expect("a log");
    }

    fn lose_reference(&mut self, why: &str) {
        if let Some(side) = self.reference.take() {
            self.note(why);
            std::mem::forget(side.array);
        }
    }

    fn joined_shape(&self, op: &Op) -> Vec<i64> {
        let mut shape = self.model.shape.clone();
        if let Op::Join { axis, len, .. } = op {
            shape[*axis as usize] = *len;
        }
        shape
    }

    /// The bytes that an operation writes.
    fn data(&mut self, op: &Op) -> Vec<u8> {
        let items = match op {
            Op::Set { capacity, .. } | Op::Get { capacity, .. } => {
                count(&capacity.iter().map(|len| (*len).max(0)).collect::<Vec<_>>())
            }
            Op::Append { axis, len } | Op::Insert { axis, len, .. } => {
                let mut shape = self.model.shape.clone();
                if let Some(axis) = shape.get_mut(*axis as usize) {
                    *axis = *len;
                }
                count(&shape)
            }
            Op::Join { .. } => count(&self.joined_shape(op)),
            Op::GetPicked { lists } | Op::SetPicked { lists } => {
                lists.iter().map(Vec::len).product()
            }
            _ => 0,
        };
        bytes(&mut self.rng, items * self.model.typesize)
    }

    fn step(&mut self, step: usize) -> Result<(), String> {
        let op = op(&mut self.rng, &self.model, &self.spec.chunks);
        let data = self.data(&op);
        let expected = self.expect(&op, &data);
        let which = format!(
            "step {step} of {:?} {:?}: {op:?}",
            self.storage, self.model.shape
        );
        if std::env::var_os("OXIBLOSC_MODEL_STEPS").is_some() {
            println!("{which}");
        }
        if let Some(why) = self.known(&op, &expected) {
            self.lose_reference(why);
        }
        if matches!(op, Op::Swap) {
            self.swap(&which)?;
            return self.check(&which);
        }
        let other = self.joined_shape(&op);
        let given = Given {
            typesize: self.model.typesize,
            ndim: self.model.shape.len(),
            data: &data,
            spec: &self.spec,
            storage: self.storage,
            other: &other,
        };
        writeln!(self.log, "ours {which}").expect("a log");
        let ours = self.ours.apply(&op, &given);
        if expected.rc.is_some_and(|rc| rc != ours.0) || (expected.rc.is_none() && ours.0 == 0) {
            return Err(format!("code: {} for {:?}: {which}", ours.0, expected.rc));
        }
        if let Some(bytes) = &expected.bytes
            && *bytes != ours.1
        {
            return Err(format!("bytes read: {which}"));
        }
        if let Some(side) = &mut self.reference {
            writeln!(self.log, "reference {which}").expect("a log");
            let reference = side.apply(&op, &given);
            if reference.0 != ours.0 {
                return Err(format!(
                    "other code: {} for {}: {which}",
                    ours.0, reference.0
                ));
            }
            if expected
                .bytes
                .as_ref()
                .is_some_and(|bytes| *bytes != reference.1)
            {
                let why = format!("the reference reads wrong: {}", name(&op));
                self.lose_reference(&why);
            }
        }
        if let Some(mut after) = expected.after {
            let resized = matches!(op, Op::Resize { .. } | Op::ResizeAt { .. });
            if let (true, Some(item)) = (resized, &self.repeated) {
                let data = self.ours.array().to_buffer().unwrap_or_default();
                adopt(&mut after, &self.model.shape, item, &data);
            }
            let shrunk = after
                .shape
                .iter()
                .zip(&self.model.shape)
                .any(|(new, old)| new < old);
            self.dirty |= shrunk;
            self.model = after;
            self.spec.shape = self.model.shape.clone();
        }
        self.check(&which)
    }

    /// Each library goes on with what the other one wrote.
    fn swap(&mut self, which: &str) -> Result<(), String> {
        let Some(reference) = &mut self.reference else {
            return Ok(());
        };
        writeln!(self.log, "reference {which}").expect("a log");
        let theirs = reference.put_down(self.storage);
        writeln!(self.log, "ours {which}").expect("a log");
        let own = self.ours.put_down(self.storage);
        let (Ok(theirs), Ok(own)) = (theirs, own) else {
            return Err(format!("putting down: {which}"));
        };
        std::mem::swap(&mut self.ours.path, &mut reference.path);
        writeln!(self.log, "ours {which}").expect("a log");
        let rc = self.ours.take_up(self.storage, theirs);
        if rc != 0 {
            return Err(format!("opening the reference's: {rc} {which}"));
        }
        writeln!(self.log, "reference {which}").expect("a log");
        let rc = reference.take_up(self.storage, own);
        if rc != 0 {
            return Err(format!("the reference opens ours: {rc} {which}"));
        }
        Ok(())
    }

    /// Shape, fields and bytes after a step.
    fn check(&mut self, which: &str) -> Result<(), String> {
        let array = self.ours.array();
        if array.shape() != self.model.shape {
            return Err(format!("shape: {:?} {which}", array.shape()));
        }
        match array.to_buffer() {
            Ok(data) if data == self.model.data => {}
            Ok(data) => {
                let at = data.iter().zip(&self.model.data).position(|(a, b)| a != b);
                let item = at.unwrap_or(0) / self.model.typesize;
                let index = indices(&self.model.shape).swap_remove(item);
                return Err(format!("bytes: at {index:?} {which}"));
            }
            Err(rc) => return Err(format!("reading: {rc} {which}")),
        }
        let Some(side) = &self.reference else {
            return Ok(());
        };
        writeln!(self.log, "reference {which}").expect("a log");
        let other = side.array();
        let (a, b) = (array.fields(), other.fields());
        let n = self.model.shape.len();
        let wrong = match other.to_buffer() {
            Ok(data) => data != self.model.data || other.shape() != self.model.shape,
            Err(_) => true,
        };
        if wrong {
            let why = format!("the reference is wrong: {}", self.last(which));
            self.lose_reference(&why);
            return Ok(());
        }
        let same = a.extshape[..n] == b.extshape[..n]
            && a.extchunkshape[..n] == b.extchunkshape[..n]
            && (a.nitems, a.extnitems, a.chunknitems) == (b.nitems, b.extnitems, b.chunknitems)
            && (a.blocknitems, a.extchunknitems) == (b.blocknitems, b.extchunknitems)
            && a.item_array_strides[..n] == b.item_array_strides[..n]
            && a.item_chunk_strides[..n] == b.item_chunk_strides[..n]
            && a.item_extchunk_strides[..n] == b.item_extchunk_strides[..n]
            && a.item_block_strides[..n] == b.item_block_strides[..n]
            && a.block_chunk_strides[..n] == b.block_chunk_strides[..n]
            && a.chunk_array_strides[..n] == b.chunk_array_strides[..n];
        if !same {
            return Err(format!("fields: {which}"));
        }
        // SAFETY: the super-chunks live as long as their arrays.
        let (ours, theirs) = unsafe { (&*a.sc, &*b.sc) };
        let of = |sc: &blosc2::capi::types::blosc2_schunk| (sc.nchunks, sc.nbytes, sc.typesize);
        if of(ours) != of(theirs) {
            return Err(format!(
                "super-chunk: {:?} for {:?} {which}",
                of(ours),
                of(theirs)
            ));
        }
        Ok(())
    }

    fn last(&self, which: &str) -> String {
        let op = which.split(": ").nth(1).unwrap_or_default();
        op.split([' ', '{']).next().unwrap_or_default().to_owned()
    }
}

fn name(op: &Op) -> String {
    let all = format!("{op:?}");
    all.split([' ', '{']).next().unwrap_or_default().to_owned()
}

/// Runs sequence number `number` in `folder`.
pub fn run(
    number: u64,
    ours: &'static B2ndLib,
    reference: Option<&'static B2ndLib>,
    folder: &Path,
) -> Result<(), String> {
    let mut log = File::create(folder.join("log")).expect("a log");
    let mut rng = Rng(mix(number));
    let storage = rng.pick(&[
        Storage::Memory,
        Storage::Frame,
        Storage::File,
        Storage::Directory,
    ]);
    let spec = spec(&mut rng);
    let typesize = spec.cparams.typesize as usize;
    let start = match rng.below(6) {
        0 => Start::Zeros,
        1 => Start::Full,
        2 if matches!(typesize, 4 | 8) => Start::Nans,
        _ => Start::Buffer,
    };
    let mut model = Model::zeros(&spec.shape, typesize);
    let mut data = bytes(&mut rng, (count(&spec.shape) * typesize).max(typesize));
    match start {
        Start::Zeros => {}
        Start::Nans => {
            let nan: &[u8] = match typesize {
                4 => &f32::NAN.to_le_bytes(),
                _ => &f64::NAN.to_le_bytes(),
            };
            model
                .data
                .chunks_mut(typesize)
                .for_each(|item| item.copy_from_slice(nan));
        }
        Start::Full => {
            let item = data[..typesize].to_vec();
            model
                .data
                .chunks_mut(typesize)
                .for_each(|to| to.copy_from_slice(&item));
        }
        Start::Buffer => {
            data.truncate(model.data.len());
            model.data.copy_from_slice(&data);
        }
    }
    let item = model.data.get(..typesize).map(<[u8]>::to_vec);
    let title = format!("{storage:?} {start:?} {spec:?}");
    if std::env::var_os("OXIBLOSC_MODEL_STEPS").is_some() {
        println!("{number}: {title}");
    }
    // The reference's own limits: large items in one buffer, deltas over several blocks.
    let asked = typesize <= 255 && spec.cparams.filters[4] != 3;
    writeln!(log, "reference new {title}").expect("a log");
    let theirs = reference.filter(|_| asked).map(|lib| {
        Side::new(
            lib,
            &folder.join("reference"),
            (&spec, storage),
            (start, &data),
        )
    });
    writeln!(log, "ours new {title}").expect("a log");
    let own = Side::new(ours, &folder.join("ours"), (&spec, storage), (start, &data));
    let codes = (
        own.as_ref().err().copied(),
        theirs.as_ref().map(|t| t.as_ref().err().copied()),
    );
    let own = match (own, codes.1) {
        (Ok(own), None | Some(None)) => own,
        (Err(ours), Some(Some(reference))) if ours == reference => return Ok(()),
        _ => return Err(format!("new: {codes:?} {title}")),
    };
    let repeats = matches!(start, Start::Nans | Start::Full);
    let repeated = item.filter(|_| repeats);
    let mut run = Run {
        rng,
        storage,
        spec,
        model,
        ours: own,
        reference: theirs.and_then(Result::ok),
        dirty: false,
        repeated,
        log: &mut log,
    };
    let result = (|| {
        run.check("step new: New")?;
        let steps = 8 + run.rng.below(20);
        (0..steps).try_for_each(|step| run.step(step))
    })();
    if let Some(side) = run.reference.take() {
        std::mem::forget(side.array);
    }
    result.map_err(|error| format!("{error}; {title}"))
}

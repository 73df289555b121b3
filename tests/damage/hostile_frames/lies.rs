//! Frames with one number that is not right: in the header, in the header of the index or of a
//! chunk, in the metalayer of an array. What the reference refuses is refused; what it reads
//! without a contradiction is read the same; and no program whose buffers are as large as the
//! public fields tell is given more.
//!
//! A sixteenth of the lies is tried, by turns; all of them with `OXIBLOSC_HOSTILE_WHOLE`.

use super::array_seeds;
use super::seeds::{self, Seed};
use oxiblosc_testing::b2nd::{Array, B2ndLib, our_arrays, reference_arrays};
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::panics::assert_fatal;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// Of how many lies one is tried.
const SAMPLE: usize = 16;
/// What lies about arrays are noted as.
const ABOUT_ARRAYS: &str = "about arrays";
/// Seconds that a library may take for one frame.
const PATIENCE: u32 = 10;
/// Address space that a library may take.
const ADDRESSES: u64 = 4 << 30;
/// The most data that are read.
const ROOM: usize = 1 << 19;

/// How a number lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

/// A number of a frame: its name, the file that it is in, where, how many bytes it has and in which
/// order.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    file: usize,
    at: usize,
    len: usize,
    order: Order,
}

/// The numbers in the header of a frame. The reference does not look at the magic.
const HEADER: [(&str, usize, usize); 21] = [
    ("header length", 11, 4),
    ("frame length", 16, 8),
    ("flags", 25, 1),
    ("kind", 26, 1),
    ("codecs", 27, 1),
    ("other flags", 28, 1),
    ("nbytes", 30, 8),
    ("cbytes", 39, 8),
    ("typesize", 48, 4),
    ("blocksize", 53, 4),
    ("chunksize", 58, 4),
    ("threads", 63, 2),
    ("more threads", 66, 2),
    ("has variable metalayers", 68, 1),
    ("number of filters", 70, 1),
    ("filter", 71, 1),
    ("last filter", 76, 1),
    ("codec", 77, 1),
    ("codec's meta", 78, 1),
    ("filter's meta", 79, 1),
    ("other flags 2", 85, 1),
];
/// Those in the header of a chunk.
const CHUNK: [(&str, usize, usize); 8] = [
    ("version", 0, 1),
    ("flags", 2, 1),
    ("typesize", 3, 1),
    ("nbytes", 4, 4),
    ("blocksize", 8, 4),
    ("cbytes", 12, 4),
    ("flags 2", 30, 1),
    ("special", 31, 1),
];

fn file(seed: &Seed, nth: usize) -> &[u8] {
    match seed {
        Seed::Contiguous(frame) => frame,
        Seed::Directory(files) => &files[nth].1,
    }
}

fn file_mut(seed: &mut Seed, nth: usize) -> &mut [u8] {
    match seed {
        Seed::Contiguous(frame) => frame,
        Seed::Directory(files) => &mut files[nth].1,
    }
}

impl Field {
    fn get(&self, seed: &Seed) -> u64 {
        let bytes = &file(seed, self.file)[self.at..self.at + self.len];
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match self.order {
            Order::Big => bytes.iter().fold(0, add),
            Order::Little => bytes.iter().rev().fold(0, add),
        }
    }

    fn set(&self, seed: &mut Seed, value: u64) {
        let place = &mut file_mut(seed, self.file)[self.at..self.at + self.len];
        match self.order {
            Order::Big => place.copy_from_slice(&value.to_be_bytes()[8 - self.len..]),
            Order::Little => place.copy_from_slice(&value.to_le_bytes()[..self.len]),
        }
    }

    /// What is written there instead of `value`.
    fn lies(&self, value: u64) -> Vec<u64> {
        let mask = u64::MAX >> (64 - 8 * self.len);
        let mut lies = match self.len {
            1 => (0..8).map(|bit| value ^ 1 << bit).chain([0, 255]).collect(),
            // What is beyond all files overflows in the reference.
            _ => vec![
                0,
                1,
                value.wrapping_sub(1),
                value + 1,
                value / 2,
                value.wrapping_mul(2),
                value + 8,
                value.wrapping_sub(8),
                value + 2000,
                mask,
                mask >> 2,
                (mask >> 1) + 1,
                1 << 20,
            ],
        };
        for lie in &mut lies {
            *lie &= mask;
        }
        lies.retain(|lie| *lie != value);
        lies.sort_unstable();
        lies.dedup();
        lies
    }
}

/// Where chunks begin: the file, and the place in it.
fn chunks(seed: &Seed, lib: &'static SchunkLib) -> Vec<(usize, usize)> {
    match seed {
        Seed::Directory(files) => (1..files.len()).map(|nth| (nth, 0)).collect(),
        Seed::Contiguous(frame) => {
            let header = u32::from_be_bytes(frame[11..15].try_into().expect("4 bytes")) as usize;
            let schunk = lib.open_buffer(frame, false).expect("a seed opens");
            let offsets = schunk.offsets().unwrap_or_default();
            let real = offsets.iter().filter(|offset| **offset >= 0);
            real.map(|offset| (0, header + *offset as usize)).collect()
        }
    }
}

fn fields(seed: &Seed, lib: &'static SchunkLib) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut add = |list: &[(&str, usize, usize)], file, base, what: &str, order| {
        fields.extend(list.iter().map(|(name, at, len)| Field {
            name: format!("{what}'s {name}"),
            file,
            at: base + at,
            len: *len,
            order,
        }));
    };
    let numbers: Vec<_> = HEADER
        .into_iter()
        // The bytes of the chunks of a directory are counted, and used for nothing here; see
        // docs/compatibility.md.
        .filter(|(name, ..)| *name != "cbytes" || matches!(seed, Seed::Contiguous(_)))
        .collect();
    add(&numbers, 0, 0, "header", Order::Big);
    let prefix = file(seed, 0);
    let header = u32::from_be_bytes(prefix[11..15].try_into().expect("4 bytes")) as usize;
    let cbytes = u64::from_be_bytes(prefix[39..47].try_into().expect("8 bytes")) as usize;
    let index = match seed {
        Seed::Contiguous(_) => header + cbytes,
        Seed::Directory(_) => header,
    };
    let nbytes = u64::from_be_bytes(prefix[30..38].try_into().expect("8 bytes"));
    if nbytes > 0 {
        add(&CHUNK, 0, index, "index", Order::Little);
    }
    add(
        &[("length", prefix.len() - 22, 4)],
        0,
        0,
        "trailer",
        Order::Big,
    );
    let chunks = chunks(seed, lib);
    let count = chunks.len();
    for nth in [0, count / 2, count.wrapping_sub(1)] {
        if let Some((file, at)) = chunks.get(nth) {
            add(&CHUNK, *file, *at, &format!("chunk {nth}"), Order::Little);
        }
    }
    let name = b"b2nd\xd2";
    if let Some(at) = prefix.windows(name.len()).position(|window| window == name) {
        let at = at + name.len();
        let at = u32::from_be_bytes(prefix[at..at + 4].try_into().expect("4 bytes")) as usize + 5;
        let ndim = usize::from(prefix[at + 2]);
        let mut numbers = vec![("dimensions", 2, 1)];
        for dim in 0..ndim {
            numbers.push(("shape", 5 + 9 * dim, 8));
            numbers.push(("chunkshape", 6 + 9 * ndim + 5 * dim, 4));
            numbers.push(("blockshape", 7 + 14 * ndim + 5 * dim, 4));
        }
        add(&numbers, 0, at, "array", Order::Big);
    }
    fields
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// What a library made of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Died(String),
    Refused,
    Opened(Found),
}

/// What was found in a frame: numbers, in the order in which [`Found::parse`] reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    nbytes: i64,
    chunksize: i64,
    /// Whether all of the data was read as one slice, and its digest.
    whole: Option<u64>,
    /// The digest of the data that were read chunk by chunk.
    joined: u64,
    /// Size of each chunk's data, or an error.
    chunks: Vec<i64>,
    /// Sixteen bits of the digest of each chunk's data.
    digests: Vec<u16>,
}

impl Found {
    fn of(s: &Schunk) -> Self {
        let fields = s.fields();
        let mut dst = vec![0; ROOM];
        let (mut chunks, mut digests, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        for nchunk in 0..fields.nchunks.min(400) {
            let rc = s.decompress_chunk(nchunk, &mut dst);
            let data = &dst[..rc.max(0) as usize];
            joined.extend_from_slice(data);
            digests.push(digest(data) as u16);
            chunks.push(rc);
            // A chunk of uninitialised items leaves the buffer as it was.
            let used = if rc < 0 { ROOM } else { rc as usize };
            dst[..used].fill(0);
        }
        let typesize = i64::from(fields.typesize.max(1));
        let len = (fields.nbytes / typesize)
            .checked_mul(typesize)
            .unwrap_or(0);
        let mut whole = None;
        if (0..=ROOM as i64).contains(&len) {
            dst.fill(0);
            if s.get_slice(0, len / typesize, &mut dst) >= 0 {
                whole = Some(digest(&dst[..len as usize]));
            }
        }
        let joined = digest(&joined[..joined.len().min(len.max(0) as usize)]);
        Self {
            nbytes: fields.nbytes,
            chunksize: i64::from(fields.chunksize),
            whole,
            joined,
            chunks,
            digests,
        }
    }

    fn to_text(&self) -> String {
        let mut numbers = vec![
            self.nbytes as u64,
            self.chunksize as u64,
            u64::from(self.whole.is_some()),
            self.whole.unwrap_or(0),
            self.joined,
        ];
        // An error is a number below 100 here.
        let sizes = self.chunks.iter().map(|rc| (rc + 100).max(0) as u64);
        let digests = self.digests.iter().map(|digest| u64::from(*digest));
        numbers.extend(sizes.zip(digests).map(|(size, digest)| size << 16 | digest));
        let words: Vec<String> = numbers.iter().map(|number| format!("{number:x}")).collect();
        words.join(" ")
    }

    fn parse(text: &str) -> Option<Self> {
        let words = text.split(' ').map(|word| u64::from_str_radix(word, 16));
        let numbers = words.collect::<Result<Vec<_>, _>>().ok()?;
        let [nbytes, chunksize, readable, whole, joined, chunks @ ..] = &numbers[..] else {
            return None;
        };
        Some(Self {
            nbytes: *nbytes as i64,
            chunksize: *chunksize as i64,
            whole: (*readable > 0).then_some(*whole),
            joined: *joined,
            chunks: chunks
                .iter()
                .map(|chunk| (*chunk >> 16) as i64 - 100)
                .collect(),
            digests: chunks.iter().map(|chunk| *chunk as u16).collect(),
        })
    }

    /// Whether a program that trusts the public fields gets what it expects.
    fn is_sound(&self) -> bool {
        let sum: i64 = self.chunks.iter().sum();
        let equal = self.chunks.iter().enumerate().all(|(nth, rc)| {
            let start = nth as i64 * self.chunksize;
            self.chunksize <= 0 || *rc == (self.nbytes - start).min(self.chunksize)
        });
        let readable = self.chunks.iter().all(|rc| *rc >= 0);
        let whole = self.whole.is_none_or(|whole| whole == self.joined);
        readable && equal && sum == self.nbytes && whole
    }

    /// Whether a program that trusts the public fields gets what it expects or nothing: a first
    /// chunk that cannot be read is found out when it is.
    fn is_harmless(&self) -> bool {
        self.is_sound() || self.chunks.first().is_some_and(|rc| *rc < 0)
    }

    /// Whether this is what `theirs`, the sound finding of the reference, is. `doubted` says that
    /// the reference refuses to read slices of the frame, which it reads without the lie: then we
    /// may refuse chunks of it. What the reference does not read as one slice must be the chunks
    /// one after the other.
    fn agrees(&self, theirs: &Self, doubted: bool) -> bool {
        let fields = (self.nbytes, self.chunksize) == (theirs.nbytes, theirs.chunksize);
        let whole = match theirs.whole {
            Some(_) => self.whole == theirs.whole,
            None => self.whole.is_none_or(|whole| whole == self.joined),
        };
        let ours = self.chunks.iter().zip(&self.digests);
        let same = ours
            .zip(theirs.chunks.iter().zip(&theirs.digests))
            .all(|(ours, theirs)| ours == theirs || (doubted && *ours.0 < 0));
        fields && whole && same && self.chunks.len() == theirs.chunks.len()
    }

    /// Whether a program that trusts the public fields gets more than it has room for.
    fn overruns(&self) -> bool {
        let mut end = 0;
        self.chunks.iter().enumerate().any(|(nth, rc)| {
            let start = match self.chunksize {
                size if size > 0 => nth as i64 * size,
                _ => end,
            };
            end = start + (*rc).max(0);
            *rc > 0 && end > self.nbytes
        })
    }
}

/// Opens the frame at `path`, or in a buffer, and reads all of it, in a child.
fn fate(lib: &'static SchunkLib, seed: &Seed, path: &Path, buffer: bool) -> Fate {
    let reported = isolated(PATIENCE, || {
        limit();
        let opened = match seed {
            Seed::Contiguous(frame) if buffer => lib.open_buffer(frame, false),
            _ => lib.open_path(path),
        };
        let text = opened.map_or("refused".into(), |schunk| {
            let text = Found::of(&schunk).to_text();
            // What freeing it may do to the reference is not asked here.
            schunk.into_raw();
            text
        });
        Err(text)
    });
    let text = reported.err().unwrap_or_default();
    match Found::parse(&text) {
        _ if text == "refused" => Fate::Refused,
        Some(found) => Fate::Opened(found),
        None => Fate::Died(text),
    }
}

fn limit() {
    let limit = libc::rlimit {
        rlim_cur: ADDRESSES,
        rlim_max: ADDRESSES,
    };
    // SAFETY: this child's own limits; what the reference says on its way is of no interest.
    unsafe {
        libc::setrlimit(libc::RLIMIT_AS, &limit);
        libc::close(2);
    }
}

/// Whether the array at `path` opens, and what its first and last items are.
fn array_fate(lib: &'static B2ndLib, path: &Path) -> Fate {
    let reported = isolated(PATIENCE, || {
        limit();
        let Ok(array) = lib.open_path(path) else {
            return Err("refused".into());
        };
        let text = array_found(&array).to_text();
        std::mem::forget(array);
        Err(text)
    });
    let text = reported.err().unwrap_or_default();
    match Found::parse(&text) {
        _ if text == "refused" => Fate::Refused,
        Some(found) => Fate::Opened(found),
        None => Fate::Died(text),
    }
}

fn array_found(array: &Array) -> Found {
    let (shape, typesize) = (array.shape(), array.typesize());
    let len = shape
        .iter()
        .try_fold(typesize as i64, |len, dim| len.checked_mul(*dim));
    let mut found = Found {
        nbytes: len.unwrap_or(-1),
        ..Found::default()
    };
    if (1..=ROOM as i64).contains(&found.nbytes) {
        let mut dst = vec![0; found.nbytes as usize];
        let rc = array.get(&vec![0; shape.len()], &shape, &shape, &mut dst);
        // An error stands for a chunk that cannot be read.
        found.chunks = vec![i64::from(rc.min(0))];
        found.digests = vec![0];
        if rc >= 0 {
            found.whole = Some(digest(&dst));
            found.joined = digest(&dst);
            found.chunks = vec![found.nbytes];
            found.digests = vec![digest(&dst) as u16];
        }
    }
    found
}

fn whole() -> bool {
    std::env::var_os("OXIBLOSC_HOSTILE_WHOLE").is_some()
}

/// What is wrong with our fate, given the reference's, and the reference's fate without the lie.
fn wrong(ours: &Fate, theirs: &Fate, truth: &Fate) -> Option<&'static str> {
    let sliced = |fate: &Fate| matches!(fate, Fate::Opened(found) if found.whole.is_some());
    // The reference reads this frame's chunks, but no slices of it: it takes it for damaged, too.
    let doubted = sliced(truth) && !sliced(theirs);
    match (ours, theirs) {
        (Fate::Died(_), _) => Some("died"),
        (Fate::Opened(found), _) if found.overruns() => Some("gives more than it says"),
        (Fate::Opened(found), Fate::Refused) if !found.is_harmless() => {
            Some("opens what the reference refuses")
        }
        (Fate::Refused, Fate::Opened(theirs)) if theirs.is_sound() && !doubted => {
            Some("refuses what the reference reads")
        }
        (Fate::Opened(ours), Fate::Opened(theirs))
            if theirs.is_sound() && !ours.agrees(theirs, doubted) =>
        {
            Some("reads something else than the reference")
        }
        _ => None,
    }
}

/// Why another answer than the reference's is right, if it is.
fn reason(field: &Field, lie: u64, array: bool, ours: &Fate) -> Option<&'static str> {
    let special = lie >> 4 & 7;
    let refused = *ours == Fate::Refused;
    let unread = matches!(ours, Fate::Opened(found) if found.chunks.iter().any(|rc| *rc < 0));
    match field.name.as_str() {
        // A program would size its memory by it. The reference does not look at it where there are
        // no chunks.
        "header's cbytes" if refused && lie > i64::MAX as u64 => Some("a negative size"),
        // The reference gives the data of the first chunk for each.
        "index's special" if refused && special == 1 => Some("all chunks in one place"),
        // The reference reads an array by its shapes alone. A program that reads the chunks, into
        // buffers as large as the public fields tell, would be given more than these hold.
        "header's nbytes" | "header's typesize" | "header's chunksize" if array && refused => {
            Some("an array's chunks of another size")
        }
        // Chunks would be left over, so that they are taken for those of other places, or blocks
        // would reach beyond their chunk: the reference gives bytes of somewhere else, except where
        // the layout happens to be the same.
        "array's shape" | "array's blockshape" if refused => Some("an array of other chunks"),
        // Checksums are not there: the reference does not know of them.
        name if name.ends_with("'s flags 2") && lie & 0x80 != 0 && (refused || unread) => {
            Some("checksums that are missing")
        }
        // Uninitialised items may be anything: the reference gives what was left in a buffer.
        name if array && !refused && name.ends_with("special") && special == 4 => {
            Some("uninitialised items")
        }
        // The reference finds the blocks of an array by where they begin, and does not ask whether
        // the chunk's header agrees with the frame's and the index; a program that reads the chunk
        // as one is misled.
        name if array && (refused || unread) && name.starts_with("chunk ") => {
            Some("a chunk that contradicts the frame")
        }
        _ => None,
    }
}

/// Tries every lie about a seed of which it is the turn.
fn try_lies(
    report: &mut Report,
    seed: &Seed,
    (which, lib): (&str, &'static SchunkLib),
    path: &Path,
    fates: impl Fn(&Seed, bool) -> [Fate; 2],
) {
    let mut turn = digest(which.as_bytes()) as usize;
    seed.write(path);
    let [_, truth] = fates(seed, false);
    let fields = fields(seed, lib);
    let array = fields.iter().any(|field| field.name == "array's shape");
    for field in fields {
        for lie in field.lies(field.get(seed)) {
            turn = turn.wrapping_add(1);
            if !whole() && !turn.is_multiple_of(SAMPLE) {
                continue;
            }
            report.case();
            if array {
                report.note(ABOUT_ARRAYS);
            }
            let mut liar = seed.clone();
            field.set(&mut liar, lie);
            liar.write(path);
            let [ours, theirs] = fates(&liar, turn.is_multiple_of(2 * SAMPLE));
            report.note(match &theirs {
                Fate::Died(_) => "the reference dies",
                Fate::Refused => "the reference refuses",
                Fate::Opened(found) if found.is_sound() => "the reference reads",
                Fate::Opened(_) => "the reference opens",
            });
            if let Some(what) = wrong(&ours, &theirs, &truth) {
                let harmless = !matches!(what, "died" | "gives more than it says");
                if let Some(reason) = reason(&field, lie, array, &ours).filter(|_| harmless) {
                    report.note(reason);
                    continue;
                }
                let name = field.name.split("'s ").last().unwrap_or_default();
                let reported = field.get(seed);
                println!(
                    "{which} {} {lie} for {reported}: {what} {ours:?} {theirs:?}",
                    field.name
                );
                report.fail(
                    &format!("{what} ({name})"),
                    format!(
                        "{which}, {}: {lie} for {reported}\n  {ours:?}\n  {theirs:?}",
                        field.name
                    ),
                );
            }
        }
    }
}

#[test]
fn frames_that_contradict_themselves() {
    oxiblosc_testing::own_process!();
    assert_fatal();
    let ours = our_schunks();
    let Some(theirs) = reference_schunks() else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("oxiblosc-lies-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join("frame");
    let mut report = Report::default();
    for (nth, seed) in seeds::all(theirs, &folder, false).iter().enumerate() {
        let which = format!("seed {nth}");
        try_lies(&mut report, seed, (&which, ours), &path, |liar, buffer| {
            [ours, theirs].map(|lib| fate(lib, liar, &path, buffer))
        });
    }
    let libraries = [
        our_arrays(),
        reference_arrays().expect("there is a reference"),
    ];
    let mut arrays = array_seeds::all(libraries[1], &folder);
    arrays.extend(seeds::fixtures("b2nd"));
    for (which, seed) in arrays {
        try_lies(&mut report, &seed, (&which, ours), &path, |_, _| {
            libraries.map(|lib| array_fate(lib, &path))
        });
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    let about_arrays = report.take_notes(ABOUT_ARRAYS).into_values().sum::<u64>();
    println!("{about_arrays} lies about arrays");
    assert!(whole() || about_arrays > 100, "{about_arrays} about arrays");
    report.finish("frames that contradict themselves");
}

//! Frames in files and directories that cannot be trusted, with what looks like the record of a
//! change behind them: nothing worse than an error comes of it, and who only reads a file that may
//! be a copy of another leaves it as it is.

use super::super::arrays;
use super::super::numbers::{Input, Random};
use super::super::restamp;
use super::frames::{change, change_and_read, frame_in, read};
use oxiblosc::{Place, Protection, SuperChunk};
use oxiblosc_frame::journal::{Patch, Record, hash};
use std::fs;
use std::path::{Path, PathBuf};

/// Option: the checksums of header, index and trailer are made to fit.
const STAMP_FRAME: u8 = 1;
/// Option: and those of chunks and blocks.
const STAMP_CHUNKS: u8 = 2;
/// Option: there is a record behind the frame.
const RECORD: u8 = 4;
/// Option: which says that it is that of this very file.
const OWN: u8 = 8;
/// Option: a byte of the record is another.
const TORN: u8 = 0x10;
/// Option: a directory.
const DIRECTORY: u8 = 0x20;
/// Option: the frame begins further behind in the file.
const BEHIND: u8 = 0x40;
/// Option: changes are made in a transaction.
const TRANSACTION: u8 = 0x80;

/// Where the frame begins with [`BEHIND`].
const FRONT: usize = 100;
/// The file of a directory's header, index and trailer.
const INDEX: &str = "chunks.b2frame";
/// The most files of a directory beside it.
const MOST_FILES: usize = 6;

/// The files of one run, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let temporary = match memory.is_dir() {
            true => memory.to_owned(),
            false => std::env::temp_dir(),
        };
        let path = temporary.join(format!("oxiblosc-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A byte of options, one that says where and what is changed, what a record or a directory needs,
/// and a frame.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let (options, seed) = (input.byte(), input.byte());
    let folder = Folder::new();
    let is_directory = options & DIRECTORY != 0;
    let (path, file) = match is_directory {
        true => {
            let path = folder.0.join("directory");
            fs::create_dir(&path).expect("a folder");
            for nchunk in 0..usize::from(input.byte()) % (MOST_FILES + 1) {
                let len = input.short();
                let mut chunk = input.take(len);
                if options & STAMP_CHUNKS != 0 {
                    restamp::chunk(&mut chunk, true);
                }
                fs::write(path.join(format!("{nchunk:08X}.chunk")), &chunk).expect("a chunk");
            }
            let file = path.join(INDEX);
            (path, file)
        }
        false => (folder.0.join("file"), folder.0.join("file")),
    };
    let mut record = (options & RECORD != 0).then(|| RecordInput::read(&mut input));
    let mut frame = input.rest();
    if options & STAMP_CHUNKS != 0 && !is_directory {
        restamp::chunks(&mut frame, true);
    }
    if options & STAMP_FRAME != 0 {
        let _ = restamp::frame(&mut frame, !is_directory);
    }
    let base = match options & BEHIND != 0 && !is_directory {
        true => FRONT,
        false => 0,
    };
    let mut bytes = vec![0x77; base];
    bytes.extend(&frame);
    fs::write(&file, &bytes).expect("a frame");
    if let Some(record) = &mut record {
        let identity = match options & OWN {
            0 => None,
            _ => identity(&file),
        };
        record.append(&mut bytes, base, identity, options & TORN != 0);
        fs::write(&file, &bytes).expect("a frame and a record");
    }
    let open = || SuperChunk::open(&path, base as u64, 1, Protection::default());
    let mut random = Random(seed.into());
    let Ok(schunk) = open() else { return };
    read(&schunk, &mut random);
    if options & OWN == 0 {
        let now = fs::read(&file).expect("a file");
        assert!(now == bytes, "reading changed the file");
    }
    change_and_read(&schunk, options & TRANSACTION != 0, &mut random);
    if let Ok(again) = open() {
        read(&again, &mut random);
        change(&again, &mut random);
        read(&schunk, &mut random);
    }
}

/// Device and inode of a file, as a record has them.
#[cfg(unix)]
fn identity(file: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let about = fs::metadata(file).expect("a file");
    Some((about.dev(), about.ino()))
}

/// Records in files of other systems are taken for those of another file.
#[cfg(not(unix))]
fn identity(_file: &Path) -> Option<(u64, u64)> {
    None
}

/// What an input says about a record.
struct RecordInput {
    /// Which numbers are wrong.
    wrong: u8,
    number: u8,
    gap: usize,
    patches: Vec<(usize, Box<[u8]>)>,
}

impl RecordInput {
    fn read(input: &mut Input) -> Self {
        let (wrong, number, gap) = (input.byte(), input.byte(), input.short());
        let count = usize::from(input.byte() % 4);
        let patches = (0..count).map(|_| {
            let (at, len) = (input.short(), input.short() % 9000);
            (at, input.take(len))
        });
        let patches = patches.collect();
        Self {
            wrong,
            number,
            gap,
            patches,
        }
    }

    /// Appends the record to the bytes of a file whose frame begins at `base`. The process died
    /// before it changed anything but the bytes of the patches.
    fn append(
        &mut self,
        bytes: &mut Vec<u8>,
        base: usize,
        identity: Option<(u64, u64)>,
        torn: bool,
    ) {
        let frame = &bytes[base..];
        let header_len = (restamp::be(frame, 0x0b, 4) as usize).min(frame.len());
        let wrong = u64::from(self.number);
        let is_wrong = |bit: u8| wrong * u64::from(self.wrong >> bit & 1);
        // Mostly in ascending order, since nothing else counts.
        self.patches.sort_by_key(|(at, _)| *at);
        let mut header = frame[..header_len].to_vec();
        for (at, old) in &self.patches {
            for (i, byte) in old.iter().enumerate() {
                if let Some(place) = header.get_mut(at + i) {
                    *place = *byte;
                }
            }
        }
        let changed_pos = self.patches.first().map_or(0, |(at, _)| *at);
        let changed_end = changed_pos + self.patches.first().map_or(0, |(_, old)| old.len());
        let changed = frame.get(changed_pos..changed_end.min(header_len));
        let patches: Vec<Patch> = self
            .patches
            .iter()
            .map(|(at, old)| Patch {
                pos: *at as u64,
                bytes: old.to_vec().into(),
            })
            .collect();
        let record = Record {
            identity,
            base: (base as u64).wrapping_add(is_wrong(0)),
            old_len: (frame.len() as u64).wrapping_sub(is_wrong(1)),
            new_len: (frame.len() + self.gap) as u64 ^ is_wrong(2) << 56,
            header_len: (header_len as u32).wrapping_sub(is_wrong(3) as u32),
            header_hash: hash(&header) ^ is_wrong(4),
            changed_pos: changed_pos as u32,
            changed: changed.unwrap_or_default().to_vec().into(),
            patches: patches.into(),
        };
        // Not every record can be written.
        let Ok(encoded) = record.encode() else { return };
        let writes = encoded.writes_at(0).expect("memory");
        bytes.resize(bytes.len() + self.gap, 0);
        let start = bytes.len();
        writes
            .iter()
            .for_each(|(_, part)| bytes.extend_from_slice(part));
        if torn {
            let at = start + usize::from(self.number) * 7 % (bytes.len() - start);
            bytes[at] ^= 1 << (self.wrong % 8);
            // The end has a hash of all that is before it, and the length.
            let end = bytes.len() - 16;
            let whole = hash(&bytes[start..end]).to_le_bytes();
            bytes[end..end + 8].copy_from_slice(&whole);
        }
    }
}

/// One of the files or directories, damaged.
pub fn mutant(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let mut input = seeds[number as usize % seeds.len()].clone();
    let trailer = input.len() - 120;
    arrays::damage(&mut input, trailer, &mut random);
    if let [options, seed, ..] = &mut input[..] {
        // Options without numbers of their own.
        *options ^=
            random.bits() as u8 & (STAMP_FRAME | STAMP_CHUNKS | TORN | BEHIND | TRANSACTION);
        *seed = random.bits() as u8;
    }
    input
}

/// Inputs to begin with: files and directories, with and without a record.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = Folder::new();
    let mut all = Vec::new();
    for (n, frame) in super::frames::seeds().into_iter().enumerate() {
        let options = [0, BEHIND, STAMP_FRAME, STAMP_CHUNKS | TRANSACTION];
        all.push([&[options[n % 4], n as u8], &frame[..]].concat());
        for options in [RECORD, RECORD | OWN, RECORD | OWN | BEHIND] {
            let mut input = vec![options, n as u8, 0, 9, 60, 0, 2];
            // The sizes in the header, which are as they were, and bytes of a chunk.
            input.extend([24, 0, 16, 0]);
            input.extend(&frame[24..40]);
            input.extend([200, 1, 100, 0]);
            input.extend([1; 100]);
            input.extend(&frame);
            all.push(input);
        }
    }
    for checksums in [true, false] {
        let path = folder.0.join("seed");
        frame_in(Place::Directory(&path), (1, 4, &[1]), checksums);
        let mut input = vec![DIRECTORY, 3, 4];
        for nchunk in 0..4 {
            // A chunk of zeros has no file.
            let chunk = fs::read(path.join(format!("{nchunk:08X}.chunk"))).unwrap_or_default();
            input.extend((chunk.len() as u16).to_le_bytes());
            input.extend(chunk);
        }
        input.extend(fs::read(path.join(INDEX)).expect("a frame"));
        all.push(input);
        fs::remove_dir_all(&path).expect("a folder");
    }
    all
}

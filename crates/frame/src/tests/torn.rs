//! Files that hold no whole frame when one is to be changed: they are waited for as long as somebody writes to them, and no longer.

use super::*;
use oxiblosc_io::{Version, Written};
use std::sync::Mutex;
use std::time::Duration;

/// What happens to the file whenever somebody looks how long it is.
type Happens = Box<dyn FnMut(usize) + Send>;

/// The file system, where something happens meanwhile.
#[derive(Clone)]
struct Eventful(Arc<Mutex<(usize, Happens)>>);

struct EventfulFile(Eventful, Shared<dyn Storage>);

impl Storage for EventfulFile {
    fn size(&self) -> Result<u64> {
        let (looks, happens) = &mut *self.0.0.lock().unwrap();
        *looks += 1;
        happens(*looks);
        self.1.size()
    }
    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        self.1.read_at(pos, buf)
    }
    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        self.1.write_at(pos, buf)
    }
    fn truncate(&self, size: u64) -> Result<()> {
        self.1.truncate(size)
    }
    fn sync(&self) -> Result<()> {
        self.1.sync()
    }
    fn lock_exclusive(&self) -> Result<()> {
        self.1.lock_exclusive()
    }
    fn try_lock_exclusive(&self) -> bool {
        self.1.try_lock_exclusive()
    }
    fn lock_shared(&self, patience: Duration) -> bool {
        self.1.lock_shared(patience)
    }
    fn unlock(&self) {
        self.1.unlock();
    }
    fn identity(&self) -> Option<(u64, u64)> {
        self.1.identity()
    }
    fn written(&self) -> Option<Written> {
        self.1.written()
    }
}

impl Backend for Eventful {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        let file = EventfulFile(self.clone(), Filesystem.open(path, mode)?);
        shared_dyn!(file => dyn Storage)
    }
    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        Filesystem.identity(path)
    }
    fn version(&self, path: &CStr) -> Option<Version> {
        Filesystem.version(path)
    }
    fn is_filesystem(&self) -> bool {
        true
    }
}

impl Eventful {
    fn new() -> Self {
        Self(Arc::new(Mutex::new((0, Box::new(|_| {})))))
    }

    /// From now on this happens.
    fn set(&self, happens: Happens) {
        *self.0.lock().unwrap() = (0, happens);
    }

    fn looks(&self) -> usize {
        self.0.lock().unwrap().0
    }

    fn open_frame(&self, path: &Path) -> Disk {
        let backend = self.clone();
        let backend = shared_dyn!(backend => dyn Backend).unwrap();
        let opened = Disk::open(options(backend), &c_path(path), 0, Kind::Contiguous);
        opened.unwrap().0
    }
}

/// A frame with a chunk, and its bytes.
fn frame(path: &Path) -> (Model, Vec<u8>) {
    let mut model = Model::default();
    let header = header(&model, Kind::Contiguous);
    let (mut disk, _) = Disk::create(plain(), &c_path(path), &header, &[], &[]).unwrap();
    let step = Step::Append(Ok(chunk(2000, 1)));
    step.apply(&mut model);
    let next = step.next(&model, Kind::Contiguous);
    disk.commit(&step.change(&step.items()), &[], next).unwrap();
    drop(disk);
    (model, std::fs::read(path).unwrap())
}

fn cut(path: &Path, len: usize) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(len as u64).unwrap();
}

/// Appends a chunk as a caller of the library does it.
fn append(disk: &mut Disk, model: &mut Model) -> Result<()> {
    disk.lock()?;
    let appended = disk.refresh().and_then(|_| {
        let step = Step::Append(Ok(chunk(2000, 2)));
        step.apply(model);
        let next = step.next(model, Kind::Contiguous);
        disk.commit(&step.change(&step.items()), &[], next)
    });
    disk.unlock().and(appended)
}

/// Each change of a lost file, as programs try more than one, gives up soon.
#[test]
fn a_file_that_nobody_writes_to_is_not_waited_for() {
    let folder = Folder::new("lost");
    let path = folder.0.join("frame");
    let (model, bytes) = frame(&path);
    let eventful = Eventful::new();
    let mut disk = eventful.open_frame(&path);
    cut(&path, bytes.len() - 1);
    for _ in 0..3 {
        eventful.set(Box::new(|_| {}));
        let appended = append(&mut disk, &mut model.clone());
        assert_eq!(appended, Err(Error::FileRead));
        // Each time it is read it is looked at three times, and more than once it is.
        let looks = eventful.looks();
        assert!((6..50).contains(&looks), "{looks} looks");
    }
}

/// A writer that knows nothing of this library's locks, as the reference, is in the middle of a change.
#[test]
fn a_file_that_somebody_writes_to_is_waited_for() {
    let folder = Folder::new("busy");
    let path = folder.0.join("frame");
    let (mut model, bytes) = frame(&path);
    let eventful = Eventful::new();
    let mut disk = eventful.open_frame(&path);
    cut(&path, bytes.len() - 1);
    let name = path.clone();
    eventful.set(Box::new(move |looks| match looks {
        ..80 => cut(&name, bytes.len() - 1 - looks / 10),
        80 => std::fs::write(&name, &bytes).unwrap(),
        _ => {}
    }));
    let appended = append(&mut disk, &mut model);
    assert_eq!(
        (appended, eventful.looks() > 80),
        (Ok(()), true),
        "{} looks",
        eventful.looks()
    );
    drop(disk);
    let (mut disk, loaded) = Disk::open(plain(), &c_path(&path), 0, Kind::Contiguous).unwrap();
    assert_eq!(whole(&mut disk, loaded).unwrap(), model);
}

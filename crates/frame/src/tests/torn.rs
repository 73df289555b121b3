//! Files with an incomplete frame that is to be changed: the change waits as long as a process
//! writes to the file, and no longer.

use super::*;
use std::sync::Mutex;

/// What is done before each call for the file's size; it gets the number of the call.
type Happens = Box<dyn FnMut(usize) + Send>;

/// A hook that changes the file while it is used.
#[derive(Clone)]
struct Eventful(Arc<Mutex<(usize, Happens)>>);

impl Hook for Eventful {
    const LOCKS: Locks = Locks::System;

    fn before(&self, call: Call, _: &dyn Storage) -> Result<()> {
        if let Call::Size = call {
            let (looks, happens) = &mut *self.0.lock().unwrap();
            *looks += 1;
            happens(*looks);
        }
        Ok(())
    }
}

impl Eventful {
    fn new() -> Self {
        Self(Arc::new(Mutex::new((0, Box::new(|_| {})))))
    }

    /// Sets what is done from now on.
    fn set(&self, happens: Happens) {
        *self.0.lock().unwrap() = (0, happens);
    }

    fn looks(&self) -> usize {
        self.0.lock().unwrap().0
    }

    fn open_frame(&self, path: &Path) -> Disk {
        let options = options(Hooked(self.clone()).shared());
        let opened = Disk::open(options, &c_path(path), 0, FrameKind::Contiguous);
        opened.unwrap().0
    }
}

/// Creates a frame with one chunk. Returns its content and its bytes.
fn frame(path: &Path) -> (Model, Vec<u8>) {
    let mut model = Model::default();
    let header = header(&model, FrameKind::Contiguous);
    let (mut disk, _) = Disk::create(plain(), &c_path(path), &header).unwrap();
    let step = Step::Append(Ok(chunk(2000, 1)));
    step.apply(&mut model);
    let next = step.next(&model, FrameKind::Contiguous);
    disk.commit(&step.change(&step.items()), &[], next).unwrap();
    drop(disk);
    (model, std::fs::read(path).unwrap())
}

fn cut(path: &Path, len: usize) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(len as u64).unwrap();
}

/// Appends a chunk as the core does it: locks the frame and reads it again first.
fn append(disk: &mut Disk, model: &mut Model) -> Result<()> {
    disk.lock()?;
    let appended = disk.refresh().and_then(|_| {
        let step = Step::Append(Ok(chunk(2000, 2)));
        step.apply(model);
        let next = step.next(model, FrameKind::Contiguous);
        disk.commit(&step.change(&step.items()), &[], next)
    });
    disk.unlock();
    appended
}

/// Every change of a truncated file fails soon, not only the first, as programs try several.
#[test]
fn a_file_without_a_writer_is_not_waited_for() {
    let folder = Folder::new("lost");
    let path = folder.0.join("frame");
    let (model, bytes) = frame(&path);
    let eventful = Eventful::new();
    let mut disk = eventful.open_frame(&path);
    cut(&path, bytes.len() - 1);
    for _ in 0..3 {
        eventful.set(Box::new(|_| {}));
        let appended = append(&mut disk, &mut model.clone());
        assert_eq!(appended, Err(Error::FILE_READ));
        // Each attempt to read the frame asks for the size three times, and there is more than one
        // attempt.
        let looks = eventful.looks();
        assert!((6..50).contains(&looks), "{looks} looks");
    }
}

/// A writer that does not use this library's locks, such as the reference, is in the middle of a
/// change.
#[test]
fn a_file_with_a_writer_is_waited_for() {
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
    let (mut disk, loaded) = Disk::open(plain(), &c_path(&path), 0, FrameKind::Contiguous).unwrap();
    assert_eq!(whole(&mut disk, loaded).unwrap(), model);
}

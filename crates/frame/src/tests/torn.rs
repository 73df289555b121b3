//! Files that hold no whole frame when one is to be changed: they are waited for as long as somebody writes to them, and no longer.

use super::*;
use std::sync::Mutex;

/// What happens to the file whenever somebody looks how long it is.
type Happens = Box<dyn FnMut(usize) + Send>;

/// Something happens meanwhile.
#[derive(Clone)]
struct Eventful(Arc<Mutex<(usize, Happens)>>);

impl Hook for Eventful {
    const LOCKS_AND_TIMES: bool = true;

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

    /// From now on this happens.
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

/// A frame with a chunk, and its bytes.
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

/// Appends a chunk as a caller of the library does it.
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
    let (mut disk, loaded) = Disk::open(plain(), &c_path(&path), 0, FrameKind::Contiguous).unwrap();
    assert_eq!(whole(&mut disk, loaded).unwrap(), model);
}

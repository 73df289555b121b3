//! A process, this program started again, that dies in a write. `tests/faults/crash` of the whole
//! library intercepts the calls of the C library for this; these tests run on every system.

use super::*;
use std::process::Command;

/// The exit status of a process that died in a write.
pub(super) const DIED: i32 = 77;

/// The environment variable with the job of a process: the seed of the frame, the number of the
/// write to die in, whether half of that write is made, and the path.
const JOB: &str = "OXIBLOSC_KILLED";

fn kind(seed: u64) -> FrameKind {
    [FrameKind::Contiguous, FrameKind::Sparse][seed as usize % 2]
}

/// The command that starts this program again. `OXIBLOSC_EMULATOR` is the command that runs
/// programs for its processor, if the system cannot.
fn this_program() -> Command {
    let this = std::env::current_exe().expect("a test knows its own path");
    let emulator = std::env::var("OXIBLOSC_EMULATOR").unwrap_or_default();
    let mut words = emulator.split_whitespace();
    let Some(program) = words.next() else {
        return Command::new(this);
    };
    let mut command = Command::new(program);
    command.args(words).arg(this);
    command
}

/// Makes the change that the job describes, and ends the process.
fn obey(job: &str) -> ! {
    let mut words = job.splitn(4, ' ');
    let mut word = || words.next().expect(JOB);
    let seed: u64 = word().parse().expect(JOB);
    let point: i64 = word().parse().expect(JOB);
    let fate = if word() == "true" {
        Fate::EndsTorn
    } else {
        Fate::Ends
    };
    let path = PathBuf::from(word());
    let left = Arc::new(AtomicI64::new(i64::MAX));
    let backend = unlucky(&left, fate);
    let (mut disk, mut model, step) = prepared(seed, kind(seed), &path, backend);
    step.apply(&mut model);
    left.store(point, Ordering::Relaxed);
    let result = disk.commit(
        &step.change(&step.items()),
        &[],
        step.next(&model, kind(seed)),
    );
    assert_eq!((result, disk.close()), (Ok(()), Ok(())));
    std::process::exit(0);
}

#[test]
fn a_process_that_dies_in_a_write_loses_nothing() {
    if let Ok(job) = std::env::var(JOB) {
        obey(&job);
    }
    let folder = Folder::new("killed");
    let (path, model) = (folder.0.join("frame"), folder.0.join("model"));
    let mut died = 0;
    // On an emulated system, starting a process takes long.
    for seed in 0..if cfg!(windows) { 6 } else { 24 } {
        let (_, before, step) = prepared(seed, kind(seed), &model, plain());
        let mut after = before.clone();
        step.apply(&mut after);
        for torn in [false, true] {
            for point in 0.. {
                let job = format!("{seed} {point} {torn} {}", path.display());
                let status = this_program()
                    .args([
                        "--exact",
                        "tests::killed::a_process_that_dies_in_a_write_loses_nothing",
                    ])
                    .env(JOB, &job)
                    .status()
                    .unwrap();
                let created = status.success();
                assert!(created || status.code() == Some(DIED), "{job}: {status}");
                let (mut disk, loaded) = Disk::open(plain(), &c_path(&path), 0, kind(seed))
                    .unwrap_or_else(|error| panic!("{error}: {job} {step:?}"));
                let mut found = whole(&mut disk, loaded).unwrap();
                assert!(
                    found == after || !created && found == before,
                    "{job} {step:?}"
                );
                let last = Step::Append(Ok(chunk(77, 7)));
                last.apply(&mut found);
                let next = last.next(&found, kind(seed));
                disk.commit(&last.change(&last.items()), &[], next).unwrap();
                disk.close().unwrap();
                let (mut again, loaded) =
                    Disk::open(plain(), &c_path(&path), 0, kind(seed)).unwrap();
                assert!(
                    whole(&mut again, loaded).unwrap() == found,
                    "{job} {step:?}"
                );
                if created {
                    break;
                }
                died += 1;
            }
        }
    }
    assert!(died > 10, "{died}");
}

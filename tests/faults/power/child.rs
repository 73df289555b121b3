//! The process whose calls are logged: this one, started again with the shim in front of the C
//! library.

use super::disk::{Event, parse};
use super::scenario::{AFTER_KILL, Scenario, scenarios};
use oxiblosc_testing::own_process::again;
use oxiblosc_testing::schunk::our_schunks;
use std::ffi::{CString, c_char};
use std::path::Path;

/// Tells a process that it is a child, and what to do.
const JOB: &str = "OXIBLOSC_POWER_JOB";

/// What a process does that makes the scenario's calls, in order; or those that come after a kill,
/// one of [`AFTER_KILL`].
pub fn log(
    number: usize,
    after_kill: Option<usize>,
    durable: bool,
    folder: &Path,
    places: &[i64],
    shim: &Path,
) -> Result<Vec<Event>, String> {
    let log = folder.with_extension("log");
    let places: Vec<String> = places.iter().map(i64::to_string).collect();
    let order = format!(
        "{number} {} {} {} {}",
        after_kill.map_or(String::new(), |which| which.to_string()),
        places.join(","),
        folder.display(),
        log.display()
    );
    let output = again("power::sweep::power_cut_in_every_change")
        .env(JOB, order)
        .env("BLOSC_DURABLE", if durable { "1" } else { "0" })
        .env("LD_PRELOAD", shim)
        .output()
        .expect("this program, started again");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, said.trim()));
    }
    Ok(parse(&std::fs::read(&log).expect("the log of the shim")))
}

/// The functions of the shim.
struct Shim {
    start: unsafe extern "C" fn(*const c_char, *const c_char),
    mark: unsafe extern "C" fn(),
    stop: unsafe extern "C" fn(),
}

impl Shim {
    fn find() -> Shim {
        let this = libloading::os::unix::Library::this();
        // SAFETY: the shim is preloaded and declares the functions so.
        unsafe {
            Shim {
                start: *this.get(b"shim_start").expect("the shim is preloaded"),
                mark: *this.get(b"shim_mark").expect("the shim is preloaded"),
                stop: *this.get(b"shim_stop").expect("the shim is preloaded"),
            }
        }
    }
}

/// Does the job if this process has one, and does not return then.
pub fn obey() {
    let Ok(order) = std::env::var(JOB) else {
        return;
    };
    let words: Vec<&str> = order.splitn(5, ' ').collect();
    let [number, after_kill, places, folder, log] = words[..] else {
        panic!("{JOB}={order}");
    };
    let mut scenario: Scenario = scenarios()[number.parse::<usize>().expect(JOB)];
    if !after_kill.is_empty() {
        scenario.work = AFTER_KILL[after_kill.parse::<usize>().expect(JOB)];
    }
    let places: Vec<i64> = places
        .split(',')
        .map(|place| place.parse().expect(JOB))
        .collect();
    let lib = our_schunks();
    let shim = Shim::find();
    let text = |path: &str| CString::new(path).expect("a plain path");
    let (in_c, log_in_c) = (text(folder), text(log));
    // SAFETY: C strings, that the shim copies; marks are made while it logs.
    unsafe {
        (shim.start)(in_c.as_ptr(), log_in_c.as_ptr());
        let done = scenario.run(lib, Path::new(folder), &places, &mut || (shim.mark)());
        (shim.stop)();
        if let Err(wrong) = done {
            eprintln!("{wrong}");
            std::process::exit(1);
        }
    }
    std::process::exit(0);
}

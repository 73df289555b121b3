//! Several threads of a program at once, each with contexts of its own, which share worker threads:
//! what they get is what one thread gets alone. Meant to be run under ThreadSanitizer too
//! (CONTRIBUTING.md says how), where `OXIBLOSC_ROUNDS` may ask for fewer rounds.

use blosc2::capi::blosc2_compress_ctx;
use blosc2::capi::context::*;
use blosc2::capi::decompress::*;
use blosc2::capi::global::*;
use blosc2::capi::types::*;
use std::sync::{Mutex, MutexGuard};
use std::thread;

/// The settings and the pools are the process's, so a test that changes them is alone.
static PROCESS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    PROCESS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn rounds() -> usize {
    let asked = std::env::var("OXIBLOSC_ROUNDS").ok();
    asked.map_or(20, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Runs `body` on four threads, for caller 0 to 3. They are joined one by one: that is what
/// ThreadSanitizer sees.
fn four_callers(body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        let callers: Vec<_> = (0..4).map(|i| scope.spawn(move || body(i))).collect();
        for caller in callers {
            caller.join().expect("a caller that found nothing wrong");
        }
    });
}

/// Large enough to be shared among workers: integers that climb with different steps.
fn data(salt: usize) -> Vec<u8> {
    let value = |i: usize| (i * (salt + 3) + i % 7 * salt) as u32;
    (0..60_000).flat_map(|i| value(i).to_le_bytes()).collect()
}

fn cparams(kind: usize, nthreads: i16) -> blosc2_cparams {
    let mut cparams = blosc2_cparams::defaults();
    cparams.compcode = [0, 1, 5, 4, 1, 2][kind];
    cparams.typesize = 4;
    cparams.blocksize = 16 << 10;
    cparams.nthreads = nthreads;
    cparams.use_dict = (kind == 4).into();
    let filters: [u8; 2] = [[0, 1], [0, 2], [0, 1], [3, 1], [0, 1], [3, 2]][kind];
    cparams.filters[4..].copy_from_slice(&filters);
    cparams
}

/// A compression context and a decompression context of so many threads.
struct Pair(*mut blosc2_context, *mut blosc2_context);

impl Pair {
    fn new(kind: usize, nthreads: i16) -> Self {
        let mut dparams = blosc2_dparams::defaults();
        dparams.nthreads = nthreads;
        // SAFETY: the parameters hold no pointers.
        let pair = unsafe {
            Self(
                blosc2_create_cctx(cparams(kind, nthreads)),
                blosc2_create_dctx(dparams),
            )
        };
        assert!(!pair.0.is_null() && !pair.1.is_null());
        pair
    }

    fn compress(&self, data: &[u8]) -> Vec<u8> {
        let mut dest = vec![0; data.len() + 32];
        let (src, to) = (data.as_ptr().cast(), dest.as_mut_ptr().cast());
        // SAFETY: the context is this thread's, the buffers have the sizes given.
        let code =
            unsafe { blosc2_compress_ctx(self.0, src, data.len() as i32, to, dest.len() as i32) };
        dest.truncate(usize::try_from(code).expect("good parameters"));
        dest
    }

    fn decompress(&self, chunk: &[u8], nbytes: usize) -> Vec<u8> {
        let mut dest = vec![0; nbytes];
        let (src, to) = (chunk.as_ptr().cast(), dest.as_mut_ptr().cast());
        // SAFETY: as above.
        let code =
            unsafe { blosc2_decompress_ctx(self.1, src, chunk.len() as i32, to, nbytes as i32) };
        assert_eq!(usize::try_from(code), Ok(nbytes));
        dest
    }

    fn item(&self, chunk: &[u8], index: usize) -> [u8; 4] {
        let mut item = [0; 4];
        let (src, to) = (chunk.as_ptr().cast(), item.as_mut_ptr().cast());
        // SAFETY: as above.
        let code =
            unsafe { blosc2_getitem_ctx(self.1, src, chunk.len() as i32, index as i32, 1, to, 4) };
        assert_eq!(code, 4);
        item
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe {
            blosc2_free_ctx(self.0);
            blosc2_free_ctx(self.1);
        }
    }
}

#[test]
fn contexts_of_several_threads() {
    let _alone = alone();
    let data: Vec<Vec<u8>> = (0..4).map(data).collect();
    let expected: Vec<Vec<Vec<u8>>> = (0..6)
        .map(|kind| {
            data.iter()
                .map(|data| Pair::new(kind, 1).compress(data))
                .collect()
        })
        .collect();
    four_callers(|caller| {
        for round in 0..rounds() {
            let kind = (caller + round) % 6;
            let nthreads = [1, 2, 4][(caller + round) % 3];
            let pair = Pair::new(kind, nthreads);
            let (data, want) = (&data[round % 4], &expected[kind][round % 4]);
            assert!(
                pair.compress(data) == *want,
                "kind {kind}, {nthreads} threads"
            );
            assert!(pair.decompress(want, data.len()) == *data);
            for index in [0, 7777, data.len() / 4 - 1] {
                assert_eq!(pair.item(want, index), data[4 * index..][..4]);
            }
        }
    });
}

/// The functions without a context, while another thread changes the number of threads.
#[test]
fn functions_without_context() {
    oxiblosc_testing::own_process!();
    let _alone = alone();
    let data = data(5);
    four_callers(|caller| {
        for round in 0..rounds() {
            if caller == 0 {
                blosc2_set_nthreads([1, 2, 4][round % 3]);
            }
            let (mut chunk, mut back) = (vec![0; data.len() + 32], vec![0; data.len()]);
            let size = data.len() as i32;
            let (src, to) = (data.as_ptr().cast(), chunk.as_mut_ptr());
            // SAFETY: the buffers have the sizes given.
            let codes = unsafe {
                let cbytes = blosc2_compress(5, 1, 4, src, size, to.cast(), size + 32);
                let out = back.as_mut_ptr().cast();
                [cbytes, blosc2_decompress(to.cast(), cbytes, out, size)]
            };
            assert!(codes[0] > 0 && codes[1] == size, "{codes:?}");
            assert!(back == *data);
        }
    });
    blosc2_set_nthreads(1);
}

/// Contexts outlive the end of the library's use, which stops the workers.
#[test]
fn contexts_go_on_after_destroy() {
    oxiblosc_testing::own_process!();
    let _alone = alone();
    let data = data(6);
    let pair = Pair::new(1, 4);
    let chunk = pair.compress(&data);
    for _ in 0..rounds().min(10) {
        blosc2_destroy();
        assert!(pair.compress(&data) == chunk);
        blosc2_destroy();
        assert!(pair.decompress(&chunk, data.len()) == data);
    }
}

/// How many keys of thread-specific data the process can still have.
#[cfg(target_os = "linux")]
fn free_keys() -> usize {
    let mut keys = Vec::new();
    let mut key = 0;
    // SAFETY: each key is written, and given back once.
    unsafe {
        while libc::pthread_key_create(&mut key, None) == 0 {
            keys.push(key);
        }
        keys.iter()
            .for_each(|key| assert_eq!(libc::pthread_key_delete(*key), 0));
    }
    keys.len()
}

/// A plugin with the static library in it, which is loaded and unloaded more often than the process
/// has keys.
#[cfg(target_os = "linux")]
#[test]
fn an_unloaded_library_gives_its_key_back() {
    oxiblosc_testing::own_process!();
    type New = unsafe extern "C" fn(*mut blosc2_storage) -> *mut blosc2_schunk;
    type Append = unsafe extern "C" fn(*mut blosc2_schunk, *const u8, i32) -> i64;
    type Free = unsafe extern "C" fn(*mut blosc2_schunk) -> i32;
    let _alone = alone();
    let test = std::env::current_exe().expect("a test knows its own path");
    let built = test.parent().expect("the folder of what cargo built");
    let plugin = built.join(format!("plugin-{}.so", std::process::id()));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let linked = std::process::Command::new(compiler)
        .args(["-shared", "-Wl,-Bsymbolic", "-o"])
        .arg(&plugin)
        .arg("-Wl,--whole-archive")
        .arg(built.join("libblosc2.a"))
        .args(["-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"])
        .status();
    assert!(
        linked.is_ok_and(|status| status.success()),
        "the plugin links"
    );
    let before = free_keys();
    for _ in 0..1100 {
        // SAFETY: the library has these functions, and nothing of it is used after it is closed.
        unsafe {
            let library = libloading::Library::new(&plugin).expect("the plugin");
            let new = library.get::<New>(b"blosc2_schunk_new").expect("exported");
            let append = library.get::<Append>(b"blosc2_schunk_append_buffer");
            let free = library
                .get::<Free>(b"blosc2_schunk_free")
                .expect("exported");
            let schunk = new(&mut blosc2_storage::defaults());
            assert_eq!(append.expect("exported")(schunk, [1; 64].as_ptr(), 64), 1);
            assert_eq!(free(schunk), 0);
            library.close().expect("closes");
        }
    }
    let _ = std::fs::remove_file(&plugin);
    assert_eq!(free_keys(), before);
}

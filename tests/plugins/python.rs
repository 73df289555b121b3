//! How Python is asked for a plugin: no code beside a file runs, and a thread that waits for one
//! plugin does not make others wait.

use crate::{again, succeeds};
use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::ours;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Ids of plugins.
const GROK: u8 = 37;
const J2K: u8 = 39;
/// What is answered where a plugin is not there.
const NO_SUPPORT: i32 = -7;

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let name = format!("oxiblosc-plugin-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn program(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a script");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("its mode");
}

/// What compressing with a plugin's codec returns.
fn compress(compcode: u8) -> i32 {
    let cparams = CParams {
        compcode,
        typesize: 4,
        filters: [0; 6],
        ..CParams::default()
    };
    ours()
        .compress(&cparams, &Kind::WalkInt32.bytes(10_000, 1))
        .0
}

#[test]
fn python_takes_nothing_from_the_current_directory() {
    const TEST: &str = "python::python_takes_nothing_from_the_current_directory";
    const CHILD: &str = "OXIBLOSC_TEST_PLUGIN_BESIDE";
    if std::env::var_os(CHILD).is_some() {
        assert_eq!(compress(GROK), NO_SUPPORT);
        return;
    }
    let folder = folder("beside");
    let ran = folder.join("ran");
    let code = format!("open({:?}, 'a').close()\n", ran.display().to_string());
    for module in [
        "blosc2_grok",
        "sitecustomize",
        "usercustomize",
        "os",
        "site",
    ] {
        let path = folder.join(format!("{module}.py"));
        std::fs::write(path, &code).expect("a module");
    }
    program(
        &folder.join("python"),
        &format!("#!/bin/sh\n: > '{}'\n", ran.display()),
    );
    let path = std::env::var("PATH").unwrap_or_default();
    // An empty entry, and a point, are the current directory.
    let paths = [
        path.clone(),
        format!(":{path}"),
        format!(".:{path}"),
        format!("{path}:"),
    ];
    for (path, modules) in paths.iter().zip(["", ":", ".", "."]) {
        let mut child = again(TEST, CHILD, "1");
        child.current_dir(&folder).env("PATH", path);
        succeeds(match modules {
            "" => child,
            modules => {
                child.env("PYTHONPATH", modules);
                child
            }
        });
        assert!(!ran.exists(), "PATH={path} PYTHONPATH={modules}");
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}

#[test]
fn python_that_hangs_is_not_waited_for() {
    const TEST: &str = "python::python_that_hangs_is_not_waited_for";
    const CHILD: &str = "OXIBLOSC_TEST_PLUGIN_HANGS";
    if std::env::var_os(CHILD).is_some() {
        let since = Instant::now();
        let hangs = std::thread::spawn(|| compress(GROK));
        // Until the other one surely waits.
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(compress(J2K), NO_SUPPORT);
        let soon = since.elapsed();
        assert!(
            soon < Duration::from_secs(5),
            "another plugin after {soon:?}"
        );
        assert!(!hangs.is_finished());
        assert_eq!(hangs.join().expect("no panic"), NO_SUPPORT);
        let late = since.elapsed();
        assert!(late < Duration::from_secs(20), "an answer after {late:?}");
        // It is not asked again at once.
        assert_eq!(compress(GROK), NO_SUPPORT);
        assert!(since.elapsed() - late < Duration::from_secs(5));
        return;
    }
    let folder = folder("hangs");
    let script = "#!/bin/sh\ncase \"$*\" in *blosc2_grok*) sleep 60;; esac\n";
    program(&folder.join("python"), script);
    let mut child = again(TEST, CHILD, "1");
    child.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    let script = folder.join("python3");
    program(&script, "#!/bin/sh\n");
    succeeds(child);
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}

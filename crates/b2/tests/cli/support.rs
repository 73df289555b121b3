//! Running the tool, and files to run it on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder for one test, removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("oxiblosc-b2-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder can be made");
        Self(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0
            .join(name)
            .to_str()
            .expect("a plain name")
            .to_string()
    }

    /// Writes a file. Returns its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("writes");
        path
    }

    /// The number of files and folders in it.
    pub fn count(&self) -> usize {
        std::fs::read_dir(&self.0).expect("a folder").count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compresses a file to a frame, which may be there already, with more options, which have no
/// blanks within them.
#[track_caller]
pub fn compress(file: &str, frame: &str, options: &str) -> Run {
    let options: Vec<&str> = options.split_whitespace().collect();
    b2(&[&["compress", file, "-f", "-o", frame][..], &options].concat())
}

pub fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether the environment asks for all of a sweep, and not for a sample.
pub fn is_full(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "full")
}

/// Makes a link. Returns whether this system lets any user do so.
pub fn symlink(to: impl AsRef<Path>, at: impl AsRef<Path>) -> bool {
    #[cfg(unix)]
    std::os::unix::fs::symlink(&to, &at).expect("linked");
    #[cfg(not(unix))]
    let _ = (to, at);
    cfg!(unix)
}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Run {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// The run, if it ended with this code.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.text(), self.err);
        self
    }

    /// The run, if it failed with one clear line, for another reason than that the data are
    /// damaged.
    #[track_caller]
    pub fn failed(self) -> Self {
        self.ended(2).reported()
    }

    /// The run, if it failed because the data are damaged, with one clear line.
    #[track_caller]
    pub fn damaged(self) -> Self {
        self.ended(1).reported()
    }

    /// The run, if it failed with one clear line: it says what, and not in the words in which the
    /// library names its errors.
    #[track_caller]
    pub fn reported(self) -> Self {
        assert!(matches!(self.code, Some(1 | 2)), "{self:?}");
        let is_line = self.err.starts_with("b2: ") && self.err.lines().count() == 1;
        assert!(is_line, "{}", self.err);
        let internal = [
            "failure",
            "invalid value",
            "invalid param",
            "pipeline",
            "unknown error",
        ];
        let said = self.err.to_lowercase();
        assert!(!internal.iter().any(|word| said.contains(word)), "{said}");
        self
    }
}

/// Runs the tool.
pub fn b2(args: &[&str]) -> Run {
    piped(args, None)
}

/// Runs the tool with bytes at its standard input.
pub fn piped(args: &[&str], input: Option<&[u8]>) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_b2"))
        .args(args)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let feeding = child.stdin.take().map(|mut stdin| {
        let input = input.unwrap_or_default().to_vec();
        // This fails if the tool stops reading early. Its exit code says whether that is right.
        std::thread::spawn(move || drop(stdin.write_all(&input)))
    });
    let output = child.wait_with_output().expect("it ends");
    if let Some(feeding) = feeding {
        feeding.join().expect("the input was given");
    }
    Run::of(output)
}

/// Numbers that compress somewhat: a series that changes slowly, with noise, as little-endian
/// int32.
pub fn series(items: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut value = 0i32;
    let items = (0..items).flat_map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        value = value.wrapping_add((state >> 28) as i32 - 7);
        value.to_le_bytes()
    });
    items.collect()
}

/// The bytes of an `.npy` file.
pub fn npy(dtype: &str, fortran: bool, shape: &str, items: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let descr = if dtype.starts_with('[') {
        dtype.into()
    } else {
        format!("'{dtype}'")
    };
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    file.extend(items);
    file
}

//! Deterministic data of the kinds that Blosc2 is used for.

pub use super::random::{Rng, mix};

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A slow sine in float64.
    SmoothFloat64,
    /// A random walk in int32.
    WalkInt32,
    /// Microseconds in int64, a bit more than a second apart.
    Timestamps,
    /// English-like words.
    Text,
    /// A sine with noise in float32.
    NoisyFloat32,
    /// No structure at all.
    Random,
    /// Nothing but zeros.
    Zeros,
    /// Long runs of one byte, then noise, in pieces of a few KiB.
    Runs,
}

impl Kind {
    /// The kinds that `benches/compare` reports.
    pub const MEASURED: [Kind; 7] = [
        Kind::SmoothFloat64,
        Kind::WalkInt32,
        Kind::Timestamps,
        Kind::Text,
        Kind::NoisyFloat32,
        Kind::Random,
        Kind::Zeros,
    ];

    /// Every kind.
    pub const ALL: [Kind; 8] = [
        Kind::SmoothFloat64,
        Kind::WalkInt32,
        Kind::Timestamps,
        Kind::Text,
        Kind::NoisyFloat32,
        Kind::Random,
        Kind::Zeros,
        Kind::Runs,
    ];

    /// A name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::SmoothFloat64 => "smooth f64",
            Kind::WalkInt32 => "walk i32",
            Kind::Timestamps => "timestamps i64",
            Kind::Text => "text",
            Kind::NoisyFloat32 => "noisy f32",
            Kind::Random => "random",
            Kind::Zeros => "zeros",
            Kind::Runs => "runs",
        }
    }

    /// The size of the items that the data is made of.
    pub fn typesize(self) -> i32 {
        match self {
            Kind::SmoothFloat64 | Kind::Timestamps | Kind::Random | Kind::Zeros => 8,
            Kind::WalkInt32 | Kind::NoisyFloat32 => 4,
            Kind::Text | Kind::Runs => 1,
        }
    }

    /// `len` bytes of this kind; the same `seed` gives the same bytes.
    pub fn bytes(self, len: usize, seed: u64) -> Vec<u8> {
        let mut rng = Rng(seed ^ 0x5EED);
        let mut out = Vec::with_capacity(len + 64);
        let mut value = 0i64;
        let phase = rng.unit() * 6.0;
        while out.len() < len {
            let i = out.len();
            match self {
                Kind::SmoothFloat64 => {
                    let x = (i / 8) as f64 * 0.0005 + phase;
                    out.extend_from_slice(&(x.sin() * 100.0 + x).to_le_bytes());
                }
                Kind::WalkInt32 => {
                    value += rng.below(21) as i64 - 10;
                    out.extend_from_slice(&(value as i32).to_le_bytes());
                }
                Kind::Timestamps => {
                    value += 1_000_000 + rng.below(300) as i64;
                    out.extend_from_slice(&(1_700_000_000_000_000 + value).to_le_bytes());
                }
                Kind::Text => {
                    out.extend_from_slice(
                        WORDS[(rng.unit().powi(2) * WORDS.len() as f64) as usize].as_bytes(),
                    );
                    out.push(if rng.below(12) == 0 { b'\n' } else { b' ' });
                }
                Kind::NoisyFloat32 => {
                    let x = (i / 4) as f64 * 0.01 + phase;
                    out.extend_from_slice(
                        &((x.sin() + (rng.unit() - 0.5) * 0.05) as f32).to_le_bytes(),
                    );
                }
                Kind::Random => out.extend_from_slice(&rng.next().to_le_bytes()),
                Kind::Zeros => out.resize(len, 0),
                Kind::Runs => {
                    let piece = 1 + rng.below(6000);
                    match rng.below(3) {
                        0 => out.extend((0..piece / 8).flat_map(|_| rng.next().to_le_bytes())),
                        1 => out.resize(out.len() + piece, 0),
                        _ => out.resize(out.len() + piece, rng.next() as u8),
                    }
                }
            }
        }
        out.truncate(len);
        out
    }
}

const WORDS: [&str; 64] = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "his",
    "they",
    "at",
    "be",
    "this",
    "have",
    "from",
    "or",
    "one",
    "had",
    "by",
    "word",
    "but",
    "not",
    "what",
    "all",
    "were",
    "we",
    "when",
    "your",
    "can",
    "said",
    "there",
    "use",
    "an",
    "each",
    "which",
    "she",
    "do",
    "how",
    "their",
    "if",
    "will",
    "measurement",
    "temperature",
    "compression",
    "Thursday",
    "harbour",
    "reading",
    "because",
    "1987",
    "station",
    "column",
    "through",
    "between",
    "archive",
    "instrument",
    "yesterday",
    "observation",
];

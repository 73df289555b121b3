//! Codecs.

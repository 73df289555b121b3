//! The chunk format.

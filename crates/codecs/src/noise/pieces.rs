//! The pieces of a stream.

/// The size of a piece in bytes. Pieces are classified one by one. The last piece of a stream may
/// be nearly twice as long.
pub(in super::super) const PIECE: usize = 4096;

/// How many pieces a stream has: at least one.
pub(super) fn piece_count(stream: &[u8]) -> usize {
    (stream.len() / PIECE).max(1)
}

/// Piece number `i` of a stream.
pub(super) fn piece(stream: &[u8], i: usize) -> &[u8] {
    let end = if i + 1 == piece_count(stream) {
        stream.len()
    } else {
        (i + 1) * PIECE
    };
    &stream[i * PIECE..end]
}

/// The pieces of a stream.
pub(super) fn pieces(stream: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    (0..piece_count(stream)).map(|i| piece(stream, i))
}

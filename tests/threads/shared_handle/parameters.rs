//! Parameters that are used after their super-chunk was freed.

use super::*;

#[test]
fn parameters_outlive_their_super_chunk() {
    let _alone = alone();
    let shared = SharedSchunk::new(
        Kept::Apart,
        Path::new("."),
        cparams(1),
        blosc2_dparams::defaults(),
    );
    let mut params = null_mut();
    // SAFETY: the parameters are ours to free; the buffers are as long as it says.
    unsafe {
        assert_eq!(blosc2_schunk_get_cparams(shared.0, &raw mut params), 0);
        shared.free();
        let ctx = blosc2_create_cctx(*params);
        libc::free(params.cast());
        let (data, mut chunk) = ([1u32; ITEMS], vec![0u8; 4 * ITEMS + 32]);
        let (src, to) = (data.as_ptr().cast(), chunk.as_mut_ptr().cast());
        assert!(blosc2_compress_ctx(ctx, src, 4 * ITEMS as i32, to, chunk.len() as i32) > 0);
        blosc2_free_ctx(ctx);
    }
}

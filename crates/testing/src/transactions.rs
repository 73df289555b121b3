//! Transactions of our super-chunks.

use super::library::own;
use super::schunk_calls::Schunk;
use blosc2::capi::types::blosc2_schunk;
use std::ffi::c_int;

impl Schunk {
    fn own(&self, name: &str) -> i64 {
        assert_eq!(self.lib.lib.name, "ours");
        let call: unsafe extern "C" fn(*mut blosc2_schunk) -> c_int = own(name);
        // SAFETY: a super-chunk of ours.
        unsafe { call(self.raw) }.into()
    }

    /// Gives a frame checksums.
    pub fn add_checksums(&self) -> i64 {
        self.own("oxiblosc_schunk_add_checksums")
    }

    pub fn begin(&self) -> i64 {
        self.own("oxiblosc_schunk_begin")
    }

    pub fn commit(&self) -> i64 {
        self.own("oxiblosc_schunk_commit")
    }

    pub fn abandon(&self) -> i64 {
        self.own("oxiblosc_schunk_abandon")
    }

    /// Makes changes in a transaction, all of them or, where one fails, none.
    pub fn together(&self, changes: impl FnOnce() -> i64) -> i64 {
        let begun = self.begin();
        if begun < 0 {
            return begun;
        }
        let rc = match changes() {
            rc @ ..0 => rc,
            _ => self.commit(),
        };
        if rc < 0 {
            self.abandon();
        }
        rc
    }
}

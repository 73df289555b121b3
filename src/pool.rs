//! Worker threads shared by every context of the same size.

//! Stop as a future; a silent one for tests.

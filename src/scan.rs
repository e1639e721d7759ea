//! One target once: probe, judge, settle, commit.

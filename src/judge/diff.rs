//! Structural comparison: where accepted and seen values differ.

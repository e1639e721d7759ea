//! Pairs items that left with items that came.

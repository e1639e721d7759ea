//! Texts compared by words.

//! Puts the pure steps together: what one scan, decision or tick changes.

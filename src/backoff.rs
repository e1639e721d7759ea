//! How long to wait before the next try of a delivery: pure, the randomness comes in.

//! The pure core: canonicalize, check, diff, classify, fold, life, notices. No clock, randomness or I/O.

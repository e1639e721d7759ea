//! Reads secrets at each use, and takes their values out of what arrives.

//! Every metric, with its help text.

//! From what a peer sent to what is compared: order, identities, numbers, volatile members.

mod guard;
mod handshake;
mod wire;
